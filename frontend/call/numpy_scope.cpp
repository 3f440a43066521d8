// The stack of numpy scopes of a thread.
#include "frontend/call/numpy_scope.h"

#include "frontend/call/call_context.h"

#include <kiln/f_numpy.h>

namespace kiln {
namespace {
const NumpyScope*& innermost_numpy() { return CallContext::current().numpy; }
}  // namespace

NumpyScope::NumpyScope(std::string_view hint) : outer_(innermost_numpy()), hint_(hint) {
  innermost_numpy() = this;
}
NumpyScope::~NumpyScope() { innermost_numpy() = outer_; }
bool NumpyScope::active() { return innermost_numpy() != nullptr || program(); }
void NumpyScope::set_program(bool on) { program_.store(on, std::memory_order_relaxed); }
std::string_view NumpyScope::hint() {
  const NumpyScope* const scope = innermost_numpy();
  return scope ? scope->hint_ : std::string_view();
}

void F::npx::set_np() { NumpyScope::set_program(true); }
void F::npx::reset_np() { NumpyScope::set_program(false); }
bool F::npx::is_np_shape() { return NumpyScope::program(); }
bool F::npx::is_np_array() { return NumpyScope::program(); }

}  // namespace kiln

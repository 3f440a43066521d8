#include "frontend/numpy_scope.h"

#include <kiln/f_numpy.h>

#include <atomic>

namespace kiln {
namespace {
thread_local const NumpyScope* innermost = nullptr;
std::atomic<bool> whole_program{false};
}  // namespace

NumpyScope::NumpyScope(std::string_view hint) : outer_(innermost), hint_(hint) { innermost = this; }
NumpyScope::~NumpyScope() { innermost = outer_; }
bool NumpyScope::active() { return innermost != nullptr || program(); }
bool NumpyScope::program() { return whole_program.load(std::memory_order_relaxed); }
void NumpyScope::set_program(bool on) { whole_program.store(on, std::memory_order_relaxed); }
std::string_view NumpyScope::hint() { return innermost ? innermost->hint_ : std::string_view(); }

void F::npx::set_np() { NumpyScope::set_program(true); }
void F::npx::reset_np() { NumpyScope::set_program(false); }
bool F::npx::is_np_shape() { return NumpyScope::program(); }
bool F::npx::is_np_array() { return NumpyScope::program(); }

}  // namespace kiln

#include "frontend/numpy_scope.h"

namespace kiln {
namespace {
thread_local const NumpyScope* innermost = nullptr;
}

NumpyScope::NumpyScope(std::string_view hint) : outer_(innermost), hint_(hint) { innermost = this; }
NumpyScope::~NumpyScope() { innermost = outer_; }
bool NumpyScope::active() { return innermost != nullptr; }
std::string_view NumpyScope::hint() { return innermost ? innermost->hint_ : std::string_view(); }

}  // namespace kiln

// A scope that restores the machine's instruction set.
#pragma once
#include <kiln/version.h>

namespace graphs {

/// Sets the instruction set back to the machine's when it goes, also where a graph throws.
struct NativeAtEnd {
  NativeAtEnd() = default;
  NativeAtEnd(const NativeAtEnd&) = delete;
  NativeAtEnd& operator=(const NativeAtEnd&) = delete;
  ~NativeAtEnd() { kiln::set_target_cpu("native"); }
};

}  // namespace graphs

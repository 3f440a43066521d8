// A scope of numpy mode.
#pragma once
#include <kiln/kiln.h>

/// The program is in numpy mode while one lives.
struct NumpyMode {
  NumpyMode() { kiln::npx::set_np(); }
  NumpyMode(const NumpyMode&) = delete;
  ~NumpyMode() { kiln::npx::reset_np(); }
};

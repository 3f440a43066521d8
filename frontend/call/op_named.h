// Operators found by name at compile time.
#pragma once

#include "frontend/call/op_call.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string_view>

namespace kiln {

/// A string as a template argument.
template <std::size_t N>
struct OpName {
  char text[N];
  constexpr OpName(const char (&s)[N]) { std::copy_n(s, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// The operator named `name`, looked up once per name. Without the lock of a static variable's
/// initialisation, for the reason that runtime/once.h gives.
template <OpName name>
const ir::OpDef& op_named() {
  static constinit std::atomic<const ir::OpDef*> found{nullptr};
  const ir::OpDef* op = found.load(std::memory_order_acquire);
  if (op == nullptr) {
    op = &find_op_or_throw(name.view());
    found.store(op, std::memory_order_release);
  }
  return *op;
}

}  // namespace kiln

#pragma once
#include "frontend/eager/invoke.h"
#include "runtime/once.h"

#include <algorithm>
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

/// The operator named `name`, looked up once per name.
template <OpName name>
const ir::OpDef& op_named() {
  constexpr auto find = [] { return &find_op_or_throw(name.view()); };
  return *once<find>();
}

}  // namespace kiln

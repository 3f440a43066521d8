// Long lines of MLIR in several.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::codegen {

/// The same MLIR with lines of at most `columns` characters, continued four columns further to the right. A
/// line is broken at spaces outside of strings and comments only, so a token that is longer stays whole. The
/// text parses to the same operations.
std::string wrap_text(std::string_view text, std::size_t columns);

}  // namespace kiln::codegen

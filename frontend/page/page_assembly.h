// The assembly of kernels for the page.
#pragma once
#include <kiln/export.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The instructions and labels of a kernel, without directives of the assembler.
struct AssemblyText {
  /// From this line on, instructions are of a line of a file; an empty file: of none that is known.
  struct Place {
    std::size_t from;  ///< number of the line of `text`, from 0
    std::string file;
    unsigned line;
  };
  std::string text;  ///< lines, each with its end
  std::size_t lines = 0;
  std::size_t left_out = 0;  ///< lines beyond the limit
  std::vector<Place> places;
};

/// `text`: the stage "asm" or "ptx" of one kernel, whose `symbol` becomes "kernel". At most `max_lines`
/// lines.
KILN_API AssemblyText assembly_of(std::string_view text, std::string_view symbol, std::size_t max_lines);

}  // namespace kiln

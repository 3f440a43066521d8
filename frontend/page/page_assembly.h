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
  /// From this line of `text` on, counted from 0, instructions are of the program's line with this number,
  /// from 1; 0: of none that is known.
  struct Place {
    std::size_t from;
    unsigned number;
    bool operator==(const Place&) const = default;
  };
  std::string text;  ///< lines, each with its end
  std::size_t lines = 0;
  std::size_t left_out = 0;  ///< lines beyond the limit
  std::vector<Place> places;
};

/// `text`: the stage "asm", "lines" or "ptx" of one kernel, whose `symbol` becomes "kernel". At most
/// `max_lines` lines.
KILN_API AssemblyText assembly_of(std::string_view text, std::string_view symbol, std::size_t max_lines);

}  // namespace kiln

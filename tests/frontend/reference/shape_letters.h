// The shapes of a reference as data: letters, and whether arrays have them.
#pragma once
#include <kiln/shape.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reference {

/// The shapes of an operator by letters, as its reference writes them: "x (N, C, ...), weight (O, C) -> (N,
/// O)".
struct ShapeLetters {
  struct Array {
    std::string name;
    /// "N": an extent; "...", "a...": any number of axes; "1": this extent; other texts: any extent.
    std::vector<std::string> axes;
  };
  std::vector<Array> inputs, results;
  bool only_form = false;  ///< no words follow that may describe another form
};

/// The first form of a field `shapes`; nothing where it is not made of names and letters alone.
std::optional<ShapeLetters> parse_letters(std::string_view shapes);

/// Whether one choice of extents for the letters gives all these shapes. There may be fewer arrays than in
/// `letters`: optional inputs and hidden results.
bool fits(const ShapeLetters& letters, const std::vector<kiln::Shape>& inputs,
          const std::vector<kiln::Shape>& results);

}  // namespace reference

// Where the texts of a kernel's stages go.
#pragma once
#include <string_view>

namespace kiln::codegen {

/// Receives the texts of the stages of one compilation. One thread at a time.
class StageTexts {
 public:
  virtual ~StageTexts() = default;

  /// Appends to the text of a stage. Throws kiln::Error if it cannot be written.
  virtual void add(std::string_view stage, std::string_view text) = 0;
  /// Whether machine code of GPUs is requested.
  virtual bool wants_sass() const = 0;
  /// Whether the assembly keeps the directives of lines of a kernel with debug information.
  virtual bool keeps_lines() const { return false; }
};

}  // namespace kiln::codegen

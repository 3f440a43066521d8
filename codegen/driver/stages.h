#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace kiln {
struct CompileOptions;
}

namespace kiln::codegen {

/// Where the texts of one compilation go, as CompileOptions says: to a map, and to a folder that has a file
/// for each stage and, if asked, for each pass. A text is in its file before the next is made, so that a
/// crash leaves all that led to it. One thread at a time.
class Stages {
 public:
  /// Makes the folder. Throws kiln::Error if it cannot be made.
  Stages(const CompileOptions& options, const std::string& graph);

  /// Whether anybody wants texts.
  bool wanted() const { return map_ || !folder_.empty(); }
  /// Adds to what the stage has already. Throws kiln::Error if it cannot be written.
  void add(std::string_view stage, std::string_view text);

  /// Whether anybody wants a text after each pass.
  bool wants_passes() const { return !folder_.empty() && passes_; }
  /// A file of its own. Throws kiln::Error if it cannot be written.
  void add_pass(std::string_view pass, std::string_view text);

 private:
  std::map<std::string, std::string>* map_;
  std::filesystem::path folder_;
  bool passes_;
  int pass_count_ = 0;
};

}  // namespace kiln::codegen

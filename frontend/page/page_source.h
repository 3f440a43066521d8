// Lines of the program's files for the page.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kiln {

/// The files that a page refers to, with their text where it can be read.
class PageSources {
 public:
  /// The number of the file; `line` will be shown.
  std::size_t add(const std::string& file, unsigned line);
  /// A list of files: name, whether it was read, and lines by number. Of long files only the lines around the
  /// ones that were added.
  nlohmann::ordered_json json() const;

 private:
  struct File {
    std::string name;
    std::vector<unsigned> lines;
  };
  std::vector<File> files_;
  std::map<std::string, std::size_t, std::less<>> numbers_;
};

}  // namespace kiln

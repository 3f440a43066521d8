// Folders that are removed at the end of a scope.
#pragma once
#include <filesystem>
#include <string>
#include <unistd.h>

/// A new folder, which goes with all that is in it.
struct TemporaryFolder {
  std::filesystem::path path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kiln-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  /// The folder in it, if there is one; beside it may be files.
  std::filesystem::path inner() const {
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.is_directory()) return entry.path();
    return {};
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

// Text files that a person reads.
#include "runtime/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace kiln {

std::string write_text(const std::string& path, std::string_view text, bool append) {
  std::FILE* const file = std::fopen(path.c_str(), append ? "abe" : "wbe");
  if (!file) return std::strerror(errno);
  int problem = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  if (std::fclose(file) != 0 && problem == 0) problem = errno;
  return problem == 0 ? std::string() : std::strerror(problem);
}

}  // namespace kiln

// The exception type of Kiln.
#pragma once
#include <kiln/export.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace kiln {

/// The only exception type that Kiln throws. `what()` is for the user: the mistake, its place in the program
/// or file, the remedy. An internal error is a defect of Kiln and says so. In a program compiled with
/// -fno-exceptions an error calls std::terminate, which prints `what()` on stderr.
class KILN_API Error : public std::runtime_error {
 public:
  enum class Kind { user, internal };
  explicit Error(std::string message, Kind kind = Kind::user);
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// A location in the user's program. Unknown if `file` is empty.
struct SourceLocation {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  SourceLocation() = default;
  SourceLocation(std::source_location l) : file(l.file_name()), line(l.line()), column(l.column()) {}
  SourceLocation(std::string f, unsigned l, unsigned c) : file(std::move(f)), line(l), column(c) {}
  bool known() const { return !file.empty(); }
  /// "net.cpp:12", or "" if unknown.
  KILN_API std::string str() const;
};

}  // namespace kiln

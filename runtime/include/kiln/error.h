// The exception type of Kiln.
#pragma once
#include <kiln/export.h>

#include <cstddef>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

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
  /// The number of the kind of mistake, "KL0102", which `what()` shows at the end of its first line; empty if
  /// the kind has none. `kiln explain KL0102` prints cause, example and remedy. Valid as long as the error.
  std::string_view code() const noexcept;

 private:
  Kind kind_;
  std::size_t code_at_;  // of the number in what(); 0: none
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

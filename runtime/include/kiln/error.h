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
  /// Whose mistake it is.
  enum class Kind {
    user,      ///< of the program or of a file
    internal,  ///< a defect of Kiln
  };
  explicit Error(std::string message, Kind kind = Kind::user);
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;
  /// Whose mistake it is.
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
  std::string file;     ///< as the compiler names it; empty: unknown
  unsigned line = 0;    ///< from 1 on
  unsigned column = 0;  ///< from 1 on; 0: unknown
  SourceLocation() = default;
  /// A line of the program.
  SourceLocation(std::source_location l) : file(l.file_name()), line(l.line()), column(l.column()) {}
  /// A line of a file.
  SourceLocation(std::string f, unsigned l, unsigned c) : file(std::move(f)), line(l), column(c) {}
  /// Whether it names a file.
  bool known() const { return !file.empty(); }
  /// "net.cpp:12", or "" if unknown.
  KILN_API std::string str() const;
};

}  // namespace kiln

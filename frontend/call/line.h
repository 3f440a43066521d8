// The program's line in the messages of errors.
#pragma once
#include <kiln/error.h>

#include <exception>
#include <source_location>
#include <string>
#include <string_view>

namespace kiln {

/// The path and number of a line as steps of compiled code have them, "src/net.cpp:12"; empty if unknown.
std::string path_and_line(const SourceLocation& location);
/// The same of the resolved call site; empty for a line of Kiln's own, or of the standard library.
std::string program_path_and_line(std::source_location where);

/// "net.cpp:12" of the resolved call site; empty for a line of Kiln's own, or of the standard library.
std::string program_line(std::source_location where);
/// "net.cpp:12: " of the resolved call site; nothing for a line of Kiln's own, or of the standard library.
std::string line_prefix(std::source_location where);

/// The location, as "net.cpp:12: ", with which a message begins; empty if there is none.
std::string_view place_of(std::string_view message);

/// Rethrows the current exception: an Error with the program's line, unless it starts with a location
/// already; std::bad_alloc as an Error.
[[noreturn]] void rethrow_at_line(std::source_location where);

/// Returns body(); its errors name the program's line `where`.
template <class Body>
auto at_line(std::source_location where, Body&& body) {
  try {
    return body();
  } catch (const std::exception&) {
    rethrow_at_line(where);
  }
}

}  // namespace kiln

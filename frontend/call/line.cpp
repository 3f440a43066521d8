// The program's line in the messages of errors.

#include "frontend/call/line.h"

#include "frontend/call/call_site.h"
#include "runtime/dynamic_type.h"
#include "runtime/fail.h"

#include <kiln/memory.h>

#include <new>
#include <stdexcept>

namespace kiln {
namespace {

// Whether a path has a file in `folder`, "include/kiln/". A compiler that found the folder from where it runs
// gives a path without a beginning.
bool is_below(std::string_view file, std::string_view folder) {
  for (std::size_t at = file.find(folder); at != std::string_view::npos; at = file.find(folder, at + 1))
    if (at == 0 || file[at - 1] == '/') return true;
  return false;
}

// Whether a line is the program's. It is not if a default argument is evaluated by the standard library
// (std::function, std::make_shared), by a header of Kiln or by Kiln itself.
bool is_of_program(std::string_view file) {
  constexpr std::string_view here = std::source_location::current().file_name(), name = "call/line.cpp";
  static_assert(here.ends_with(name));
  constexpr std::string_view library = here.substr(0, here.size() - name.size());
  return !file.starts_with(library) && !is_below(file, "include/kiln/") && !is_below(file, "include/c++/");
}

}  // namespace

std::string path_and_line(const SourceLocation& location) {
  return location.known() ? location.file + ":" + std::to_string(location.line) : std::string();
}

std::string program_path_and_line(std::source_location where) {
  const std::source_location resolved = CallSite::resolve(where);
  return is_of_program(resolved.file_name()) ? path_and_line(resolved) : std::string();
}

std::string program_line(std::source_location where) {
  const std::source_location resolved = CallSite::resolve(where);
  return is_of_program(resolved.file_name()) ? SourceLocation(resolved).str() : std::string();
}

std::string line_prefix(std::source_location where) {
  const std::string line = program_line(where);
  return line.empty() ? line : line + ": ";
}

std::string_view place_of(std::string_view message) {
  const std::size_t end = message.find(": ");
  if (end == std::string_view::npos) return {};
  const std::string_view place = message.substr(0, end);
  const std::size_t colon = place.rfind(':');
  const bool is_place = colon != std::string_view::npos && colon + 1 < place.size() &&
                        place.find(' ') == std::string_view::npos &&
                        place.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return is_place ? message.substr(0, end + 2) : std::string_view();
}

void rethrow_at_line(std::source_location where) {
  const std::string line = line_prefix(where);
  try {
    throw;
  } catch (const Error& e) {
    // Exceptions of the program's own types are rethrown unchanged.
    const std::type_info* const type = dynamic_type(e);
    if (line.empty() || !type || *type != typeid(Error) || !place_of(e.what()).empty()) throw;
    throw Error(line + e.what(), e.kind());
  } catch (const std::bad_alloc&) {
    fail("{}out of memory: {} bytes are held by live arrays", line, memory_report().live_bytes);
  } catch (const std::length_error&) {  // of a container of more elements than there are addresses
    fail("{}out of memory: {} bytes are held by live arrays", line, memory_report().live_bytes);
  }
}

}  // namespace kiln

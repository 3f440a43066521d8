// The error of handles that were moved from.
#include "frontend/call/moved_from.h"

#include "frontend/call/line.h"
#include "runtime/fail.h"

namespace kiln {

void detail::fail_moved_from(std::string_view kind, std::source_location where) {
  fail(
      "{}This {} was moved from and cannot be used: use the object that it was moved to, or assign it "
      "another",
      line_prefix(where), kind);
}

}  // namespace kiln

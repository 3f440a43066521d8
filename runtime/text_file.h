// Text files that a person reads: dumps, pages, traces.
#pragma once
#include <kiln/export.h>

#include <string>
#include <string_view>

namespace kiln {

/// Writes `text` into a file, in the place of its contents or, with `append`, after them. Returns the
/// system's reason why that failed, "No space left on device"; empty if it is written.
KILN_API std::string write_text(const std::string& path, std::string_view text, bool append = false);

}  // namespace kiln

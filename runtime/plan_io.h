#pragma once
#include "runtime/plan.h"

#include <span>
#include <string>
#include <vector>

namespace kiln {

/// The plan as text, for dumps and tests: one line for each kernel, constant and step.
KILN_API std::string to_string(const ExecutablePlan& plan);

/// The plan as bytes (CBOR, RFC 8949), which read_plan() reads on any machine of the same byte order. No file
/// format yet: another version of Kiln may write something else.
KILN_API std::vector<std::byte> write_plan(const ExecutablePlan& plan);
/// The plan that write_plan() wrote. Throws kiln::Error where the bytes are no plan; that the plan refers
/// only to what it has is checked by Executable. Machine code in it is taken as it is: read no plan that you
/// would not run.
KILN_API ExecutablePlan read_plan(std::span<const std::byte> bytes);

}  // namespace kiln

// Plans as text and as bytes.
#pragma once
#include "runtime/plan.h"

#include <span>
#include <string>
#include <vector>

namespace kiln {

/// The plan as text, for dumps and tests: one line for each kernel, constant and step.
KILN_API std::string to_string(const ExecutablePlan& plan);

/// The plan as bytes (CBOR, RFC 8949), which read_plan() reads on any machine of the same byte order. Not a
/// stable file format: another version of Kiln may write another.
KILN_API std::vector<std::byte> write_plan(const ExecutablePlan& plan);
/// The plan that write_plan() wrote. Throws kiln::Error if the bytes are no plan. Executable checks that the
/// plan's indices are in range. Machine code in it is not verified: read only plans that you would run.
KILN_API ExecutablePlan read_plan(std::span<const std::byte> bytes);

}  // namespace kiln

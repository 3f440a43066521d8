// The contents of a page, as JSON.
#pragma once
#include "codegen/driver/report.h"
#include "runtime/profile.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace kiln {

/// The reports and times of dump_html().
struct PageInput {
  std::string title;
  const ReportScope& reports;
  const Profile::Record& profile;
  std::int64_t calls = 0;                   ///< profiled
  const Profile::Record* bodies = nullptr;  ///< of calls in which bodies were measured; null: there are none
  std::int64_t body_calls = 0;
  double call_seconds = 0;  ///< median of a call without profile
};

/// Assembly is cut so that a page has no more bytes of JSON than this. It has room for min_assembly_bytes in
/// any case.
inline constexpr std::size_t max_page_bytes = 4'500'000;
inline constexpr std::size_t min_assembly_bytes = 400'000;

/// Files, nodes, graphs, kernels and assemblies, which refer to each other by number (template/README.md).
nlohmann::ordered_json page_json(const PageInput& input);

}  // namespace kiln

// The names and flags of dtypes, by the table.
#include "runtime/dtype_table.h"

#include <algorithm>

namespace kiln {
namespace {

template <class Wanted>
std::optional<DType> find(const Wanted& wanted) {
  const auto* const row = std::ranges::find_if(dtype_table, wanted);
  return row == dtype_table.end() ? std::nullopt : std::optional(row->dtype);
}

static_assert(std::ranges::all_of(dtype_table, [](const DTypeRow& r) {
  return size_of(r.dtype) == r.bytes && is_floating(r.dtype) == (r.kind == DTypeKind::floating);
}));

}  // namespace

std::string_view name_of(DType d) {
  const DTypeRow& row = row_of(d);
  return row.dtype == d ? row.name : "unknown";
}

std::optional<DType> dtype_from_name(std::string_view name) {
  return find([&](const DTypeRow& r) { return r.name == name; });
}

std::optional<DType> dtype_from_flag(std::int64_t flag) {
  return find([&](const DTypeRow& r) { return static_cast<std::int64_t>(r.dtype) == flag; });
}

}  // namespace kiln

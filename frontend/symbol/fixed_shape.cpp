// Reads, writes and checks the fixed extents of an input.
#include "frontend/symbol/fixed_shape.h"

#include <algorithm>
#include <fmt/format.h>

namespace kiln {
namespace {

constexpr std::string_view key = "__fixed_shape__";

std::string to_text(const ir::OptionalInts& extents) {
  std::string text;
  for (const auto& d : extents) text += (text.empty() ? "" : ", ") + (d ? std::to_string(*d) : "any");
  return "(" + text + (extents.size() == 1 ? ",)" : ")");
}

}  // namespace

void set_fixed_shape(std::map<std::string, std::string>& attrs, const ir::OptionalInts& extents) {
  attrs[std::string(key)] = ir::to_text(extents);
}

void require_fixed_shape(const ir::Node& variable, const ir::PartialShape* shape, const std::string& file) {
  const auto found = variable.attr_text.find(key);
  if (found == variable.attr_text.end()) return;
  const std::string in = file.empty() ? "" : file + ": ";
  ir::OptionalInts extents;
  try {
    extents = std::get<ir::OptionalInts>(
        ir::parse_attr({.name = key, .kind = ir::AttrKind::optional_ints, .fallback = {}}, found->second));
  } catch (const Error& e) {
    throw Error(fmt::format("{}the variable '{}' declares {} = \"{}\": {}", in, variable.name, key,
                            found->second, e.what()));
  }
  if (shape && !shape->ranked) return;
  bool fits = shape && shape->extents.size() == extents.size();
  for (std::size_t i = 0; fits && i < extents.size(); ++i) {
    const std::int64_t given = shape->extents[i];
    fits = !extents[i] || given < 0 || *extents[i] == given;
  }
  if (fits) return;
  throw FixedShapeError(
      fmt::format("{}the network was exported for '{}' of shape {}, and its graph computes something else at "
                  "other sizes. It got "
                  "{}: export it again from a call with that shape",
                  in, variable.name, to_text(extents),
                  shape ? "the shape " + shape->str() : "a symbol, which has no shape"));
}

}  // namespace kiln

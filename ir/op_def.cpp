// Checks of definitions, and defaults of attributes.
#include "ir/op_def.h"

#include "runtime/fail.h"

#include <algorithm>

namespace kiln::ir {
namespace {

// Converts a value given by a program to the kind of the spec. An integer is accepted as a real, an axis, a
// list of one.
AttrValue converted(const OpDef& op, const AttrSpec& spec, const AttrValue& v) {
  const bool none = std::holds_alternative<None>(v);
  if (none && (spec.or_none || spec.fallback == AttrValue(None{}))) return v;
  const auto* i = std::get_if<std::int64_t>(&v);
  const auto* s = std::get_if<std::string>(&v);
  switch (spec.kind) {
    case AttrKind::boolean:
      if (std::holds_alternative<bool>(v)) return v;
      if (i && (*i == 0 || *i == 1)) return *i == 1;
      break;
    case AttrKind::integer:
      if (i) return v;
      if (const auto* b = std::get_if<bool>(&v)) return std::int64_t{*b};
      break;
    case AttrKind::real:
      if (std::holds_alternative<double>(v)) return v;
      if (i) return static_cast<double>(*i);
      break;
    case AttrKind::tuple:
      if (std::holds_alternative<Shape>(v)) return v;
      if (i) return Shape{*i};
      break;
    case AttrKind::optional_ints:
      if (std::holds_alternative<OptionalInts>(v)) return v;
      if (i) return OptionalInts{*i};
      if (const auto* t = std::get_if<Shape>(&v)) return OptionalInts(t->begin(), t->end());
      break;
    case AttrKind::integers:
      if (const auto* list = std::get_if<OptionalInts>(&v))
        if (std::find(list->begin(), list->end(), std::nullopt) == list->end()) return v;
      if (i) return OptionalInts{*i};
      if (const auto* t = std::get_if<Shape>(&v)) return OptionalInts(t->begin(), t->end());
      break;
    default:
      break;
  }
  if (s) return parse_attr(spec, *s);
  fail("expected another kind of value than {}", to_text(v));
}

}  // namespace

const AttrSpec* OpDef::attr(std::string_view attr_name) const {
  for (const AttrSpec& spec : attrs)
    if (spec.name == attr_name) return &spec;
  return nullptr;
}

std::size_t OpDef::input_count(const Attrs& a) const {
  if (variadic && !count_attr.empty()) {
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(a.integer(count_attr), 0));
    return count * inputs_per_count - std::min(count, bodies);
  }
  if (variadic) return 0;
  if (active_names) return active_names(a).size();
  return active_inputs ? active_inputs(a) : inputs.size();
}

std::vector<std::string_view> OpDef::input_names(const Attrs& a) const {
  if (variadic) return {};
  return active_names ? active_names(a) : inputs;
}

Attrs OpDef::complete(const Attrs& given) const {
  Attrs out(name);
  for (const Attrs::Item& item : given.items())
    if (!attr(item.name)) fail("{} has no attribute '{}'", name, item.name);
  for (const AttrSpec& spec : attrs) {
    const AttrValue* v = given.find(spec.name);
    if (!v && !spec.fallback) fail("{} needs the attribute '{}'", name, spec.name);
    try {
      out.set(spec.name, v ? converted(*this, spec, *v) : *spec.fallback);
    } catch (const Error& e) {
      fail("{}: attribute '{}': {}", name, spec.name, e.what());
    }
  }
  return out;
}

}  // namespace kiln::ir

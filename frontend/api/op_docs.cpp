// The definitions of operators as data: their reference, for `kiln ops` and tools/reference.
#include "frontend/api/op_names.h"
#include "frontend/api/op_spellings.h"
#include "ir/op_def.h"
#include "runtime/fail.h"

#include <kiln/op_docs.h>

#include <algorithm>
#include <fmt/ranges.h>
#include <span>
#include <utility>

namespace kiln {
namespace {

std::string kind_text(const ir::AttrSpec& spec) {
  auto plain = [&]() -> std::string {
    switch (spec.kind) {
      case ir::AttrKind::boolean:
        return "boolean";
      case ir::AttrKind::integer:
        return "integer";
      case ir::AttrKind::real:
        return "real";
      case ir::AttrKind::tuple:
        return "tuple";
      case ir::AttrKind::optional_ints:
        return "tuple with None";
      case ir::AttrKind::integers:
        return "list of integers";
      case ir::AttrKind::word:
        return fmt::format("one of {}", fmt::join(spec.words, ", "));
      case ir::AttrKind::dtype:
        return "dtype";
      case ir::AttrKind::text:
        return "text";
    }
    return "text";
  };
  return spec.or_none ? plain() + " or None" : plain();
}

bool is_plain(const ir::OpDef& op) {
  return !op.active_inputs && !op.active_names && op.aux.empty() && op.bodies == 0;
}

/// The text of a default. MXNet's defaults of float32 are shown as they were written: 0.001, not the double
/// of the nearest float32.
std::string default_text(const ir::AttrValue& value) {
  if (const double* const number = std::get_if<double>(&value))
    if (const float narrow = static_cast<float>(*number); static_cast<double>(narrow) == *number)
      return ir::to_text(std::stod(fmt::format("{}", narrow)));
  return ir::to_text(value);
}

OpDoc describe(const ir::OpDef& op, std::string_view family) {
  OpDoc doc;
  doc.name = op.name;
  doc.aliases.assign(op.aliases.begin(), op.aliases.end());
  doc.family = family;
  doc.summary = op.summary;
  doc.inputs.assign(op.inputs.begin(), op.inputs.end());
  doc.variadic = op.variadic;
  doc.plain = is_plain(op);
  doc.several_results = op.visible_outputs != nullptr;
  doc.spelling = op.spelling;
  for (const ir::AttrSpec& spec : op.attrs)
    doc.attributes.push_back(
        {.name = std::string(spec.name),
         .kind = kind_text(spec),
         .fallback = spec.fallback ? std::optional(default_text(*spec.fallback)) : std::nullopt,
         .meaning = std::string(spec.meaning),
         .ignored = std::string(spec.ignored)});
  for (const OpSpelling& s : op_spellings())
    if (s.op == op.name) doc.spellings.emplace_back(s.cxx);
  const ir::OpReference& r = op.reference;
  doc.shapes = r.shapes;
  doc.dtypes = r.dtypes;
  doc.broadcasting = r.broadcasting;
  doc.nan = r.nan;
  doc.ties = r.ties;
  doc.empty = r.empty;
  doc.integers = r.integers;
  doc.gradient = r.gradient;
  doc.formula = r.formula;
  doc.source = r.source;
  return doc;
}

/// "A", "A or B", "A, B or C".
std::string choice_of(const std::vector<std::string>& names) {
  const std::span all(names);
  if (all.size() < 2) return fmt::format("{}", fmt::join(all, ""));
  return fmt::format("{} or {}", fmt::join(all.first(all.size() - 1), ", "), all.back());
}

}  // namespace

std::vector<OpDoc> op_docs() {
  std::vector<OpDoc> docs;
  for (const ir::OpFamily& family : ir::op_families())
    for (const ir::OpDef& op : family.ops) docs.push_back(describe(op, family.title));
  std::sort(docs.begin(), docs.end(), [](const OpDoc& a, const OpDoc& b) { return a.name < b.name; });
  return docs;
}

std::vector<OpDoc> op_docs(std::string_view name) {
  std::vector<std::string_view> ops;
  if (const ir::OpDef* op = ir::find_op(name))
    ops = {op->name};
  else
    ops = ops_spelled(name);
  std::vector<OpDoc> docs;
  for (const std::string_view op : ops)
    for (const ir::OpFamily& family : ir::op_families())
      for (const ir::OpDef& def : family.ops)
        if (def.name == op) docs.push_back(describe(def, family.title));
  if (!docs.empty()) return docs;
  const std::vector<std::string> like = ops_like(name);
  fail("there is no operator {}{}", name,
       like.empty() ? "; `kiln ops` lists them" : fmt::format("; did you mean {}?", choice_of(like)));
}

OpDoc op_doc(std::string_view name) {
  std::vector<OpDoc> docs = op_docs(name);
  if (docs.size() == 1) return std::move(docs.front());
  std::vector<std::string> names;
  for (const OpDoc& d : docs) names.push_back(d.name);
  fail("{} calls several operators: {}", name, fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace kiln

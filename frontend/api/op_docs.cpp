// The definitions of operators as data, for `kiln ops`.
#include "ir/op_def.h"
#include "runtime/fail.h"

#include <kiln/op_docs.h>

#include <algorithm>
#include <fmt/ranges.h>

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

OpDoc describe(const ir::OpDef& op) {
  OpDoc doc;
  doc.name = op.name;
  doc.aliases.assign(op.aliases.begin(), op.aliases.end());
  doc.summary = op.summary;
  doc.inputs.assign(op.inputs.begin(), op.inputs.end());
  doc.variadic = op.variadic;
  for (const ir::AttrSpec& spec : op.attrs)
    doc.attributes.push_back({std::string(spec.name), kind_text(spec),
                              spec.fallback ? std::optional(ir::to_text(*spec.fallback)) : std::nullopt,
                              std::string(spec.ignored)});
  return doc;
}

}  // namespace

std::vector<OpDoc> op_docs() {
  std::vector<OpDoc> docs;
  for (const ir::OpDef* op : ir::all_ops()) docs.push_back(describe(*op));
  std::sort(docs.begin(), docs.end(), [](const OpDoc& a, const OpDoc& b) { return a.name < b.name; });
  return docs;
}

OpDoc op_doc(std::string_view name) {
  if (const ir::OpDef* op = ir::find_op(name)) return describe(*op);
  std::string_view near = ir::nearest_op(name);
  fail("there is no operator {}{}", name,
       near.empty() ? std::string("; `kiln ops` lists them") : fmt::format("; did you mean {}?", near));
}

}  // namespace kiln

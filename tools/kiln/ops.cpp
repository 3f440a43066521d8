// kiln ops: lists the operators, or describes one.
#include "tools/kiln/command.h"

#include <kiln/op_docs.h>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::tool {
namespace {

void list_operators() {
  std::vector<OpDoc> docs = op_docs();
  std::size_t width = 0;
  for (const OpDoc& d : docs) width = std::max(width, std::min<std::size_t>(d.name.size(), 28));
  for (const OpDoc& d : docs) fmt::print("{:{}}  {}\n", d.name, width, d.summary);
}

void describe(const OpDoc& d) {
  fmt::print("{}({}{})\n", d.name, fmt::join(d.inputs, ", "), d.variadic ? ", ..." : "");
  if (!d.summary.empty()) fmt::print("  {}\n", d.summary);
  if (!d.aliases.empty()) fmt::print("also: {}\n", fmt::join(d.aliases, ", "));
  if (!d.attributes.empty()) fmt::print("attributes:\n");
  std::size_t names = 0, kinds = 0;
  for (const OpDoc::Attribute& a : d.attributes) {
    names = std::max(names, a.name.size());
    kinds = std::max(kinds, std::min<std::size_t>(a.kind.size(), 44));
  }
  for (const OpDoc::Attribute& a : d.attributes)
    fmt::print("  {:{}}  {:{}}  {}{}\n", a.name, names, a.kind, kinds,
               a.fallback ? "= " + *a.fallback : "required",
               a.ignored.empty() ? std::string() : "; ignored: " + a.ignored);
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  auto name = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("ops", "List the operators, or describe one");
  c->add_option("NAME", *name, "An operator or an alias")->option_text(" ");
  c->callback([name, &action] {
    action = [name] {
      if (name->empty())
        list_operators();
      else
        describe(op_doc(*name));
      return ok;
    };
  });
}

}  // namespace kiln::tool

// kiln ops: lists the operators, or prints the reference of one or of all that a function calls, as text or
// as JSON.
#include "tools/kiln/command.h"
#include "tools/kiln/wrapped.h"

#include <kiln/op_docs.h>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace kiln::tool {
namespace {

using Json = nlohmann::ordered_json;

/// The sections of an operator's page, in their order, with the names that --json has for them.
struct Section {
  const char* key;
  const char* label;
  std::string OpDoc::*text;
};
constexpr Section sections[] = {{"shapes", "shapes", &OpDoc::shapes},
                                {"formula", "formula", &OpDoc::formula},
                                {"dtypes", "dtypes", &OpDoc::dtypes},
                                {"broadcasting", "broadcasting", &OpDoc::broadcasting},
                                {"nan", "NaN", &OpDoc::nan},
                                {"ties", "ties", &OpDoc::ties},
                                {"empty", "empty arrays", &OpDoc::empty},
                                {"integers", "integers", &OpDoc::integers},
                                {"gradient", "gradient", &OpDoc::gradient},
                                {"source", "source", &OpDoc::source}};
constexpr std::size_t label_width = 14;

/// The first line after `label`, the others below its text.
void print_labelled(const std::string& label, const std::string& text) {
  if (text.empty()) return;
  std::string before = label;
  for (const std::string& line : wrapped(text, page_width - label_width)) {
    fmt::print("{:<{}}{}\n", before, label_width, line);
    before.clear();
  }
}

void print_indented(const std::string& text, std::size_t columns) {
  for (const std::string& line : wrapped(text, page_width - columns))
    fmt::print("{:{}}{}\n", "", columns, line);
}

void list_operators() {
  std::vector<OpDoc> docs = op_docs();
  std::size_t width = 0;
  for (const OpDoc& d : docs) width = std::max(width, std::min<std::size_t>(d.name.size(), 28));
  for (const OpDoc& d : docs) fmt::print("{:{}}  {}\n", d.name, width, d.summary);
}

void print_attribute(const OpDoc::Attribute& a) {
  print_indented(
      fmt::format("{}: {}, {}", a.name, a.kind, a.fallback ? "default " + *a.fallback : "required"), 2);
  print_indented(a.meaning, 6);
  if (!a.ignored.empty()) print_indented(fmt::format("Ignored: {}.", a.ignored), 6);
}

void describe(const OpDoc& d) {
  print_indented(fmt::format("{}({}{})", d.name, fmt::join(d.inputs, ", "), d.variadic ? ", ..." : ""), 0);
  print_indented(d.summary, 2);
  fmt::print("\n");
  print_labelled("C++", d.spellings.empty() ? "none: in symbol files alone"
                                            : fmt::format("{}", fmt::join(d.spellings, ", ")));
  print_labelled("also in files", fmt::format("{}", fmt::join(d.aliases, ", ")));
  for (const Section& s : sections) print_labelled(s.label, d.*s.text);
  if (d.attributes.empty()) return;
  fmt::print("\nattributes\n");
  for (const OpDoc::Attribute& a : d.attributes) print_attribute(a);
}

/// The page of each operator that a name stands for.
void describe_all(const std::string& name) {
  const std::vector<OpDoc> docs = op_docs(name);
  if (docs.size() > 1) {
    std::vector<std::string> names;
    for (const OpDoc& d : docs) names.push_back(d.name);
    print_indented(fmt::format("{} calls one of several operators: {}", name, fmt::join(names, ", ")), 0);
  }
  for (const OpDoc& d : docs) {
    if (docs.size() > 1) fmt::print("\n");
    describe(d);
  }
}

Json as_json(const OpDoc& d) {
  Json attributes = Json::array();
  for (const OpDoc::Attribute& a : d.attributes)
    attributes.push_back({{"name", a.name},
                          {"kind", a.kind},
                          {"default", a.fallback ? Json(*a.fallback) : Json()},
                          {"meaning", a.meaning},
                          {"ignored", a.ignored}});
  Json json{{"name", d.name},
            {"aliases", d.aliases},
            {"family", d.family},
            {"summary", d.summary},
            {"inputs", d.inputs},
            {"variadic", d.variadic},
            {"plain", d.plain},
            {"attributes", attributes},
            {"spellings", d.spellings},
            {"spelling", d.spelling},
            {"several_results", d.several_results}};
  for (const Section& s : sections) json[s.key] = d.*s.text;
  return json;
}

void print_json(const std::string& name) {
  const std::vector<OpDoc> docs = name.empty() ? op_docs() : op_docs(name);
  Json json;
  if (docs.size() == 1)
    json = as_json(docs.front());
  else
    for (const OpDoc& d : docs) json.push_back(as_json(d));
  fmt::print("{}\n", json.dump(1));
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  struct Arguments {
    std::string name;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("ops", "List the operators, or print the reference of one");
  c->add_option("NAME", arguments->name, "An operator, an alias, or a function or layer of C++")
      ->option_text(" ");
  c->add_flag("--json", arguments->json, "Print it as JSON, several as an array; without NAME all");
  c->callback([arguments, &action] {
    action = [arguments] {
      if (arguments->json)
        print_json(arguments->name);
      else if (arguments->name.empty())
        list_operators();
      else
        describe_all(arguments->name);
      return ok;
    };
  });
}

}  // namespace kiln::tool

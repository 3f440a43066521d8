// kiln info: the arrays, operators and multiply-adds of a model, or the arrays of a file.
#include "tools/kiln/command.h"
#include "tools/kiln/model_arguments.h"
#include "tools/kiln/wrapped.h"

#include <kiln/model_info.h>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace kiln::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t width = 80;

struct InfoArguments {
  std::string model, params;
  std::vector<std::string> shapes;
  bool json = false;
};

/// A text of at most `most` characters: its middle is left out.
std::string fitted(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t tail = (most - 3) / 2;
  return text.substr(0, most - 3 - tail) + "..." + text.substr(text.size() - tail);
}

/// "(2, ?, 3)"
std::string shape_text(const ArrayInfo& a) {
  if (!a.shape) return "?";
  std::vector<std::string> extents;
  for (const std::int64_t d : *a.shape) extents.push_back(d < 0 ? "?" : std::to_string(d));
  return fmt::format("({}{})", fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
}

std::string bytes_text(const ArrayInfo& a) {
  return a.bytes ? short_number(static_cast<double>(*a.bytes)) : "?";
}

/// Elements and bytes of all arrays; of the ones that are known, if not all are.
struct Total {
  double elements = 0, bytes = 0;
  bool known = true;
  explicit Total(const std::vector<ArrayInfo>& arrays) {
    for (const ArrayInfo& a : arrays) {
      known = known && a.bytes.has_value();
      elements += static_cast<double>(a.elements.value_or(0));
      bytes += static_cast<double>(a.bytes.value_or(0));
    }
  }
};

std::string numbered(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void print_arrays(const char* title, const std::vector<ArrayInfo>& arrays) {
  const Total total(arrays);
  fmt::print("\n{}: {}, {}{} elements, {} bytes\n", title, arrays.size(), total.known ? "" : "at least ",
             short_number(total.elements), short_number(total.bytes));
  constexpr std::size_t max_shape = 30, bytes = 7, gaps = 8, dtype = 8;
  std::size_t shape = 1;
  for (const ArrayInfo& a : arrays) shape = std::max(shape, std::min(shape_text(a).size(), max_shape));
  std::size_t name = 1;
  const std::size_t max_name = width - gaps - dtype - shape - bytes;
  for (const ArrayInfo& a : arrays) name = std::max(name, std::min(a.name.size(), max_name));
  for (const ArrayInfo& a : arrays)
    fmt::print("  {:<{}}  {:<{}}  {:<{}}  {:>{}}\n", fitted(a.name, name), name,
               a.dtype ? std::string(name_of(*a.dtype)) : "?", dtype, fitted(shape_text(a), shape), shape,
               bytes_text(a), bytes);
}

std::string lack_text(const OperatorInfo& op) {
  if (op.known) return {};
  return op.nearest.empty() ? "Kiln lacks it" : fmt::format("Kiln lacks it; is '{}' meant?", op.nearest);
}

/// The remedy where no shape of a node is known, as far as inputs are to blame.
std::string uncounted_text(const ModelInfo& info) {
  std::string text = fmt::format("{} not counted: Kiln lacks the operator, or shapes are unknown",
                                 numbered(static_cast<std::size_t>(info.uncounted_nodes), "node"));
  std::vector<std::string> unknown;
  for (const ArrayInfo& a : info.inputs)
    if (!a.elements) unknown.push_back(a.name);
  if (!unknown.empty())
    text += fmt::format("\ngive shapes, as --shape {}=N,...", fitted(unknown.front(), 40));
  return text;
}

void print_operators(const ModelInfo& info) {
  std::size_t nodes = 0, name = 8;
  for (const OperatorInfo& op : info.operators) {
    nodes += static_cast<std::size_t>(op.count);
    name = std::max(name, std::min<std::size_t>(op.name.size(), 30));
  }
  fmt::print("\noperators: {} in {}\n", info.operators.size(), numbered(nodes, "node"));
  fmt::print("  {:<{}}  {:>5}  {:>13}  {:>6}\n", "", name, "nodes", "multiply-adds", "share");
  for (const OperatorInfo& op : info.operators) {
    const std::string count = !op.known ? "" : op.multiply_adds > 0 ? short_number(op.multiply_adds) : "-";
    const std::string share =
        op.multiply_adds > 0 ? fmt::format("  {:>5.1f}%", 100 * op.multiply_adds / info.multiply_adds) : "";
    fmt::print("  {:<{}}  {:>5}  {}\n", fitted(op.name, name), name, op.count,
               op.known ? fmt::format("{:>13}{}", count, share) : fitted(lack_text(op), width - name - 11));
  }
  const bool none = info.uncounted_nodes > 0 && info.multiply_adds == 0;
  fmt::print("\nmultiply-adds of a call: {}{}\n",
             none                           ? ""
             : info.uncounted_nodes > 0     ? "at least "
             : info.multiply_adds_are_bound ? "at most "
                                            : "",
             none ? "?" : short_number(info.multiply_adds));
  if (info.uncounted_nodes > 0) fmt::print("{}\n", uncounted_text(info));
  if (!info.not_inferred.empty()) fmt::print("shapes are not inferred: {}\n", info.not_inferred);
}

void print_text(const InfoArguments& a, const ModelInfo& info) {
  fmt::print("{}: {}\n", a.model, info.format == "symbol" ? "a symbol file" : "arrays, " + info.format);
  if (info.format == "symbol") print_arrays("inputs", info.inputs);
  print_arrays(info.format == "symbol" ? "parameters" : "arrays", info.parameters);
  if (info.format != "symbol") return;
  print_arrays("outputs", info.outputs);
  print_operators(info);
}

Json to_json(const ArrayInfo& a) {
  Json array{
      {"name", a.name}, {"dtype", nullptr}, {"shape", nullptr}, {"elements", nullptr}, {"bytes", nullptr}};
  if (a.dtype) array["dtype"] = name_of(*a.dtype);
  if (a.shape) {
    array["shape"] = Json::array();
    for (const std::int64_t d : *a.shape) array["shape"].push_back(d < 0 ? Json() : Json(d));
  }
  if (a.elements) array["elements"] = *a.elements;
  if (a.bytes) array["bytes"] = *a.bytes;
  return array;
}

Json to_json(const std::vector<ArrayInfo>& arrays) {
  Json list = Json::array();
  for (const ArrayInfo& a : arrays) list.push_back(to_json(a));
  return list;
}

/// An integer where a double holds one exactly.
Json count_of(double n) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  return n < exact ? Json(static_cast<std::int64_t>(n)) : Json(n);
}

void print_json(const ModelInfo& info) {
  Json json{{"format", info.format}};
  if (info.format != "symbol") {
    json["arrays"] = to_json(info.parameters);
  } else {
    json["inputs"] = to_json(info.inputs);
    json["parameters"] = to_json(info.parameters);
    json["outputs"] = to_json(info.outputs);
    json["operators"] = Json::array();
    for (const OperatorInfo& op : info.operators)
      json["operators"].push_back({{"name", op.name},
                                   {"nodes", op.count},
                                   {"known", op.known},
                                   {"multiply_adds", count_of(op.multiply_adds)}});
    json["multiply_adds"] = count_of(info.multiply_adds);
    json["multiply_adds_are_bound"] = info.multiply_adds_are_bound;
    json["uncounted_nodes"] = info.uncounted_nodes;
    if (!info.not_inferred.empty()) json["not_inferred"] = info.not_inferred;
  }
  const Total total(info.parameters);
  json["total"] = {
      {"elements", count_of(total.elements)}, {"bytes", count_of(total.bytes)}, {"known", total.known}};
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

int info(const InfoArguments& a) {
  ModelInfoOptions options;
  if (!a.params.empty()) options.params = a.params;
  for (const std::string& text : a.shapes) options.shapes.insert(parse_shape(text));
  const ModelInfo found = model_info(a.model, options, {});
  a.json ? print_json(found) : print_text(a, found);
  return ok;
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
  auto a = std::make_shared<InfoArguments>();
  CLI::App* c = app.add_subcommand("info", "List a file's arrays, operators and multiply-adds");
  c->add_option("MODEL", a->model, "-symbol.json, .params, .npy, .npz or .safetensors")
      ->required()
      ->option_text(" ");
  c->add_option("--params", a->params, "Parameters of a -symbol.json")->option_text("FILE");
  add_shapes(*c, a->shapes, "Shapes of inputs: data=1,3,224,224");
  c->add_flag("--json", a->json, "Print JSON");
  c->callback([a, &action] { action = [a] { return info(*a); }; });
}

}  // namespace kiln::tool

// Converts the arrays of a model between formats.
#include "frontend/call/line.h"
#include "frontend/formats/file_io.h"
#include "frontend/symbol/symbol_graph.h"
#include "frontend/symbol/symbol_infer.h"
#include "runtime/fail.h"

#include <kiln/io.h>
#include <kiln/model.h>

#include <set>

namespace kiln {
namespace {

/// Names with export's prefixes: argument or auxiliary state by the symbol's operators. If an operator is
/// unknown to Kiln, the prefix in the file is kept.
std::vector<NamedArray> exported(std::vector<NamedArray> arrays, const std::vector<ir::NodePtr>& order,
                                 const std::string& symbol_path, const std::string& params_path) {
  bool all_known = true;
  for (const ir::NodePtr& node : order) all_known = all_known && (node->is_variable() || node->op);
  const Variables variables = variables_of(order);
  std::set<std::string> arguments, states;
  for (const ir::NodePtr& n : variables.arguments) arguments.insert(n->name);
  for (const ir::NodePtr& n : variables.auxiliary_states) states.insert(n->name);
  for (NamedArray& array : arrays) {
    const std::string given = array.name.substr(0, 4);
    const bool has_kind = given == "arg:" || given == "aux:";
    const std::string name = has_kind ? array.name.substr(4) : array.name;
    if (!arguments.contains(name) && !states.contains(name)) {
      fail("{}: the array '{}' belongs to no variable of {}", params_path, array.name, symbol_path);
    }
    if (!all_known && has_kind) continue;
    array.name = (states.contains(name) ? "aux:" : "arg:") + name;
  }
  return arrays;
}

}  // namespace

void convert_model(const std::string& symbol_path, const std::string& prefix,
                   const std::optional<std::string>& params_path, int epoch, std::source_location where) try {
  if (epoch < 0) fail("the epoch must be 0 or more, not {}", epoch);
  const std::vector<std::byte> bytes = read_file(symbol_path, "symbol file");
  const SymbolGraph graph =
      parse_symbol_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, symbol_path);
  std::vector<NamedArray> arrays;
  if (params_path)
    arrays = exported(load_arrays(*params_path, {}), ir::topological_order(graph.heads), symbol_path,
                      *params_path);
  write_file(prefix + "-symbol.json", format_symbol_file(to_file_graph(graph)), "symbol file");
  if (params_path)
    save_arrays(fmt::format("{}-{:04}.params", prefix, epoch), arrays,
                {.numpy_mode = in_numpy_mode(ir::topological_order(graph.heads))}, {});
} catch (const Error&) {
  rethrow_at_line(where);
}

}  // namespace kiln

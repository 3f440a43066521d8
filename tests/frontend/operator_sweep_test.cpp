// Every operator with every dtype and shapes of all kinds: the same bits eagerly and compiled, where compiled
// means among neighbours to be fused with; and on a GPU. The samples stand in support/graphs/samples_*.cpp.
#include "graphs/compare.h"
#include "graphs/samples.h"

#include <kiln/op_docs.h>

#include <bit>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

using namespace kiln;
using namespace graphs;

namespace {

/// How an operator stands in a larger graph.
enum class Place {
  between,  ///< after and before pointwise operators
  viewed,   ///< its inputs are views of arrays stored in another order; its results are used twice
};

/// A graph that holds samples of one operator, and what its variables are filled with.
struct Sweep {
  Graph graph;
  std::vector<std::pair<std::string, Values>> filled;

  Tensor values(const std::string& name, const Shape& shape, DType dtype, const Values& kind,
                bool special) const {
    return make_values(shape, dtype, kind, std::hash<std::string>()(name), special);
  }
  Ref variable(const std::string& name, const Shape& shape, DType dtype, const Values& kind) {
    filled.emplace_back(name, kind);
    return graph.add_variable(name, values(name, shape, dtype, kind, false));
  }
  /// The variables' values, with NaN, infinities and other special values among them.
  std::map<std::string, Tensor> special_values() const {
    std::map<std::string, Tensor> all;
    for (const Node& node : graph.nodes)
      for (const auto& [name, kind] : filled)
        if (node.name == name) all[name] = values(name, node.value.shape(), node.value.dtype(), kind, true);
    return all;
  }
};

Shape reversed(const Shape& s) {
  Shape r;
  for (std::size_t i = s.size(); i-- > 0;) r.push_back(s[i]);
  return r;
}

DType dtype_of_input(const Input& input, DType dtype) { return input.dtype.value_or(dtype); }

/// An operator that has every dtype, and loses nothing: what stands around the one that is tested.
std::string neighbour(DType dtype) { return dtype == DType::boolean ? "logical_not" : "negative"; }

Ref placed_input(Sweep& sweep, const Input& input, DType dtype, Place place, const std::string& name) {
  const DType d = dtype_of_input(input, dtype);
  const bool turned = place == Place::viewed && input.shape.rank() > 1;
  const Ref x = sweep.variable(name, turned ? reversed(input.shape) : input.shape, d, input.values);
  if (turned) return sweep.graph.add("transpose", name + "_view", {x});
  if (place == Place::viewed && input.shape.rank() == 1)
    return sweep.graph.add("reverse", name + "_view", {x}, {{"axis", "0"}});
  if (input.values.kind == Values::Kind::indices)
    return sweep.graph.add("_maximum_scalar", name + "_before", {x}, {{"scalar", "0"}});
  return sweep.graph.add(neighbour(d), name + "_before", {x});
}

void add_placed(Sweep& sweep, const Row& row, const std::string& op, const Sample& sample, DType dtype,
                Place place, const std::vector<DType>& results, const std::string& name) {
  Graph& g = sweep.graph;
  std::vector<Ref> inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Input& input = sample.inputs[i];
    const std::string input_name = fmt::format("{}_in{}", name, i);
    inputs.push_back(i + row.states >= sample.inputs.size()
                         ? sweep.variable(input_name, input.shape, dtype_of_input(input, dtype), input.values)
                         : placed_input(sweep, input, dtype, place, input_name));
  }
  const Ref node = g.add(op, name, inputs, sample.attrs);
  g.nodes[node.node].subgraphs = sample.subgraphs;
  for (std::uint32_t k = 0; k < results.size(); ++k) {
    const Ref result{node.node, k};
    g.outputs.push_back(g.add(neighbour(results[k]), fmt::format("{}_after{}", name, k), {result}));
    if (place == Place::between) continue;
    g.outputs.push_back(result);
    if (results[k] != DType::boolean)
      g.outputs.push_back(g.add("square", fmt::format("{}_square{}", name, k), {result}));
  }
}

/// The operator alone on a sample: its results' dtypes, or why Kiln refuses it.
struct Outcome {
  std::vector<DType> types;
  std::string refusal;
};

Outcome outcome_of(const std::string& op, const Sample& sample, DType dtype) {
  Sweep alone;
  std::vector<Ref> inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Input& input = sample.inputs[i];
    inputs.push_back(
        alone.variable(fmt::format("in{}", i), input.shape, dtype_of_input(input, dtype), input.values));
  }
  const Ref node = alone.graph.add(op, "alone", inputs, sample.attrs);
  alone.graph.nodes[node.node].subgraphs = sample.subgraphs;
  alone.graph.outputs = {node};
  try {
    for (std::uint32_t k = 1; k < outputs_of(alone.graph.nodes[node.node]); ++k)
      alone.graph.outputs.push_back({node.node, k});
    Outcome outcome;
    for (const Tensor& t : Runner(alone.graph, RunMode::eager).run(1).arrays)
      outcome.types.push_back(t.dtype());
    return outcome;
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(e.kind() == Error::Kind::user);
    CHECK_THROWS_AS(Runner(alone.graph, RunMode::compiled), Error);
    return {{}, e.what()};
  }
}

/// Whether a dtype gets a sample: float32 gets all, others half. In that half each bit of the number takes
/// both values; for with_ones() a bit says whether an extent is 1.
bool takes(const Sample& sample, std::size_t number, DType dtype, std::size_t rows) {
  if (sample.large || dtype == DType::f32) return dtype == DType::f32;
  return rows < 4 ||
         static_cast<std::size_t>(std::popcount(number)) % 2 == static_cast<std::size_t>(dtype) % 2;
}

void sweep_operator(const Row& row, const std::string& op, Device device) {
  bool accepted = false;
  for (const DType dtype : all_dtypes) {
    Sweep all;
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
      const Sample& sample = row.samples[i];
      if (!takes(sample, i, dtype, row.samples.size())) continue;
      if (sample.inputs.empty() && dtype != DType::f32) continue;
      const Outcome outcome = outcome_of(op, sample, dtype);
      const bool must = std::find(row.dtypes.begin(), row.dtypes.end(), dtype) != row.dtypes.end();
      if (must) {
        INFO(op << " sample " << i << " with " << name_of(dtype));
        CHECK(outcome.refusal == "");
      }
      if (outcome.types.empty()) continue;
      accepted = true;
      for (const Place place : {Place::between, Place::viewed}) {
        const std::string name = fmt::format("{}{}", place == Place::between ? "between" : "viewed", i);
        add_placed(all, row, op, sample, dtype, place, outcome.types, name);
      }
    }
    if (all.graph.outputs.empty()) continue;
    for (const bool train : {false, true}) {
      if (train && !row.train) continue;
      all.graph.train = train;
      const Comparison result = compare(all.graph, {all.special_values()}, /*fuse=*/true, device);
      INFO(op << " with " << name_of(dtype) << (train ? " in training" : ""));
      CHECK(result.error == "");
      CHECK(result.difference.value_or("") == "");
    }
  }
  INFO(op);
  CHECK(accepted);
}

std::set<std::string> operator_names() {
  std::set<std::string> names;
  for (const OpDoc& doc : op_docs()) names.insert(doc.name);
  return names;
}

void sweep_part(std::size_t part, std::size_t parts, Device device = {}) {
  std::size_t number = 0;
  const std::set<std::string> known = operator_names();
  for (const Row& row : sample_rows())
    for (const std::string& op : row.operators)
      if (number++ % parts == part && known.contains(op)) sweep_operator(row, op, device);
}

}  // namespace

TEST_CASE("every operator has samples", "[coverage]") {
  std::set<std::string> listed;
  for (const Row& row : sample_rows())
    for (const std::string& op : row.operators) {
      INFO(op << " stands in the table twice");
      CHECK(listed.insert(op).second);
    }
  std::vector<std::string> missing;
  for (const std::string& name : operator_names())
    if (!listed.contains(name)) missing.push_back(name);
  INFO("operators without samples in tests/support/graphs/samples_*.cpp: " << fmt::format(
           "{}", fmt::join(missing, ", ")));
  CHECK(missing.empty());
}

TEST_CASE("operators give the same bits eagerly and compiled, part 1", "[sweep1]") { sweep_part(0, 4); }
TEST_CASE("operators give the same bits eagerly and compiled, part 2", "[sweep2]") { sweep_part(1, 4); }
TEST_CASE("operators give the same bits eagerly and compiled, part 3", "[sweep3]") { sweep_part(2, 4); }
TEST_CASE("operators give the same bits eagerly and compiled, part 4", "[sweep4]") { sweep_part(3, 4); }

// Minutes each where the GPU is emulated: by their tags alone.
TEST_CASE("operators give the CPU's bits on a GPU, part 1", "[.gpu1]") { sweep_part(0, 4, cuda(0)); }
TEST_CASE("operators give the CPU's bits on a GPU, part 2", "[.gpu2]") { sweep_part(1, 4, cuda(0)); }
TEST_CASE("operators give the CPU's bits on a GPU, part 3", "[.gpu3]") { sweep_part(2, 4, cuda(0)); }
TEST_CASE("operators give the CPU's bits on a GPU, part 4", "[.gpu4]") { sweep_part(3, 4, cuda(0)); }

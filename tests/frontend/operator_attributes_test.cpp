// No attribute is ignored in silence: a sample of its operator reads it, or its row says why nothing does.
#include "graphs/compare.h"
#include "graphs/samples.h"
#include "ir/attrs.h"
#include "operator_call.h"

#include <kiln/op_docs.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace kiln;
using namespace graphs;

namespace {

/// Infers the types of a graph of this sample alone, which composes it. A refused sample is composed up to
/// the refusal.
void compose(const std::string& op, const Sample& sample, DType dtype, bool train) {
  Graph graph;
  graph.train = train;
  std::vector<Ref> inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Input& input = sample.inputs[i];
    inputs.push_back(graph.add_variable(
        fmt::format("in{}", i),
        make_values(input.shape, input.dtype.value_or(dtype), input.values, i, /*special=*/false)));
  }
  graph.outputs = {graph.add(op, "sampled", inputs, sample.attrs)};
  graph.nodes[graph.outputs[0].node].subgraphs = sample.subgraphs;
  const auto inferred = [&](auto infer) {
    try {
      infer();
    } catch (const Error& e) {
      INFO(op << ": " << e.what());
      CHECK(e.kind() == Error::Kind::user);
    }
  };
  inferred([&] { Runner(graph, RunMode::eager); });
  if (!sample.inputs.empty())
    inferred([&] {
      Model::from_symbol(Symbol::load_json(to_json(graph))).make_inputs({{"in0", sample.inputs[0].shape}});
    });
}

/// Records a call of the sample, which composes its gradients.
void compose_gradients(const std::string& op, const Sample& sample) {
  std::vector<OperatorInput> types;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Input& input = sample.inputs[i];
    types.push_back({input.shape, input.dtype.value_or(DType::f32)});
    inputs.push_back(make_values(input.shape, types.back().dtype, input.values, i, /*special=*/false));
    if (is_floating(types.back().dtype)) inputs.back().attach_grad();
  }
  try {
    SymbolBlock block = operator_block(op, sample.attrs, types, sample.subgraphs);
    const autograd::Record record;
    block(inputs);
  } catch (const Error& e) {
    INFO(op << ": " << e.what());
    CHECK(e.kind() == Error::Kind::user);
  }
}

/// Whether all attributes are read as the operator's row says.
bool as_documented(const OpDoc& doc, const ir::AttrReads& reads) {
  return std::all_of(doc.attributes.begin(), doc.attributes.end(), [&](const OpDoc::Attribute& a) {
    return reads.contains(doc.name, a.name) == a.ignored.empty();
  });
}

}  // namespace

TEST_CASE("every attribute is read by a sample, or says why nothing reads it", "[attributes]") {
  for (const Row& row : sample_rows())
    for (const std::string& op : row.operators) {
      const OpDoc doc = op_doc(op);
      const ir::AttrReads reads;
      for (const Sample& sample : row.samples)
        if (!sample.large)
          for (const DType dtype : {DType::f32, DType::i32})
            for (const bool train : {false, true}) compose(op, sample, dtype, train);
      // Some are read by the gradient alone.
      for (const Sample& sample : row.samples)
        if (!sample.large && !as_documented(doc, reads)) compose_gradients(op, sample);
      for (const OpDoc::Attribute& attribute : doc.attributes) {
        INFO(op << "." << attribute.name << " ignored: " << attribute.ignored);
        // One that is read and said to be ignored fails too.
        CHECK(reads.contains(doc.name, attribute.name) == attribute.ignored.empty());
      }
    }
}

// Composes a node with bodies, and keeps the types of the values in them.
#include "ir/body_types.h"

#include "ir/compose.h"
#include "ir/primitives.h"

namespace kiln::ir {
namespace {

class BodyTypes final : public Primitives {
 public:
  explicit BodyTypes(bool train) : Primitives(train) {}
  Value input(const TensorType& given) { return add_value(given); }

  std::unordered_map<const Node*, std::vector<TensorType>> types;

 private:
  void emit(const Primitive&, std::span<const Value>, Value) override {}
  void composed_in_body(const Node& node, std::span<const Value> outputs) override {
    std::vector<TensorType>& list = types[&node];
    list.clear();
    for (const Value v : outputs) list.push_back(v.valid() ? type(v) : TensorType{});
  }
};

}  // namespace

std::unordered_map<const Node*, std::vector<TensorType>> body_types(const Node& node, bool train) {
  BodyTypes bodies(train);
  std::vector<Value> in;
  for (const Entry& e : node.inputs) in.push_back(bodies.input(e.node->types.at(e.output)));
  compose(bodies, node, in);
  return std::move(bodies.types);
}

}  // namespace kiln::ir

#pragma once
#include "frontend/trace/captures.h"

#include <span>
#include <string>
#include <vector>

namespace kiln {

/// The body of a loop or branch, to become a subgraph. An array that it uses from outside becomes a variable
/// of it. Its nodes are named as those around it and bear the attribute `__subgraph_name__`. Its shapes are
/// known where those around it are; a body around which there is no trace is composed of Symbols.
class BodyTrace final : public Trace {
 public:
  explicit BodyTrace(std::string subgraph_name);

  /// A variable of the body that its node feeds: a row, a state.
  Tensor input(const std::string& name, const TensorType& type);
  std::vector<ir::NodePtr> input_variables() const;

  /// The arrays from outside, as those of the trace around it and as variables of the body.
  const std::vector<Captured>& outside() const { return outside_.list(); }
  /// The tensor from outside that a tensor of the body is a handle to; undefined for others.
  Tensor outside_of(const Tensor& t) const;

  /// Whether it wrote into one of its inputs, in place or as an operator's auxiliary state.
  bool wrote_input() const;
  /// A variable for an array from outside that it wrote into, in the same ways; null if there is none.
  const ir::Node* written_outside() const;

  /// The body with these results, its variables in the order of a file; with `keep_unused` the inputs that
  /// nothing uses stand behind them. Throws where it wrote into an array from outside: its subgraph would
  /// have nowhere to put that.
  ir::SubgraphPtr finish(std::span<const Tensor> results, bool keep_unused);

  bool sees(const detail::Array& array) const override;
  Tensor resolve(const Tensor& t) override;
  /// Throws where Symbols are composed around it: these have no arrays among them.
  Tensor capture(const Tensor& concrete, const std::string& name, bool parameter,
                 const HiddenAttrs& hidden_attrs = {}) override;
  bool has_written(const detail::Array* array) const override;
  void record(ir::NodePtr node) override;
  CallTrace* call() override { return around() ? around()->call() : nullptr; }

 private:
  /// The array of a value from outside as a variable, and the same view of it.
  Tensor bring_in(const Tensor& outer);

  std::string subgraph_name_;
  std::vector<TracedVariable> inputs_;
  Captures outside_;
  std::vector<ir::NodePtr> nodes_;
};

}  // namespace kiln

// The trace of the body of a loop, a branch or a Function.
#pragma once
#include "frontend/trace/captures.h"

#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace kiln {

/// Records the body of a loop or branch, or a method of a Function, as a subgraph. A captured array becomes a
/// variable of it. Its nodes are named in the enclosing scope and have the attribute `__subgraph_name__`.
/// Shapes are known if the enclosing trace's are; without an enclosing trace the body is composed of Symbols.
class BodyTrace final : public Trace {
 public:
  /// `where`: the program's call of the loop, branch or Function.
  BodyTrace(std::string subgraph_name, std::source_location where);

  /// A variable bound by the node: a scanned input's slice or a loop-carried state.
  Tensor input(const std::string& name, const TensorType& type);
  std::vector<ir::NodePtr> input_variables() const;

  /// The captured arrays, as values of the enclosing trace and as variables of the body.
  const std::vector<Captured>& outside() const { return outside_.list(); }
  /// The captured tensor that a tensor of the body stands for; undefined for others.
  Tensor outside_of(const Tensor& t) const;

  /// Whether the body wrote into one of its inputs, in place or as an auxiliary state.
  bool wrote_input() const;
  /// Whether an operator updated an input as its auxiliary state.
  bool updated_input() const;
  /// The variable of a captured array that the body wrote into; null if there is none.
  const Captured* written_outside() const;

  /// The subgraph with these results and its variables in the order of a file; `keep_unused` appends unused
  /// inputs. Throws if the body wrote into a captured array: a subgraph cannot return the update.
  ir::SubgraphPtr finish(std::span<const Tensor> results, bool keep_unused);

  bool sees(const detail::Array& array) const override;
  Tensor resolve(const Tensor& t) override;
  /// Throws if the enclosing scope composes Symbols, which have no arrays.
  Tensor capture(const Tensor& concrete, const std::string& name, bool parameter,
                 const HiddenAttrs& hidden_attrs = {}) override;
  bool has_written(const detail::Array* array) const override;
  void record(ir::NodePtr node) override;
  std::span<const ir::NodePtr> recorded() const override { return nodes_; }
  const Body* body(std::uint64_t serial) const override {
    return around() ? around()->body(serial) : nullptr;
  }
  CallTrace* call() override { return around() ? around()->call() : nullptr; }

 private:
  /// Whether the array of a variable was written, in place or as an auxiliary state.
  bool holds_another(const TracedVariable& v) const;
  /// Captures the array of an outside value as a variable; returns the same view of it.
  Tensor bring_in(const Tensor& outer);

  std::string subgraph_name_;
  std::source_location where_;
  std::vector<TracedVariable> inputs_;
  Captures outside_;
  std::vector<ir::NodePtr> nodes_;
};

}  // namespace kiln

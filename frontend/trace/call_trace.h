#pragma once
#include "frontend/trace/captures.h"
#include "frontend/trace/naming.h"

#include <kiln/error.h>

#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

/// Leaves hybrid_forward where it cannot go on without values. The recording is rejected, and the call runs
/// eagerly. Where nothing else than a recording will do, it is an error for the user.
class TraceAbandoned final : public Error {
 public:
  using Error::Error;
};
/// Throws it: `what` needs values, such as "backward()". Composing Symbols is no recording, and an error.
[[noreturn]] void abandon_trace(std::string_view what, std::source_location where);

/// Records one run of hybrid_forward, on inputs with shapes and without values, as a graph. Node numbers
/// start at 0.
class CallTrace final : public Trace {
 public:
  CallTrace() : Trace(/*shapes_known=*/true) {}

  /// An input of the call. Its array may be written; see finish().
  Tensor input(const std::string& name, const TensorType& type);
  const std::vector<TracedVariable>& inputs() const { return inputs_; }
  const std::vector<Captured>& captured() const { return captures_.list(); }
  /// A part of an array is replaced.
  void add_written(const detail::Array& array, const ArrayPart& part);
  /// The nodes recorded so far, in program order.
  const std::vector<ir::NodePtr>& nodes() const { return nodes_; }
  /// The recorded graph with these results. Its inputs are those of the call, then the captured tensors;
  /// in-place writes to either become Graph::writes.
  ir::Graph finish(std::span<const Tensor> results);

  /// Rejects the recording, with a reason: the program depends on values in a way that a graph cannot
  /// express. Such calls run eagerly.
  void run_eagerly(std::string_view reason);
  /// Rejects the recording because its graph would compute other values than the program.
  void compute_other_values(std::string_view reason);
  /// The first reason; empty if the recording is valid.
  const std::string& eager_because() const { return eager_because_; }
  bool other_values() const { return other_values_; }

  Tensor resolve(const Tensor& t) override;
  Tensor capture(const Tensor& concrete, const std::string& name, bool parameter,
                 const HiddenAttrs& hidden_attrs = {}) override;
  bool has_written(const detail::Array* array) const override { return captures_.has_written(array); }
  void record(ir::NodePtr node) override {
    node->child_block = child_block_;
    nodes_.push_back(std::move(node));
  }

  /// While it lives, calls are those of the next child block; not within another child block.
  class ChildScope {
   public:
    explicit ChildScope(CallTrace& trace) : trace_(trace) { trace.child_block_ = ++trace.child_blocks_; }
    ~ChildScope() { trace_.child_block_ = 0; }
    ChildScope(const ChildScope&) = delete;

   private:
    CallTrace& trace_;
  };
  /// A block is called. Whether it is a child block: not the traced block itself, which is the first, nor in
  /// another child.
  bool enter_block() { return std::exchange(entered_, true) && child_block_ == 0; }

  /// An operator is called whose result depends on the training mode: a graph has one mode.
  void needs_mode(bool train);

  CallTrace* call() override { return this; }

 private:
  /// Rejects the recording if a result may alias another array of the caller.
  void check_escapes(std::span<const Tensor> results);

  const bool train_ = is_training();
  NameScope names_{""};
  std::vector<TracedVariable> inputs_;
  Captures captures_;
  std::vector<ir::NodePtr> nodes_;
  std::string eager_because_;
  bool other_values_ = false;
  bool entered_ = false;  ///< whether the traced block has been called
  std::uint32_t child_block_ = 0, child_blocks_ = 0;
};

}  // namespace kiln

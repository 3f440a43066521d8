// The trace of a call of hybrid_forward.
#pragma once
#include "frontend/call/call_context.h"
#include "frontend/trace/captures.h"
#include "frontend/trace/naming.h"
#include "runtime/precision_on.h"

#include <kiln/error.h>

#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

/// Thrown to leave hybrid_forward where it cannot continue without values. The recording is rejected, and the
/// call runs eagerly. Where only a recording will do, it is an error for the user.
class TraceAbandoned final : public Error {
 public:
  using Error::Error;
};

/// Records one run of hybrid_forward, on inputs with shapes and without values, as a graph. Node numbers
/// start at 0.
class CallTrace final : public Trace {
 public:
  /// `recording`: whether the traced call is recorded for gradients. `asks`: an earlier trace found that the
  /// nodes depend on `recording`.
  explicit CallTrace(bool recording = CallContext::current().recording, bool asks = false)
      : Trace(/*shapes_known=*/true), recording_(recording), asked_recording_(asks) {}

  /// An input of the call. Its array may be written; see finish(). `given`: the caller's array; undefined: a
  /// value without history.
  Tensor input(const std::string& name, const TensorType& type, const Tensor& given = {});
  const std::vector<TracedVariable>& inputs() const { return inputs_; }
  const std::vector<Captured>& captured() const { return captures_.list(); }
  /// Notes that the program replaces a part of an array.
  void add_written(const detail::Array& array, const ArrayPart& part);
  /// The recorded graph with these results. Its inputs are the call's, then the captured tensors; in-place
  /// writes to either become Graph::writes.
  ir::Graph finish(std::span<const Tensor> results);

  /// Rejects the recording, with a reason: the program depends on values in a way that a graph cannot
  /// express. Such calls run eagerly.
  void run_eagerly(std::string_view reason);
  /// Rejects the recording because its graph would compute other values than the program.
  void compute_other_values(std::string_view reason);
  /// As compute_other_values(), and leaves hybrid_forward by TraceAbandoned. `message`: of the error where
  /// only a recording will do.
  [[noreturn]] void abandon(std::string_view reason, const std::string& message = {});
  /// The first reason; empty if the recording is valid.
  const std::string& eager_because() const { return eager_because_; }
  bool other_values() const { return other_values_; }

  Tensor resolve(const Tensor& t) override;
  Tensor capture(const Tensor& concrete, const std::string& name, bool parameter,
                 const HiddenAttrs& hidden_attrs = {}) override;
  bool has_written(const detail::Array* array) const override { return captures_.has_written(array); }
  std::span<const ir::NodePtr> recorded() const override { return nodes_; }
  void record(ir::NodePtr node) override {
    node->child_block = child_block_;
    nodes_.push_back(std::move(node));
  }

  /// The training mode of the call.
  bool train() const { return train_; }
  /// Whether nodes are recorded in the present scope. Until the program asks is_recording(), the call counts
  /// as recorded.
  bool records_nodes();
  /// Sets the modes of a node, also of a body, whose scope differs from the call's.
  void set_modes(const ir::NodePtr& ptr);

  // The program's questions. The answers belong to the recording: it is valid for calls with the same
  // answers.
  bool is_recording();
  bool is_recorded(const Tensor& t);
  /// Whether the traced array is one of the caller's with a gradient attached.
  bool is_variable(const detail::Array& array);
  /// The program opens a scope of autograd::Record: its calls are recorded, whether the traced call is or
  /// not.
  void opens_record();
  /// The elements of a concrete array are read: the recording depends on them.
  void reads(const std::shared_ptr<detail::Array>& array);

  /// Whether nodes depend on the recording mode of the call, and on the histories of its arguments.
  bool asked_recording() const { return asked_recording_; }
  /// Whether the trace must be repeated with `asks`. The call is not recorded, but before the program asked,
  /// records_nodes() has answered as in a recorded call. Nodes' modes are corrected later; other decisions by
  /// that answer are not.
  bool presumed_recording() const { return presumed_ && asked_recording_ && !recording_; }
  bool asked_histories() const { return asked_histories_; }
  bool has_record() const { return has_record_; }
  struct Read {
    detail::KeptArray array;
    std::uint64_t version;  ///< at the first read
  };
  const std::vector<Read>& read_arrays() const { return reads_; }

  /// During its lifetime, nodes belong to the next child block. Scopes do not nest.
  class ChildScope {
   public:
    explicit ChildScope(CallTrace& trace) : trace_(trace) { trace.child_block_ = ++trace.child_blocks_; }
    ~ChildScope() { trace_.child_block_ = 0; }
    ChildScope(const ChildScope&) = delete;

   private:
    CallTrace& trace_;
  };
  /// Notes the call of a block. Returns whether the block is a child of the traced block. The first call is
  /// of the traced block itself; calls within a child are the child's.
  bool enter_block() { return std::exchange(entered_, true) && child_block_ == 0; }

  const Body* body(std::uint64_t serial) const override;
  void add_body(Body body) { bodies_.push_back(std::move(body)); }
  CallTrace* call() override { return this; }

 private:
  /// Rejects the recording if a result may alias another array of the caller.
  void check_escapes(std::span<const Tensor> results);
  /// From now on, nodes are recorded if the call is. Corrects the nodes so far.
  void ask_recording();
  bool records_as_call() const { return recording_ || !asked_recording_; }
  /// The caller's array; undefined: none is known.
  Tensor given(const detail::Array& traced) const;

  const RecordingScopeIs own_scopes_{RecordingScope::none};
  const bool recording_;
  const bool train_ = is_training();
  const Device device_ = DeviceScope::current();
  const Precision precision_ = precision_on(device_);
  NameScope names_{""};
  std::vector<TracedVariable> inputs_;
  std::vector<Tensor> given_;  // by input
  Captures captures_;
  std::vector<ir::NodePtr> nodes_;
  std::vector<ir::NodePtr> as_call_;  // nodes that are recorded as the call is, of bodies too
  std::vector<Read> reads_;
  std::vector<Body> bodies_;  // of loops, branches and Functions, begun so far
  bool asked_recording_, presumed_ = false, asked_histories_ = false, has_record_ = false;
  std::string eager_because_;
  bool other_values_ = false;
  bool entered_ = false;  ///< whether the traced block has been called
  std::uint32_t child_block_ = 0, child_blocks_ = 0;
};

}  // namespace kiln

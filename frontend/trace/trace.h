#pragma once
#include "frontend/tensor/array.h"
#include "frontend/trace/naming.h"
#include "frontend/trace/possible_aliases.h"

#include <kiln/tensor.h>

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace kiln {

/// Applies an operator to tensors: the one door for F, the operators of Tensor and the layers.
/// Concrete inputs and no trace running: compiled as a graph of one node (or found in the cache) and run. A
/// traced input, or a trace running on this thread: a node is recorded. Returns the visible outputs. `given`
/// are the attributes that the program wrote, which is what an exported file shows; the row's defaults
/// complete them. `bodies` are a control flow operator's subgraphs. `name` is the node's; when empty it is
/// the operator's name in lower case with a number. `np_shape` is as in ir::Node.
std::vector<Tensor> invoke(const ir::OpDef& op, std::span<const Tensor> inputs, const ir::Attrs& given,
                           std::source_location where, std::string name = {},
                           std::span<const ir::SubgraphPtr> bodies = {}, bool np_shape = false);
/// The first output of the same. `op_name` must be the name of a row.
Tensor invoke(std::string_view op_name, std::initializer_list<Tensor> inputs, const ir::Attrs& given,
              std::source_location where, std::string name = {});

/// Whether operators run for training on this thread (`record`/train mode): BatchNorm and Dropout differ.
bool is_training();

/// One run of hybrid_forward on values to come. While it lives, it is the current trace of its thread.
/// With shapes (a hybridized call) or without (a net applied to a Symbol).
class Trace {
 public:
  explicit Trace(bool shapes_known);
  /// The body of a loop or branch, to become a subgraph. What it uses from outside becomes a variable of it.
  /// Its nodes are named as those around it and bear the attribute `__subgraph_name__`.
  struct Body {
    std::string subgraph_name;
  };
  Trace(Body body, bool shapes_known);
  ~Trace();
  Trace(const Trace&) = delete;
  static Trace* current();  ///< null when the thread is not tracing

  bool shapes_known() const { return shapes_known_; }
  std::uint64_t serial() const { return serial_; }
  /// Whether a traced array is a value of this trace, and not one that outlived an earlier trace.
  bool owns(const detail::Array& array) const { return array.trace == this && array.serial == serial_; }
  /// Whether it is a value of this trace or, in a body, of what is around it.
  bool sees(const detail::Array& array) const;
  /// The tensor as a value of this trace: itself, or a view of the captured array.
  Tensor resolve(const Tensor& t);
  /// Whether the concrete array has been written while tracing, so that its elements are not what the program
  /// means.
  bool has_written(const detail::Array* array) const;
  /// An input of the traced call. Its array may be written; see finish().
  Tensor input(const std::string& name, const TensorType& type);
  /// A concrete array that the program uses while tracing, a parameter or any captured tensor: the same array
  /// gives the same variable. `hidden_attrs` are the `__shape__`, ... of a parameter's variable.
  Tensor capture(const Tensor& concrete, const std::string& name, bool parameter,
                 const std::map<std::string, std::string, std::less<>>& hidden_attrs = {});
  /// The same for a parameter without values (shapes not known): only the variable.
  Tensor variable(const std::string& name,
                  const std::map<std::string, std::string, std::less<>>& hidden_attrs,
                  const std::optional<TensorType>& type);

  struct Captured {
    Tensor tensor;  // concrete; undefined for variables without values
    ir::NodePtr variable;
    bool parameter;
  };
  const std::vector<Captured>& captured() const { return captured_; }

  /// The recorded graph with these results: inputs are the traced inputs, then the captured tensors. In-place
  /// writes to either become Graph::writes.
  ir::Graph finish(std::span<const Tensor> results);

  void record(ir::NodePtr node);
  /// The nodes recorded so far, in program order.
  const std::vector<ir::NodePtr>& nodes() const { return nodes_; }

  /// Says that the recording cannot stand for the call, and why: the program does something that depends on
  /// values in a way that no graph expresses. The call then runs eagerly, each time. A body says it of the
  /// trace around it.
  void run_eagerly(std::string_view reason);
  /// The first reason; empty where the recording stands.
  const std::string& eager_because() const { return eager_because_; }
  /// Whether the recorded graph then computes other values than the program.
  bool other_values() const { return other_values_; }

  PossibleAliases& possible_aliases() { return possible_aliases_; }
  const PossibleAliases& possible_aliases() const { return possible_aliases_; }
  /// To be called where a program writes into an array of this trace.
  void will_write(const detail::Array& array);

  /// Of a body: a value from outside and the variable that stands for it.
  struct Outside {
    Tensor tensor;
    ir::NodePtr variable;
  };
  const std::vector<Outside>& outside() const { return outside_; }
  /// Of a body: the tensor from outside that a tensor of the body is a handle to; undefined for others.
  Tensor outside_of(const Tensor& t) const;
  /// Of a body: the arrays from outside, as the body's and as those of the trace around it.
  std::vector<std::pair<Tensor, Tensor>> brought_in() const;
  /// Of a body: whether it wrote into one of its inputs, in place or as an operator's auxiliary state.
  bool wrote_input() const;
  /// Of a body: a variable for an array from outside that it wrote into, in place or as an operator's
  /// auxiliary state; null if there is none.
  const ir::Node* written_outside() const;
  /// The body with these results, its variables in the order of a file; with `keep_unused` the inputs that
  /// nothing uses stand behind them. Throws where it wrote into an array from outside: its subgraph would
  /// have nowhere to put that.
  ir::SubgraphPtr finish_body(std::span<const Tensor> results, bool keep_unused);
  /// Of the inputs so far, in their order.
  std::vector<ir::NodePtr> input_variables() const;

 private:
  /// Says so where a result may be the same array as another that the caller has.
  void check_escapes(std::span<const Tensor> results);
  /// In a body: the array of a value from outside as a variable, and the same view of it.
  Tensor bring_in(const Tensor& outer);

  bool shapes_known_;
  std::uint64_t serial_;
  Trace* outer_;
  std::optional<NameScope> names_;
  std::optional<Body> body_;
  struct InputSlot {
    Tensor tensor;  // holds the array's value of the moment
    ir::NodePtr variable;
  };
  std::vector<InputSlot> inputs_;
  std::vector<Captured> captured_;
  std::vector<Tensor> captured_traced_;
  std::unordered_map<const detail::Array*, std::size_t> capture_index_;
  std::vector<Outside> outside_;
  std::vector<ir::NodePtr> nodes_;
  std::unordered_map<std::string, Tensor> variables_;
  PossibleAliases possible_aliases_;
  std::string eager_because_;
  bool other_values_ = false;
};

/// While it lives, its thread is not tracing: what runs inside computes at once (initialising a parameter,
/// say).
class TracePause {
 public:
  TracePause();
  ~TracePause();
  TracePause(const TracePause&) = delete;

 private:
  Trace* paused_;
};

}  // namespace kiln

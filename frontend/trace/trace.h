#pragma once
#include "frontend/tensor/array.h"
#include "frontend/trace/possible_aliases.h"

#include <kiln/tensor.h>

#include <functional>
#include <map>
#include <span>
#include <string>
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

class CallTrace;

/// What records the operator calls of its thread while it lives, in the place of running them. The kinds are
/// CallTrace, SymbolTrace and BodyTrace; this is as much of them as an operator call, a write and a parameter
/// need to know. Traces nest; the innermost one records.
class Trace {
 public:
  using HiddenAttrs = std::map<std::string, std::string, std::less<>>;

  virtual ~Trace();
  Trace(const Trace&) = delete;
  static Trace* current();  ///< null when the thread is not tracing

  bool shapes_known() const { return shapes_known_; }
  std::uint64_t serial() const { return serial_; }
  /// Whether a traced array is a value of this trace, and not one that outlived an earlier trace.
  bool owns(const detail::Array& array) const { return array.trace == this && array.serial == serial_; }
  /// Whether its program may use the traced array: its own, and in a body those of what is around it.
  virtual bool sees(const detail::Array& array) const { return owns(array); }
  /// The tensor as a value of this trace: itself, or the same view of a variable that stands for its array.
  virtual Tensor resolve(const Tensor& t) = 0;
  /// A concrete array that the program uses while tracing, a parameter or any captured tensor, as a variable:
  /// the same array gives the same one. `hidden_attrs` are the `__shape__`, ... of a parameter's variable.
  virtual Tensor capture(const Tensor& concrete, const std::string& name, bool parameter,
                         const HiddenAttrs& hidden_attrs = {}) = 0;
  /// Whether the concrete array has been written while tracing, so that its elements are not what the program
  /// means.
  virtual bool has_written(const detail::Array* array) const = 0;
  /// Takes the node of an operator call, in program order.
  virtual void record(ir::NodePtr node) = 0;

  /// The trace of the call that all this is recorded for; null where Symbols are composed.
  virtual CallTrace* call() = 0;
  PossibleAliases& possible_aliases() { return possible_aliases_; }
  const PossibleAliases& possible_aliases() const { return possible_aliases_; }
  /// To be called where a program writes into an array of this trace.
  void will_write(const detail::Array& array);

 protected:
  explicit Trace(bool shapes_known);
  Trace* around() const { return around_; }

 private:
  bool shapes_known_;
  std::uint64_t serial_;
  Trace* around_;
  PossibleAliases possible_aliases_;
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

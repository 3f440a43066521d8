// The interface of a trace, which records operator calls; frontend/trace implements it.
#pragma once
#include "frontend/call/possible_aliases.h"
#include "frontend/tensor/array.h"

#include <kiln/tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

namespace kiln {

/// Whether this thread's trace now marks its nodes as recorded for gradients (ir::Node::recorded).
bool records_nodes();

class CallTrace;

/// Records the operator calls of its thread during its lifetime. The kinds are CallTrace, SymbolTrace and
/// BodyTrace; this is their interface for operator calls, writes and parameters. Traces nest; the innermost
/// one records.
class Trace {
 public:
  using HiddenAttrs = std::map<std::string, std::string, std::less<>>;

  virtual ~Trace();
  Trace(const Trace&) = delete;
  static Trace* current();  ///< null if the thread is not tracing

  bool shapes_known() const { return shapes_known_; }
  std::uint64_t serial() const { return serial_; }
  /// Whether a traced array belongs to this trace, not to a finished one.
  bool owns(const detail::Array& array) const { return array.trace == this && array.serial == serial_; }
  /// Whether a traced array may be used: arrays of this trace, in a body also of enclosing traces.
  virtual bool sees(const detail::Array& array) const { return owns(array); }
  /// The tensor as a value of this trace: itself, or the same view of the variable of its captured array.
  virtual Tensor resolve(const Tensor& t) = 0;
  /// Captures a concrete array (a parameter or any other tensor) as a variable, one per array. `hidden_attrs`
  /// are the `__shape__`, ... of a parameter's variable.
  virtual Tensor capture(const Tensor& concrete, const std::string& name, bool parameter,
                         const HiddenAttrs& hidden_attrs = {}) = 0;
  /// Whether the trace recorded a write to the concrete array, so that its elements are out of date.
  virtual bool has_written(const detail::Array* array) const = 0;
  /// Appends the node of an operator call, in program order.
  virtual void record(ir::NodePtr node) = 0;
  /// The nodes so far, in program order; empty while Symbols are composed.
  virtual std::span<const ir::NodePtr> recorded() const { return {}; }

  /// A body of a loop, branch or Function that the call recorded.
  struct Body {
    std::uint64_t serial;  ///< of its trace
    std::string subgraph_name;
    std::string place;  ///< "net.cpp:12", where the program calls the loop or branch; empty if unknown
  };
  /// The body whose trace had this serial number; null if the call recorded none, and while Symbols are
  /// composed.
  virtual const Body* body(std::uint64_t serial) const = 0;

  /// The outermost CallTrace; null while Symbols are composed.
  virtual CallTrace* call() = 0;
  /// The elements of a concrete array are read: the recording depends on them.
  void note_read(const std::shared_ptr<detail::Array>& array);
  /// Leaves hybrid_forward: a recording cannot express the program, for the reason `reason`. Does nothing
  /// while Symbols are composed.
  void leave(std::string_view reason);
  PossibleAliases& possible_aliases() { return possible_aliases_; }
  const PossibleAliases& possible_aliases() const { return possible_aliases_; }
  /// Called when the program writes into an array of this trace, or an operator does.
  void will_write(const detail::Array& array);
  /// The same for an auxiliary state that an operator updates.
  void will_update(const detail::Array& array);
  bool has_updated(const detail::Array& array) const { return updated_.contains(&array); }

 protected:
  explicit Trace(bool shapes_known);
  Trace* around() const { return around_; }

 private:
  bool shapes_known_;
  std::uint64_t serial_;
  Trace* around_;
  PossibleAliases possible_aliases_;
  std::unordered_set<const detail::Array*> updated_;
};

/// Leaves hybrid_forward: `what` needs values, such as "backward()". Composing Symbols is no recording, and
/// an error.
[[noreturn]] void abandon_trace(std::string_view what, std::source_location where);

/// Suspends tracing on its thread during its lifetime, for example to initialise a parameter.
class TracePause {
 public:
  TracePause();
  ~TracePause();
  TracePause(const TracePause&) = delete;

 private:
  Trace* paused_;
};

}  // namespace kiln

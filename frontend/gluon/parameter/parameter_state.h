#pragma once
#include "frontend/gluon/parameter/revision.h"
#include "frontend/tensor/array.h"
#include "ir/graph.h"
#include "runtime/fork_gate.h"

#include <kiln/parameter.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace kiln::detail {

using HiddenAttrs = std::map<std::string, std::string, std::less<>>;

/// What the handles of one parameter share.
struct ParameterState {
  ParameterState() = default;
  ~ParameterState() { revision->ended(); }
  ParameterState(const ParameterState&) = delete;

  /// Raised by another array or dtype, and by handles that leave the parameter for another.
  const std::shared_ptr<Revision> revision = std::make_shared<Revision>();
  std::string name;
  Shape shape;
  ParameterOptions options;
  bool constant = false;  // made as a Constant: printed as one

  /// Set once `data` may be read; deferred initialisation sets it from whichever thread comes first, under
  /// `mutex`.
  std::atomic<bool> ready{false};
  Tensor data;
  /// The initializer that waits for the shape.
  std::optional<Initializer> deferred;
  Mutex mutex;

  /// The hidden attributes of the parameter's variable. Fixed at its first use, as MXNet's are: a file tells
  /// the shape that the program declared, `(256, 0)`, and not what the first call made of it.
  std::optional<HiddenAttrs> variable_attrs;
  /// The variable in composed symbols: one for all of them.
  ir::NodePtr symbol;

  bool shape_known() const;
};

/// The library's own door into a Parameter.
struct ParameterAccess {
  static ParameterState& state(const Parameter& p) { return *p.state_; }
  static ParameterDictState& dict(const ParameterDict& d) { return *d.state_; }
  static const std::shared_ptr<ParameterState>& handle(const Parameter& p) { return p.state_; }
  static HiddenAttrs variable_attrs(const Parameter& p);
  /// Gives a deferred parameter its values, now that its shape is known. Nothing to do for another one.
  static void finish_deferred(const Parameter& p);
  /// Takes values that were read from a file.
  static void load(const Parameter& p, const Tensor& values, bool cast_dtype);
};

/// Gives a dictionary, and its parameters whose names begin with `from`, the beginning `to`.
void rename_parameters(const ParameterDict& dict, const std::string& from, const std::string& to);

/// While it lives, parameters used in a trace of this thread are variables without values, whose shapes the
/// operators that use them may tell.
class VariableScope {
 public:
  VariableScope();
  ~VariableScope();
  VariableScope(const VariableScope&) = delete;
  static VariableScope* current();

  Tensor variable(const Parameter& p);
  /// The variable of `p` if hybrid_forward used it.
  ir::NodePtr find(const Parameter& p) const;

 private:
  std::unordered_map<const ParameterState*, ir::NodePtr> variables_;
  VariableScope* outer_;
};

}  // namespace kiln::detail

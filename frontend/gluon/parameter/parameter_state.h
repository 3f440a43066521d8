// The state shared by all handles of one parameter.
#pragma once
#include "frontend/call/moved_from.h"
#include "frontend/gluon/parameter/revision.h"
#include "frontend/tensor/array.h"
#include "ir/graph.h"
#include "runtime/fork_gate.h"

#include <kiln/io.h>
#include <kiln/parameter.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace kiln::detail {

using HiddenAttrs = std::map<std::string, std::string, std::less<>>;

/// An option that the program may change, and hybrid_forward may read.
enum class ParameterOption : std::uint8_t { grad_req, lr_mult, wd_mult, init };
/// Their names, in this order.
inline constexpr std::array<std::string_view, 4> option_names = {"grad_req", "lr_mult", "wd_mult", "init"};

/// The state shared by all handles of one parameter.
struct ParameterState {
  ParameterState() = default;
  ~ParameterState() {
    revision->ended();
    for (const auto& option : option_revisions) option->ended();
  }
  ParameterState(const ParameterState&) = delete;

  /// Incremented by another array or dtype, and when a handle is rebound to another parameter.
  const std::shared_ptr<Revision> revision = std::make_shared<Revision>();
  /// By option, incremented by another value: results do not depend on it, unless hybrid_forward reads it.
  const std::array<std::shared_ptr<Revision>, option_names.size()> option_revisions = {
      std::make_shared<Revision>(), std::make_shared<Revision>(), std::make_shared<Revision>(),
      std::make_shared<Revision>()};
  const std::shared_ptr<Revision>& revision_of(ParameterOption option) const {
    return option_revisions[static_cast<std::size_t>(option)];
  }
  std::string name;
  Shape shape;
  ParameterOptions options;
  /// The value of a Constant, which initialize() sets again.
  std::optional<Tensor> constant;
  Weights weights = Weights::keep;

  /// True once `data` may be read. Deferred initialisation sets it under `mutex`, on the first thread.
  std::atomic<bool> ready{false};
  Tensor data;
  /// Where the values will be; none: where DeviceScope says. Once there are values, `data` tells.
  std::optional<Device> device;
  /// The initializer of a deferred initialisation.
  std::optional<Initializer> deferred;
  Mutex mutex;

  /// The hidden attributes of the parameter's variable. Fixed at its first use, as in MXNet: a file has the
  /// declared shape, `(256, 0)`, not the inferred one.
  std::optional<HiddenAttrs> variable_attrs;
  /// Under the lock: fixes them, if they are not fixed yet.
  const HiddenAttrs& fix_variable_attrs();
  /// The symbol file that SymbolBlock::imports made it from; empty: it has another source.
  std::string symbol_file;
  /// Whether it is in a dictionary, as the parameters of blocks are: initialize() reaches it.
  bool listed = false;
  /// The variable in composed symbols, shared by all of them.
  ir::NodePtr symbol;

  /// For a parameter made in the scope of a block that shares another one's dictionary, `shared`: it stands
  /// for the parameter of its name there, if there is one. This is decided at its first use, because names
  /// change until then (Block::number_in_order).
  enum class Stands : std::uint8_t { for_itself, undecided, for_another };
  std::atomic<Stands> stands{Stands::for_itself};
  std::shared_ptr<ParameterDictState> shared;
  Parameter another;

  bool shape_known() const;
  /// The array gets a gradient, as the GradReq says.
  void attach_gradient();
};

inline constexpr std::string_view empty_parameter =
    "this Parameter is empty: it was never assigned one made by params().get()";

/// Internal access to a Parameter.
struct ParameterAccess {
  static ParameterState& state(const Parameter& p) { return *p.state_; }
  static const std::shared_ptr<ParameterState>& handle(const Parameter& p) { return p.state_.get(); }
  /// The state of the parameter itself, also where it stands for another.
  static ParameterState& own_state(const Parameter& p) { return *p.state_.own_; }
  /// Throws for a dictionary that was moved from.
  static ParameterDictState& dict(const ParameterDict& d, std::source_location where = {}) {
    return live_state(d.state_, "ParameterDict", where);
  }
  static HiddenAttrs variable_attrs(const Parameter& p);
  /// Initialises a deferred parameter once its shape is known; no effect on others.
  static void finish_deferred(const Parameter& p);
  /// Keeps or releases the parameter's array, now and whenever it gets another, as `weights` says.
  static void set_weights(const Parameter& p, Weights weights);
  /// Sets values read from a file.
  static void load(const Parameter& p, const Tensor& values, bool cast_dtype);
  /// Gives a parameter of a new network these values, and their dtype, on `device`.
  static void give(Parameter p, const Tensor& values, Device device);
};

/// The present value of an option as text.
OptionRead option_read(const std::shared_ptr<ParameterState>& parameter, ParameterOption option);

/// How messages go on about a file that does not fit, by the call that reads it.
struct LoadAdvice {
  const char* missing;  ///< a parameter that the file does not have
  const char* extra;    ///< an array that is no parameter
};
/// Sets the values that were read from the file at `path`; see ParameterDict::load().
void load_by_name(const ParameterDict& dict, std::vector<NamedArray> loaded, const std::string& path,
                  const LoadOptions& options, const std::string& restore_prefix, const LoadAdvice& advice);
/// The dictionary of a block made in the scope of one with the dictionary `scope`, whose sharing it inherits.
ParameterDict scoped_parameters(const std::string& prefix, const ParameterDict& scope);
/// Throws if parameters cannot be cast to the dtype: it is no floating-point one, or weights are int8.
void check_cast(const ParameterDict& params, DType dtype);
/// Replaces the prefix `from` of a dictionary and of its parameters by `to`.
void rename_parameters(const ParameterDict& dict, const std::string& from, const std::string& to);

/// During its lifetime, parameters in a trace of this thread are variables without values, whose shapes are
/// inferred from their uses.
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

// How an operator call is carried out: the interface of the three modes, which do not know each other.
#pragma once
#include "frontend/call/op_call.h"
#include "runtime/executable.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln {

namespace detail {
class GradientCode;
}

/// A way to carry out operator calls. Immutable; any thread may use it.
class Mode {
 public:
  /// The first visible output.
  virtual Tensor first(const OpCall& call) const = 0;
  /// All visible outputs.
  virtual std::vector<Tensor> all(const OpCall& call) const = 0;

 protected:
  ~Mode() = default;
};

/// A mode that runs calls on arrays.
class RunningMode : public Mode {
 public:
  /// Runs the call, and sets the first visible outputs, `outputs.size()` of them. Random numbers start from
  /// `random`; null: from the thread's stream.
  virtual void run(const OpCall& call, std::span<Tensor> outputs, const RandomState* random) const = 0;

 protected:
  ~RunningMode() = default;
};

/// The compiled code of a call on arrays.
struct OpCode {
  std::shared_ptr<const Executable> executable;
  std::vector<TensorType> outputs;  ///< the visible ones
  std::string line;                 ///< "net.cpp:12" of the call that compiled it, which its steps name
  /// For backward passes of recorded calls; null if no gradient passes the operator.
  std::shared_ptr<const detail::GradientCode> gradient;
  /// The position of the input that replaces the attribute `scalar`, as an array of shape (1,). A scalar that
  /// varies is thus not compiled into the code each time.
  std::optional<std::size_t> number_input;
};

/// The tape's part of a call that runs: steps 4 and 9 of detail::ArrayCall.
class OpTape {
 public:
  /// `number`: the array of OpCode::number_input; undefined if the code has none.
  virtual void begin(const Tensor& number) = 0;
  virtual void finish(const RandomState& random) = 0;

 protected:
  ~OpTape() = default;
};

/// Runs compiled code of one operator. The tape runs its calls by it too.
class EagerMode : public RunningMode {
 public:
  using RunningMode::run;
  /// The code of a call, compiled at its first use in the process. The reference is valid until the thread's
  /// next look-up.
  virtual const OpCode& code_of(const OpCall& call) const = 0;
  /// Runs `code`, the call's. `random` as in RunningMode::run.
  virtual void run(const OpCall& call, const OpCode& code, std::span<Tensor> outputs,
                   const RandomState* random, OpTape& tape) const = 0;

 protected:
  ~EagerMode() = default;
};

const EagerMode& eager_mode();  ///< frontend/eager
/// frontend/autograd: runs the call, and ends the histories of the arrays that it updates. `records`: the
/// call is also an entry of the tape.
const RunningMode& tape_mode(bool records);
const Mode& trace_mode();  ///< frontend/trace: a node of the thread's trace, or of a Symbol

}  // namespace kiln

// Recording of calls, and their gradients.
#pragma once
#include <kiln/export.h>
#include <kiln/grad_options.h>
#include <kiln/tensor.h>

#include <concepts>
#include <memory>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

/// Gradients, as MXNet's autograd. Inside Record, calls are recorded; backward() and grad() differentiate the
/// recorded calls. A call of a hybridized block is recorded as one entry, and its gradients have the bits of
/// the eager call's.
///
/// Scopes are per thread, nest, and are destroyed on the thread that created them. Within hybrid_forward they
/// hold for the operators that are called there, eagerly and compiled: each has the recording and the
/// training mode of its scope. The answers of is_training(), is_recording() and is_recorded() to
/// hybrid_forward belong to the signature of the recording: a call for which they differ is recorded by
/// itself.
namespace kiln::autograd {

using Tensors = std::vector<Tensor>;  ///< several arrays

/// This thread's training mode: BatchNorm uses the batch's statistics, Dropout drops elements.
KILN_API bool is_training();
/// Whether calls of this thread are recorded.
KILN_API bool is_recording();
/// Whether a gradient can pass through the array: a recorded call made it, or it has a gradient attached.
/// backward() throws for other heads. Any thread that may read the array.
KILN_API bool is_recorded(const Tensor& t);

namespace detail {
/// Sets recording and training mode during its lifetime.
class KILN_API ModeScope {
 public:
  ModeScope(const ModeScope&) = delete;
  ModeScope& operator=(const ModeScope&) = delete;

 protected:
  /// Without `recording`, that stays as it is.
  ModeScope(std::optional<bool> recording, bool training);
  ~ModeScope();

 private:
  bool outer_recording_, outer_training_;
  unsigned char outer_scope_;
};
}  // namespace detail

/// Records calls, in training mode unless told otherwise: `with autograd.record():`.
class KILN_API Record : detail::ModeScope {
 public:
  /// The training mode while gradients are computed.
  [[nodiscard]] explicit Record(bool train = true) : ModeScope(true, train) {}
};
/// The result of `fn`, called inside Record:
/// `Tensor l = autograd::record([&] { return loss(net(x), label); });`
template <std::invocable Fn>
auto record(Fn&& fn, bool train = true) {
  const Record scope(train);
  return std::forward<Fn>(fn)();
}
/// Suspends recording: values computed or written meanwhile are constants for gradients. An array with a
/// gradient attached may be written meanwhile, and stays the array whose gradient is computed. A symbol file
/// gets BlockGrad after the values computed meanwhile.
class KILN_API Pause : detail::ModeScope {
 public:
  [[nodiscard]] explicit Pause(bool train = false) : ModeScope(false, train) {}
};
/// Sets training mode without a change of recording.
class KILN_API TrainMode : detail::ModeScope {
 public:
  [[nodiscard]] explicit TrainMode(bool train = true) : ModeScope(std::nullopt, train) {}
};
/// Sets prediction mode without a change of recording.
class KILN_API PredictMode : detail::ModeScope {
 public:
  [[nodiscard]] PredictMode() : ModeScope(std::nullopt, false) {}
};

/// Computes the gradients of `heads` with respect to all arrays with a gradient attached (attach_grad(),
/// parameters) that lead to them, and writes or adds them there, as their GradReq says. `head_gradients` has
/// an array of the head's shape and dtype for each head, undefined for ones; empty: ones for all. A head
/// given twice counts twice. An array that no head depends on keeps its gradient. The recorded calls are
/// dropped as they are passed, unless `retain_graph`. Throws for a head that was not recorded, or whose
/// record was dropped.
KILN_API void backward(const Tensors& heads, const Tensors& head_gradients = {},
                       const BackwardOptions& options = {},
                       std::source_location where = std::source_location::current());

/// Options of grad().
struct GradOptions {
  Tensors head_gradients = {};  ///< as of backward()
  /// Whether the recorded calls can be differentiated again. Default: the value of create_graph.
  std::optional<bool> retain_graph = {};
  /// Records the computation of the gradients, which can be differentiated then.
  bool create_graph = false;
  bool train = true;  ///< the training mode while gradients are computed
};
/// The gradients of `heads` with respect to `variables`: arrays with a gradient attached, or any recorded
/// ones. Attached gradients stay as they are. Throws as backward(), and for a variable that no head depends
/// on.
KILN_API Tensors grad(const Tensors& heads, const Tensors& variables, const GradOptions& options = {},
                      std::source_location where = std::source_location::current());

}  // namespace kiln::autograd

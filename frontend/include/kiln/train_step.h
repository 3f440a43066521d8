// TrainStep: forward, backward and update as one call.
#pragma once
#include <kiln/block.h>
#include <kiln/loss.h>
#include <kiln/trainer.h>

#include <cstdint>
#include <memory>
#include <span>

namespace kiln {

/// A training step as one call, made by HybridBlock::train_step():
///
/// ```
/// auto step = net.train_step(loss, trainer);
/// Tensor l = step({x}, labels);
/// ```
///
/// It computes the same as the following lines. The bits are the same in the loss, the parameters, their
/// running statistics and the optimizer's states.
///
/// ```
/// Tensor l;
/// {
///   autograd::Record record;
///   l = loss(net(x), labels);
/// }
/// l.backward();
/// trainer.step(x.shape()[0]);
/// ```
///
/// Forward, backward and update are one executable per signature. A gradient is used where it is computed and
/// has no array: Tensor::grad() and Parameter::grad() keep what they had. If a step cannot be compiled, the
/// lines above run instead, and gradients are written. Reasons: the network cannot be compiled, the Trainer
/// checks for finite gradients, a parameter adds its gradients or takes no part in the loss.
///
/// The checks of both hybridize() apply (Check). Check::indices of the network or of the loss is a part of
/// the executable. With Check::recording or Check::bits the lines above run instead, and their calls are
/// checked. So do they if only a block inside of the network has a check. A later hybridize() of either holds
/// for the next step.
///
/// The loss is a separate array, which later calls leave unchanged while the program or the tape has it. Once
/// nothing has it, a later call may write its loss into that memory. A call whose code exists allocates
/// nothing if the program has dropped one of the losses of the last two calls. In a loop that keeps at most
/// the last loss, this holds from the third call on.
///
/// A handle: copies are the same step. The network and the loss must not end or move before it: a call then
/// throws. Thread rule: as Trainer.
class KILN_API TrainStep {
 public:
  using Where = std::source_location;

  /// The network's inputs and the label, to the loss. `batch_size`: as Trainer::step()'s; 0: the extent of
  /// the first input's axis Loss::batch_axis(). Throws the errors of the lines above, and inside
  /// autograd::Record.
  Tensor operator()(const Tensors& data, const Tensor& label, std::int64_t batch_size = 0,
                    Where where = Where::current()) {
    return call(data, label, batch_size, where);
  }
  Tensor operator()(const Tensor& data, const Tensor& label, std::int64_t batch_size = 0,
                    Where where = Where::current()) {
    return call({&data, 1}, label, batch_size, where);
  }
  /// Whether the last call ran as one executable.
  bool compiled() const;

 private:
  friend class HybridBlock;
  struct State;
  Tensor call(std::span<const Tensor> data, const Tensor& label, std::int64_t batch_size, Where where);
  explicit TrainStep(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace kiln

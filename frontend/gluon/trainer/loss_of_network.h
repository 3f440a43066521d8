// The forward pass of a training step: a network and its loss, with the checks of both.
#pragma once
#include "frontend/gluon/parameter/revision.h"

#include <kiln/block.h>
#include <kiln/loss.h>

#include <optional>
#include <source_location>

namespace kiln {

/// loss(net(data...), label). Recorded, it is the forward pass of a step that is one executable.
class LossOfNetwork final : public HybridBlock {
 public:
  /// Both outlive it.
  LossOfNetwork(HybridBlock& net, loss::Loss& loss);

  /// The program's line: the network and the loss are called there.
  std::source_location where;

  /// Calls both blocks. In a trace, the recording depends on their hybridize(), and Check::indices applies to
  /// the nodes of the block that has it.
  Tensor loss(const Tensors& inputs);
  /// The same outside of a trace. If a block is not hybridized, the checks of KILN_CHECK apply to both blocks
  /// as one hybridized call.
  Tensor checked_loss(const Tensors& inputs);

  /// Notes calls of hybridize() since the last call of this function, for the reason of a recording. Returns
  /// whether checks apply that only separate calls of the blocks can make: Check::recording, Check::bits, and
  /// Check::indices of a block inside of one that is not hybridized.
  bool needs_separate_calls();

  /// HybridizeOptions::precision of the network.
  std::optional<Precision> precision() const;

 protected:
  Tensors hybrid_forward(F&, const Tensors& inputs) override { return {loss(inputs)}; }

 private:
  HybridBlock& net_;
  loss::Loss& loss_;
  /// The hybridize() of both blocks; none before the first recording.
  std::optional<detail::Dependencies> hybridized_;
};

}  // namespace kiln

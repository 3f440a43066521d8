// Writes through views before and after a call of the inner block.
#include "writing_block.h"

namespace graphs {

using namespace kiln;

WrittenInput written_input(const Tensor& x, Place place) {
  const std::int64_t rows = x.shape()[0];
  switch (place) {
    case Place::own: {
      const Tensor whole = x * 1.5;
      return {whole, whole};
    }
    case Place::rows: {
      const Tensor both = F::concat({x * 2, x}, 0);
      return {both, both[slice(rows - 1, 2 * rows - 1)]};
    }
    case Place::row: {
      const Tensor both = F::stack({x, x * 0.5, x}, {.axis = 0});
      return {both, both[slice(1)][0]};
    }
    case Place::reshaped: {
      const Tensor flat = (x * 1.5).reshape({-1}).copy();
      return {flat, flat.reshape(x.shape())};
    }
  }
  return {};
}

WritingBlock::WritingBlock(std::shared_ptr<HybridBlock> inner, std::vector<Write> writes)
    : HybridBlock({.prefix = "writing_"}), inner_(std::move(inner)), writes_(std::move(writes)) {
  register_child(std::static_pointer_cast<Block>(inner_), "inner");
}

Tensors WritingBlock::hybrid_forward(F& f, const Tensors& inputs) {
  const auto write = [&](bool after) {
    for (const Write& w : writes_) {
      if (w.after != after) continue;
      Tensor x = inputs[w.input];
      switch (w.kind) {
        case 0:
          x *= f.sigmoid(x);
          break;
        case 1:
          x[slice(0, 1)] = 0.5;
          break;
        case 2:
          x[slice(-1)] += x[slice(0, 1)];
          break;
        default:
          x.reshape({-1})[slice(0, 1)] = f.tanh(x.reshape({-1})[slice(-1)]);
      }
    }
  };
  write(false);
  Tensors out = (*inner_)(inputs);
  write(true);
  return out;
}

}  // namespace graphs

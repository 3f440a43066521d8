// Blocks that write into their inputs and results.
#pragma once
#include <kiln/kiln.h>

#include <memory>
#include <vector>

namespace graphs {

/// The memory of a block's input: an array, a part of a larger one, or an array of another shape.
enum class Place { own, rows, row, reshaped };
/// An input that the block writes, of the values of `x`.
struct WrittenInput {
  kiln::Tensor behind;  ///< the array, computed from x
  kiln::Tensor input;   ///< of the shape of x, which has an axis and elements
};
WrittenInput written_input(const kiln::Tensor& x, Place place);

/// Calls another block, and writes into some of its inputs before or after the call.
class WritingBlock : public kiln::HybridBlock {
 public:
  static constexpr std::size_t kinds = 4;
  struct Write {
    std::size_t input, kind;
    bool after;
  };
  WritingBlock(std::shared_ptr<kiln::HybridBlock> inner, std::vector<Write> writes);

 protected:
  kiln::Tensors hybrid_forward(kiln::F& f, const kiln::Tensors& inputs) override;

 private:
  std::shared_ptr<kiln::HybridBlock> inner_;
  std::vector<Write> writes_;
};

}  // namespace graphs

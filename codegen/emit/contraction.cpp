// Matrix products as contractions: rows are the batch and the rows of A.
#include "codegen/emit/contraction.h"

#include "codegen/target/matrix_unit.h"
#include "ir/views.h"
#include "runtime/fail.h"

namespace kiln::codegen {

ir::View in_words(ir::View values, std::int64_t values_of_word) {
  if (values_of_word == 1) return values;
  if (!ir::is_of_words(values, values_of_word)) fail_internal("the values of a contraction are no words");
  values.offset /= values_of_word;
  values.shape.back() /= values_of_word;
  for (std::int64_t& stride : llvm::MutableArrayRef(values.strides).drop_back()) stride /= values_of_word;
  return values;
}

bool Contraction::on_matrix_unit(const CpuTarget& target) const {
  if (!target.amx || values_of_word == 1) return false;
  if (k_offsets.empty()) return k_stride == 1;
  for (std::size_t k = 0; k < k_offsets.size(); ++k)
    if (k % static_cast<std::size_t>(matrix_unit::words) != 0 && k_offsets[k] != k_offsets[k - 1] + 1)
      return false;
  return true;
}

Contraction contraction_of(ir::PackedDotOp root) {
  const auto packed = ir::ranked(root.getRhs()).getShape();
  auto pack = root.getRhs().getDefiningOp<ir::PackOp>();
  const std::int64_t values_of_word = ir::values_of_word(root.getLhs(), root.getResult());
  const ir::View lhs = in_words(ir::view_of(root.getLhs()), values_of_word),
                 rhs = ir::view_of(pack ? pack.getX() : root.getRhs());
  if (!rhs.is_contiguous()) fail_internal("a packed operand is read through a window");
  const std::size_t batch = lhs.shape.size() - 2;
  const std::size_t row = batch + (root.getTransposeLhs() ? 1 : 0),
                    k = batch + (root.getTransposeLhs() ? 0 : 1);

  Contraction contraction;
  contraction.lhs = lhs;
  contraction.rhs = llvm::cast<mlir::BlockArgument>(rhs.base).getArgNumber();
  contraction.rhs_dtype = dtype_of_value(root.getRhs());
  contraction.lhs_strides.assign(lhs.strides.begin(),
                                 lhs.strides.begin() + static_cast<std::ptrdiff_t>(batch));
  contraction.lhs_strides.push_back(lhs.strides[row]);
  if (pack) {
    const bool transposed = pack.getKind() == ir::PackKind::transposed;
    contraction.unpacked = {rhs.strides[batch + (transposed ? 1 : 0)],
                            rhs.strides[batch + (transposed ? 0 : 1)]};
  }
  contraction.rhs_strides.assign(rhs.strides.begin(),
                                 rhs.strides.begin() + static_cast<std::ptrdiff_t>(batch));
  contraction.rhs_strides.push_back(0);
  contraction.k_extent = packed[packed.size() - 2];
  contraction.k_stride = lhs.strides[k];
  contraction.columns = ir::ranked(root.getResult()).getShape().back();
  contraction.panels = packed[packed.size() - 3];
  contraction.panel = packed.back();
  contraction.lhs_elements = mlir::ShapedType::getNumElements(lhs.shape);
  contraction.values_of_word = values_of_word;
  return contraction;
}

}  // namespace kiln::codegen

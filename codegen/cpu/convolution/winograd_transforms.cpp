// Emits the transforms of F(2x2, 3x3), as kiln.convolution in ir/KilnOps.td defines them.
#include "codegen/cpu/convolution/winograd_transforms.h"

namespace kiln::codegen {
namespace {

using Value = mlir::Value;
using Values = llvm::SmallVector<Value>;

Value plus(KernelBuilder& e, Value x, Value y) { return mlir::arith::AddFOp::create(e.b, e.loc, x, y); }
Value minus(KernelBuilder& e, Value x, Value y) { return mlir::arith::SubFOp::create(e.b, e.loc, x, y); }

/// B^T of four inputs (Lavin and Gray's names).
Values input_transform(KernelBuilder& e, const Values& d) {
  return {minus(e, d[0], d[2]), plus(e, d[1], d[2]), minus(e, d[2], d[1]), minus(e, d[1], d[3])};
}

/// A^T of four sums.
Values output_transform(KernelBuilder& e, const Values& m) {
  return {plus(e, plus(e, m[0], m[1]), m[2]), minus(e, minus(e, m[1], m[2]), m[3])};
}

/// G of three taps.
Values kernel_transform(KernelBuilder& e, const Values& g) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(g[0].getType());
  const Value half = e.number(DType::f64, 0.5, vector ? static_cast<int>(vector.getNumElements()) : 1);
  const auto halved = [&](Value x) -> Value { return mlir::arith::MulFOp::create(e.b, e.loc, x, half); };
  return {g[0], halved(plus(e, plus(e, g[0], g[1]), g[2])), halved(plus(e, minus(e, g[0], g[1]), g[2])),
          g[2]};
}

/// Applies a transform to each row of a square, then to each column of the result.
Values both_ways(const Values& x, std::size_t side, llvm::function_ref<Values(const Values&)> transform) {
  llvm::SmallVector<Values, 4> rows;
  for (std::size_t i = 0; i < side; ++i)
    rows.push_back(transform(Values(llvm::ArrayRef(x).slice(i * side, side))));
  const std::size_t out = rows[0].size();
  Values result(out * out);
  for (std::size_t j = 0; j < out; ++j) {
    Values column;
    for (const Values& row : rows) column.push_back(row[j]);
    for (auto [i, v] : llvm::enumerate(transform(column))) result[i * out + j] = v;
  }
  return result;
}

}  // namespace

Values transform_inputs(KernelBuilder& e, const Values& d) {
  return both_ways(d, 4, [&](const Values& x) { return input_transform(e, x); });
}

Values transform_sums(KernelBuilder& e, const Values& m) {
  return both_ways(m, 4, [&](const Values& x) { return output_transform(e, x); });
}

void emit_transformed_kernels(KernelBuilder& e, const KernelColumns& columns, Value place,
                              Value position_step) {
  const int lanes = columns.lanes;
  const auto each = [&](llvm::function_ref<Value(int)> value) {
    Value to = place;
    for (int p = 0; p < winograd_positions; ++p, to = e.element(to, position_step, DType::f32))
      e.store(value(p), to, DType::f32, lanes);
  };
  const auto transform = [&] {
    Values g;
    for (int tap = 0; tap < 9; ++tap) {
      const Value offset =
          e.add(e.mul(e.index(tap / 3), columns.row_stride), e.mul(e.index(tap % 3), columns.tap_stride));
      const Value v =
          e.gather(e.element(columns.first, offset, DType::f32), e.lane_offsets(columns.column_stride, lanes),
                   DType::f32, lanes, lanes > 1 ? e.mask_below(columns.count, lanes) : Value());
      g.push_back(mlir::arith::ExtFOp::create(e.b, e.loc, e.lanes_of(e.b.getF64Type(), lanes), v));
    }
    const Values u = both_ways(g, 3, [&](const Values& x) { return kernel_transform(e, x); });
    each([&](int p) {
      return mlir::arith::TruncFOp::create(e.b, e.loc, e.lanes_of(e.b.getF32Type(), lanes),
                                           u[static_cast<std::size_t>(p)]);
    });
  };
  if (lanes > 1) return transform();
  each([&](int) { return e.number(DType::f32, 0, 1); });
  e.when(e.less(e.index(0), columns.count), transform);
}

}  // namespace kiln::codegen

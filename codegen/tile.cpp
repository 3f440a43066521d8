#include "codegen/tile.h"

#include "codegen/math/math.h"

namespace kiln::codegen {
namespace {

constexpr std::int64_t chunk = 512;

}  // namespace

llvm::SmallVector<mlir::Value> Tile::emit(Emit& e, mlir::Value k_extent,
                                          const std::function<mlir::Value(int, mlir::Value)>& left,
                                          const std::function<mlir::Value(mlir::Value)>& right) const {
  bool floating = is_floating(dtype);
  auto multiply_add = [&](mlir::Value x, mlir::Value y, mlir::Value sum) -> mlir::Value {
    if (floating) return mlir::LLVM::FMAOp::create(e.b, e.loc, x, y, sum);
    return e.add(sum, e.mul(x, y));
  };
  auto plus = [&](mlir::Value x, mlir::Value y) -> mlir::Value {
    if (floating) return mlir::arith::AddFOp::create(e.b, e.loc, x, y);
    return e.add(x, y);
  };
  auto count = static_cast<std::size_t>(rows * vectors);
  // -0 + x is x for every x, so the first chunk's sum is taken as it is.
  llvm::SmallVector<mlir::Value> totals(count, e.number(dtype, floating ? -0.0 : 0.0, lanes));
  llvm::SmallVector<mlir::Value> zeros(count, e.number(dtype, 0, lanes));
  mlir::Value length = e.index(chunk);
  auto sums = e.loop(e.index(0), k_extent, length, totals, [&](mlir::Value from, mlir::ValueRange total) {
    mlir::Value to = e.min(e.add(from, length), k_extent);
    auto part = e.loop(from, to, e.index(1), zeros, [&](mlir::Value k, mlir::ValueRange sum) {
      mlir::Value columns = right(k);
      llvm::SmallVector<mlir::Value> b, next;
      for (int v = 0; v < vectors; ++v)
        b.push_back(e.load(e.element(columns, e.index(v * lanes), dtype), dtype, lanes));
      for (int r = 0; r < rows; ++r) {
        mlir::Value a = e.splat(left(r, k), lanes);
        for (int v = 0; v < vectors; ++v)
          next.push_back(
              multiply_add(a, b[static_cast<std::size_t>(v)], sum[static_cast<unsigned>(r * vectors + v)]));
      }
      return next;
    });
    llvm::SmallVector<mlir::Value> next;
    for (auto [t, p] : llvm::zip(total, part)) next.push_back(plus(t, p));
    return next;
  });
  // Half precision is summed in f32; the product's value is the sum, rounded.
  llvm::SmallVector<mlir::Value> values;
  for (mlir::Value sum : sums) values.push_back(round_to(e.b, e.loc, dtype, sum, e.target.isa));
  return values;
}

}  // namespace kiln::codegen

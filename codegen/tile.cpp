#include "codegen/tile.h"

#include "codegen/math/math.h"

namespace kiln::codegen {
llvm::SmallVector<mlir::Value> Tile::emit(Emit& e, mlir::Value from, mlir::Value to,
                                          const std::function<Factors(mlir::Value)>& factors) const {
  const llvm::SmallVector<mlir::Value> zeros(registers(), e.number(dtype, 0, lanes));
  const mlir::ValueRange sums = e.loop(from, to, e.index(1), zeros, [&](mlir::Value k, mlir::ValueRange sum) {
    const Factors f = factors(k);
    llvm::SmallVector<mlir::Value> next;
    for (int r = 0; r < rows; ++r) {
      const mlir::Value left = e.splat(e.load_scalar(f.address_of_left(r), dtype), lanes);
      for (int v = 0; v < vectors; ++v)
        next.push_back(multiply_add(e, left, f.right[static_cast<std::size_t>(v)],
                                    sum[static_cast<unsigned>(next.size())]));
    }
    return next;
  });
  return {sums.begin(), sums.end()};
}

void Tile::load_right(Emit& e, mlir::Value address, std::int64_t panel,
                      llvm::SmallVectorImpl<mlir::Value>& right) const {
  for (std::int64_t column = 0; column < panel; column += lanes)
    right.push_back(e.load(e.element(address, e.index(column), dtype), dtype, lanes));
  e.prefetch(e.element(address, e.index(ahead * panel), dtype),
             panel * static_cast<std::int64_t>(size_of(dtype)));
}

mlir::Value Tile::multiply_add(Emit& e, mlir::Value a, mlir::Value b, mlir::Value sum) const {
  if (is_floating(dtype)) return mlir::LLVM::FMAOp::create(e.b, e.loc, a, b, sum);
  return e.add(sum, e.mul(a, b));
}

int Tile::lanes_of(const Target& target, DType dtype, std::int64_t panel) {
  const int lanes = target.lanes(size_of(dtype));
  return panel % lanes == 0 ? lanes : 1;
}

int Tile::most_rows(const Target& target, int vectors) {
  return std::max(1, (target.registers() - vectors - 1) / vectors);
}

int Tile::best_rows(std::int64_t m, int most, int vectors, std::int64_t overhead) {
  // Few sums wait for each other.
  const auto cost_of_tile = [&](std::int64_t rows) {
    return rows == 0 ? 0 : std::max<std::int64_t>(rows * vectors, least_sums) + overhead;
  };
  const auto cost = [&](std::int64_t rows) { return m / rows * cost_of_tile(rows) + cost_of_tile(m % rows); };
  std::int64_t best = std::clamp<std::int64_t>(m, 1, most);
  for (std::int64_t rows = best; rows > 0; --rows)
    if (cost(rows) < cost(best)) best = rows;
  return static_cast<int>(best);
}

mlir::Value Tile::no_sum(Emit& e) const { return e.number(dtype, is_floating(dtype) ? -0.0 : 0, lanes); }

mlir::Value Tile::plus(Emit& e, mlir::Value total, mlir::Value sum) const {
  if (is_floating(dtype)) return mlir::arith::AddFOp::create(e.b, e.loc, total, sum);
  return e.add(total, sum);
}

mlir::Value Tile::value(Emit& e, mlir::Value sum) const {
  return round_to(e.b, e.loc, dtype, sum, e.target.isa);
}

}  // namespace kiln::codegen

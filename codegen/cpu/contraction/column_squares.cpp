// Transposes half squares of B in registers and multiplies by them.
#include "codegen/cpu/contraction/column_squares.h"

namespace kiln::codegen {

using Value = mlir::Value;
using Values = ColumnSquares::Values;

ColumnSquares::ColumnSquares(KernelBuilder& e, const Tile& tile, const Columns& columns, Lhs lhs)
    : e(e), tile_(tile), columns_(columns), lhs_(std::move(lhs)) {}

Values ColumnSquares::sums(Value from, Value to, bool has_rest) {
  const Value whole = e.whole_steps(from, to, e.index(step(tile_.lanes)));
  const Values zeros(tile_.registers(), e.number(tile_.dtype, 0, tile_.lanes));
  const Values sums = add(zeros, from, whole, {});
  return has_rest ? add(sums, whole, to, e.sub(to, e.index(1))) : sums;
}

Values ColumnSquares::pointers_to(int v, Value k) {
  const Value number = e.mul(e.index(std::int64_t{v} * tile_.lanes), columns_.stride),
              first = e.element(columns_.first, e.add(number, k), tile_.dtype);
  if (is_partial(v)) return {first};
  return columns_.distances.pointers(e, first, tile_.lanes);
}

Values ColumnSquares::columns_of(int v, mlir::ValueRange pointers) {
  const Value last = e.sub(columns_.count, e.index(std::int64_t{v} * tile_.lanes + 1));
  // A missing column is read where the last one is, which may lie before the register's first.
  const auto present = [&](int lane) {
    return e.element(pointers.front(), e.mul(e.min(e.index(lane), last), columns_.stride), tile_.dtype);
  };
  return llvm::map_to_vector(llvm::seq(tile_.lanes), [&](int lane) {
    return is_partial(v) ? present(lane) : columns_.distances.address(e, pointers, lane);
  });
}

Values ColumnSquares::add(const Values& sums, Value from, Value to, Value last_k) {
  const Value step = e.index(ColumnSquares::step(tile_.lanes));
  Values carried = sums;
  llvm::SmallVector<std::size_t> counts;  // of pointers
  for (int v = 0; v < tile_.vectors; ++v) {
    const Values pointers = pointers_to(v, from);
    counts.push_back(pointers.size());
    llvm::append_range(carried, pointers);
  }
  const auto after = e.loop(from, to, step, carried, [&](Value k, mlir::ValueRange before) {
    Values next(before.take_front(sums.size()));
    // LLVM's loop strength reduction must not see how pointers move. It would replace them by the address of
    // each column at the first k, and few of these fit in registers.
    const auto pointers = llvm::map_to_vector(before.drop_front(sums.size()), [&](Value pointer) -> Value {
      return mlir::LLVM::LaunderInvariantGroupOp::create(e.b, e.loc, pointer.getType(), pointer);
    });
    llvm::SmallVector<Values> columns;
    mlir::ValueRange left = pointers;
    for (auto [v, count] : llvm::enumerate(counts)) {
      columns.push_back(columns_of(static_cast<int>(v), left.take_front(count)));
      left = left.drop_front(count);
    }
    add_squares(k, columns, last_k, next);
    for (const Value pointer : pointers) next.push_back(e.element(pointer, step, tile_.dtype));
    return next;
  });
  return Values(after.take_front(sums.size()));
}

void ColumnSquares::add_squares(Value k, llvm::ArrayRef<Values> columns, Value last_k, Values& sums) {
  const int lanes = tile_.lanes, step = ColumnSquares::step(lanes);
  const Value mask = last_k && step > 1 ? e.mask_below(e.add(e.sub(last_k, k), e.index(1)), step) : Value();
  // With few rows, a chain would wait for its FMAs: the chains of all registers are interleaved. More rows
  // leave no registers for it.
  const int together = tile_.rows <= tuning::max_rows_of_interleaved_squares ? tile_.vectors : 1;
  for (int v = 0; v < tile_.vectors; v += together) {
    const auto squares =
        llvm::map_to_vector(columns.slice(static_cast<std::size_t>(v), static_cast<std::size_t>(together)),
                            [&](const Values& own) {
                              return step < lanes ? e.load_half_transposed(own, tile_.dtype, mask)
                                                  : e.load_transposed(own, tile_.dtype, mask);
                            });
    for (int i = 0; i < step; ++i)
      for (int w = 0; w < together; ++w)
        add_products(e.add(k, e.index(i)), v + w,
                     squares[static_cast<std::size_t>(w)][static_cast<std::size_t>(i)], last_k, sums);
  }
}

void ColumnSquares::add_products(Value k, int v, Value rhs, Value last_k, Values& sums) {
  for (int r = 0; r < tile_.rows; ++r) {
    Value& sum = sums[static_cast<std::size_t>(r * tile_.vectors + v)];
    const Value lhs = lhs_(r, last_k ? e.min(k, last_k) : k);
    const Value next = tile_.multiply_add(e, e.splat(lhs, tile_.lanes), rhs, sum);
    sum = last_k ? e.select(e.less(last_k, k), sum, next) : next;
  }
}

}  // namespace kiln::codegen

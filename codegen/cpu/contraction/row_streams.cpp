// Multiplies several rows of B at once into sums in L1.
#include "codegen/cpu/contraction/row_streams.h"

#include "codegen/target/tuning.h"

namespace kiln::codegen {

using Value = mlir::Value;

RowStreams::RowStreams(KernelBuilder& e, const Tile& tile, Operands operands)
    : e(e), tile_(tile), operands_(std::move(operands)) {}

int RowStreams::rows_together(int rows) { return std::max(1, tuning::max_streamed_rows / rows); }

void RowStreams::emit(Value k_extent, bool one_chunk, Value columns, Store store) {
  const Values sums = arrays(), totals = one_chunk ? sums : arrays();
  const Value zero = e.index(0);
  if (one_chunk) {
    add_chunk(sums, zero, k_extent, columns);
  } else {
    fill(totals, columns, tile_.initial_total(e));
    const Value length = e.index(Tile::chunk);
    e.loop(zero, k_extent, length, [&](Value from) {
      add_chunk(sums, from, e.min(e.add(from, length), k_extent), columns);
      e.each_register(columns, tile_.lanes, [&](Value column, Value) {
        for (auto [total, sum] : llvm::zip(totals, sums))
          this->store(tile_.plus(e, load(total, column), load(sum, column)), total, column);
      });
    });
  }
  e.each_register(columns, tile_.lanes, [&](Value column, Value mask) {
    store(llvm::map_to_vector(totals, [&](Value total) { return load(total, column); }), column, mask);
  });
}

RowStreams::Values RowStreams::arrays() {
  Values all;
  for (int r = 0; r < tile_.rows; ++r) all.push_back(e.stack(tile_.wide(), tile_.width()));
  return all;
}

void RowStreams::fill(const Values& sums, Value columns, Value number) {
  e.each_register(columns, tile_.lanes, [&](Value column, Value) {
    for (const Value sum : sums) store(number, sum, column);
  });
}

void RowStreams::add_chunk(const Values& sums, Value from, Value to, Value columns) {
  fill(sums, columns, e.number(tile_.dtype, 0, tile_.lanes));
  const int together = rows_together(tile_.rows);
  const Value step = e.index(together), whole = e.whole_steps(from, to, step);
  e.loop(from, whole, step, [&](Value k) { add_rows(sums, k, together, columns); });
  e.loop(whole, to, e.index(1), [&](Value k) { add_rows(sums, k, 1, columns); });
}

void RowStreams::add_rows(const Values& sums, Value k, int count, Value columns) {
  llvm::SmallVector<Value> rows;  // of B
  llvm::SmallVector<Values> lhs;  // for each of them, of the rows of A
  for (int i = 0; i < count; ++i) {
    const Value here = e.add(k, e.index(i));
    rows.push_back(e.element(operands_.rhs, e.mul(here, operands_.rhs_k_stride), tile_.dtype));
    Values& elements = lhs.emplace_back();
    for (int r = 0; r < tile_.rows; ++r) elements.push_back(e.splat(operands_.lhs(r, here), tile_.lanes));
  }
  e.each_register(columns, tile_.lanes, [&](Value column, Value mask) {
    Values next = llvm::map_to_vector(sums, [&](Value sum) { return load(sum, column); });
    for (auto [row, elements] : llvm::zip(rows, lhs)) {
      const Value rhs = e.load(e.element(row, column, tile_.dtype), tile_.dtype, tile_.lanes, mask);
      for (auto [sum, element] : llvm::zip(next, elements)) sum = tile_.multiply_add(e, element, rhs, sum);
    }
    for (auto [value, sum] : llvm::zip(next, sums)) store(value, sum, column);
  });
}

}  // namespace kiln::codegen

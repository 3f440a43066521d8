// The tiles of a product and the staging of its operands.
#include "codegen/cuda/contraction/product_tile.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {

using mlir::Value;

bool prefers_large_tile(TileExtents result, std::int64_t matrices, TileExtents small, TileExtents large,
                        const Epilogue& epilogue) {
  constexpr std::int64_t many_tiles = 256;
  constexpr std::size_t short_epilogue = 200;
  const std::int64_t tiles = matrices * llvm::divideCeilSigned(result.rows, large.rows) *
                             llvm::divideCeilSigned(result.columns, large.columns);
  const bool is_filled = result.rows > small.rows && result.columns > small.columns;
  return is_filled && tiles >= many_tiles && epilogue.code_length() <= short_epilogue;
}

TilePlace::TilePlace(KernelBuilder& e, Value number, Value row_tiles, Value column_tiles, TileExtents tile,
                     const OuterAxes& batch) {
  const Value tiles = e.mul(row_tiles, column_tiles);
  const Value matrix = e.div(number, tiles), in_matrix = e.rem(number, tiles);
  first_row = e.mul(e.rem(in_matrix, row_tiles), e.index(tile.rows));
  first_column = e.mul(e.div(in_matrix, row_tiles), e.index(tile.columns));
  batch_index = batch.index(e, matrix);
  lhs_offset = batch.lhs_offset(e, batch_index);
  rhs_offset = batch.rhs_offset(e, batch_index);
}

void store_elements(KernelBuilder& e, Epilogue& epilogue, Value rows, Value columns,
                    const ThreadElements& elements) {
  for (std::int64_t r = 0; r < elements.rows; ++r) {
    const Value row = elements.row_at(r);
    e.when(e.less(row, rows), [&] {
      for (std::int64_t c = 0; c < elements.columns; ++c) {
        const Value column = elements.column_at(c);
        e.when(e.less(column, columns), [&] { epilogue.store(e, {elements.sum(r, c)}, row, column, 1, {}); });
      }
    });
  }
}

void StagedOperand::divide(KernelBuilder& e, Team& team, const Step& step, const Lines& lines, bool along_k) {
  const Value thread = team.thread(), last = e.sub(lines.extent, e.index(1)),
              inner = e.index(along_k ? step.words : lines.count);
  for (std::int64_t i = 0; i < step.words * lines.count; i += team.threads()) {
    const Value number = e.add(thread, e.index(i));
    const Value fast = e.rem(number, inner), slow = e.div(number, inner);
    const Value word = along_k ? fast : slow, line = along_k ? slow : fast;
    first.push_back(lines.offset_of(e.min(e.add(lines.first, line), last)));
    k.push_back(e.mul(word, e.index(step.values_of_word)));
    target.push_back(e.add(e.mul(word, e.index(step.word_stride)), e.mul(line, e.index(step.line_stride))));
  }
}

void stage(KernelBuilder& e, Team& team, const StagedOperand& lhs, const StagedOperand& rhs, DType word,
           mlir::ValueRange words) {
  team.barrier();
  auto next = words.begin();
  for (const StagedOperand* operand : {&lhs, &rhs})
    for (const Value target : operand->target)
      e.store_scalar(*next++, team.shared_element(operand->shared, target, word), word);
  team.barrier();
}

}  // namespace kiln::codegen

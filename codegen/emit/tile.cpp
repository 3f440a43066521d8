// Emits the sums of register tiles.
#include "codegen/emit/tile.h"

#include "codegen/math/math.h"
#include "codegen/target/tuning.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <cstdlib>

namespace kiln::codegen {

void TileRows::emit(KernelBuilder& e, mlir::Value tile, mlir::Value larger,
                    llvm::function_ref<void(mlir::Value, int)> body) const {
  const auto large = [&] { body(e.mul(tile, e.index(most)), most); };
  if (even) return large();
  e.when(e.less(tile, larger), large, [&] { body(e.add(e.mul(tile, e.index(most - 1)), larger), most - 1); });
}

TileSplit::TileSplit(std::int64_t m, int most) : tiles(llvm::divideCeilSigned(m, most)) {
  const std::int64_t rows_of_larger = m == 0 ? 1 : llvm::divideCeilSigned(m, tiles);
  larger = m - tiles * (rows_of_larger - 1);
  rows = {static_cast<int>(rows_of_larger), larger == tiles};
}

llvm::SmallVector<mlir::Value> Tile::emit(
    KernelBuilder& e, mlir::Value from, mlir::Value to, const Carried& carried,
    const std::function<Operands(mlir::Value, Carried&)>& operands_at) const {
  llvm::SmallVector<mlir::Value> initial(registers(), e.number(dtype, 0, lanes));
  llvm::append_range(initial, carried);
  const mlir::ValueRange last =
      e.loop(from, to, e.index(1), initial, [&](mlir::Value k, mlir::ValueRange at) {
        Carried moving(at.drop_front(registers()));
        const Operands operands = operands_at(k, moving);
        llvm::SmallVector<mlir::Value> next;
        for (int r = 0; r < rows; ++r) {
          const mlir::Value lhs = e.splat(e.load_scalar(operands.lhs_address(r), dtype), lanes);
          for (int v = 0; v < vectors; ++v)
            next.push_back(multiply_add(e, lhs, operands.rhs[static_cast<std::size_t>(v)],
                                        at[static_cast<unsigned>(next.size())]));
        }
        llvm::append_range(next, moving);
        return next;
      });
  return llvm::to_vector(last.take_front(registers()));
}

llvm::SmallVector<mlir::Value> Tile::sum_over_chunks(
    KernelBuilder& e, std::int64_t k_extent,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::Value)> over) const {
  return sum_over_chunks(e, e.index(k_extent), k_extent <= chunk, over);
}

llvm::SmallVector<mlir::Value> Tile::sum_over_chunks(
    KernelBuilder& e, mlir::Value end, bool one_chunk,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::Value)> over) const {
  const mlir::Value begin = e.index(0);
  if (one_chunk) return over(begin, end);
  const mlir::Value length = e.index(chunk);
  const llvm::SmallVector<mlir::Value> none(registers(), initial_total(e));
  return e.loop(begin, end, length, none, [&](mlir::Value from, mlir::ValueRange totals) {
    auto sums = over(from, e.min(e.add(from, length), end));
    for (auto [sum, total] : llvm::zip(sums, totals)) sum = plus(e, total, sum);
    return sums;
  });
}

mlir::Value Tile::load_columns(KernelBuilder& e, mlir::Value address, DType stored) const {
  const mlir::Value columns = e.load(address, stored, lanes);  // narrow floats are widened by the load
  return is_floating(stored) || stored == dtype
             ? columns
             : emit_cast(e.b, e.loc, stored, wide(), columns, e.target.isa);
}

void Tile::load_rhs(KernelBuilder& e, mlir::Value address, DType stored, int registers, std::int64_t panel,
                    llvm::SmallVectorImpl<mlir::Value>& rhs) const {
  const std::int64_t columns = std::int64_t{registers} * lanes;
  for (std::int64_t column = 0; column < columns; column += lanes)
    rhs.push_back(load_columns(e, e.element(address, e.index(column), stored), stored));
  e.prefetch(e.element(address, e.index(tuning::packed_prefetch_k * panel), stored),
             columns * static_cast<std::int64_t>(size_of(stored)));
}

mlir::Value Tile::multiply_add(KernelBuilder& e, mlir::Value a, mlir::Value b, mlir::Value sum) const {
  if (is_floating(dtype)) return mlir::LLVM::FMAOp::create(e.b, e.loc, a, b, sum);
  if (bytes) return multiply_add_bytes(e, *bytes, lanes, a, b, sum);
  return e.add(sum, e.mul(a, b));
}

int Tile::lanes_of(int lanes, std::int64_t panel) {
  if (panel % lanes == 0) return lanes;
  return panel < lanes && llvm::isPowerOf2_64(static_cast<std::uint64_t>(panel)) ? static_cast<int>(panel)
                                                                                 : 1;
}

int Tile::max_rows(const CpuTarget& target, int vectors) {
  return std::max(1, (target.registers() - vectors - 1) / vectors);
}

int Tile::rows_without_conflicts(std::int64_t row_bytes, int limit, int most) {
  constexpr std::int64_t page = 4096, line = tuning::cache_line_bytes;
  llvm::SmallVector<int, 32> in_set;  // rows whose line may map to the set of each row's
  for (int row = 0; row < most; ++row) {
    in_set.push_back(1);
    for (int other = 0; other < row; ++other) {
      const std::int64_t distance = (row - other) * row_bytes, behind = (distance % page + page) % page;
      if (std::abs(distance) < line) continue;  // they share a line
      if (behind < line) ++in_set[static_cast<std::size_t>(other)];
      if ((page - behind) % page < line) ++in_set.back();
    }
    if (*llvm::max_element(in_set) > limit) return row;
  }
  return most;
}

mlir::Value Tile::initial_total(KernelBuilder& e) const {
  return e.number(dtype, is_floating(dtype) && !pairs ? -0.0 : 0, lanes);
}

mlir::Value Tile::plus(KernelBuilder& e, mlir::Value total, mlir::Value sum) const {
  if (is_floating(dtype)) return mlir::arith::AddFOp::create(e.b, e.loc, total, sum);
  return e.add(total, sum);
}

mlir::Value Tile::value(KernelBuilder& e, mlir::Value sum) const {
  return round_to(e.b, e.loc, dtype, sum, e.target.isa);
}

namespace {
/// Denominator of the fixed-point number of bytes of a step.
constexpr std::int64_t parts = 1 << 16;
}  // namespace

PrefetchSlice::PrefetchSlice(KernelBuilder& e, mlir::Value next, std::int64_t bytes_of_k, mlir::Value length,
                             mlir::Value number, mlir::Value count)
    : next_(next),
      first_step_(e.mul(number, length)),
      bytes_of_step_(e.div(e.index(bytes_of_k * parts), count)) {}

mlir::Value PrefetchSlice::at(KernelBuilder& e, mlir::Value steps) const {
  return e.byte_offset(next_, e.div(e.mul(e.add(first_step_, steps), bytes_of_step_), e.index(parts)));
}

mlir::Value PrefetchSlice::begin(KernelBuilder& e) const { return e.mul(first_step_, bytes_of_step_); }

mlir::Value PrefetchSlice::prefetch(KernelBuilder& e, mlir::Value position) const {
  e.prefetch(e.byte_offset(next_, e.div(position, e.index(parts))));
  return e.add(position, bytes_of_step_);
}

}  // namespace kiln::codegen

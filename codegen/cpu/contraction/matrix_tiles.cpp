// The loop of a tile over k on the matrix unit.
#include "codegen/cpu/contraction/matrix_tiles.h"

#include "codegen/cpu/contraction/matrix_unit.h"

namespace kiln::codegen {
namespace {

using mlir::Value;

/// One tile. Its rows are in blocks, each a register of A. Registers of sums come first, by blocks and by
/// registers of columns. Registers of B follow, then at least two of A.
class MatrixTile {
 public:
  MatrixTile(const ContractionKernel& kernel, Value shape, int rows, int vectors)
      : k_(kernel), e(kernel.e), shape_(shape), rows_(rows), vectors_(vectors) {}

  void run(const WordOperands& o) {
    if (!reads_in_place()) copied_ = e.stack(DType::i32, rows_ * matrix_unit::words);
    const Value words = e.index(matrix_unit::words), whole = e.whole_steps(o.from, o.to, words);
    e.when(e.less(o.from, whole), [&] { add(o, o.from, whole, words); });
    if (!k_.plan.tile.pairs)  // whose steps are whole
      e.when(e.less(whole, o.to), [&] { add(o, whole, o.to, e.sub(o.to, whole)); });
  }

 private:
  MatrixProducts products() const {
    return k_.plan.tile.pairs ? MatrixProducts::pairs : MatrixProducts::bytes;
  }
  bool reads_in_place() const { return k_.plan.rows.matrix_reads_in_place(); }
  /// Rows of a block: of a row group, or as many as a register has.
  int block_rows() const {
    const int group = k_.plan.rows.rows_per_group;
    return reads_in_place() && group > 1 ? group : matrix_unit::rows;
  }
  int blocks() const { return (rows_ + block_rows() - 1) / block_rows(); }
  int rows_of(int block) const { return std::min(block_rows(), rows_ - block * block_rows()); }

  /// All tiles of a kernel number registers as the widest one does.
  int widest() const { return k_.plan.tile.vectors; }
  int sums_of(int block, int v) const { return block * widest() + v; }
  int rhs_of(int v) const { return blocks() * widest() + v; }
  /// The last block, which may have fewer rows, has a register of its own.
  int lhs_of(int block) const {
    const int first = rhs_of(widest()), last = matrix_unit::registers - 1;
    return block + 1 == blocks() ? last : first + block % (last - first);
  }

  /// Adds the products over k in [from, to), in steps of `words`, at most 16.
  void add(const WordOperands& o, Value from, Value to, Value words) {
    configure(words);
    e.when(
        e.less(from, e.index(1)),
        [&] { each_sum([&](int block, int v) { matrix_unit::clear(e, sums_of(block, v)); }); },
        [&] { move_sums(o.totals, matrix_unit::load); });
    e.loop(from, to, e.index(matrix_unit::words), [&](Value step) {
      const auto lhs = lhs_at(o.lhs, step, words);
      load_rhs(o.panels.front(), step);
      if (o.next_rhs)
        e.prefetch(o.next_rhs->at(e, e.sub(step, o.from)), k_.plan.rhs.lines_ahead * tuning::cache_line_bytes,
                   KernelBuilder::Cache::l2);
      for (int block = 0; block < blocks(); ++block) {
        matrix_unit::load(e, lhs_of(block), lhs(block), lhs_distance());
        for (int v = 0; v < vectors_; ++v)
          matrix_unit::multiply_add(e, products(), sums_of(block, v), lhs_of(block), rhs_of(v));
      }
    });
    move_sums(o.totals, matrix_unit::store);
  }

  /// Gives the registers the shape of this tile's rows, with `words` of k, unless they have it.
  void configure(Value words) {
    const Value shape = e.add(e.index(std::int64_t{rows_} * (matrix_unit::words + 1)), words);
    const Value has_it = e.equal(e.load_scalar(shape_, DType::i64), shape);
    e.when(
        has_it, [] {},
        [&] {
          e.store_scalar(shape, shape_, DType::i64);
          set_shapes(words);
        });
  }
  void set_shapes(Value words) {
    llvm::SmallVector<matrix_unit::Shape> shapes(matrix_unit::registers);
    const Value bytes = e.mul(words, e.index(4)), columns = e.index(std::int64_t{k_.plan.tile.lanes} * 4);
    const auto shape = [&](int of_register, Value rows, Value row_bytes) {
      shapes[static_cast<std::size_t>(of_register)] = {rows, row_bytes};
    };
    for (int block = 0; block < blocks(); ++block) {
      for (int v = 0; v < widest(); ++v) shape(sums_of(block, v), e.index(rows_of(block)), columns);
      shape(lhs_of(block), e.index(rows_of(block)), bytes);
    }
    for (int v = 0; v < widest(); ++v) shape(rhs_of(v), words, columns);
    matrix_unit::configure(e, shapes);
  }

  void each_sum(llvm::function_ref<void(int block, int v)> body) const {
    for (int block = 0; block < blocks(); ++block)
      for (int v = 0; v < vectors_; ++v) body(block, v);
  }
  /// Between the registers of sums and the totals in memory.
  void move_sums(Value totals, void (*move)(KernelBuilder&, int, Value, Value)) {
    const std::int64_t lanes = k_.plan.tile.lanes, row = vectors_ * lanes;  // elements
    each_sum([&](int block, int v) {
      const Value first = e.index(block * block_rows() * row + v * lanes);
      move(e, sums_of(block, v), e.element(totals, first, DType::i32), e.index(row * 4));
    });
  }

  void load_rhs(Value panels, Value step) {
    const std::int64_t panel = k_.plan.columns.panel, lanes = k_.plan.tile.lanes;
    const auto row = [&](Value k) { return k_.rhs_element(panels, e.mul(k, e.index(panel))); };
    for (int v = 0; v < vectors_; ++v)
      matrix_unit::load(e, rhs_of(v), k_.rhs_element(row(step), e.index(v * lanes)), e.index(panel * 4));
  }

  /// Bytes between the rows of a block.
  Value lhs_distance() {
    if (!reads_in_place()) return e.index(matrix_unit::words * 4);
    if (k_.plan.rows.even) return k_.lhs_rows.distance();
    const RowTilePlan& rows = k_.plan.rows;
    return e.index((rows.rows_per_group > 1 ? rows.row_stride : rows.group_stride) * 4);
  }
  /// The address of A's first row of each block, at a step.
  std::function<Value(int)> lhs_at(Value lhs, Value step, Value words) {
    if (!reads_in_place()) return copy_rows(lhs, step, words);
    return [this, here = k_.element(lhs, k_.lhs_offset(step))](int block) {
      if (k_.plan.rows.even)
        return e.byte_offset(here, e.mul(e.index(block * block_rows()), k_.lhs_rows.distance()));
      return k_.element(here, e.index(k_.plan.rows.offset_in_lhs(block * block_rows())));
    };
  }
  /// Copies rows that are not one distance apart.
  std::function<Value(int)> copy_rows(Value lhs, Value step, Value words) {
    constexpr int lanes = static_cast<int>(matrix_unit::words);
    const auto copied = [this](int r) {
      return e.element(copied_, e.index(r * matrix_unit::words), DType::i32);
    };
    const auto address = k_.lhs_rows_at(lhs, step, rows_);
    const Value mask = k_.plan.tile.pairs ? Value() : e.mask_below(words, lanes);
    for (int r = 0; r < rows_; ++r)
      e.store(e.load(address(r), DType::i32, lanes, mask), copied(r), DType::i32, lanes);
    return [this, copied](int block) { return copied(block * block_rows()); };
  }

  const ContractionKernel& k_;
  KernelBuilder& e;
  const Value shape_;
  const int rows_, vectors_;
  Value copied_;  // scratch memory
};

}  // namespace

MatrixTiles::MatrixTiles(const ContractionKernel& kernel)
    : k_(kernel), shape_(kernel.e.stack(DType::i64, 1)) {
  k_.e.store_scalar(k_.e.index(0), shape_, DType::i64);
}

void MatrixTiles::add(int rows, int vectors, const WordOperands& operands) {
  MatrixTile(k_, shape_, rows, vectors).run(operands);
}

void MatrixTiles::end() {
  KernelBuilder& e = k_.e;
  e.when(e.less(e.index(0), e.load_scalar(shape_, DType::i64)), [&] { matrix_unit::release(e); });
}

}  // namespace kiln::codegen

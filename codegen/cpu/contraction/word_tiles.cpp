// The loops of tiles of words over k.
#include "codegen/cpu/contraction/word_tiles.h"

#include "codegen/cpu/contraction/matrix_unit.h"

namespace kiln::codegen {
namespace {

using mlir::Value;
using Values = llvm::SmallVector<Value>;
using Part = PairProducts::Part;

constexpr std::int64_t words_of_step = PairProducts::words_of_step;

/// The addresses of A's rows at a word of k.
std::function<Value(int)> rows_at(const ContractionKernel& k, int rows, Value lhs, Value word) {
  const Value here = k.element(lhs, k.lhs_offset(word));
  if (!k.plan.rows.even || k.plan.lhs.copies)
    return [&k, here](int r) { return k.element(here, k.e.index(k.plan.lhs_row_offset(r))); };
  return [&k, pointers = k.lhs_rows.pointers(k.e, here, rows)](int r) {
    return k.lhs_rows.address(k.e, pointers, r);
  };
}

/// A tile on the matrix unit. Registers of sums come first, by blocks of 16 rows and by registers of columns.
/// The registers of B follow, then one of A for whole blocks, and one for a last block with fewer rows.
class MatrixTile {
 public:
  MatrixTile(const ContractionKernel& kernel, int rows, int vectors)
      : k_(kernel), e(kernel.e), rows_(rows), vectors_(vectors), lanes_(kernel.plan.tile.lanes) {}

  void run(const WordTiles::Operands& o) {
    if (!reads_in_place()) lhs_ = e.stack(DType::i32, rows_ * matrix_unit::words);
    const Value words = e.index(matrix_unit::words), whole = e.whole_steps(o.from, o.to, words);
    e.when(e.less(o.from, whole), [&] { add(o, o.from, whole, words); });
    if (!k_.plan.tile.pairs)  // whose steps are whole
      e.when(e.less(whole, o.to), [&] { add(o, whole, o.to, e.sub(o.to, whole)); });
  }

 private:
  MatrixProducts products() const {
    return k_.plan.tile.pairs ? MatrixProducts::pairs : MatrixProducts::bytes;
  }
  int blocks() const { return (rows_ + matrix_unit::rows - 1) / matrix_unit::rows; }
  int rows_of(int block) const { return std::min(matrix_unit::rows, rows_ - block * matrix_unit::rows); }
  int sums_of(int block, int v) const { return block * vectors_ + v; }
  int rhs_of(int v) const { return blocks() * vectors_ + v; }
  int lhs_of(int block) const {
    return rhs_of(vectors_) + (block > 0 && rows_of(block) < matrix_unit::rows ? 1 : 0);
  }
  /// Whether A's rows are one distance apart, also where a tile has more rows than A.
  bool reads_in_place() const { return k_.plan.rows.even && !k_.plan.rows.generic; }

  /// Adds the products over k in [from, to), in steps of `words`, at most 16.
  void add(const WordTiles::Operands& o, Value from, Value to, Value words) {
    configure(words);
    each_sum(o.totals, matrix_unit::load);
    e.loop(from, to, e.index(matrix_unit::words), [&](Value step) {
      load_rhs(o.panels.front(), step);
      const auto lhs = lhs_at(o.lhs, step, words);
      for (int block = 0; block < blocks(); ++block) {
        matrix_unit::load(e, lhs_of(block), lhs(block), lhs_distance());
        for (int v = 0; v < vectors_; ++v)
          matrix_unit::multiply_add(e, products(), sums_of(block, v), lhs_of(block), rhs_of(v));
      }
    });
    each_sum(o.totals, matrix_unit::store);
    matrix_unit::release(e);
  }

  void configure(Value words) {
    llvm::SmallVector<matrix_unit::Shape> shapes(matrix_unit::registers);
    const Value bytes = e.mul(words, e.index(4)), columns = e.index(std::int64_t{lanes_} * 4);
    const auto shape = [&](int of_register, Value rows, Value row_bytes) {
      shapes[static_cast<std::size_t>(of_register)] = {rows, row_bytes};
    };
    for (int block = 0; block < blocks(); ++block) {
      for (int v = 0; v < vectors_; ++v) shape(sums_of(block, v), e.index(rows_of(block)), columns);
      shape(lhs_of(block), e.index(rows_of(block)), bytes);
    }
    for (int v = 0; v < vectors_; ++v) shape(rhs_of(v), words, columns);
    matrix_unit::configure(e, shapes);
  }

  /// Between the registers of sums and the totals in memory.
  void each_sum(Value totals, void (*move)(KernelBuilder&, int, Value, Value)) {
    const std::int64_t row = std::int64_t{vectors_} * lanes_;  // elements
    for (int block = 0; block < blocks(); ++block)
      for (int v = 0; v < vectors_; ++v) {
        const Value first = e.index(block * matrix_unit::rows * row + std::int64_t{v} * lanes_);
        move(e, sums_of(block, v), e.element(totals, first, DType::i32), e.index(row * 4));
      }
  }

  void load_rhs(Value panels, Value step) {
    const std::int64_t panel = k_.plan.columns.panel;
    const auto row = [&](Value k) { return k_.rhs_element(panels, e.mul(k, e.index(panel))); };
    for (int v = 0; v < vectors_; ++v)
      matrix_unit::load(e, rhs_of(v), k_.rhs_element(row(step), e.index(std::int64_t{v} * lanes_)),
                        e.index(panel * 4));
    if (k_.plan.rhs.prefetches)
      e.prefetch(row(e.add(step, e.index(matrix_unit::words))), matrix_unit::words * panel * 4);
  }

  Value lhs_distance() { return reads_in_place() ? k_.lhs_rows.distance() : e.index(matrix_unit::words * 4); }
  /// The address of A's first row of each block, at a step. Rows that are not one distance apart are copied.
  std::function<Value(int)> lhs_at(Value lhs, Value step, Value words) {
    if (reads_in_place())
      return [this, here = k_.element(lhs, k_.lhs_offset(step))](int block) {
        return e.byte_offset(here, e.mul(e.index(block * matrix_unit::rows), k_.lhs_rows.distance()));
      };
    constexpr int lanes = static_cast<int>(matrix_unit::words);
    const auto copied = [this](int r) {
      return e.element(lhs_, e.index(r * matrix_unit::words), DType::i32);
    };
    const auto address = rows_at(k_, rows_, lhs, step);
    const Value mask = k_.plan.tile.pairs ? Value() : e.mask_below(words, lanes);
    for (int r = 0; r < rows_; ++r)
      e.store(e.load(address(r), DType::i32, lanes, mask), copied(r), DType::i32, lanes);
    return [copied](int block) { return copied(block * matrix_unit::rows); };
  }

  const ContractionKernel& k_;
  KernelBuilder& e;
  const int rows_, vectors_, lanes_;
  Value lhs_;  // scratch memory
};

/// A tile by paired32 on vectors: the body of its function.
class PairTile {
 public:
  PairTile(const ContractionKernel& kernel, int rows, int vectors)
      : k_(kernel), e(kernel.e), rows_(rows), vectors_(vectors), lanes_(kernel.plan.tile.lanes) {}

  void run(const WordTiles::Operands& o) {
    lhs_ = e.stack(DType::f32, rows_ * ir::step_of_pairs);
    e.loop(o.from, o.to, e.index(words_of_step), [&](Value step) {
      widen_lhs(o.lhs, step);
      const Values sums = fits_both_chains() ? both_chains(o, step) : one_by_one(o, step);
      PairProducts pairs(e, lanes_);
      for (auto [i, sum] : llvm::enumerate(sums)) {
        const Value total = e.element(o.totals, e.index(static_cast<std::int64_t>(i) * lanes_), DType::f32);
        e.store(pairs.add(e.load(total, DType::f32, lanes_), sum), total, DType::f32, lanes_);
      }
    });
  }

 private:
  int registers() const { return rows_ * vectors_; }
  /// Whether there are registers for the sums of the even and the odd elements at once.
  bool fits_both_chains() const { return 2 * registers() + vectors_ + 2 <= e.target.registers(); }

  /// A's elements of a step to scratch memory, as f32, from where they are broadcast: for each row the even
  /// ones, then the odd ones.
  void widen_lhs(Value lhs, Value step) {
    PairProducts pairs(e, lanes_);
    const auto address = rows_at(k_, rows_, lhs, step);
    for (int r = 0; r < rows_; ++r) {
      const Value row = e.element(lhs_, e.index(r * ir::step_of_pairs), DType::f32), from = address(r);
      const auto widen = [&](Value word) {
        const Value words = e.load(e.element(from, word, DType::i32), DType::i32, lanes_);
        for (const Part part : {Part::even, Part::odd})
          e.store(pairs.part(words, part), e.element(row, e.add(word, first_of(part)), DType::f32),
                  DType::f32, lanes_);
      };
      if (lanes_ == words_of_step)
        widen(e.index(0));
      else
        e.loop(e.index(0), e.index(words_of_step), e.index(lanes_), widen);
    }
  }
  Value first_of(Part part) { return e.index(part == Part::even ? 0 : words_of_step); }

  /// The words of B at a word of k.
  Values rhs_at(const WordTiles::Operands& o, Value k, bool prefetches) {
    Values words;
    const std::int64_t panel = k_.plan.columns.panel;
    const int of_panel = vectors_ / k_.plan.columns.panels;
    for (const Value base : o.panels) {
      const Value row = k_.rhs_element(base, e.mul(k, e.index(panel)));
      for (int v = 0; v < of_panel; ++v)
        words.push_back(e.load(k_.rhs_element(row, e.index(v * lanes_)), DType::i32, lanes_));
      if (prefetches && k_.plan.rhs.prefetches)
        e.prefetch(k_.rhs_element(row, e.index(tuning::packed_prefetch_k * panel)),
                   std::int64_t{of_panel} * lanes_ * static_cast<std::int64_t>(sizeof(std::int32_t)));
    }
    return words;
  }

  /// Adds the products of one word's even or odd elements to `sums`.
  void multiply_add(Value word, Part part, llvm::ArrayRef<Value> rhs, llvm::MutableArrayRef<Value> sums) {
    PairProducts pairs(e, lanes_);
    Values columns;
    for (const Value words : rhs) columns.push_back(pairs.part(words, part));
    Value* sum = sums.begin();
    for (int r = 0; r < rows_; ++r) {
      const Value at = e.add(word, e.add(e.index(r * ir::step_of_pairs), first_of(part)));
      const Value a = e.splat(e.load_scalar(e.element(lhs_, at, DType::f32), DType::f32), lanes_);
      for (const Value b : columns) {
        *sum = pairs.multiply_add(a, b, *sum);
        ++sum;
      }
    }
  }

  Values both_chains(const WordTiles::Operands& o, Value step) {
    const Values zeros(2 * static_cast<std::size_t>(registers()), e.number(DType::f32, 0, lanes_));
    const mlir::ValueRange chains = over_words(zeros, [&](Value word, mlir::ValueRange before) {
      Values next(before);
      const Values rhs = rhs_at(o, e.add(step, word), true);
      const llvm::MutableArrayRef<Value> sums(next);
      multiply_add(word, Part::even, rhs, sums.take_front(static_cast<std::size_t>(registers())));
      multiply_add(word, Part::odd, rhs, sums.drop_front(static_cast<std::size_t>(registers())));
      return next;
    });
    return added(chains.take_front(static_cast<std::size_t>(registers())),
                 chains.drop_front(static_cast<std::size_t>(registers())));
  }

  Values one_by_one(const WordTiles::Operands& o, Value step) {
    const auto chain = [&](Part part) {
      const Values zeros(static_cast<std::size_t>(registers()), e.number(DType::f32, 0, lanes_));
      return over_words(zeros, [&](Value word, mlir::ValueRange before) {
        Values next(before);
        multiply_add(word, part, rhs_at(o, e.add(step, word), part == Part::even), next);
        return next;
      });
    };
    const mlir::ValueRange even = chain(Part::even);
    return added(even, chain(Part::odd));
  }

  mlir::ValueRange over_words(const Values& initial, const KernelBuilder::CarriedBody& body) {
    return e.loop(e.index(0), e.index(words_of_step), e.index(1), initial, body);
  }
  Values added(mlir::ValueRange even, mlir::ValueRange odd) {
    PairProducts pairs(e, lanes_);
    Values sums;
    for (auto [x, y] : llvm::zip(even, odd)) sums.push_back(pairs.add(x, y));
    return sums;
  }

  const ContractionKernel& k_;
  KernelBuilder& e;
  const int rows_, vectors_, lanes_;
  Value lhs_;  // scratch memory
};

}  // namespace

void WordTiles::add(int rows, int vectors, const Operands& operands) {
  if (k_.plan.tile.matrix_unit) return MatrixTile(k_, rows, vectors).run(operands);
  const auto body = [this, rows, vectors](KernelBuilder& e, mlir::ValueRange arguments) {
    const KernelArgs args{arguments[0], arguments[1], e.index(0), e.index(0)};
    const ContractionKernel kernel(e, k_.plan, args);
    PairTile(kernel, rows, vectors)
        .run({arguments[2], Values(arguments.drop_front(6)), arguments[3], arguments[4], arguments[5]});
  };
  auto& function =
      functions_.try_emplace({rows, vectors}, fmt::format("tile_{}x{}", rows, vectors), body).first->second;
  Values arguments{k_.args.buffers, k_.args.params, operands.lhs,
                   operands.totals, operands.from,  operands.to};
  llvm::append_range(arguments, operands.panels);
  function.call(k_.e, arguments);
}

}  // namespace kiln::codegen

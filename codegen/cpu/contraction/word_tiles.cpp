// The loop of a tile over k by paired32, on vectors.
#include "codegen/cpu/contraction/word_tiles.h"

namespace kiln::codegen {
namespace {

using mlir::Value;
using Values = llvm::SmallVector<Value>;
using Part = PairProducts::Part;

constexpr std::int64_t words_of_step = PairProducts::words_of_step;

/// A tile by paired32 on vectors: the body of its function.
class PairTile {
 public:
  PairTile(const ContractionKernel& kernel, int rows, int vectors)
      : k_(kernel), e(kernel.e), rows_(rows), vectors_(vectors), lanes_(kernel.plan.tile.lanes) {}

  void run(const WordOperands& o) {
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
    const auto address = k_.lhs_rows_at(lhs, step, rows_);
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
  Values rhs_at(const WordOperands& o, Value k, bool prefetches) {
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

  Values both_chains(const WordOperands& o, Value step) {
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

  Values one_by_one(const WordOperands& o, Value step) {
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

void WordTiles::add(int rows, int vectors, const WordOperands& operands) {
  if (matrix_) return matrix_->add(rows, vectors, operands);
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

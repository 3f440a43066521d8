// The code of reductions, in the two orders of operations that kiln.reduce in ir/KilnOps.td
// defines:
//
// - interleaved64, where the reduced axes are innermost: blocks of 1024 elements, each with 64 interleaved
//   partial results, which are combined pairwise. The results of several blocks are reduced in the same way,
//   level by level.
// - chained512, where kept axes follow: chains of 512 elements, whose results are added in order.
//
// Lanes run along the reduced axis (AlongReduced), along the last kept axis (AlongKept), or along the last
// kept axis with all partial results in registers (RegisterTree).
#include "codegen/cpu/kernels/reduction_body.h"
#include "codegen/cpu/tuning.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Lanes along the reduced axis, in the order interleaved64: one result at a time.
class AlongReduced : ReductionEmitter {
 public:
  AlongReduced(KernelBuilder& e, const Reduction& red, mlir::Value params)
      : ReductionEmitter(e, red, params) {
    for (int level = 2; level <= red.levels; ++level) parts_.push_back(e.stack(red.dtype, partials));
  }

  mlir::Value reduce(LoopPoint& at) {
    const mlir::Value zero = e_.index(0);
    if (red_.levels > 1) return block_of_results(at, red_.levels, zero, extent_);
    // One iteration, or none if there are no elements.
    const mlir::Value none = identity_of(e_, red_.kind, red_.dtype, 1);
    const mlir::Value length = e_.index(block_length);
    return e_.loop(zero, extent_, length, {none},
                   [&](mlir::Value begin, mlir::ValueRange) -> llvm::SmallVector<mlir::Value> {
                     return {block(at, begin, e_.min(e_.add(begin, length), extent_))};
                   })[0];
  }

 private:
  /// The block of the elements [begin, end): 64 interleaved partials, combined pairwise.
  mlir::Value block(LoopPoint& at, mlir::Value begin, mlir::Value end) {
    const int lanes = red_.lanes, vectors = partials / lanes;
    const mlir::Value stripe = e_.index(partials);
    const mlir::Value whole = e_.add(begin, e_.mul(e_.div(e_.sub(end, begin), stripe), stripe));
    load_invariant(at);
    llvm::SmallVector<mlir::Value> partial(static_cast<std::size_t>(vectors),
                                           identity_of(e_, red_.kind, red_.dtype, lanes));
    auto stripes = e_.loop(begin, whole, stripe, partial, [&](mlir::Value r, mlir::ValueRange carried) {
      llvm::SmallVector<mlir::Value> next;
      for (int v = 0; v < vectors; ++v)
        next.push_back(accumulate(carried[static_cast<unsigned>(v)],
                                  element(at, {e_.add(r, e_.index(v * lanes)), lanes, {}, v * lanes})));
      return next;
    });
    partial.assign(stripes.begin(), stripes.end());
    return halve(rest(at, partial, whole, end));
  }

  /// A block of results of the level below, which are computed one by one: partial results are in memory.
  /// Partial results without an element are omitted, as in RegisterTree.
  mlir::Value block_of_results(LoopPoint& at, int level, mlir::Value begin, mlir::Value end) {
    const mlir::Value parts = parts_[static_cast<std::size_t>(level - 2)], one = e_.index(1),
                      length = e_.index(elements_of(level)), all = e_.index(partials);
    const auto place = [&](mlir::Value j) { return e_.element(parts, j, red_.dtype); };
    const auto add = [&](mlir::Value to, mlir::Value x) {
      e_.store(combine(e_.load(to, red_.dtype, 1), x), to, red_.dtype, 1);
    };
    const mlir::Value results = e_.div(e_.add(e_.sub(end, begin), e_.sub(length, one)), length);
    const mlir::Value used = red_.kind == ir::ReduceKind::max_nnan ? all : e_.min(results, all);
    const mlir::Value start = identity_of(e_, red_.kind, red_.dtype, 1);
    e_.loop(e_.index(0), used, one, [&](mlir::Value j) { e_.store(start, place(j), red_.dtype, 1); });
    e_.loop(begin, end, length, [&](mlir::Value from) {
      const mlir::Value to = e_.min(e_.add(from, length), end);
      const mlir::Value result = level == 2 ? block(at, from, to) : block_of_results(at, level - 1, from, to);
      add(place(e_.rem(e_.div(e_.sub(from, begin), length), all)), result);
    });
    for (int half = partials / 2; half > 0; half /= 2) {
      const mlir::Value apart = e_.index(half);
      e_.loop(e_.index(0), e_.min(apart, e_.sub(used, apart)), one,
              [&](mlir::Value j) { add(place(j), e_.load(place(e_.add(j, apart)), red_.dtype, 1)); });
    }
    return e_.load(parts, red_.dtype, 1);
  }

  /// Loads the leaves that do not change along the reduced axis, once per block: a block has elements, so
  /// that reading is allowed.
  void load_invariant(LoopPoint& at) {
    invariant_.assign(red_.before.leaves().size(), {});
    for (auto [i, leaf] : llvm::enumerate(red_.before.leaves()))
      if (stride_class(red_.steps[i]) == 0)
        invariant_[i] = e_.splat(e_.load_scalar(at.address(i), leaf.dtype), red_.lanes);
  }

  /// The last, incomplete stripe of a block: partial j accumulates element whole + j if there is one.
  llvm::SmallVector<mlir::Value> rest(LoopPoint& at, llvm::SmallVector<mlir::Value> partial,
                                      mlir::Value whole, mlir::Value end) {
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value p : partial) types.push_back(p.getType());
    int lanes = red_.lanes;
    auto branch = mlir::scf::IfOp::create(
        e_.b, e_.loc, e_.less(whole, end),
        [&](mlir::OpBuilder&, mlir::Location) {
          llvm::SmallVector<mlir::Value> next;
          for (int v = 0; v < static_cast<int>(partial.size()); ++v) {
            mlir::Value r = e_.add(whole, e_.index(v * lanes)), remaining = e_.sub(end, r);
            mlir::Value old = partial[static_cast<std::size_t>(v)];
            if (lanes == 1) {
              next.push_back(scalar_or(
                  e_.less(e_.index(0), remaining),
                  [&] {
                    return accumulate(old, element(at, {r, 1}));
                  },
                  old));
              continue;
            }
            mlir::Value mask = e_.mask_below(remaining, lanes);
            next.push_back(e_.select(mask, accumulate(old, element(at, {r, lanes, mask})), old));
          }
          mlir::scf::YieldOp::create(e_.b, e_.loc, next);
        },
        [&](mlir::OpBuilder&, mlir::Location) { mlir::scf::YieldOp::create(e_.b, e_.loc, partial); });
    return {branch.getResults().begin(), branch.getResults().end()};
  }

  /// For one lane: `then()` only where `condition` holds, since a missing element must not be read.
  mlir::Value scalar_or(mlir::Value condition, const std::function<mlir::Value()>& then,
                        mlir::Value otherwise) {
    auto branch = mlir::scf::IfOp::create(
        e_.b, e_.loc, condition,
        [&](mlir::OpBuilder&, mlir::Location) { mlir::scf::YieldOp::create(e_.b, e_.loc, then()); },
        [&](mlir::OpBuilder&, mlir::Location) { mlir::scf::YieldOp::create(e_.b, e_.loc, otherwise); });
    return branch.getResult(0);
  }

  /// p[j] op p[j + n/2] for j below n/2, down to one.
  mlir::Value halve(llvm::SmallVector<mlir::Value> p) {
    while (p.size() > 1) {
      std::size_t half = p.size() / 2;
      for (std::size_t i = 0; i < half; ++i) p[i] = combine(p[i], p[i + half]);
      p.resize(half);
    }
    mlir::Value v = p[0];
    for (int lanes = red_.lanes; lanes > 1; lanes /= 2)
      v = combine(e_.sub_vector(v, 0, lanes / 2), e_.sub_vector(v, lanes / 2, lanes / 2));
    return v;
  }

  llvm::SmallVector<mlir::Value> parts_;  // partial results of the levels from the second on
};

/// Lanes along a kept axis, a block of at most width() columns at a time. Partial sums are arrays of columns
/// on the stack.
class AlongKept : ReductionEmitter {
 public:
  AlongKept(KernelBuilder& e, const Reduction& red, mlir::Value params) : ReductionEmitter(e, red, params) {
    if (!red.interleaved64) totals_ = e.stack(red.dtype, width());
    for (int level = 1; level <= red.levels; ++level)
      parts_.push_back(e.stack(red.dtype, red.interleaved64 ? partials * width() : width()));
  }

  using Result = std::function<void(LoopPoint&, mlir::Value)>;
  /// Emits the results of a row.
  void reduce(const LoopNest::Row& row, const Result& result) {
    e_.loop(row.from, row.to, e_.index(width()), [&](mlir::Value from) {
      const mlir::Value to = e_.min(e_.add(from, e_.index(width())), row.to);
      first_column_ = from;
      columns_ = e_.sub(to, from);
      const mlir::Value lanes = e_.index(red_.lanes);
      stride_ = e_.mul(e_.div(e_.add(columns_, e_.index(red_.lanes - 1)), lanes), lanes);
      const auto each = [&](const LoopNest::PointBody& body) { row.each(from, to, body); };
      const mlir::Value totals =
          red_.interleaved64 ? block(each, red_.levels, e_.index(0), extent_) : chains(each);
      each([&](LoopPoint& at) { result(at, load(totals, column(at), at.lanes())); });
    });
  }

 private:
  using Each = llvm::function_ref<void(const LoopNest::PointBody&)>;

  std::int64_t width() const { return red_.interleaved64 ? tuning::partial_columns : tuning::chain_columns; }
  mlir::Value at_offset(mlir::Value sums, mlir::Value elements) {
    return e_.element(sums, elements, red_.dtype);
  }
  mlir::Value column(LoopPoint& at) { return e_.sub(at.position(), first_column_); }
  mlir::Value load(mlir::Value sums, mlir::Value i, int lanes) {
    return e_.load(at_offset(sums, i), red_.dtype, lanes);
  }
  void store(mlir::Value value, mlir::Value sums, mlir::Value i, int lanes) {
    e_.store(value, at_offset(sums, i), red_.dtype, lanes);
  }
  void fill(mlir::Value sums, mlir::Value elements) {
    e_.loop(e_.index(0), elements, e_.index(red_.lanes), [&](mlir::Value i) {
      store(identity_of(e_, red_.kind, red_.dtype, red_.lanes), sums, i, red_.lanes);
    });
  }
  /// to = to op from, element by element.
  void add_arrays(mlir::Value to, mlir::Value from, mlir::Value elements) {
    e_.loop(e_.index(0), elements, e_.index(red_.lanes), [&](mlir::Value i) {
      store(combine(load(to, i, red_.lanes), load(from, i, red_.lanes)), to, i, red_.lanes);
    });
  }
  /// sums = sums op elements r, r + 1, ... of `rows`, in this order.
  void add_rows(Each each, mlir::Value sums, mlir::Value r, int rows) {
    each([&](LoopPoint& at) {
      mlir::Value sum = load(sums, column(at), at.lanes());
      for (int i = 0; i < rows; ++i)
        sum = accumulate(sum, element(at, {e_.add(r, e_.index(i)), at.lanes(), at.mask()}));
      store(sum, sums, column(at), at.lanes());
    });
  }

  /// Of the rows from `begin` on, r, r + 1, ... to a partial result each: those of number r - begin, ...,
  /// modulo 64.
  void add_to_partials(Each each, mlir::Value parts, mlir::Value begin, mlir::Value r, int rows) {
    const mlir::Value first = own_partial(parts, e_.sub(r, begin));
    each([&](LoopPoint& at) {
      for (int i = 0; i < rows; ++i) {
        const mlir::Value own = at_offset(first, e_.mul(stride_, e_.index(i))), row = e_.add(r, e_.index(i));
        const mlir::Value sum = load(own, column(at), at.lanes());
        store(accumulate(sum, element(at, {row, at.lanes(), at.mask()})), own, column(at), at.lanes());
      }
    });
  }
  mlir::Value own_partial(mlir::Value parts, mlir::Value number) {
    return at_offset(parts, e_.mul(e_.rem(number, e_.index(partials)), stride_));
  }

  /// Rows per pass over the columns, a divisor of 64: each pass costs a loop, and in a chain a load and a
  /// store of the sums; each row costs code.
  int rows_at_once() const {
    if (red_.before.operations() == 0) return 8;
    return is_light(red_.before) ? 4 : 1;
  }
  /// Calls `body` with the first of some rows and their number, for all rows of [begin, end).
  void each_rows(mlir::Value begin, mlir::Value end, llvm::function_ref<void(mlir::Value r, int rows)> body) {
    const int rows = rows_at_once();
    const mlir::Value step = e_.index(rows);
    const mlir::Value whole = e_.add(begin, e_.mul(e_.div(e_.sub(end, begin), step), step));
    e_.loop(begin, whole, step, [&](mlir::Value r) { body(r, rows); });
    if (rows > 1) e_.loop(whole, end, e_.index(1), [&](mlir::Value r) { body(r, 1); });
  }

  /// The order chained512.
  mlir::Value chains(Each each) {
    const mlir::Value length = e_.index(chain_length);
    fill(totals_, columns_);
    e_.loop(e_.index(0), extent_, length,
            [&](mlir::Value begin) { chain(each, begin, e_.min(e_.add(begin, length), extent_)); });
    return totals_;
  }

  /// The elements [begin, end) of a chain. The first chain accumulates into the totals directly.
  void chain(Each each, mlir::Value begin, mlir::Value end) {
    const mlir::Value later = e_.less(e_.index(0), begin), parts = parts_.front();
    const mlir::Value sums = e_.select(later, parts, totals_);
    e_.when(later, [&] { fill(parts, columns_); });
    each_rows(begin, end, [&](mlir::Value r, int rows) { add_rows(each, sums, r, rows); });
    e_.when(later, [&] { add_arrays(totals_, parts, columns_); });
  }

  /// The order interleaved64: the elements [begin, end) of a block of a level. Its 64 partial results are
  /// arrays of width() columns, one after the other; the first receives the block's result.
  mlir::Value block(Each each, int level, mlir::Value begin, mlir::Value end) {
    const mlir::Value parts = parts_[static_cast<std::size_t>(level - 1)],
                      length = e_.index(elements_of(level));
    fill(parts, e_.mul(stride_, e_.index(partials)));
    if (level == 1) {
      each_rows(begin, end, [&](mlir::Value r, int rows) { add_to_partials(each, parts, begin, r, rows); });
    } else {
      e_.loop(begin, end, length, [&](mlir::Value from) {
        add_arrays(own_partial(parts, e_.div(e_.sub(from, begin), length)),
                   block(each, level - 1, from, e_.min(e_.add(from, length), end)), columns_);
      });
    }
    e_.loop(e_.index(0), e_.index(llvm::Log2_64(partials)), e_.index(1), [&](mlir::Value step) {
      const mlir::Value half = e_.mul(
          stride_, mlir::arith::ShRUIOp::create(e_.b, e_.loc, e_.index(partials / 2), step).getResult());
      add_arrays(parts, at_offset(parts, half), half);
    });
    return parts;
  }

  mlir::Value totals_;
  llvm::SmallVector<mlir::Value> parts_;  // of each level
  mlir::Value first_column_, columns_;    // of the column block
  mlir::Value stride_;                    // between its partial results: whole registers
};

}  // namespace

void emit_reduction(KernelBuilder& e, const Reduction& red, const KernelArgs& args) {
  const auto epilogue = [&](LoopPoint& at, mlir::Value result) { emit_epilogue(e, red, at, result); };
  const auto point_by_point = [&](auto reduction) {
    red.nest.emit(e, args, [&](LoopPoint& at) { epilogue(at, reduction.reduce(at)); });
  };
  if (red.along_reduced) {
    point_by_point(AlongReduced(e, red, args.params));
  } else if (red.register_tree) {
    point_by_point(RegisterTree(e, red, args.params));
  } else {
    AlongKept reduction(e, red, args.params);
    red.nest.emit_rows(e, args, [&](const LoopNest::Row& row) { reduction.reduce(row, epilogue); });
  }
}

}  // namespace kiln::codegen

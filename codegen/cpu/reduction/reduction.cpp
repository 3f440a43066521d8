// The code of reductions, in the two orders of operations that kiln.reduce in ir/KilnOps.td defines:
//
// - interleaved64, if the reduced axes are innermost: blocks of 1024 elements, each with 64 interleaved
//   partial results, which are combined pairwise. The results of several blocks are reduced in the same way,
//   level by level.
// - pairwise32, if kept axes follow: chains of 32 elements, whose results are combined pairwise.
//
// Lanes run along the reduced axis (AlongReduced, or ReductionTile if results share elements), along the last
// kept axis (AlongKept), or along the last kept axis with all partial results in registers (RegisterTree).
// ChainsAlongReduced has one lane.
#include "codegen/cpu/reduction/reduction.h"

#include "codegen/cpu/reduction/reduction_tile.h"
#include "codegen/emit/reduction_body.h"
#include "codegen/target/tuning.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Consumes the results at a point.
using Result = std::function<void(LoopPoint&, mlir::ValueRange)>;

/// Lanes along the reduced axis, in the order interleaved64: one result at a time.
class AlongReduced : ReductionEmitter {
 public:
  AlongReduced(KernelBuilder& e, const Reduction& red, mlir::Value params)
      : ReductionEmitter(e, red, params) {
    for (int level = 2; level <= red.levels; ++level) parts_.push_back(stacks(partials));
  }

  Values reduce(LoopPoint& at) {
    const mlir::Value zero = e_.index(0);
    if (red_.levels > 1) return block_of_results(at, red_.levels, zero, extent_);
    // One iteration, or none if there are no elements.
    const mlir::Value length = e_.index(block_length);
    return Values(e_.loop(zero, extent_, length, identities(1), [&](mlir::Value begin, mlir::ValueRange) {
      return block(at, begin, e_.min(e_.add(begin, length), extent_));
    }));
  }

 private:
  /// The block of the elements [begin, end): 64 interleaved partials, combined pairwise.
  Values block(LoopPoint& at, mlir::Value begin, mlir::Value end) {
    const int lanes = red_.lanes, vectors = partials / lanes;
    const mlir::Value stripe = e_.index(partials);
    const mlir::Value whole = e_.whole_steps(begin, end, stripe);
    load_invariant(at);
    const Values none = identities(lanes, static_cast<std::size_t>(vectors));
    const mlir::ValueRange partial =
        e_.loop(begin, whole, stripe, none, [&](mlir::Value r, mlir::ValueRange carried) {
          Values next;
          for (int v = 0; v < vectors; ++v)
            next.append(accumulate(group(carried, static_cast<std::size_t>(v)),
                                   element(at, {e_.add(r, e_.index(v * lanes)), lanes, {}, v * lanes})));
          return next;
        });
    return halve(rest(at, partial, whole, end));
  }

  /// A block of results of the level below, which are computed one by one: partial results are in memory.
  /// Partial results without an element are omitted, as in RegisterTree.
  Values block_of_results(LoopPoint& at, int level, mlir::Value begin, mlir::Value end) {
    const Values& parts = parts_[static_cast<std::size_t>(level - 2)];
    const mlir::Value one = e_.index(1), length = e_.index(elements_of(level)), all = e_.index(partials);
    const mlir::Value used = used_partials(begin, end, length);
    const Values start = identities(1);
    e_.loop(e_.index(0), used, one, [&](mlir::Value j) { store(start, parts, j, 1); });
    e_.loop(begin, end, length, [&](mlir::Value from) {
      const mlir::Value to = e_.min(e_.add(from, length), end);
      const Values result = level == 2 ? block(at, from, to) : block_of_results(at, level - 1, from, to);
      const mlir::Value j = e_.rem(e_.div(e_.sub(from, begin), length), all);
      store(combine(load(parts, j, 1), result), parts, j, 1);
    });
    return halve_in_memory(parts, used);
  }

  /// Loads the leaves that do not change along the reduced axis, once per block: a block has elements, so
  /// that reading is allowed.
  void load_invariant(LoopPoint& at) {
    invariant_.assign(red_.before.leaves().size(), {});
    for (auto [i, leaf] : llvm::enumerate(red_.before.leaves()))
      if (stride_class(red_.steps[i]) == 0 && !red_.is_index(i))
        invariant_[i] = e_.splat(e_.load_scalar(at.address(i), leaf.dtype), red_.lanes);
  }

  /// The last, incomplete stripe of a block: partial j accumulates element whole + j if there is one.
  Values rest(LoopPoint& at, mlir::ValueRange partial, mlir::Value whole, mlir::Value end) {
    const int lanes = red_.lanes;
    return if_else(
        e_.less(whole, end),
        [&] {
          Values next;
          const int vectors = partials / lanes;
          const auto masks = lanes > 1 ? e_.masks_below(e_.sub(end, whole), lanes, vectors) : Values();
          for (int v = 0; v < vectors; ++v) {
            const mlir::Value r = e_.add(whole, e_.index(v * lanes));
            const mlir::ValueRange old = group(partial, static_cast<std::size_t>(v));
            if (lanes == 1) {  // a missing element must not be read
              const auto one_more = [&] { return accumulate(old, element(at, {r, 1})); };
              next.append(if_else(e_.less(r, end), one_more, old));
              continue;
            }
            const mlir::Value mask = masks[static_cast<std::size_t>(v)];
            for (auto [sum, before] : llvm::zip(accumulate(old, element(at, {r, lanes, mask})), old))
              next.push_back(e_.select(mask, sum, before));
          }
          return next;
        },
        partial);
  }

  llvm::SmallVector<Values> parts_;  // partial results of the levels from the second on
};

/// One result at a time in the order pairwise32, if its elements are contiguous or it is the only one.
/// Several chains of scalars run at once, since the elements of a chain depend on each other.
class ChainsAlongReduced : ReductionEmitter {
 public:
  ChainsAlongReduced(KernelBuilder& e, const Reduction& red, mlir::Value params)
      : ReductionEmitter(e, red, params), stack_(stacks(red.halvings() + 1)) {}

  Values reduce(LoopPoint& at) {
    const mlir::Value zero = e_.index(0), one = e_.index(1), length = e_.index(chain_length);
    const mlir::Value together = e_.index(chain_length * chains());
    const mlir::Value whole = e_.whole_steps(zero, extent_, together);
    store(identities(1), stack_, zero, 1);  // the result over no elements
    const auto most = e_.loop(zero, whole, together, {zero}, [&](mlir::Value begin, mlir::ValueRange top) {
      const auto sums =
          e_.loop(begin, e_.add(begin, length), one, identities(1, static_cast<std::size_t>(chains())),
                  [&](mlir::Value r, mlir::ValueRange partial) { return next_of_each(at, r, partial); });
      return push(neighbours(Values(sums)), top.front(), e_.div(begin, together));
    });
    const auto all = e_.loop(whole, extent_, length, most, [&](mlir::Value begin, mlir::ValueRange top) {
      const mlir::Value end = e_.min(e_.add(begin, length), extent_);
      const auto sum = e_.loop(begin, end, one, identities(1), [&](mlir::Value r, mlir::ValueRange partial) {
        return accumulate(partial, one_element(at, r));
      });
      return push(sum, top.front(), e_.div(begin, length));
    });
    merge(all.front(), e_.sub(all.front(), one));
    return load(stack_, zero, 1);
  }

 private:
  int chains() const { return is_light(red_.before) ? 8 : 2; }

  /// Without a prefetch for each.
  Values one_element(LoopPoint& at, mlir::Value r) {
    return element(at, {.r = r, .lanes = 1, .offset_in_stripe = 1});
  }
  /// Element r of the first chain, and of each other chain.
  Values next_of_each(LoopPoint& at, mlir::Value r, mlir::ValueRange partial) {
    Values next;
    for (int i = 0; i < chains(); ++i)
      next.append(accumulate(group(partial, static_cast<std::size_t>(i)),
                             one_element(at, e_.add(r, e_.index(i * chain_length)))));
    return next;
  }
  /// The result of consecutive chains, a power of two of them.
  Values neighbours(Values sums) {
    while (sums.size() > count()) {
      Values pairs;
      for (std::size_t i = 0; i < sums.size() / count(); i += 2)
        pairs.append(combine(group(sums, i), group(sums, i + 1)));
      sums = std::move(pairs);
    }
    return sums;
  }
  /// Appends the result of group `number` to a stack of `top` results, as in AlongKept; returns their number.
  Values push(mlir::ValueRange sum, mlir::Value top, mlir::Value number) {
    store(sum, stack_, top, 1);
    const mlir::Value one = e_.index(1);
    return merge(e_.add(top, one), e_.trailing_zeros(e_.add(number, one)));
  }
  /// Combines the last two results of a stack `times` times; returns the number of results left.
  Values merge(mlir::Value top, mlir::Value times) {
    const mlir::Value one = e_.index(1);
    return Values(e_.loop(e_.index(0), times, one, {top}, [&](mlir::Value, mlir::ValueRange now) {
      const mlir::Value last = e_.sub(now.front(), one), before = e_.sub(last, one);
      store(combine(load(stack_, before, 1), load(stack_, last, 1)), stack_, before, 1);
      return Values{last};
    }));
  }

  Values stack_;
};

/// Lanes along a kept axis, a block of at most width() columns at a time. Partial sums are arrays of columns
/// on the stack.
class AlongKept : ReductionEmitter {
 public:
  AlongKept(KernelBuilder& e, const Reduction& red, mlir::Value params) : ReductionEmitter(e, red, params) {
    if (!red.interleaved64)
      parts_.push_back(stacks((red.halvings() + 1) * width()));
    else
      for (int level = 1; level <= red.levels; ++level) parts_.push_back(stacks(partials * width()));
  }

  /// Emits the results of a row.
  void reduce(const LoopNest::Row& row, const Result& result) {
    e_.loop(row.from, row.to, e_.index(width()), [&](mlir::Value from) {
      const mlir::Value to = e_.min(e_.add(from, e_.index(width())), row.to);
      first_column_ = from;
      columns_ = e_.sub(to, from);
      const mlir::Value lanes = e_.index(red_.lanes);
      stride_ = e_.mul(e_.div(e_.add(columns_, e_.index(red_.lanes - 1)), lanes), lanes);
      const auto each = [&](const LoopNest::PointBody& body) { row.each(from, to, body); };
      const Values totals =
          red_.interleaved64 ? block(each, red_.levels, e_.index(0), extent_) : chains(each);
      each([&](LoopPoint& at) { result(at, load(totals, column(at), at.lanes())); });
    });
  }

 private:
  using Each = llvm::function_ref<void(const LoopNest::PointBody&)>;

  /// Columns of a block: the partial results of all reductions stay in the caches.
  std::int64_t width() const {
    const std::int64_t columns = red_.interleaved64 ? tuning::partial_columns : tuning::chain_columns;
    return columns / static_cast<std::int64_t>(llvm::PowerOf2Ceil(count()));
  }
  mlir::Value column(LoopPoint& at) { return e_.sub(at.position(), first_column_); }
  void fill(mlir::ValueRange sums, mlir::Value elements) {
    e_.loop(e_.index(0), elements, e_.index(red_.lanes),
            [&](mlir::Value i) { store(identities(red_.lanes), sums, i, red_.lanes); });
  }
  /// to = to op from, element by element.
  void add_arrays(mlir::ValueRange to, mlir::ValueRange from, mlir::Value elements) {
    e_.loop(e_.index(0), elements, e_.index(red_.lanes), [&](mlir::Value i) {
      store(combine(load(to, i, red_.lanes), load(from, i, red_.lanes)), to, i, red_.lanes);
    });
  }
  /// sums = sums op elements r, r + 1, ... of `rows`, in this order; or, at the beginning of a chain, the
  /// identity op these.
  void add_rows(Each each, mlir::ValueRange sums, mlir::Value r, int rows, bool begins = false) {
    each([&](LoopPoint& at) {
      Values sum = begins ? identities(at.lanes()) : load(sums, column(at), at.lanes());
      for (int i = 0; i < rows; ++i)
        sum = accumulate(sum, element(at, {e_.add(r, e_.index(i)), at.lanes(), at.mask()}));
      store(sum, sums, column(at), at.lanes());
    });
  }

  /// Adds rows r, r + 1, ... (counted from `begin` on) to one partial result each: numbers r - begin, ...,
  /// modulo 64.
  void add_to_partials(Each each, mlir::ValueRange parts, mlir::Value begin, mlir::Value r, int rows) {
    const Values first = own_partial(parts, e_.sub(r, begin));
    each([&](LoopPoint& at) {
      for (int i = 0; i < rows; ++i) {
        const Values own = at_offset(first, e_.mul(stride_, e_.index(i)));
        const mlir::Value row = e_.add(r, e_.index(i));
        const Values sum = load(own, column(at), at.lanes());
        store(accumulate(sum, element(at, {row, at.lanes(), at.mask()})), own, column(at), at.lanes());
      }
    });
  }
  Values own_partial(mlir::ValueRange parts, mlir::Value number) {
    return at_offset(parts, e_.mul(e_.rem(number, e_.index(partials)), stride_));
  }

  /// Rows per pass over the columns, a divisor of 32. Each pass costs a loop, and in a chain a load and a
  /// store of the sums; each row costs code.
  int rows_at_once() const {
    if (red_.before.operations() == 0) return 8;
    return is_light(red_.before) ? 4 : 1;
  }
  /// Calls `body` with the first of some rows and their number, for all rows of [begin, end).
  void each_rows(mlir::Value begin, mlir::Value end, llvm::function_ref<void(mlir::Value r, int rows)> body) {
    const int rows = rows_at_once();
    const mlir::Value step = e_.index(rows);
    const mlir::Value whole = e_.whole_steps(begin, end, step);
    e_.loop(begin, whole, step, [&](mlir::Value r) { body(r, rows); });
    if (rows > 1) e_.loop(whole, end, e_.index(1), [&](mlir::Value r) { body(r, 1); });
  }

  /// The order pairwise32. The results so far are a stack of arrays. Each array combines at least twice as
  /// many chains as the next one; the numbers of chains are the digits of a binary counter. The result is the
  /// first array.
  Values chains(Each each) {
    const Values& stack = parts_.front();
    const mlir::Value zero = e_.index(0), one = e_.index(1), length = e_.index(chain_length);
    const auto array = [&](mlir::Value number) { return at_offset(stack, e_.mul(number, stride_)); };
    e_.when(e_.less(extent_, one), [&] { fill(stack, columns_); });
    e_.loop(zero, extent_, length, {zero}, [&](mlir::Value begin, mlir::ValueRange carried) {
      const mlir::Value last = carried.front(), end = e_.min(e_.add(begin, length), extent_);
      chain(each, array(last), begin, end);
      // As many as the counter carries; in the end all.
      const mlir::Value carries = e_.trailing_zeros(e_.add(e_.div(begin, length), one));
      const mlir::Value merges = e_.select(e_.less(end, extent_), carries, last);
      const auto rest = e_.loop(zero, merges, one, {last}, [&](mlir::Value, mlir::ValueRange top) {
        const mlir::Value before = e_.sub(top.front(), one);
        add_arrays(array(before), array(top.front()), columns_);
        return Values{before};
      });
      return Values{e_.add(rest.front(), one)};
    });
    return stack;
  }

  /// sums = the elements [begin, end) of a chain, at least one.
  void chain(Each each, mlir::ValueRange sums, mlir::Value begin, mlir::Value end) {
    mlir::Value from = begin;
    if (const int rows = rows_at_once(); rows > 1) {  // sums begin in registers
      const mlir::Value first = e_.add(begin, e_.index(rows)), are_few = e_.less(end, first);
      e_.when(
          are_few, [&] { fill(sums, columns_); }, [&] { add_rows(each, sums, begin, rows, true); });
      from = e_.select(are_few, begin, first);
    } else {
      fill(sums, columns_);
    }
    each_rows(from, end, [&](mlir::Value r, int rows) { add_rows(each, sums, r, rows); });
  }

  /// The order interleaved64: the elements [begin, end) of a block of a level. Its 64 partial results are
  /// arrays of width() columns, one after the other; the first receives the block's result.
  Values block(Each each, int level, mlir::Value begin, mlir::Value end) {
    const Values& parts = parts_[static_cast<std::size_t>(level - 1)];
    const mlir::Value length = e_.index(elements_of(level));
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

  llvm::SmallVector<Values> parts_;     // of each level; pairwise32: the stack
  mlir::Value first_column_, columns_;  // of the column block
  mlir::Value stride_;                  // between its partial results: whole registers
};

/// Emits tiles of results, and the remaining columns of a row one by one.
void emit_tiles(KernelBuilder& e, const Reduction& red, const KernelArgs& args, const Result& result) {
  ReductionTile tile(e, red, args.params);
  AlongReduced one_by_one(e, red, args.params);
  const mlir::Value width = e.index(red.tile.columns);
  red.nest.emit_row_blocks(e, args, [&](llvm::ArrayRef<LoopNest::Row> rows) {
    const mlir::Value from = rows.front().from, to = rows.front().to;
    const mlir::Value whole = e.whole_steps(from, to, width);
    e.loop(from, whole, width, [&](mlir::Value column) {
      tile.reduce(rows, column);
      for (auto [i, row] : llvm::enumerate(rows)) {
        const mlir::Value first = e.sub(e.index(static_cast<std::int64_t>(i) * red.tile.columns), column);
        row.each(column, e.add(column, width),
                 [&](LoopPoint& at) { result(at, tile.result(e.add(first, at.position()))); });
      }
    });
    if (red.tile.covers_rows) return;
    for (const LoopNest::Row& row : rows)
      row.each(whole, to, [&](LoopPoint& at) { result(at, one_by_one.reduce(at)); });
  });
}

}  // namespace

void emit_reduction(KernelBuilder& e, const Reduction& red, const KernelArgs& args) {
  const auto epilogue = [&](LoopPoint& at, mlir::ValueRange results) { emit_epilogue(e, red, at, results); };
  const auto point_by_point = [&](auto reduction) {
    red.nest.emit(e, args, [&](LoopPoint& at) { epilogue(at, reduction.reduce(at)); });
  };
  if (red.tile.points() > 1) {
    emit_tiles(e, red, args, epilogue);
  } else if (red.along_reduced && red.interleaved64) {
    point_by_point(AlongReduced(e, red, args.params));
  } else if (red.along_reduced) {
    point_by_point(ChainsAlongReduced(e, red, args.params));
  } else if (red.register_tree) {
    RegisterTree tree(e, red, args.params);
    red.nest.emit(e, args, [&](LoopPoint& at) {
      const Values results = tree.reduce(at);
      emit_epilogue(e, red, at, results, [&](std::size_t access) { return tree.column_of(access); });
    });
  } else {
    AlongKept reduction(e, red, args.params);
    red.nest.emit_rows(e, args, [&](const LoopNest::Row& row) { reduction.reduce(row, epilogue); });
  }
}

}  // namespace kiln::codegen

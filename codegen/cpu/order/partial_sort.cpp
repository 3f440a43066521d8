// The first elements of sorted rows: candidates, in scratch memory. An element becomes one if its key is less
// than the key of the last of the first `count` so far: later elements with an equal key come after it. A few
// are kept in order; each new one moves its successors. Many are collected, with room for others. When it is
// full they are sorted, and all after the first `count` are discarded.
#include "codegen/cpu/kernels.h"
#include "codegen/cpu/order/sorter.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/scalar_expr.h"

namespace kiln::codegen {
namespace {

constexpr ParamNames partial_sort_names{"extent", "count", "capacity", "merge_passes"};
using PartialSortParams = KernelParams<partial_sort_names>;
/// Elements that are compared before the next look at the room for candidates.
constexpr std::int64_t group = ir::sort_group;

/// Emits the kernel.
class PartialSortEmitter {
 public:
  PartialSortEmitter(KernelBuilder& e, const KernelArgs& args, DType dtype, bool descending, bool packed)
      : e(e),
        args_(args),
        dtype_(dtype),
        descending_(descending),
        packed_(packed),
        params_(e, args.params),
        n_(params_["extent"]),
        count_(params_["count"]),
        capacity_(params_["capacity"]),
        zero_(e.index(0)),
        one_(e.index(1)),
        sorter_(e, packed, capacity_),
        filled_(e.stack(DType::i64, 1)),
        limit_(e.stack(DType::i64, 1)) {}

  void run(bool in_order) {
    e.loop(args_.begin, args_.end, one_, [&](mlir::Value row) {
      x_ = e.element(e.buffer(args_.buffers, 0), e.mul(row, n_), dtype_);
      Parts first, second;
      const std::int64_t arrays = packed_ ? 2 : 4;
      for (std::int64_t i = 0; i < arrays; ++i) {
        const mlir::Value number = e.add(e.mul(row, e.index(arrays)), e.index(i));
        (i < arrays / 2 ? first : second)
            .push_back(e.element(e.buffer(args_.buffers, 2), e.mul(number, capacity_), DType::i64));
      }
      const Parts sorted = in_order ? by_insertion(first) : by_merges(first, second);
      const mlir::Value order = e.element(e.buffer(args_.buffers, 1), e.mul(row, count_), DType::i64);
      e.loop(zero_, count_, one_, [&](mlir::Value i) {
        store(sorter_.index(sorter_.load(sorted, i)), e.element(order, i, DType::i64));
      });
    });
  }

 private:
  mlir::Value load(mlir::Value place) { return e.load_scalar(place, DType::i64); }
  void store(mlir::Value v, mlir::Value place) { e.store_scalar(v, place, DType::i64); }
  Num key(mlir::Value i, int lanes) {
    return key_of(Num(e.b, e.loc, e.load(e.element(x_, i, dtype_), dtype_, lanes)), dtype_, descending_);
  }
  Parts element(mlir::Value i) { return sorter_.element(key(i, 1), Num(e.b, e.loc, i)); }
  /// Sets the limit of later elements.
  void set_limit(const Parts& sorted) {
    store(sorter_.key(sorter_.load(sorted, e.sub(count_, one_))), limit_);
  }
  /// Calls `body` with the first of each group from `from` on, and then with an index after the row.
  void each_group(mlir::Value from, const KernelBuilder::LoopBody& body) {
    const mlir::Value length = e.index(group);
    const mlir::Value groups = e.div(e.add(e.sub(n_, from), e.index(group - 1)), length);
    e.loop(zero_, e.add(groups, one_), one_, [&](mlir::Value g) { body(e.add(from, e.mul(g, length))); });
  }

  Parts by_insertion(const Parts& kept) {
    e.loop(zero_, count_, one_, [&](mlir::Value i) { sorter_.store(sorter_.greatest(), kept, i); });
    e.loop(zero_, count_, one_, [&](mlir::Value i) { sorter_.insert(element(i), kept, count_); });
    set_limit(kept);
    const auto take = [&](mlir::Value i) {
      const Parts x = element(i);
      e.when(e.less(sorter_.key(x), load(limit_)), [&] {
        sorter_.insert(x, kept, count_);
        set_limit(kept);
      });
    };
    each_group(count_, [&](mlir::Value first) {
      collect(
          first, [&](mlir::Value from, mlir::Value to) { e.loop(from, to, one_, take); },
          [&](mlir::Value from, Num lanes) {
            each_set(lanes, [&](mlir::Value lane) { take(e.add(from, lane)); });
          });
    });
    return kept;
  }

  Parts by_merges(const Parts& sorted, const Parts& other) {
    const mlir::Value merges = params_["merge_passes"];
    const auto arrays = sorter_.arrays(sorted, other, merges);
    const Parts &candidates = arrays.first, &merged = arrays.second;
    e.loop(zero_, capacity_, one_, [&](mlir::Value i) { sorter_.store(element(i), candidates, i); });
    store(capacity_, filled_);
    each_group(capacity_, [&](mlir::Value first) {
      const mlir::Value full = e.less(e.sub(capacity_, e.index(group)), load(filled_)),
                        ended = e.less(e.sub(n_, one_), first);
      e.when(mlir::arith::OrIOp::create(e.b, e.loc, full, ended), [&] {
        e.loop(load(filled_), capacity_, one_,
               [&](mlir::Value i) { sorter_.store(sorter_.greatest(), candidates, i); });
        sorter_.sort(candidates, merged, merges);
        e.loop(zero_, count_, one_,
               [&](mlir::Value i) { sorter_.store(sorter_.load(sorted, i), candidates, i); });
        store(count_, filled_);
        set_limit(sorted);
      });
      // No branch that the processor would predict wrongly: each element is stored, and the next one takes
      // its place unless it is a candidate. There is room for a group.
      collect(first, [&](mlir::Value from, mlir::Value to) {
        const mlir::Value limit = load(limit_);
        mlir::ValueRange filled =
            e.loop(from, to, one_, {load(filled_)}, [&](mlir::Value i, mlir::ValueRange filled) {
              const Parts x = element(i);
              sorter_.store(x, candidates, filled[0]);
              return llvm::SmallVector<mlir::Value>{
                  e.select(e.less(sorter_.key(x), limit), e.add(filled[0], one_), filled[0])};
            });
        store(filled[0], filled_);
      });
    });
    return candidates;
  }

  /// Calls `one_by_one` with ranges of a group that have all its candidates. Or calls `some`, if given, with
  /// the first of a register of elements and the lanes that may be candidates.
  void collect(mlir::Value first, llvm::function_ref<void(mlir::Value, mlir::Value)> one_by_one,
               llvm::function_ref<void(mlir::Value, Num)> some = {}) {
    const mlir::Value end = e.min(e.add(first, e.index(group)), n_);
    const int lanes = std::min<int>(e.target.lanes(static_cast<int>(size_of(dtype_))), group);
    if (lanes == 1) return one_by_one(first, end);
    // Few groups have one.
    const auto here = [&](std::int64_t i) { return hits(e.add(first, e.index(i)), lanes); };
    const mlir::Value is_whole = e.less(e.add(first, e.index(group - 1)), n_);
    e.when(
        is_whole,
        [&] {
          Num found = here(0);
          for (std::int64_t i = lanes; i < group; i += lanes) found = found | here(i);
          e.when(any(found), [&] {
            e.loop(first, end, e.index(lanes), [&](mlir::Value i) {
              const Num here = hits(i, lanes);
              if (some) return some(i, here);
              e.when(any(here), [&] { one_by_one(i, e.add(i, e.index(lanes))); });
            });
          });
        },
        [&] { one_by_one(first, end); });
  }

  /// Calls `body` with the number of each lane that is set.
  void each_set(Num lanes, llvm::function_ref<void(mlir::Value)> body) {
    const mlir::Type mask = e.b.getIntegerType(static_cast<unsigned>(lanes.lanes()));
    const mlir::Value bits = mlir::LLVM::BitcastOp::create(e.b, e.loc, mask, lanes.value());
    const Num set(e.b, e.loc, mlir::arith::ExtUIOp::create(e.b, e.loc, e.i64(), bits));
    repeat_while(
        set, [](Num left) { return ne(left, 0); },
        [&](Num left) {
          body(mlir::LLVM::CountTrailingZerosOp::create(e.b, e.loc, e.i64(), left.value(),
                                                        /*is_zero_poison=*/true));
          return left & (left - 1);
        });
  }

  /// Whether the keys of elements from i on are less than the limit.
  Num hits(mlir::Value i, int lanes) {
    const Num keys = key(i, lanes);
    mlir::Value limit = load(limit_);
    if (keys.width() < 64)
      limit = mlir::arith::TruncIOp::create(e.b, e.loc, e.b.getIntegerType(keys.width()), limit);
    return lt(keys, keys.make(e.splat(limit, lanes)));
  }

  KernelBuilder& e;
  const KernelArgs& args_;
  DType dtype_;
  bool descending_, packed_;
  const PartialSortParams params_;
  mlir::Value n_, count_, capacity_, zero_, one_;
  Sorter sorter_;
  mlir::Value filled_, limit_;  // the number of candidates; the key that theirs are less than
  mlir::Value x_;
};

}  // namespace

Launch launch_partial_sort(ir::SortOp op, const CpuTarget& target) {
  // An insertion goes through all kept elements, a register at a time. If each element is a candidate, as in
  // rows that come in the opposite order, collecting more takes less time.
  const bool wide = target.lanes(static_cast<int>(size_of(DType::i64))) >= 8;
  const std::int64_t max_in_order = wide ? 384 : 160;
  const llvm::ArrayRef<std::int64_t> shape = ir::ranked(op.getX()).getShape();
  const std::int64_t extent = shape.back(), rows = mlir::ShapedType::getNumElements(shape.drop_back()),
                     count = ir::ranked(op.getOrder()).getShape().back(),
                     capacity = ir::sort_candidates(count), passes = Sorter::merge_passes(capacity);
  const DType dtype = dtype_of_value(op.getX());
  const SortPlan plan{.dtype = dtype,
                      .descending = op.getDescending(),
                      .packed = ir::sorts_packed(op.getX()),
                      .in_order = count <= max_in_order,
                      .lanes = target.lanes(static_cast<int>(size_of(dtype)))};
  Launch launch{{name_of_location(op.getLoc()), plan_key("partial sort", plan), op.getLoc(), {}}, {}};
  PartialSortParams::append(
      launch.params,
      {{"extent", extent}, {"count", count}, {"capacity", capacity}, {"merge_passes", passes}});
  launch.extent = rows;
  launch.grain = grain_for(launch.extent, extent + capacity * (2 + passes) * 8);
  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    PartialSortEmitter(e, args, plan.dtype, plan.descending, plan.packed).run(plan.in_order);
  };
  return launch;
}

}  // namespace kiln::codegen

// Sorts of rows: a sorting network for runs of 8, then bottom-up merges between two arrays. Elements are
// compared by key and then by index: no two are equal, so that every sorting algorithm gives the stable
// order.
#include "codegen/cpu/kernels/launch.h"
#include "codegen/cpu/loops/kernel_params.h"
#include "codegen/cpu/loops/scalar_expr.h"
#include "codegen/math/math.h"
#include "codegen/math/num.h"

#include <array>

namespace kiln::codegen {
namespace {

constexpr int run_length = 8;

/// An integer whose order is the order of the result.
Num key_of(Num x, DType dtype, bool descending) {
  if (!is_floating(dtype)) {
    bool is_unsigned = dtype == DType::u8 || dtype == DType::boolean;
    Num key = x.width() >= 32 ? x : is_unsigned ? resize_unsigned(x, 32) : resize_signed(x, 32);
    return descending ? ~key : key;
  }
  // Sign and magnitude as two's complement; -0 becomes +0. No number, in either direction, has the greatest
  // key.
  Num b = select(eq(x, 0.0), 0, bits(x));
  std::int64_t greatest = b.width() == 64 ? INT64_MAX : INT32_MAX;
  Num key = b ^ ((b >> (b.width() - 1)) & greatest);
  return select(is_nan(x), greatest, descending ? ~key : key);
}

/// An element in registers: one i64 with the key in its upper half and the index in the lower one, or key and
/// index. An array of elements is a pointer for each part.
using Parts = llvm::SmallVector<mlir::Value, 2>;

class Sorter {
 public:
  Sorter(KernelBuilder& e, bool packed, mlir::Value extent)
      : e_(e), packed_(packed), extent_(extent), last_(e.sub(extent, e.index(1))) {}

  Parts load(const Parts& array, mlir::Value i) {
    Parts x;
    for (mlir::Value p : array) x.push_back(e_.load_scalar(e_.element(p, i, DType::i64), DType::i64));
    return x;
  }
  void store(const Parts& x, const Parts& array, mlir::Value i) {
    for (auto [v, p] : llvm::zip(x, array)) e_.store_scalar(v, e_.element(p, i, DType::i64), DType::i64);
  }

  /// Sorts each run of 8.
  void sort_runs(const Parts& array) {
    mlir::Value length = e_.index(run_length);
    mlir::Value whole = e_.mul(e_.div(extent_, length), length);
    auto at = [&](mlir::Value first, int i) { return e_.add(first, e_.index(i)); };
    e_.loop(e_.index(0), whole, length, [&](mlir::Value first) {
      llvm::SmallVector<Parts> run;
      for (int i = 0; i < run_length; ++i) run.push_back(load(array, at(first, i)));
      network(run);
      for (int i = 0; i < run_length; ++i) store(run[static_cast<std::size_t>(i)], array, at(first, i));
    });
    e_.when(e_.less(whole, extent_), [&] {
      // Missing elements compare greater than all others.
      llvm::SmallVector<Parts> run;
      for (int i = 0; i < run_length; ++i) {
        mlir::Value here = at(whole, i);
        Parts x = load(array, e_.min(here, last_));
        for (mlir::Value& v : x) v = e_.select(e_.less(here, extent_), v, e_.index(INT64_MAX));
        run.push_back(x);
      }
      network(run);
      for (int i = 0; i < run_length; ++i) {
        mlir::Value here = at(whole, i);
        e_.when(e_.less(here, extent_), [&] { store(run[static_cast<std::size_t>(i)], array, here); });
      }
    });
  }

  /// Merges neighbouring runs of `width` elements: from[lo, lo + width) with from[lo + width, ...) to `to`.
  void merge_runs(const Parts& from, const Parts& to, mlir::Value width) {
    mlir::Value step = e_.add(width, width);
    e_.loop(e_.index(0), extent_, step, [&](mlir::Value low) {
      mlir::Value middle = e_.min(e_.add(low, width), extent_), high = e_.min(e_.add(low, step), extent_);
      e_.loop(low, high, e_.index(1), {low, middle}, [&](mlir::Value k, mlir::ValueRange carried) {
        mlir::Value i = carried[0], j = carried[1];
        Parts x = load(from, e_.min(i, last_)), y = load(from, e_.min(j, last_));
        mlir::Value ended = at_most(high, j);
        mlir::Value left = both(e_.less(i, middle), either(ended, before(x, y)));
        store(choose(left, x, y), to, k);
        return llvm::SmallVector<mlir::Value>{e_.select(left, e_.add(i, e_.index(1)), i),
                                              e_.select(left, j, e_.add(j, e_.index(1)))};
      });
    });
  }

 private:
  mlir::Value both(mlir::Value a, mlir::Value b) { return mlir::arith::AndIOp::create(e_.b, e_.loc, a, b); }
  mlir::Value either(mlir::Value a, mlir::Value b) { return mlir::arith::OrIOp::create(e_.b, e_.loc, a, b); }
  mlir::Value at_most(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(e_.b, e_.loc, mlir::arith::CmpIPredicate::sle, a, b);
  }
  mlir::Value before(const Parts& x, const Parts& y) {
    if (packed_) return e_.less(x[0], y[0]);
    mlir::Value equal = mlir::arith::CmpIOp::create(e_.b, e_.loc, mlir::arith::CmpIPredicate::eq, x[0], y[0]);
    return either(e_.less(x[0], y[0]), both(equal, e_.less(x[1], y[1])));
  }
  Parts choose(mlir::Value condition, const Parts& x, const Parts& y) {
    Parts chosen;
    for (auto [a, b] : llvm::zip(x, y)) chosen.push_back(e_.select(condition, a, b));
    return chosen;
  }

  /// Batcher's odd-even merge sort of 8: 19 exchanges.
  void network(llvm::SmallVector<Parts>& run) {
    static constexpr std::array<std::array<std::size_t, 2>, 19> exchanges{{{0, 1},
                                                                           {2, 3},
                                                                           {4, 5},
                                                                           {6, 7},
                                                                           {0, 2},
                                                                           {1, 3},
                                                                           {4, 6},
                                                                           {5, 7},
                                                                           {1, 2},
                                                                           {5, 6},
                                                                           {0, 4},
                                                                           {1, 5},
                                                                           {2, 6},
                                                                           {3, 7},
                                                                           {2, 4},
                                                                           {3, 5},
                                                                           {1, 2},
                                                                           {3, 4},
                                                                           {5, 6}}};
    for (auto [i, j] : exchanges) {
      mlir::Value right = before(run[i], run[j]);
      Parts low = choose(right, run[i], run[j]), high = choose(right, run[j], run[i]);
      run[i] = low;
      run[j] = high;
    }
  }

  KernelBuilder& e_;
  bool packed_;
  mlir::Value extent_, last_;
};

constexpr ParamNames names{"extent", "merge_passes"};
using Params = KernelParams<names>;

}  // namespace

Launch launch_sort(ir::SortOp op, const CpuTarget& target) {
  llvm::ArrayRef<std::int64_t> shape = ir::ranked(op.getX()).getShape();
  std::int64_t extent = shape.back(), rows = mlir::ShapedType::getNumElements(shape.drop_back()), passes = 0;
  for (std::int64_t width = run_length; width < extent; width *= 2) ++passes;

  DType dtype = dtype_of_value(op.getX());
  bool packed = ir::sorts_packed(op.getX()), descending = op.getDescending();
  int lanes = target.lanes(8);
  Launch launch{{name_of_location(op.getLoc()),
                 fmt::format("sort {} {} packed={} lanes={}", name_of(dtype), descending ? "down" : "up",
                             packed, lanes),
                 op.getLoc(),
                 {}},
                {}};
  Params::append(launch.params, {{"extent", extent}, {"merge_passes", passes}});
  launch.extent = extent == 0 ? 0 : rows;
  launch.grain = grain_for(launch.extent, extent * (2 + passes) * 4);

  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    const Params params(e, args.params);
    mlir::Value n = params["extent"], pass_count = params["merge_passes"], zero = e.index(0);
    Sorter sorter(e, packed, n);
    // Calls `body(j, mask)` for all elements of a row, `lanes` at a time.
    auto for_all = [&](const std::function<void(mlir::Value, mlir::Value)>& body) {
      e.loop(zero, n, e.index(lanes),
             [&](mlir::Value j) { body(j, lanes == 1 ? mlir::Value() : e.mask_below(e.sub(n, j), lanes)); });
    };
    e.loop(args.begin, args.end, e.index(1), [&](mlir::Value row) {
      auto part = [&](std::int64_t operand, DType d, std::int64_t rows_each, std::int64_t which) {
        mlir::Value first = e.add(e.mul(row, e.index(rows_each)), e.index(which));
        return e.element(e.buffer(args.buffers, operand), e.mul(first, n), d);
      };
      mlir::Value x = part(0, dtype, 1, 0), order = part(1, DType::i64, 1, 0);
      // The last pass writes to `a`, where the indices are in the result.
      Parts a{order}, b{part(2, DType::i64, 1, 0)};
      if (!packed) {
        a = {part(2, DType::i64, 3, 0), order};
        b = {part(2, DType::i64, 3, 1), part(2, DType::i64, 3, 2)};
      }
      mlir::Value even = mlir::arith::CmpIOp::create(e.b, e.loc, mlir::arith::CmpIPredicate::eq,
                                                     e.rem(pass_count, e.index(2)), zero);
      Parts from, to;
      for (auto [p, q] : llvm::zip(a, b)) {
        from.push_back(e.select(even, p, q));
        to.push_back(e.select(even, q, p));
      }

      for_all([&](mlir::Value j, mlir::Value mask) {
        Num key =
            key_of(Num(e.b, e.loc, e.load(e.element(x, j, dtype), dtype, lanes, mask)), dtype, descending);
        Num index(e.b, e.loc, e.add(e.splat(j, lanes), e.lane_numbers(lanes)));
        Num wide = key.width() == 64 ? key : resize_signed(key, 64);
        Parts values{packed ? ((wide << 32) | index).value() : wide.value(), index.value()};
        for (auto [p, v] : llvm::zip(from, values))
          e.store(v, e.element(p, j, DType::i64), DType::i64, lanes, mask);
      });
      sorter.sort_runs(from);

      auto parts = static_cast<unsigned>(from.size());
      llvm::SmallVector<mlir::Value> state{e.index(run_length)};
      state.append(from);
      state.append(to);
      e.loop(zero, pass_count, e.index(1), state, [&](mlir::Value, mlir::ValueRange carried) {
        mlir::ValueRange source = carried.slice(1, parts), result = carried.slice(1 + parts, parts);
        sorter.merge_runs(Parts(source), Parts(result), carried[0]);
        llvm::SmallVector<mlir::Value> next{e.add(carried[0], carried[0])};
        next.append(result.begin(), result.end());
        next.append(source.begin(), source.end());
        return next;
      });
      if (!packed) return;
      for_all([&](mlir::Value j, mlir::Value mask) {
        mlir::Value at = e.element(order, j, DType::i64);
        Num word(e.b, e.loc, e.load(at, DType::i64, lanes, mask));
        e.store(word & 0xffffffff, at, DType::i64, lanes, mask);
      });
    });
  };
  return launch;
}

}  // namespace kiln::codegen

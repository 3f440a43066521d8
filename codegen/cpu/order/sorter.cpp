// Merge sort of rows in registers and in memory.
#include "codegen/cpu/order/sorter.h"

#include "codegen/math/math.h"
#include "runtime/dtype_table.h"

#include <array>

namespace kiln::codegen {
namespace {
constexpr int run_length = 8;
}

Num key_of(Num x, DType dtype, bool descending) {
  if (!is_floating(dtype)) {
    bool is_unsigned = is_unsigned_integer(dtype);
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

std::int64_t Sorter::merge_passes(std::int64_t extent) {
  std::int64_t passes = 0;
  for (std::int64_t width = run_length; width < extent; width *= 2) ++passes;
  return passes;
}

Parts Sorter::load(const Parts& array, mlir::Value i) {
  Parts x;
  for (mlir::Value p : array) x.push_back(e_.load_scalar(e_.element(p, i, DType::i64), DType::i64));
  return x;
}

void Sorter::store(const Parts& x, const Parts& array, mlir::Value i) {
  for (auto [v, p] : llvm::zip(x, array)) e_.store_scalar(v, e_.element(p, i, DType::i64), DType::i64);
}

Parts Sorter::element(Num key, Num index) const {
  const Num wide = key.width() == 64 ? key : resize_signed(key, 64);
  if (packed_) return {((wide << 32) | index).value()};
  return {wide.value(), index.value()};
}

mlir::Value Sorter::key(const Parts& x) const {
  return packed_ ? (Num(e_.b, e_.loc, x[0]) >> 32).value() : x[0];
}
mlir::Value Sorter::index(const Parts& x) const {
  return packed_ ? (Num(e_.b, e_.loc, x[0]) & 0xffffffff).value() : x[1];
}

std::pair<Parts, Parts> Sorter::arrays(const Parts& first, const Parts& second, mlir::Value passes) {
  const mlir::Value even = compare(mlir::arith::CmpIPredicate::eq, e_.rem(passes, e_.index(2)), e_.index(0));
  return {choose(even, first, second), choose(even, second, first)};
}

void Sorter::sort(const Parts& from, const Parts& to, mlir::Value passes) {
  sort_runs(from);
  const auto parts = static_cast<unsigned>(from.size());
  llvm::SmallVector<mlir::Value> state{e_.index(run_length)};
  state.append(from);
  state.append(to);
  e_.loop(e_.index(0), passes, e_.index(1), state, [&](mlir::Value, mlir::ValueRange carried) {
    mlir::ValueRange source = carried.slice(1, parts), result = carried.slice(1 + parts, parts);
    merge_runs(Parts(source), Parts(result), carried[0]);
    llvm::SmallVector<mlir::Value> next{e_.add(carried[0], carried[0])};
    next.append(result.begin(), result.end());
    next.append(source.begin(), source.end());
    return next;
  });
}

void Sorter::insert(const Parts& x, const Parts& sorted, mlir::Value count) {
  const int lanes = e_.target.lanes(static_cast<int>(size_of(DType::i64)));
  const auto splat = [&](mlir::Value v) { return e_.splat(v, lanes); };
  const Parts inserted = llvm::map_to_vector<2>(x, splat), none(x.size(), splat(e_.index(INT64_MIN)));
  llvm::SmallVector<std::int32_t> last_and_here;  // of two registers, all but the last
  for (int lane = 0; lane < lanes; ++lane) last_and_here.push_back(lanes - 1 + lane);
  const auto move = [&](mlir::Value i, mlir::ValueRange last) {
    Parts here, before_here;
    for (auto [array, before] : llvm::zip(sorted, last)) {
      here.push_back(e_.load(e_.element(array, i, DType::i64), DType::i64, lanes));
      before_here.push_back(lanes == 1 ? before : e_.shuffle(before, here.back(), last_and_here));
    }
    const Parts moved = choose(before(inserted, before_here), before_here, inserted),
                all = choose(before(inserted, here), moved, here);
    for (auto [value, array] : llvm::zip(all, sorted))
      e_.store(value, e_.element(array, i, DType::i64), DType::i64, lanes);
    return llvm::SmallVector<mlir::Value>(here.begin(), here.end());
  };
  e_.loop(e_.index(0), count, e_.index(lanes), mlir::ValueRange(none), move);
}

/// Sorts each run of 8.
void Sorter::sort_runs(const Parts& array) {
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
      run.push_back(choose(e_.less(here, extent_), load(array, e_.min(here, last_)), greatest()));
    }
    network(run);
    for (int i = 0; i < run_length; ++i) {
      mlir::Value here = at(whole, i);
      e_.when(e_.less(here, extent_), [&] { store(run[static_cast<std::size_t>(i)], array, here); });
    }
  });
}

/// Merges neighbouring runs of `width` elements from `from` to `to`; the last run may be shorter or missing.
/// The smallest and the greatest elements of both runs are two chains of dependent loads: each iteration
/// advances both. As long as they have taken no more elements than the second run has, neither comes to the
/// end of a run.
void Sorter::merge_runs(const Parts& from, const Parts& to, mlir::Value width) {
  const mlir::Value zero = e_.index(0), one = e_.index(1), two_widths = e_.add(width, width);
  e_.loop(zero, extent_, two_widths, [&](mlir::Value low) {
    const mlir::Value middle = e_.min(e_.add(low, width), extent_),
                      high = e_.min(e_.add(low, two_widths), extent_), last = e_.sub(high, one);
    const mlir::Value first_length = e_.sub(middle, low), second_length = e_.sub(high, middle);
    // i and j are the next smallest elements, p and q the next greatest.
    mlir::ValueRange ends =
        e_.loop(zero, second_length, one, {low, middle, e_.sub(middle, one), last},
                [&](mlir::Value k, mlir::ValueRange next) {
                  const mlir::Value i = next[0], j = next[1], p = next[2], q = next[3];
                  const Parts x = load(from, i), y = load(from, j), u = load(from, p), v = load(from, q);
                  const mlir::Value take_x = before(x, y), take_v = before(u, v);
                  store(choose(take_x, x, y), to, e_.add(low, k));
                  store(choose(take_v, v, u), to, e_.sub(last, k));
                  return llvm::SmallVector<mlir::Value>{
                      e_.select(take_x, e_.add(i, one), i), e_.select(take_x, j, e_.add(j, one)),
                      e_.select(take_v, p, e_.sub(p, one)), e_.select(take_v, e_.sub(q, one), q)};
                });
    // The rest of a longer first run, with the rest of the second one.
    e_.loop(second_length, first_length, one, {ends[0], ends[1]}, [&](mlir::Value k, mlir::ValueRange next) {
      const mlir::Value i = next[0], j = next[1];
      const Parts x = load(from, i), y = load(from, e_.min(j, last));
      const mlir::Value left = either(e_.less(last, j), before(x, y));
      store(choose(left, x, y), to, e_.add(low, k));
      return llvm::SmallVector<mlir::Value>{e_.select(left, e_.add(i, one), i),
                                            e_.select(left, j, e_.add(j, one))};
    });
  });
}

mlir::Value Sorter::before(const Parts& x, const Parts& y) {
  if (packed_) return e_.less(x[0], y[0]);
  const mlir::Value equal = compare(mlir::arith::CmpIPredicate::eq, x[0], y[0]);
  return either(e_.less(x[0], y[0]), both(equal, e_.less(x[1], y[1])));
}

Parts Sorter::choose(mlir::Value condition, const Parts& x, const Parts& y) {
  Parts chosen;
  for (auto [a, b] : llvm::zip(x, y)) chosen.push_back(e_.select(condition, a, b));
  return chosen;
}

/// Batcher's odd-even merge sort of 8: 19 exchanges.
void Sorter::network(llvm::SmallVector<Parts>& run) {
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

}  // namespace kiln::codegen

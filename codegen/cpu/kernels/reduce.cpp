// Kernels whose root is a reduction. The orders of operations are those of kiln.reduce in ir/KilnOps.td.
#include "codegen/cpu/kernels/launch.h"
#include "codegen/cpu/loops/kernel_params.h"
#include "codegen/cpu/loops/loop_nest.h"
#include "codegen/cpu/loops/scalar_expr.h"
#include "codegen/math/math.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::int64_t block_length = 1024;  // first order: elements of a block
constexpr int partials = 64;                 // first order: interleaved partial results
constexpr std::int64_t chain_length = 512;   // second order: elements of a chain

// Rows of large arrays are asked for so long before: processors stop at a page's end.
constexpr std::int64_t prefetched_bytes = 2048;

// Where lanes run along a kept axis, results of a strip of it are in work at once, on the stack: rows are
// read about a page at a time, and what is added to stays in the first cache.
constexpr std::int64_t strip_of_chains = 1024;
constexpr std::int64_t strip_of_partials = 64;

mlir::Value identity(KernelBuilder& e, ir::ReduceKind kind, DType d, int lanes) {
  const mlir::TypedAttr value = ir::identity_of(kind, ir::element_type(e.b.getContext(), d));
  if (auto real = llvm::dyn_cast<mlir::FloatAttr>(value)) return e.number(d, real.getValueAsDouble(), lanes);
  const auto bits =
      mlir::IntegerAttr::get(e.register_type(d), llvm::cast<mlir::IntegerAttr>(value).getValue());
  return e.splat(mlir::arith::ConstantOp::create(e.b, e.loc, bits), lanes);
}

/// The axes of one group (kept before, reduced, kept after), joined where every stream allows it.
struct Group {
  Dims extents;
  llvm::SmallVector<Dims> strides;  // per stream

  void add_axis(std::int64_t extent, llvm::ArrayRef<std::int64_t> stream_strides) {
    strides.resize(stream_strides.size());
    extents.push_back(extent);
    for (std::size_t s = 0; s < stream_strides.size(); ++s) strides[s].push_back(stream_strides[s]);
  }
  void collapse(std::size_t accesses) {
    strides.resize(accesses);
    ir::collapse_axes(extents, strides);
  }
};

/// All that the code and the parameters of a reduction come from.
struct Reduction {
  ir::ReduceKind kind;
  DType dtype;
  ScalarExpr before, after;
  LoopNest nest;        // over the kept axes
  std::int64_t extent;  // of the reduced axis
  Dims steps;           // of the leaves of `before` along it
  int lanes;
  bool first_order;
  int levels;  // first order: of blocks, of blocks of their results, and so on until one is left
  bool along;  // lanes run along the reduced axis, else along the last kept one
  bool few;    // what combines the elements is code without a loop
  bool far;    // more is read than caches near the core hold, and asked for in advance

  std::int64_t first_own_param() const { return static_cast<std::int64_t>(nest.param_count()); }
};

/// As many as `extent` elements take.
int levels_for(std::int64_t extent) {
  constexpr auto bits_of_level = static_cast<unsigned>(llvm::ConstantLog2<block_length>());
  const unsigned bits = llvm::Log2_64_Ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)));
  return static_cast<int>(std::max(llvm::divideCeil(bits, bits_of_level), 1u));
}
/// Elements that an element of that level stands for.
std::int64_t elements_of(int level) { return level == 1 ? 1 : block_length * elements_of(level - 1); }

/// Whether an expression is worth being repeated for some elements: a few operations and no function.
bool is_light(const ScalarExpr& body) { return body.operations() <= 4 && body.registers_at_once() == 1; }

/// Where a reduction reads its operands.
struct Place {
  mlir::Value r;  // the element along the reduced axis, the first of `lanes` where those run along it
  int lanes;
  mlir::Value mask = {};
  int of_stripe = 0;  // elements between a stripe's beginning and r
};

/// Asks for what is to be read some time after the registers at `address`, once for each line.
void prefetch_next(KernelBuilder& e, const Reduction& red, std::size_t i, mlir::Value address,
                   const Place& place) {
  const StridedAccess& access = red.nest.accesses()[i];
  const auto size = static_cast<std::int64_t>(size_of(access.dtype));
  if (place.mask || place.of_stripe * size % cache_line_bytes != 0) return;
  e.prefetch_next(access.operand, address, place.lanes * size, red.far ? prefetched_bytes : 0);
}

/// The leaf of `before`; `fixed` if that is the same for all elements along the lanes.
mlir::Value leaf_along(KernelBuilder& e, const Reduction& red, LoopPoint& at, std::size_t i, mlir::Value step,
                       const Place& place, llvm::ArrayRef<mlir::Value> fixed) {
  const auto& [r, lanes, mask, of_stripe] = place;
  const Leaf& leaf = red.before.leaves()[i];
  int step_class = stride_class(red.steps[i]);
  if (leaf.kind == Leaf::Kind::iota || leaf.kind == Leaf::Kind::random)
    fail_internal("a reduction was given numbers instead of elements");
  mlir::Value base = at.address(i);
  if (!red.along) {  // r only moves the address
    mlir::Value here = e.element(base, e.mul(r, step), leaf.dtype);
    if (at.inner_stride_class(i) == 0) return e.splat(e.load_scalar(here, leaf.dtype), at.lanes());
    if (at.inner_stride_class(i) == 1) return e.load(here, leaf.dtype, at.lanes(), at.mask());
    return e.gather(here, at.lane_offsets(i), leaf.dtype, at.lanes(), at.mask());
  }
  switch (step_class) {
    case 0:
      return fixed[i];
    case 1: {
      const mlir::Value here = e.element(base, r, leaf.dtype);
      prefetch_next(e, red, i, here, place);
      return e.load(here, leaf.dtype, lanes, mask);
    }
    default:
      return e.gather(e.element(base, e.mul(r, step), leaf.dtype), e.lane_offsets(step, lanes), leaf.dtype,
                      lanes, mask);
  }
}

/// After the parameters of the nest: the first, then the other for each leaf of `before`.
constexpr ParamNames names{"reduced_extent"};
constexpr ParamNames leaf_names{"reduced_stride"};
using Params = KernelParams<names>;
using LeafParams = KernelParams<leaf_names>;

/// What both ways have in common.
class Emitter {
 protected:
  Emitter(KernelBuilder& e, const Reduction& red, mlir::Value params) : e_(e), red_(red) {
    const Params own(e, params, red.first_own_param());
    extent_ = own["reduced_extent"];
    for (std::size_t i = 0; i < red.steps.size(); ++i)
      steps_.push_back(own.group<LeafParams>(i)["reduced_stride"]);
  }

  /// A partial result with one more element.
  mlir::Value take(mlir::Value partial, mlir::Value x) {
    return red_.kind == ir::ReduceKind::sum_squares
               ? emit_fma(e_.b, e_.loc, red_.dtype, x, x, partial, e_.target.isa)
               : combine(partial, x);
  }
  mlir::Value combine(mlir::Value x, mlir::Value y) {
    return emit_binary(e_.b, e_.loc, static_cast<ir::Binary>(ir::combiner(red_.kind)), red_.dtype, x, y,
                       e_.target.isa);
  }

  mlir::Value element(LoopPoint& at, const Place& place) {
    return red_.before.emit(e_, place.lanes, [&](std::size_t i) {
      return leaf_along(e_, red_, at, i, steps_[i], place, fixed_);
    })[0];
  }

  KernelBuilder& e_;
  const Reduction& red_;
  mlir::Value extent_;
  llvm::SmallVector<mlir::Value> steps_;
  llvm::SmallVector<mlir::Value> fixed_;  // by leaf, where lanes run along the reduced axis
};

/// Lanes along the reduced axis: one result at a time, in the first order.
class Along : Emitter {
 public:
  Along(KernelBuilder& e, const Reduction& red, mlir::Value params) : Emitter(e, red, params) {
    for (int level = 2; level <= red.levels; ++level) parts_.push_back(e.stack(red.dtype, partials));
  }

  mlir::Value reduce(LoopPoint& at) {
    const mlir::Value zero = e_.index(0);
    if (red_.levels > 1) return block_of_results(at, red_.levels, zero, extent_);
    // Once, or where there are no elements never.
    const mlir::Value none = identity(e_, red_.kind, red_.dtype, 1);
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
    load_fixed(at);
    llvm::SmallVector<mlir::Value> partial(static_cast<std::size_t>(vectors),
                                           identity(e_, red_.kind, red_.dtype, lanes));
    auto stripes = e_.loop(begin, whole, stripe, partial, [&](mlir::Value r, mlir::ValueRange carried) {
      llvm::SmallVector<mlir::Value> next;
      for (int v = 0; v < vectors; ++v)
        next.push_back(take(carried[static_cast<unsigned>(v)],
                            element(at, {e_.add(r, e_.index(v * lanes)), lanes, {}, v * lanes})));
      return next;
    });
    partial.assign(stripes.begin(), stripes.end());
    return halve(rest(at, partial, whole, end));
  }

  /// The same of the results of the level below, which come one by one: their partials are in memory, and few
  /// as a rule. Those that take no result are left out, as in Tree.
  mlir::Value block_of_results(LoopPoint& at, int level, mlir::Value begin, mlir::Value end) {
    const mlir::Value parts = parts_[static_cast<std::size_t>(level - 2)], one = e_.index(1),
                      length = e_.index(elements_of(level)), all = e_.index(partials);
    const auto place = [&](mlir::Value j) { return e_.element(parts, j, red_.dtype); };
    const auto add = [&](mlir::Value to, mlir::Value x) {
      e_.store(combine(e_.load(to, red_.dtype, 1), x), to, red_.dtype, 1);
    };
    const mlir::Value results = e_.div(e_.add(e_.sub(end, begin), e_.sub(length, one)), length);
    const mlir::Value used = red_.kind == ir::ReduceKind::max_nnan ? all : e_.min(results, all);
    const mlir::Value start = identity(e_, red_.kind, red_.dtype, 1);
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

  /// What is the same for all elements of a result: once for a block, which has some, so that it may be read.
  void load_fixed(LoopPoint& at) {
    fixed_.assign(red_.before.leaves().size(), {});
    for (auto [i, leaf] : llvm::enumerate(red_.before.leaves()))
      if (stride_class(red_.steps[i]) == 0)
        fixed_[i] = e_.splat(e_.load_scalar(at.address(i), leaf.dtype), red_.lanes);
  }

  /// The last, incomplete stripe of a block: partial j takes element whole + j if there is one.
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
            mlir::Value r = e_.add(whole, e_.index(v * lanes)), left = e_.sub(end, r);
            mlir::Value old = partial[static_cast<std::size_t>(v)];
            if (lanes == 1) {
              next.push_back(scalar_or(
                  e_.less(e_.index(0), left),
                  [&] {
                    return take(old, element(at, {r, 1}));
                  },
                  old));
              continue;
            }
            mlir::Value mask = e_.mask_below(left, lanes);
            next.push_back(e_.select(mask, take(old, element(at, {r, lanes, mask})), old));
          }
          mlir::scf::YieldOp::create(e_.b, e_.loc, next);
        },
        [&](mlir::OpBuilder&, mlir::Location) { mlir::scf::YieldOp::create(e_.b, e_.loc, partial); });
    return {branch.getResults().begin(), branch.getResults().end()};
  }

  /// One lane: the element may not even be read where there is none.
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

  llvm::SmallVector<mlir::Value> parts_;  // of the levels from the second on
};

/// Lanes along a kept axis, of which a strip is worked on at once. Strips have room for whole registers.
class Across : Emitter {
 public:
  Across(KernelBuilder& e, const Reduction& red, mlir::Value params) : Emitter(e, red, params) {
    if (!red.first_order) totals_ = e.stack(red.dtype, width());
    for (int level = 1; level <= red.levels; ++level)
      parts_.push_back(e.stack(red.dtype, red.first_order ? partials * width() : width()));
  }

  using Result = std::function<void(LoopPoint&, mlir::Value)>;
  /// Gives the results of a row.
  void reduce(const LoopNest::Row& row, const Result& result) {
    e_.loop(row.from, row.to, e_.index(width()), [&](mlir::Value from) {
      const mlir::Value to = e_.min(e_.add(from, e_.index(width())), row.to);
      first_column_ = from;
      columns_ = e_.sub(to, from);
      const auto each = [&](const LoopNest::PointBody& body) { row.each(from, to, body); };
      const mlir::Value totals =
          red_.first_order ? block(each, red_.levels, e_.index(0), extent_) : chains(each);
      each([&](LoopPoint& at) { result(at, load(totals, column(at), at.lanes())); });
    });
  }

 private:
  using Each = llvm::function_ref<void(const LoopNest::PointBody&)>;

  std::int64_t width() const { return red_.first_order ? strip_of_partials : strip_of_chains; }
  mlir::Value behind(mlir::Value strip, mlir::Value elements) {
    return e_.element(strip, elements, red_.dtype);
  }
  mlir::Value column(LoopPoint& at) { return e_.sub(at.position(), first_column_); }
  mlir::Value load(mlir::Value strip, mlir::Value i, int lanes) {
    return e_.load(behind(strip, i), red_.dtype, lanes);
  }
  void store(mlir::Value value, mlir::Value strip, mlir::Value i, int lanes) {
    e_.store(value, behind(strip, i), red_.dtype, lanes);
  }
  void fill(mlir::Value strip, mlir::Value elements) {
    e_.loop(e_.index(0), elements, e_.index(red_.lanes), [&](mlir::Value i) {
      store(identity(e_, red_.kind, red_.dtype, red_.lanes), strip, i, red_.lanes);
    });
  }
  /// to = to op from, element by element.
  void add_strip(mlir::Value to, mlir::Value from, mlir::Value elements) {
    e_.loop(e_.index(0), elements, e_.index(red_.lanes), [&](mlir::Value i) {
      store(combine(load(to, i, red_.lanes), load(from, i, red_.lanes)), to, i, red_.lanes);
    });
  }
  /// strip = strip op elements r, r + 1, ... of `rows`, in this order.
  void add_rows(Each each, mlir::Value strip, mlir::Value r, int rows) {
    each([&](LoopPoint& at) {
      mlir::Value sum = load(strip, column(at), at.lanes());
      for (int i = 0; i < rows; ++i)
        sum = take(sum, element(at, {e_.add(r, e_.index(i)), at.lanes(), at.mask()}));
      store(sum, strip, column(at), at.lanes());
    });
  }

  /// Each costs a load and a store of what is added to, or code.
  int rows_at_once() const {
    if (red_.before.operations() == 0) return 8;
    return is_light(red_.before) ? 4 : 1;
  }

  /// Second order.
  mlir::Value chains(Each each) {
    const mlir::Value length = e_.index(chain_length);
    fill(totals_, columns_);
    e_.loop(e_.index(0), extent_, length,
            [&](mlir::Value begin) { chain(each, begin, e_.min(e_.add(begin, length), extent_)); });
    return totals_;
  }

  /// The elements [begin, end) of a chain. The first chain's result is the total as it is.
  void chain(Each each, mlir::Value begin, mlir::Value end) {
    const mlir::Value later = e_.less(e_.index(0), begin), parts = parts_.front();
    const mlir::Value strip = e_.select(later, parts, totals_);
    e_.when(later, [&] { fill(parts, columns_); });
    const int rows = rows_at_once();
    const mlir::Value step = e_.index(rows);
    const mlir::Value whole = e_.add(begin, e_.mul(e_.div(e_.sub(end, begin), step), step));
    e_.loop(begin, whole, step, [&](mlir::Value r) { add_rows(each, strip, r, rows); });
    if (rows > 1) e_.loop(whole, end, e_.index(1), [&](mlir::Value r) { add_rows(each, strip, r, 1); });
    e_.when(later, [&] { add_strip(totals_, parts, columns_); });
  }

  /// First order, the elements [begin, end) of a block of that level, in whose first strip the result is
  /// then: partial results one strip behind the other.
  mlir::Value block(Each each, int level, mlir::Value begin, mlir::Value end) {
    const mlir::Value parts = parts_[static_cast<std::size_t>(level - 1)],
                      length = e_.index(elements_of(level));
    fill(parts, e_.index(partials * width()));
    e_.loop(begin, end, length, [&](mlir::Value from) {
      const mlir::Value j = e_.rem(e_.div(e_.sub(from, begin), length), e_.index(partials));
      const mlir::Value own = behind(parts, e_.mul(j, e_.index(width())));
      if (level == 1) return add_rows(each, own, from, 1);
      add_strip(own, block(each, level - 1, from, e_.min(e_.add(from, length), end)), columns_);
    });
    e_.loop(e_.index(0), e_.index(llvm::Log2_64(partials)), e_.index(1), [&](mlir::Value step) {
      const mlir::Value half =
          mlir::arith::ShRUIOp::create(e_.b, e_.loc, e_.index(partials / 2 * width()), step);
      add_strip(parts, behind(parts, half), half);
    });
    return parts;
  }

  mlir::Value totals_;
  llvm::SmallVector<mlir::Value> parts_;  // of each level
  mlir::Value first_column_, columns_;    // of the strip
};

/// Lanes along a kept axis and few elements in the first order, in registers. Each partial result takes one;
/// those that take none are left out. (A sum from +0 is never -0, so adding +0 changes nothing.) How far
/// elements lie apart is built in: an address for each would not fit in registers.
class Tree : Emitter {
 public:
  Tree(KernelBuilder& e, const Reduction& red, mlir::Value params) : Emitter(e, red, params) {
    for (auto [step, built_in] : llvm::zip(steps_, red.steps)) step = e.index(built_in);
  }

  mlir::Value reduce(LoopPoint& at) { return partial(at, 0, 1); }

 private:
  /// p[j] as it is when `step` partial results are left.
  mlir::Value partial(LoopPoint& at, int j, int step) {
    if (step == partials)
      return take(identity(e_, red_.kind, red_.dtype, at.lanes()),
                  element(at, {e_.index(j), at.lanes(), at.mask()}));
    const mlir::Value own = partial(at, j, 2 * step);
    return j + step < red_.extent ? combine(own, partial(at, j + step, 2 * step)) : own;
  }
};

}  // namespace

Launch launch_reduce(ir::FusionOp fusion, ir::ReduceOp root, const Target& target) {
  const auto outputs = outputs_of(fusion);
  llvm::ArrayRef<std::int64_t> shape = ir::ranked(root.getX()).getShape();
  auto reduced = [&](std::size_t axis) {
    return llvm::is_contained(root.getAxes(), static_cast<std::int64_t>(axis));
  };

  ScalarExpr before(llvm::ArrayRef<mlir::Value>(root.getX()));
  ScalarExpr after(values_of(outputs), root.getResult());
  auto arguments = static_cast<int>(fusion.getNumOperands());

  // Streams: leaves of `before`, leaves of `after` but the root, outputs. Strides over the axes of the input
  // for the first, over those of the result for the others (0 along the reduced axes).
  std::vector<StridedAccess> accesses;
  std::vector<Dims> full;
  auto over_input = [&](const Dims& result_strides) {
    Dims strides;
    std::size_t next = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      strides.push_back(reduced(axis) ? 0 : result_strides[next++]);
    return strides;
  };
  for (const Leaf& leaf : before.leaves()) {
    if (leaf.kind != Leaf::Kind::memory) fail_internal("a reduction reads something that is not in memory");
    accesses.push_back({leaf.dtype, static_cast<int>(leaf.argument), {}, leaf.view.offset, false});
    full.push_back(leaf.view.strides);
  }
  std::vector<std::size_t> after_access;
  for (const Leaf& leaf : after.leaves()) {
    after_access.push_back(accesses.size());
    if (leaf.kind == Leaf::Kind::root) continue;
    if (leaf.kind != Leaf::Kind::memory)
      fail_internal("the end of a reduction reads something that is not in memory");
    accesses.push_back({leaf.dtype, static_cast<int>(leaf.argument), {}, leaf.view.offset});
    full.push_back(over_input(leaf.view.strides));
  }
  std::size_t first_output = accesses.size();
  for (auto [i, out] : llvm::enumerate(outputs)) {
    accesses.push_back(
        {dtype_of_value(out.value), arguments + static_cast<int>(i), {}, out.view.offset, false});
    full.push_back(over_input(out.view.strides));
  }

  Group kept, inner;
  bool kept_after = false;
  std::int64_t last_reduced = root.getAxes().empty() ? -1 : root.getAxes().back();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    llvm::SmallVector<std::int64_t> s;
    for (const Dims& f : full) s.push_back(f[axis]);
    (reduced(axis) ? inner : kept).add_axis(shape[axis], s);
    if (!reduced(axis) && static_cast<std::int64_t>(axis) > last_reduced && shape[axis] != 1)
      kept_after = true;
  }
  kept.collapse(accesses.size());
  inner.collapse(accesses.size());
  if (inner.extents.size() > 1)
    fail_internal("a reduction over axes that do not join reached code generation");
  for (std::size_t s = 0; s < accesses.size(); ++s) accesses[s].strides = kept.strides[s];

  DType dtype = dtype_of_value(root.getX());
  int lanes = target.lanes(std::max(before.widest(), after.widest()));
  const bool first_order = !kept_after;
  Dims steps;
  for (std::size_t i = 0; i < before.leaves().size(); ++i)
    steps.push_back(inner.extents.empty() ? 0 : inner.strides[i][0]);
  // Neighbours in memory may be kept, as in means over images with the channels last.
  const auto neighbours_kept = [&] {
    bool gathered = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (stride_class(accesses[i].strides.back()) == 2) return false;
      gathered |= stride_class(steps[i]) == 2;
    }
    return gathered && kept.extents.back() >= lanes;
  };
  const bool along = first_order && (kept.extents.empty() || !neighbours_kept());
  const std::int64_t extent = inner.extents.empty() ? 1 : inner.extents[0];
  const bool few = first_order && !along && extent > 0 && extent <= partials &&
                   root.getKind() != ir::ReduceKind::max_nnan && is_light(before);
  int registers = std::min(before.registers_at_once(), partials / lanes);
  if (along && lanes > 1) lanes *= registers;
  // Elements of a result lie so far apart that few lines of them stay near: all of a line at once, where
  // registers hold the tree of that.
  if (few) registers = lanes * size_of(dtype) < cache_line_bytes ? 2 : 1;
  const bool far = along && target.software_prefetch && ir::bytes_of(root.getX()) > private_cache_bytes;
  Reduction red{root.getKind(),
                dtype,
                std::move(before),
                std::move(after),
                LoopNest(kept.extents, std::move(accesses), along ? 1 : lanes, registers),
                extent,
                std::move(steps),
                lanes,
                first_order,
                first_order ? levels_for(extent) : 1,
                along,
                few,
                far};

  std::string key =
      fmt::format("reduce {} {} order={}{} {} lanes={} steps=", ir::stringifyReduceKind(red.kind).str(),
                  name_of(dtype), first_order ? 1 : 2, red.levels > 1 ? fmt::format("x{}", red.levels) : "",
                  few      ? fmt::format("across={}", extent)
                  : !along ? std::string("across")
                  : far    ? "along far"
                           : "along",
                  lanes);
  for (std::int64_t s : red.steps)
    key += few ? fmt::format(",{}", s) : std::to_string(along ? stride_class(s) : 2);
  Launch launch{{name_of_location(fusion.getLoc()),
                 key + " " + red.nest.key() + " before" + red.before.key() + " after" + red.after.key(),
                 fusion.getLoc(),
                 {}},
                {}};
  launch.request.in_order = true;
  red.nest.append_params(launch.params);
  Params::append(launch.params, {{"reduced_extent", red.extent}});
  for (const std::int64_t step : red.steps) LeafParams::append(launch.params, {{"reduced_stride", step}});
  launch.extent = red.nest.elements() == 0 ? 0 : red.nest.outer_extent();
  std::int64_t per_iteration =
      red.extent *
      std::max<std::int64_t>(1, red.nest.elements() / std::max<std::int64_t>(1, red.nest.outer_extent()));
  launch.grain = grain_for(launch.extent, per_iteration, !first_order && red.nest.rank() == 1 ? 64 : 1);

  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    const auto finish = [&](LoopPoint& at, mlir::Value result) {
      auto values = red.after.emit(e, at.lanes(), [&](std::size_t i) {
        return red.after.leaves()[i].kind == Leaf::Kind::root ? result : at.load(after_access[i]);
      });
      for (std::size_t i = 0; i < values.size(); ++i) at.store(first_output + i, values[i]);
    };
    const auto point_by_point = [&](auto reduction) {
      red.nest.emit(e, args, [&](LoopPoint& at) { finish(at, reduction.reduce(at)); });
    };
    if (red.along) {
      point_by_point(Along(e, red, args.params));
    } else if (red.few) {
      point_by_point(Tree(e, red, args.params));
    } else {
      Across reduction(e, red, args.params);
      red.nest.emit_rows(e, args, [&](const LoopNest::Row& row) { reduction.reduce(row, finish); });
    }
  };
  return launch;
}

}  // namespace kiln::codegen

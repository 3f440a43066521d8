// Kernels whose root is a reduction. The orders of operations are those of kiln.reduce in ir/KilnOps.td.
#include "codegen/body.h"
#include "codegen/launch.h"
#include "codegen/math/math.h"
#include "codegen/nest.h"
#include "runtime/fail.h"

namespace kiln::codegen {
namespace {

constexpr std::int64_t block_length = 1024;  // first order: elements of a block
constexpr int partials = 64;                 // first order: interleaved partial results
constexpr std::int64_t chain_length = 512;   // second order: elements of a chain

mlir::Value identity(Emit& e, ir::ReduceKind kind, DType d, int lanes) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  auto extreme = [&](bool least) -> mlir::Value {
    if (is_floating(d)) return e.number(d, least ? -inf : inf, lanes);
    mlir::Type t = e.register_type(d);
    unsigned bits = t.getIntOrFloatBitWidth();
    bool unsigned_type = d == DType::u8 || d == DType::boolean;
    llvm::APInt v =
        unsigned_type ? (least ? llvm::APInt::getMinValue(bits) : llvm::APInt::getMaxValue(bits))
                      : (least ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits));
    return e.splat(mlir::arith::ConstantOp::create(e.b, e.loc, mlir::IntegerAttr::get(t, v)), lanes);
  };
  switch (kind) {
    case ir::ReduceKind::sum:
      return e.number(d, 0, lanes);
    case ir::ReduceKind::prod:
      return e.number(d, 1, lanes);
    case ir::ReduceKind::max:
      return extreme(true);
    default:
      return extreme(false);
  }
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
  void collapse(std::size_t streams) {
    strides.resize(streams);
    ir::collapse_axes(extents, strides);
  }
};

/// All that the code and the parameters of a reduction come from.
struct Reduction {
  ir::ReduceKind kind;
  DType dtype;
  Body before, after;
  Nest nest;            // over the kept axes; lanes run along them in the second order only
  std::int64_t extent;  // of the reduced axis
  Dims steps;           // of the leaves of `before` along it
  std::size_t after_stream, output_stream;
  int lanes;  // along the reduced axis in the first order
  bool first_order;

  std::int64_t first_own_param() const { return static_cast<std::int64_t>(nest.param_count()); }
};

/// The leaf of `before` at element r (of `lanes` neighbours when they run along r).
mlir::Value leaf_along(Emit& e, const Reduction& red, Nest::At& at, std::size_t i, mlir::Value r,
                       mlir::Value step, int lanes, mlir::Value mask) {
  const Leaf& leaf = red.before.leaves()[i];
  int step_class = stride_class(red.steps[i]);
  if (leaf.kind == Leaf::Kind::iota || leaf.kind == Leaf::Kind::random)
    fail_internal("a reduction was given numbers instead of elements");
  mlir::Value base = at.address(i);
  if (!red.first_order) {
    // Lanes run along the kept axis; r only moves the address.
    mlir::Value here = e.element(base, e.mul(r, step), leaf.dtype);
    if (at.inner_class(i) == 0) return e.splat(e.load_scalar(here, leaf.dtype), at.lanes());
    if (at.inner_class(i) == 1) return e.load(here, leaf.dtype, at.lanes(), at.mask());
    return e.gather(here, at.lane_offsets(i), leaf.dtype, at.lanes(), at.mask());
  }
  switch (step_class) {
    case 0:
      return e.splat(e.load_scalar(base, leaf.dtype), lanes);
    case 1:
      return e.load(e.element(base, r, leaf.dtype), leaf.dtype, lanes, mask);
    default:
      return e.gather(e.element(base, e.mul(r, step), leaf.dtype), e.lane_offsets(step, lanes), leaf.dtype,
                      lanes, mask);
  }
}

class Emitter {
 public:
  Emitter(Emit& e, const Reduction& red, mlir::Value params) : e_(e), red_(red) {
    extent_ = e.param(params, red.first_own_param());
    for (std::size_t i = 0; i < red.steps.size(); ++i)
      steps_.push_back(e.param(params, red.first_own_param() + 1 + static_cast<std::int64_t>(i)));
  }

  mlir::Value reduce(Nest::At& at) { return red_.first_order ? tree(at) : chains(at); }

 private:
  mlir::Value combine(mlir::Value x, mlir::Value y) {
    return emit_binary(e_.b, e_.loc, static_cast<ir::Binary>(ir::combiner(red_.kind)), red_.dtype, x, y,
                       e_.target.isa);
  }

  mlir::Value element(Nest::At& at, mlir::Value r, int lanes, mlir::Value mask) {
    return red_.before.emit(
        e_, lanes, [&](std::size_t i) { return leaf_along(e_, red_, at, i, r, steps_[i], lanes, mask); })[0];
  }

  /// First order: blocks of 1024; in each 64 interleaved partials, combined pairwise.
  mlir::Value tree(Nest::At& at) {
    int lanes = red_.lanes, vectors = partials / lanes;
    mlir::Value start = identity(e_, red_.kind, red_.dtype, 1);
    mlir::Value zero = e_.index(0), stripe = e_.index(partials);
    return e_.loop(
        zero, extent_, e_.index(block_length), {start}, [&](mlir::Value block, mlir::ValueRange total) {
          mlir::Value end = e_.min(e_.add(block, e_.index(block_length)), extent_);
          mlir::Value whole = e_.add(block, e_.mul(e_.div(e_.sub(end, block), stripe), stripe));
          llvm::SmallVector<mlir::Value> partial(static_cast<std::size_t>(vectors),
                                                 identity(e_, red_.kind, red_.dtype, lanes));
          auto stripes = e_.loop(block, whole, stripe, partial, [&](mlir::Value r, mlir::ValueRange carried) {
            llvm::SmallVector<mlir::Value> next;
            for (int v = 0; v < vectors; ++v)
              next.push_back(combine(carried[static_cast<unsigned>(v)],
                                     element(at, e_.add(r, e_.index(v * lanes)), lanes, {})));
            return next;
          });
          partial.assign(stripes.begin(), stripes.end());
          partial = rest(at, partial, whole, end);
          llvm::SmallVector<mlir::Value> result{combine(total[0], halve(partial))};
          return result;
        })[0];
  }

  /// The last, incomplete stripe of a block: partial j takes element whole + j if there is one.
  llvm::SmallVector<mlir::Value> rest(Nest::At& at, llvm::SmallVector<mlir::Value> partial, mlir::Value whole,
                                      mlir::Value end) {
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
                  e_.less(e_.index(0), left), [&] { return combine(old, element(at, r, 1, {})); }, old));
              continue;
            }
            mlir::Value mask = e_.mask_below(left, lanes);
            next.push_back(e_.select(mask, combine(old, element(at, r, lanes, mask)), old));
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

  /// Second order: chains of 512, their results in order; the first as it is.
  mlir::Value chains(Nest::At& at) {
    mlir::Value start = identity(e_, red_.kind, red_.dtype, at.lanes());
    auto chain = [&](mlir::Value from, mlir::Value to) {
      return e_.loop(from, to, e_.index(1), {start}, [&](mlir::Value r, mlir::ValueRange carried) {
        return llvm::SmallVector<mlir::Value>{combine(carried[0], element(at, r, at.lanes(), at.mask()))};
      })[0];
    };
    mlir::Value length = e_.index(chain_length);
    mlir::Value first = chain(e_.index(0), e_.min(length, extent_));
    return e_.loop(length, extent_, length, {first}, [&](mlir::Value from, mlir::ValueRange carried) {
      return llvm::SmallVector<mlir::Value>{
          combine(carried[0], chain(from, e_.min(e_.add(from, length), extent_)))};
    })[0];
  }

  Emit& e_;
  const Reduction& red_;
  mlir::Value extent_;
  llvm::SmallVector<mlir::Value> steps_;
};

/// Along the kept axis, of which there are `most`: several chains hide the latency of an addition, and each
/// row of the input, likely on another page, gives more than one line. As far as registers go.
int registers_across(std::size_t operations, std::int64_t most) {
  const int wanted = operations == 0 ? 8 : operations <= 4 ? 4 : 1;
  return most >= wanted ? wanted : 1;
}

}  // namespace

Launch launch_reduce(ir::FusionOp fusion, ir::ReduceOp root, const Target& target) {
  const auto outputs = outputs_of(fusion);
  llvm::ArrayRef<std::int64_t> shape = ir::ranked(root.getX()).getShape();
  auto reduced = [&](std::size_t axis) {
    return llvm::is_contained(root.getAxes(), static_cast<std::int64_t>(axis));
  };

  Body before(llvm::ArrayRef<mlir::Value>(root.getX()));
  Body after(values_of(outputs), root.getResult());
  auto arguments = static_cast<int>(fusion.getNumOperands());

  // Streams: leaves of `before`, leaves of `after` but the root, outputs. Strides over the axes of the input
  // for the first, over those of the result for the others (0 along the reduced axes).
  std::vector<Stream> streams;
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
    streams.push_back({leaf.dtype, static_cast<int>(leaf.argument), {}, leaf.view.offset, false});
    full.push_back(leaf.view.strides);
  }
  std::vector<std::size_t> after_stream;
  for (const Leaf& leaf : after.leaves()) {
    after_stream.push_back(streams.size());
    if (leaf.kind == Leaf::Kind::root) continue;
    if (leaf.kind != Leaf::Kind::memory)
      fail_internal("the end of a reduction reads something that is not in memory");
    streams.push_back({leaf.dtype, static_cast<int>(leaf.argument), {}, leaf.view.offset});
    full.push_back(over_input(leaf.view.strides));
  }
  std::size_t first_output = streams.size();
  for (auto [i, out] : llvm::enumerate(outputs)) {
    streams.push_back(
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
  kept.collapse(streams.size());
  inner.collapse(streams.size());
  if (inner.extents.size() > 1)
    fail_internal("a reduction over axes that do not join reached code generation");
  for (std::size_t s = 0; s < streams.size(); ++s) streams[s].strides = kept.strides[s];

  DType dtype = dtype_of_value(root.getX());
  int lanes = target.lanes(std::max(before.widest(), after.widest()));
  bool first_order = !kept_after;
  // Columns that are taken together.
  int across = lanes;
  if (!first_order && !kept.extents.empty() && llvm::all_of(streams, [&](const Stream& s) {
        return size_of(s.dtype) >= 4 && stride_class(s.strides.back()) < 2;
      }))
    across *= registers_across(before.operations() + after.operations(), kept.extents.back() / lanes);
  Reduction red{root.getKind(),
                dtype,
                std::move(before),
                std::move(after),
                Nest(kept.extents, std::move(streams), first_order ? 1 : across),
                inner.extents.empty() ? 1 : inner.extents[0],
                {},
                0,
                first_output,
                lanes,
                first_order};
  for (std::size_t i = 0; i < red.before.leaves().size(); ++i)
    red.steps.push_back(inner.extents.empty() ? 0 : inner.strides[i][0]);

  std::string key =
      fmt::format("reduce {} {} order={} lanes={} steps=", ir::stringifyReduceKind(red.kind).str(),
                  name_of(dtype), first_order ? 1 : 2, first_order ? lanes : across);
  for (std::int64_t s : red.steps) key += std::to_string(first_order ? stride_class(s) : 2);
  Launch launch{{name_of_location(fusion.getLoc()),
                 key + " " + red.nest.key() + " before" + red.before.key() + " after" + red.after.key(),
                 fusion.getLoc(),
                 {}},
                {}};
  red.nest.append_params(launch.params);
  launch.params.push_back(red.extent);
  launch.params.insert(launch.params.end(), red.steps.begin(), red.steps.end());
  launch.extent = red.nest.elements() == 0 ? 0 : red.nest.outer_extent();
  std::int64_t per_iteration =
      red.extent *
      std::max<std::int64_t>(1, red.nest.elements() / std::max<std::int64_t>(1, red.nest.outer_extent()));
  launch.grain = grain_for(per_iteration, !first_order && red.nest.rank() == 1 ? 64 : 1);

  launch.request.emit = [=](Emit& e, mlir::Value buffers, mlir::Value params, mlir::Value begin,
                            mlir::Value end) {
    Emitter emitter(e, red, params);
    red.nest.emit(e, buffers, params, 0, begin, end, [&](Nest::At& at) {
      mlir::Value result = emitter.reduce(at);
      auto values = red.after.emit(e, at.lanes(), [&](std::size_t i) {
        return red.after.leaves()[i].kind == Leaf::Kind::root ? result : at.load(after_stream[i]);
      });
      for (std::size_t i = 0; i < values.size(); ++i) at.store(first_output + i, values[i]);
    });
  };
  return launch;
}

}  // namespace kiln::codegen

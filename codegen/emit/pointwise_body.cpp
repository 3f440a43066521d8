// Pointwise fusions at a point: leaves are elements, indices, random numbers and gathered elements.
#include "codegen/emit/pointwise_body.h"

#include "codegen/emit/kernel_params.h"
#include "codegen/math/math.h"
#include "runtime/fail.h"

namespace kiln::codegen {
namespace {

/// After the parameters of the nest: an offset for each random counter, then these for each gather.
constexpr ParamNames counter_names{"counter_offset"};
constexpr ParamNames gather_names{"gather_stride", "gather_extent"};
using CounterParams = KernelParams<counter_names>;
using GatherParams = KernelParams<gather_names>;

/// The accesses of a fusion's loops: first of the expression's leaves, then of the outputs.
struct PointwiseAccesses {
  Dims extents;
  std::vector<StridedAccess> all;
  std::vector<std::size_t> of_leaf;
  std::vector<std::optional<GatherLeaf>> gathers;  // per leaf
  std::size_t gather_count = 0, first_output = 0;

  PointwiseAccesses(const ScalarExpr& expr, llvm::ArrayRef<Output> outputs, int arguments)
      : extents(outputs.front().view.shape.begin(), outputs.front().view.shape.end()) {
    for (const Leaf& leaf : expr.leaves()) {
      of_leaf.push_back(all.size());
      gathers.emplace_back();
      add(leaf);
    }
    first_output = all.size();
    for (auto [i, out] : llvm::enumerate(outputs))
      all.push_back({dtype_of_value(out.value), arguments + static_cast<int>(i), out.view.strides,
                     out.view.offset, false});
  }

 private:
  void add(const Leaf& leaf) {
    switch (leaf.kind) {
      case Leaf::Kind::memory:
        all.push_back({leaf.dtype, static_cast<int>(leaf.argument), leaf.view.strides, leaf.view.offset});
        break;
      case Leaf::Kind::iota: {
        Dims strides(extents.size(), 0);
        strides[static_cast<std::size_t>(leaf.axis)] = 1;
        all.push_back({leaf.dtype, -1, strides});
        break;
      }
      case Leaf::Kind::random:
        all.push_back({leaf.dtype, -1, ir::View::whole(leaf.value).strides});
        break;
      case Leaf::Kind::gather:
        add_gather(leaf);
        break;
      case Leaf::Kind::root:
        fail_internal("a pointwise fusion has no root");
    }
  }

  void add_gather(const Leaf& leaf) {
    auto op = leaf.value.getDefiningOp<ir::GatherOp>();
    const ir::View x = ir::view_of(op.getX()), index = ir::view_of(op.getIndices());
    const DType index_dtype = dtype_of_value(op.getIndices());
    const auto axis = static_cast<std::size_t>(op.getAxis());
    const std::size_t index_rank = index.shape.size();
    Dims x_strides(extents.size(), 0), index_strides(extents.size(), 0);
    for (std::size_t i = 0; i < x.shape.size(); ++i)
      if (i != axis) x_strides[i < axis ? i : i + index_rank - 1] = x.strides[i];
    for (std::size_t i = 0; i < index_rank; ++i) index_strides[axis + i] = index.strides[i];
    const auto operand = [](const ir::View& v) {
      return static_cast<int>(llvm::cast<mlir::BlockArgument>(v.base).getArgNumber());
    };
    gathers.back() = {gather_count++,  all.size(),    all.size() + 1,
                      x.strides[axis], x.shape[axis], index_dtype};
    all.push_back({leaf.dtype, operand(x), x_strides, x.offset, false});
    all.push_back({index_dtype, operand(index), index_strides, index.offset});
  }
};

}  // namespace

void PointwiseBody::append_params(std::vector<std::int64_t>& params) const {
  for (const std::int64_t offset : expr.counter_offsets())
    CounterParams::append(params, {{"counter_offset", offset}});
  for (const auto& gather : gathers)
    if (gather)
      GatherParams::append(params,
                           {{"gather_stride", gather->axis_stride}, {"gather_extent", gather->axis_extent}});
}

PointwiseFusion::PointwiseFusion(ir::FusionOp fusion)
    : body{.expr = ScalarExpr(values_of(outputs_of(fusion))),
           .leaf_access = {},
           .gathers = {},
           .first_output = 0,
           .random_state = 0} {
  const auto arguments = static_cast<int>(fusion.getNumOperands());
  PointwiseAccesses found(body.expr, outputs_of(fusion), arguments);
  extents = std::move(found.extents);
  accesses = std::move(found.all);
  body.leaf_access = std::move(found.of_leaf);
  body.gathers = std::move(found.gathers);
  body.first_output = found.first_output;
  body.random_state = arguments + static_cast<int>(fusion.getNumResults());
}

PointwiseEmitter::PointwiseEmitter(KernelBuilder& e, const PointwiseBody& body, const LoopNest& nest,
                                   const KernelArgs& args)
    : e(e), body_(body), first_param_(nest.param_count()), params_(args.params) {
  const std::size_t counters = first_param_ + body.expr.counter_offsets().size();
  for (const auto& gather : body.gathers) {
    if (!gather) continue;
    const GatherParams params(e, params_,
                              static_cast<std::int64_t>(counters + GatherParams::size * gather->number));
    gathered_axes_.push_back({params["gather_stride"], e.sub(params["gather_extent"], e.index(1))});
  }
  if (!body.uses_random()) return;
  const mlir::Value state = e.buffer(args.buffers, body.random_state);
  seed_ = e.load_scalar(state, DType::i64);
  counter_ = e.load_scalar(e.element(state, e.index(1), DType::i64), DType::i64);
}

llvm::SmallVector<mlir::Value> PointwiseEmitter::values(LoopPoint& at, bool software_prefetch) {
  return values(llvm::MutableArrayRef(at), software_prefetch).front();
}

std::vector<llvm::SmallVector<mlir::Value>> PointwiseEmitter::values(llvm::MutableArrayRef<LoopPoint> points,
                                                                     bool software_prefetch) {
  using Words = std::vector<std::optional<PhiloxWords>>;
  std::vector<Words> words(points.size(), Words(body_.expr.counter_offsets().size()));
  return body_.expr.emit(
      e, points.front().lanes(), points.size(), [&](std::size_t place, std::size_t i) -> mlir::Value {
        LoopPoint& at = points[place];
        const Leaf& leaf = body_.expr.leaves()[i];
        const std::size_t access = body_.leaf_access[i];
        switch (leaf.kind) {
          case Leaf::Kind::iota:
            return emit_cast(e.b, e.loc, DType::i64, leaf.dtype, at.number(access), e.target.isa);
          case Leaf::Kind::random:
            return random(leaf, at, access, words[place][leaf.counter_offset]);
          case Leaf::Kind::gather:
            return gather(leaf, at, *body_.gathers[i]);
          default:
            at.prefetch_next(access, software_prefetch);
            return at.load(access);
        }
      });
}

mlir::Value PointwiseEmitter::random(const Leaf& leaf, LoopPoint& at, std::size_t access,
                                     std::optional<PhiloxWords>& words) {
  const auto first = static_cast<std::int64_t>(first_param_ + leaf.counter_offset);
  const mlir::Value offset = CounterParams(e, params_, first)["counter_offset"];
  if (!words) words = emit_philox(e.b, e.loc, seed_, e.add(counter_, offset), at.number(access));
  return emit_random(e.b, e.loc, leaf.dtype, *words, leaf.word);
}

mlir::Value PointwiseEmitter::gather(const Leaf& leaf, LoopPoint& at, const GatherLeaf& g) {
  const auto& [stride, last] = gathered_axes_[g.number];
  // Lanes that share an index read elements next to each other: all of a row of the table.
  const bool shares_index = at.is_shared_by_lanes(g.index_access) && at.inner_stride_class(g.x_access) == 1;
  const int lanes = shares_index ? 1 : at.lanes();
  mlir::Value index = at.load(g.index_access);
  if (shares_index && at.lanes() > 1) index = e.extract(index, 0);
  index = emit_cast(e.b, e.loc, g.index_dtype, DType::i64, index, e.target.isa);
  index = mlir::arith::MaxSIOp::create(e.b, e.loc, e.min(index, e.splat(last, lanes)),
                                       e.splat(e.index(0), lanes));
  const mlir::Value distance = e.mul(index, e.splat(stride, lanes));
  if (shares_index)
    return e.load(e.element(at.address(g.x_access), distance, leaf.dtype), leaf.dtype, at.lanes(), at.mask());
  const mlir::Value offsets = e.add(distance, at.lane_offsets(g.x_access));
  return e.gather(at.address(g.x_access), offsets, leaf.dtype, at.lanes(), at.mask());
}

}  // namespace kiln::codegen

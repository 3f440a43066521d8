// Pointwise kernels: loops over a box with one expression per point. Copies and fills are expressions, too.
#include "codegen/cpu/kernels/launch.h"
#include "codegen/cpu/loops/kernel_params.h"
#include "codegen/cpu/loops/loop_nest.h"
#include "codegen/cpu/loops/scalar_expr.h"
#include "codegen/cpu/tuning.h"
#include "codegen/math/math.h"
#include "passes/fuse_rows.h"
#include "runtime/fail.h"

namespace kiln::codegen {
namespace {

/// Merges axes where all accesses allow it.
void collapse(Dims& extents, std::vector<StridedAccess>& accesses, int lanes) {
  llvm::SmallVector<Dims> strides;
  for (StridedAccess& s : accesses) strides.push_back(s.strides);
  ir::collapse_axes(extents, strides);
  for (std::size_t i = 0; i < accesses.size(); ++i) accesses[i].strides = strides[i];
  join_repeats(extents, accesses, lanes);
}

/// Unroll factors of the innermost loops: rows, and registers of a row.
struct Unroll {
  int rows = 1, registers = 1;
};

/// Whether the rows of the box share an operand, such as a bias.
bool rows_share_operands(const std::vector<StridedAccess>& accesses) {
  return llvm::any_of(accesses, [](const StridedAccess& s) {
    return s.operand >= 0 && s.read && s.strides.back() == 1 && is_shared_by_rows(s);
  });
}

/// For short expressions loop overhead is as large as the work: unroll, if rows are long enough that
/// remainders do not matter. If rows share operands, unroll over two rows to halve those loads. (A box of one
/// axis is bound by memory, or short.)
Unroll unroll_rows(const ScalarExpr& expr, llvm::ArrayRef<std::int64_t> axes,
                   const std::vector<StridedAccess>& accesses, int lanes) {
  constexpr int most = 4, operations_at_once = 16, least_turns = 8;
  const int registers = expr.registers_at_once();
  if (registers > 1 || axes.size() < 2 || axes.back() < least_turns * most * lanes) return {1, registers};
  const auto operations = static_cast<int>(expr.operations());
  const int all = std::clamp(operations_at_once / std::max(operations, 1), 1, most);
  return all > 1 && rows_share_operands(accesses) ? Unroll{2, all / 2} : Unroll{1, all};
}

/// For an operand that reads transposed: moves its contiguous axis inward and unrolls over as many rows as a
/// cache line has elements, so that whole lines are read. (Writing whole lines, too, gained nothing.)
std::optional<Unroll> unroll_for_transposes(std::size_t operations, Dims& extents,
                                            std::vector<StridedAccess>& accesses, int lanes,
                                            std::size_t bytes, bool keep_outermost) {
  constexpr std::size_t most_operations = 4;
  if (!move_transposed_axis_inward(extents, accesses, lanes, keep_outermost)) return std::nullopt;
  const int line = static_cast<int>(tuning::cache_line_bytes / static_cast<std::int64_t>(bytes));
  return Unroll{operations > most_operations ? lanes : std::max(lanes, line), 1};
}

void set_geometry(Launch& launch, const LoopNest& nest, std::int64_t cost) {
  nest.append_params(launch.params);
  launch.extent = nest.outer_extent();
  std::int64_t inner = nest.elements() / std::max<std::int64_t>(1, launch.extent);
  // Threads divide a single axis at whole registers and cache lines, the outer of two axes between blocks of
  // unrolled rows.
  const std::int64_t multiple = nest.rank() == 1 ? 64 : nest.rank() == 2 ? nest.rows() : 1;
  launch.grain = grain_for(launch.extent, std::max<std::int64_t>(1, inner) * cost, multiple);
  if (nest.elements() == 0) launch.extent = 0;
}

/// A gather: accesses of x and of the indices, which x's addresses depend on.
struct GatherLeaf {
  std::size_t number;  // among the gathers
  std::size_t x_access, index_access;
  std::int64_t axis_stride, axis_extent;
  DType index_dtype;
};

/// The accesses of a fusion's loops: those of the expression's leaves, then the outputs.
struct Accesses {
  Dims extents;
  std::vector<StridedAccess> all;
  std::vector<std::size_t> of_leaf;
  std::vector<std::optional<GatherLeaf>> gathers;  // per leaf
  std::size_t gather_count = 0, first_output = 0;

  Accesses(const ScalarExpr& expr, llvm::ArrayRef<Output> outputs, int arguments)
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

/// Whether the only result is contiguous and too large for the caches.
bool writes_nontemporally(const LoopNest& nest, std::size_t first_output, const Target& target) {
  const StridedAccess& result = nest.accesses()[first_output];
  return target.isa != Isa::scalar && nest.lanes() > 1 && nest.accesses().size() == first_output + 1 &&
         nest.rank() == 1 && result.strides[0] == 1 && result.offset == 0 &&
         nest.elements() * static_cast<std::int64_t>(size_of(result.dtype)) >=
             tuning::least_nontemporal_bytes;
}

/// Everything that the code depends on.
struct Pointwise {
  ScalarExpr expr;
  LoopNest nest;
  std::vector<std::size_t> leaf_access;
  std::vector<std::optional<GatherLeaf>> gathers;
  std::size_t first_output;
  int random_state;  // operand
  bool nontemporal, software_prefetch;

  bool uses_random() const { return !expr.counter_offsets().empty(); }
  std::string key() const {
    return fmt::format("pointwise {}{}{}{}", nest.key(), nontemporal ? " past-caches" : "",
                       software_prefetch ? " ahead" : "", expr.key());
  }
};

/// After the parameters of the nest: an offset for each random counter, then these for each gather.
constexpr ParamNames counter_names{"counter_offset"};
constexpr ParamNames gather_names{"gather_stride", "gather_extent"};
using CounterParams = KernelParams<counter_names>;
using GatherParams = KernelParams<gather_names>;

class Emitter {
 public:
  using Value = mlir::Value;

  Emitter(KernelBuilder& e, const Pointwise& kernel, const KernelArgs& args)
      : e(e), kernel_(kernel), args_(args) {}

  void run() {
    if (kernel_.uses_random()) {
      const Value state = e.buffer(args_.buffers, kernel_.random_state);
      seed_ = e.load_scalar(state, DType::i64);
      counter_ = e.load_scalar(e.element(state, e.index(1), DType::i64), DType::i64);
    }
    if (!kernel_.nontemporal) return loops(false);
    const StridedAccess& result = kernel_.nest.accesses()[kernel_.first_output];
    e.when(
        e.is_line_aligned(e.element(e.buffer(args_.buffers, result.operand), args_.begin, result.dtype)),
        [&] {
          loops(true);
          e.fence_nontemporal_stores();
        },
        [&] { loops(false); });
  }

 private:
  void loops(bool nontemporal) {
    kernel_.nest.emit_blocks(e, args_, [&](llvm::MutableArrayRef<LoopPoint> rows) {
      // All rows are loaded before the first is stored, so that a shared operand is loaded once.
      const auto results = llvm::map_to_vector(rows, [&](LoopPoint& at) { return values(at); });
      for (auto [at, values] : llvm::zip(rows, results))
        for (auto [i, value] : llvm::enumerate(values)) {
          const std::size_t output = kernel_.first_output + i;
          nontemporal ? at.store_nontemporal(output, value) : at.store(output, value);
        }
    });
  }

  /// The outputs at a point.
  llvm::SmallVector<Value> values(LoopPoint& at) {
    std::vector<std::optional<PhiloxWords>> words(kernel_.expr.counter_offsets().size());
    return kernel_.expr.emit(e, at.lanes(), [&](std::size_t i) -> Value {
      const Leaf& leaf = kernel_.expr.leaves()[i];
      const std::size_t access = kernel_.leaf_access[i];
      switch (leaf.kind) {
        case Leaf::Kind::iota:
          return emit_cast(e.b, e.loc, DType::i64, leaf.dtype, at.number(access), e.target.isa);
        case Leaf::Kind::random:
          return random(leaf, at, access, words[leaf.counter_offset]);
        case Leaf::Kind::gather:
          return gather(leaf, at, *kernel_.gathers[i]);
        default:
          at.prefetch_next(access, kernel_.software_prefetch);
          return at.load(access);
      }
    });
  }

  /// `words` are those of the leaf's counter, once they are computed.
  Value random(const Leaf& leaf, LoopPoint& at, std::size_t access, std::optional<PhiloxWords>& words) {
    const auto first = static_cast<std::int64_t>(kernel_.nest.param_count() + leaf.counter_offset);
    const Value offset = CounterParams(e, args_.params, first)["counter_offset"];
    if (!words) words = emit_philox(e.b, e.loc, seed_, e.add(counter_, offset), at.number(access));
    return emit_random(e.b, e.loc, leaf.dtype, *words, leaf.word);
  }

  Value gather(const Leaf& leaf, LoopPoint& at, const GatherLeaf& g) {
    const std::size_t counters = kernel_.nest.param_count() + kernel_.expr.counter_offsets().size();
    const GatherParams params(
        e, args_.params,
        static_cast<std::int64_t>(counters) + GatherParams::size * static_cast<std::int64_t>(g.number));
    const Value stride = params["gather_stride"], extent = params["gather_extent"];
    Value index = emit_cast(e.b, e.loc, g.index_dtype, DType::i64, at.load(g.index_access), e.target.isa);
    const Value last = e.splat(e.sub(extent, e.index(1)), at.lanes());
    index = mlir::arith::MaxSIOp::create(e.b, e.loc, e.min(index, last), e.splat(e.index(0), at.lanes()));
    const Value offsets = e.add(e.mul(index, e.splat(stride, at.lanes())), at.lane_offsets(g.x_access));
    return e.gather(at.address(g.x_access), offsets, leaf.dtype, at.lanes(), at.mask());
  }

  KernelBuilder& e;
  const Pointwise& kernel_;
  const KernelArgs& args_;
  Value seed_, counter_;
};

/// The loops of a fusion, unrolled.
LoopNest make_nest(ir::FusionOp fusion, const ScalarExpr& expr, Dims extents,
                   std::vector<StridedAccess> accesses, const Target& target) {
  const int lanes = target.lanes(expr.widest());
  collapse(extents, accesses, lanes);
  // Kernels of a row fusion have the same outermost loop.
  const bool in_row_fusion = fusion->hasAttr(passes::row_fusion_attr);
  const auto transposing =
      expr.registers_at_once() == 1
          ? unroll_for_transposes(expr.operations(), extents, accesses, lanes, expr.widest(), in_row_fusion)
          : std::nullopt;
  const Unroll unroll = transposing ? *transposing : unroll_rows(expr, extents, accesses, lanes);
  return {std::move(extents), std::move(accesses), lanes, unroll.registers, unroll.rows};
}

}  // namespace

Launch launch_pointwise(ir::FusionOp fusion, const Target& target) {
  const auto outputs = outputs_of(fusion);
  const auto arguments = static_cast<int>(fusion.getNumOperands());
  const ScalarExpr expr(values_of(outputs));
  Accesses accesses(expr, outputs, arguments);
  const LoopNest nest = make_nest(fusion, expr, std::move(accesses.extents), std::move(accesses.all), target);
  // Prefetch large contiguous arrays, which stream from memory (rows may be in L1 by row fusion), and the
  // operands of functions, whose computation hides the latency.
  const bool software_prefetch =
      target.software_prefetch &&
      (expr.registers_at_once() > 1 ||
       (nest.rank() == 1 &&
        nest.elements() * static_cast<std::int64_t>(expr.widest()) > 2 * tuning::private_cache_bytes));
  const Pointwise kernel{.expr = expr,
                         .nest = nest,
                         .leaf_access = accesses.of_leaf,
                         .gathers = accesses.gathers,
                         .first_output = accesses.first_output,
                         .random_state = arguments + static_cast<int>(fusion.getNumResults()),
                         .nontemporal = writes_nontemporally(nest, accesses.first_output, target),
                         .software_prefetch = software_prefetch};
  Launch launch{{name_of_location(fusion.getLoc()), kernel.key(), fusion.getLoc(), {}}, {}};
  launch.request.in_order = true;
  launch.uses_random = kernel.uses_random();
  set_geometry(launch, nest, 1 + static_cast<std::int64_t>(expr.key().size() / 40));
  for (const std::int64_t offset : expr.counter_offsets())
    CounterParams::append(launch.params, {{"counter_offset", offset}});
  for (const auto& gather : kernel.gathers)
    if (gather)
      GatherParams::append(launch.params,
                           {{"gather_stride", gather->axis_stride}, {"gather_extent", gather->axis_extent}});
  launch.request.emit = [kernel](KernelBuilder& e, const KernelArgs& args) {
    Emitter(e, kernel, args).run();
  };
  return launch;
}

Launch launch_copy(const StridedBox& box, DType dtype, const Target& target, mlir::Location loc) {
  std::vector<StridedAccess> accesses{{dtype, 0, box.from_strides, box.from_offset},
                                      {dtype, 1, box.to_strides, box.to_offset, false}};
  Dims extents = box.shape;
  const int lanes = target.lanes(size_of(dtype));
  collapse(extents, accesses, lanes);
  const Unroll unroll =
      unroll_for_transposes(0, extents, accesses, lanes, size_of(dtype), false).value_or(Unroll{});
  LoopNest nest(std::move(extents), std::move(accesses), lanes, unroll.registers, unroll.rows);
  Launch launch{{"copy", "copy " + nest.key(), loc, {}}, {}};
  set_geometry(launch, nest, 1);
  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    nest.emit_blocks(e, args, [&](llvm::MutableArrayRef<LoopPoint> rows) {
      for (LoopPoint& at : rows) at.store(1, at.load(0));
    });
  };
  return launch;
}

}  // namespace kiln::codegen

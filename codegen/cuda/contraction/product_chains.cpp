// Matrix products of f32 with few results, which would leave most of a tile empty. Each chunk of k of a
// result is a separate chain (kiln.dot in ir/KilnOps.td), computed by one thread. The threads of a block have
// the chunks of a result in turn, whose sums meet in shared memory and are added in order. With a single
// chunk, a thread has a result. By paired32 the steps take the place of chunks.
#include "codegen/cuda/contraction/product_tile.h"
#include "codegen/cuda/launch.h"
#include "codegen/emit/contraction.h"
#include "codegen/emit/pair_products.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

constexpr ParamNames product_chains_names{"k_extent",     "columns",      "rows",
                                          "lhs_offset",   "lhs_stride",   "lhs_k_stride",
                                          "panel_stride", "rhs_k_stride", "rhs_column_stride"};
using ProductChainsParams = KernelParams<product_chains_names>;

/// Everything that the code depends on.
struct ProductChainsPlan {
  FactorOperands operands;
  std::int64_t panel;  // 0: B is not packed
  bool one_chunk;
  bool pairs;  // by paired32
  std::size_t outer_count;
  /// Elements of k in a chain.
  std::int64_t chunk() const { return pairs ? PairProducts::words_of_step : Tile::chunk; }
  /// Of A and B in memory.
  DType element() const { return pairs ? DType::i32 : DType::f32; }
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"operands", &ProductChainsPlan::operands}, PlanField{"panel", &ProductChainsPlan::panel},
        PlanField{"one_chunk", &ProductChainsPlan::one_chunk}, PlanField{"pairs", &ProductChainsPlan::pairs},
        PlanField{"outer_count", &ProductChainsPlan::outer_count});
  }
};

class ProductChainsEmitter {
 public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  ProductChainsEmitter(KernelBuilder& e, const ProductChainsPlan& chains, Epilogue& epilogue,
                       const KernelArgs& args)
      : e(e),
        chains_(chains),
        epilogue_(epilogue),
        args_(args),
        params_(e, args.params),
        batch_(e, args.params, ProductChainsParams::size, chains.outer_count),
        place_(e, args.begin, params_["rows"], params_["columns"], {1, 1}, batch_) {}

  void run() {
    choose_operands();
    const Value k_extent = params_["k_extent"];
    if (chains_.one_chunk) return store(chain(e.index(0), k_extent));
    Team team(e, Team::most);
    const Value thread = team.thread(), shared = team.shared(DType::f32, Team::most), zero = e.index(0),
                one = e.index(1), length = e.index(chains_.chunk()), threads = e.index(Team::most),
                chunks = e.div(e.add(k_extent, e.index(chains_.chunk() - 1)), length);
    const auto shared_at = [&](Value i) { return team.shared_element(shared, i, DType::f32); };
    const auto totals = e.loop(
        zero, chunks, threads, {arithmetic_.initial_total(e)},
        [&](Value first, mlir::ValueRange total) -> Values {
          const Value own = e.add(first, thread);
          e.when(e.less(own, chunks), [&] {
            const Value from = e.mul(own, length);
            e.store_scalar(chain(from, e.min(e.add(from, length), k_extent)), shared_at(thread), DType::f32);
          });
          team.barrier();
          const Values sum(e.loop(zero, e.min(threads, e.sub(chunks, first)), one, total,
                                  [&](Value i, mlir::ValueRange before) -> Values {
                                    return {added(before[0], e.load_scalar(shared_at(i), DType::f32))};
                                  }));
          team.barrier();
          return sum;
        });
    e.when(e.less(thread, one), [&] { store(totals[0]); });
  }

 private:
  Value added(Value total, Value sum) {
    return chains_.pairs ? PairProducts(e, 1).add(total, sum) : arithmetic_.plus(e, total, sum);
  }

  void choose_operands() {
    const auto base = [&](int operand, Value offset) {
      return e.element(e.buffer(args_.buffers, operand), offset, chains_.element());
    };
    lhs_ = base(chains_.operands.lhs,
                e.add(params_["lhs_offset"],
                      e.add(place_.lhs_offset, e.mul(place_.first_row, params_["lhs_stride"]))));
    lhs_k_stride_ = params_["lhs_k_stride"];
    const Value column = place_.first_column;
    Value offset = e.mul(column, params_["rhs_column_stride"]);
    rhs_k_stride_ = params_["rhs_k_stride"];
    if (chains_.panel > 0) {
      const Value panel = e.index(chains_.panel);
      offset = e.add(e.mul(e.div(column, panel), params_["panel_stride"]), e.rem(column, panel));
      rhs_k_stride_ = panel;
    }
    rhs_ = base(chains_.operands.rhs, e.add(place_.rhs_offset, offset));
  }

  /// The sum over k in [from, to), at most a chunk.
  Value chain(Value from, Value to) { return chains_.pairs ? step_of_pairs(from) : plain_chain(from, to); }

  /// The sum of the step of paired32 that begins at a word of k.
  Value step_of_pairs(Value from) {
    using Part = PairProducts::Part;
    PairProducts pairs(e, 1);
    const Value zero = e.number(DType::f32, 0, 1);
    const mlir::ValueRange sums =
        e.loop(e.index(0), e.index(chains_.chunk()), e.index(1), {zero, zero},
               [&](Value word, mlir::ValueRange before) -> Values {
                 const Value k = e.add(from, word);
                 const auto load = [&](Value base, Value stride) {
                   return e.load_scalar(e.element(base, e.mul(k, stride), DType::i32), DType::i32);
                 };
                 const Value a = load(lhs_, lhs_k_stride_), b = load(rhs_, rhs_k_stride_);
                 const auto with = [&](Part part, Value sum) {
                   return pairs.multiply_add(pairs.part(a, part), pairs.part(b, part), sum);
                 };
                 return {with(Part::even, before[0]), with(Part::odd, before[1])};
               });
    return pairs.add(sums[0], sums[1]);
  }

  /// Several values of k are loaded at a time, so that their
  /// loads are in flight at once.
  Value plain_chain(Value from, Value to) {
    constexpr int together = 8;
    const auto load = [&](Value base, Value k, Value stride) {
      return e.load_scalar(e.element(base, e.mul(k, stride), DType::f32), DType::f32);
    };
    const auto over = [&](Value from, Value to, int count, Value sum) -> Value {
      return e.loop(from, to, e.index(count), {sum}, [&](Value k, mlir::ValueRange before) -> Values {
        Values a, b;
        for (int i = 0; i < count; ++i) {
          const Value at = e.add(k, e.index(i));
          a.push_back(load(lhs_, at, lhs_k_stride_));
          b.push_back(load(rhs_, at, rhs_k_stride_));
        }
        Value sum = before[0];
        for (auto [x, y] : llvm::zip(a, b)) sum = arithmetic_.multiply_add(e, x, y, sum);
        return {sum};
      })[0];
    };
    const Value whole = e.whole_steps(from, to, e.index(together));
    return over(whole, to, 1, over(from, whole, together, e.number(DType::f32, 0, 1)));
  }

  void store(Value sum) {
    epilogue_.prepare(e, args_, batch_.end(), place_.batch_index);
    epilogue_.store(e, {sum}, place_.first_row, place_.first_column, 1, {});
  }

  KernelBuilder& e;
  const ProductChainsPlan& chains_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const ProductChainsParams params_;
  const OuterAxes batch_;
  const Tile arithmetic_{.dtype = DType::f32, .rows = 1, .vectors = 1, .lanes = 1, .pairs = chains_.pairs};
  TilePlace place_;
  Value lhs_, rhs_, lhs_k_stride_, rhs_k_stride_;
};

}  // namespace

std::optional<Launch> launch_gpu_chains(ir::FusionOp fusion, ir::PackedDotOp root) {
  constexpr std::int64_t max_results = 15;
  const Contraction p = contraction_of(root);
  const Dims extra_strides[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root.getResult()).getRank() - 1, extra_strides,
                          /*fixed_in_rows=*/1);
  const Dims& extents = epilogue.extents();
  const std::int64_t rows = extents.back();
  if (rows * p.columns > max_results) return std::nullopt;
  const auto unpacked = p.unpacked.value_or(Contraction::Unpacked{});
  const ProductChainsPlan chains{.operands = FactorOperands::of(p.lhs, p.rhs),
                                 .panel = p.unpacked ? 0 : p.panel,
                                 .one_chunk = p.k_extent <= Tile::chunk && !p.of_pairs(),
                                 .pairs = p.of_pairs(),
                                 .outer_count = extents.size() - 1};
  Launch launch = planned_launch<ProductChainsEmitter>(fusion, "product by chains", chains, epilogue);
  launch.request.flushes_subnormals = chains.pairs;
  if (chains.one_chunk)
    launch.request.gpu.schedule = "a thread per result";
  else
    launch.request.gpu = {"a block per result", Team::most, Team::most};
  ProductChainsParams::append(launch.params, {{"k_extent", p.k_extent},
                                              {"columns", p.columns},
                                              {"rows", rows},
                                              {"lhs_offset", p.lhs.offset},
                                              {"lhs_stride", epilogue.extra_strides(0).back()},
                                              {"lhs_k_stride", p.k_stride},
                                              {"panel_stride", p.k_extent * p.panel},
                                              {"rhs_k_stride", unpacked.row_stride},
                                              {"rhs_column_stride", unpacked.column_stride}});
  OuterAxes::append(launch.params, epilogue);
  epilogue.append_params(launch.params);
  launch.extent = mlir::ShapedType::getNumElements(extents) * p.columns;
  return launch;
}

}  // namespace kiln::codegen

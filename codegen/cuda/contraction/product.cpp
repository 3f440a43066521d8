// Matrix products of f32: a block of threads has a tile of the result, each thread a part of it in registers.
// Steps of 16 elements of k go from global through shared memory. Each element of the result is the chain
// that kiln.dot in ir/KilnOps.td defines: k in ascending order, chunks of 512 added in order. So no step may
// go beyond the last k; rows and columns beyond the last one are read as the last one, and not stored. By
// paired32 an element of k is a word of two values, and a step is a step of the definition.
#include "codegen/cuda/contraction/product_tile.h"
#include "codegen/cuda/launch.h"
#include "codegen/emit/contraction.h"
#include "codegen/emit/pair_products.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"

#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace kiln::codegen {
namespace {

constexpr ParamNames product_names{
    "k_extent",   "columns",      "rows",         "row_tiles",    "column_tiles",     "lhs_offset",
    "lhs_stride", "lhs_k_stride", "panel_stride", "rhs_k_stride", "rhs_column_stride"};
using ProductParams = KernelParams<product_names>;

constexpr int threads_of_side = 16;  // a block has as many by as many threads
constexpr int k_step = 16;
constexpr int shared_vector = 4;  // elements of a load from shared memory

/// Everything that the code depends on.
struct ProductPlan {
  FactorOperands operands;
  int side;            // of the part of a thread: of 4 by 4 or 8 by 8 elements
  std::int64_t panel;  // 0: B is not packed
  bool one_chunk;
  bool pairs;                     // by paired32
  bool lhs_along_k, rhs_along_k;  // neighbours in memory
  std::size_t outer_count;

  /// Whether registers are left for the operands of a further step, beside sums and totals.
  bool loads_ahead() const { return (one_chunk && !pairs) || side == 4; }
  /// Of A and B in memory.
  DType element() const { return pairs ? DType::i32 : DType::f32; }
  std::int64_t tile() const { return std::int64_t{threads_of_side} * side; }
  TileExtents tile_extents() const { return {tile(), tile()}; }
  /// Between values of k in shared memory: the threads of a warp write to different banks.
  std::int64_t shared_stride() const { return tile() + shared_vector; }
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"operands", &ProductPlan::operands}, PlanField{"side", &ProductPlan::side},
        PlanField{"panel", &ProductPlan::panel}, PlanField{"one_chunk", &ProductPlan::one_chunk},
        PlanField{"pairs", &ProductPlan::pairs}, PlanField{"lhs_along_k", &ProductPlan::lhs_along_k},
        PlanField{"rhs_along_k", &ProductPlan::rhs_along_k},
        PlanField{"outer_count", &ProductPlan::outer_count});
  }
};

class ProductEmitter {
 public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  ProductEmitter(KernelBuilder& e, const ProductPlan& product, Epilogue& epilogue, const KernelArgs& args)
      : e(e),
        product_(product),
        epilogue_(epilogue),
        args_(args),
        params_(e, args.params),
        batch_(e, args.params, ProductParams::size, product.outer_count),
        team_(e, Team::most),
        thread_(team_.thread()),
        place_(e, args.begin, params_["row_tiles"], params_["column_tiles"], product.tile_extents(), batch_) {
  }

  void run() {
    divide_operands();
    const std::int64_t elements = k_step * product_.shared_stride();
    lhs_.shared = team_.shared(product_.element(), elements);
    rhs_.shared = team_.shared(product_.element(), elements);
    if (product_.pairs) return store(whole_steps(e.index(0), params_["k_extent"]));
    const Tile sums{DType::f32, product_.side, product_.side, 1};
    store(sums.sum_over_chunks(e, params_["k_extent"], product_.one_chunk,
                               [&](Value from, Value to) { return chunk(from, to); }));
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(product_.side * product_.side); }

  void divide_operands() {
    const StagedOperand::Step step{k_step, 1, product_.shared_stride(), 1};
    const auto base = [&](int operand, Value offset) {
      return e.element(e.buffer(args_.buffers, operand), offset, product_.element());
    };
    const Value one = e.index(1);
    lhs_.base = base(product_.operands.lhs, e.add(params_["lhs_offset"], place_.lhs_offset));
    lhs_.k_stride = product_.lhs_along_k ? one : params_["lhs_k_stride"];
    lhs_.divide(e, team_, step,
                {place_.first_row, params_["rows"], product_.tile(),
                 [&](Value row) { return e.mul(row, params_["lhs_stride"]); }},
                product_.lhs_along_k);
    rhs_.base = base(product_.operands.rhs, place_.rhs_offset);
    rhs_.k_stride = product_.panel > 0     ? e.index(product_.panel)
                    : product_.rhs_along_k ? one
                                           : params_["rhs_k_stride"];
    const auto column_offset = [&](Value column) -> Value {
      if (product_.panel == 0) return e.mul(column, params_["rhs_column_stride"]);
      const Value panel = e.index(product_.panel);
      return e.add(e.mul(e.div(column, panel), params_["panel_stride"]), e.rem(column, panel));
    };
    rhs_.divide(e, team_, step, {place_.first_column, params_["columns"], product_.tile(), column_offset},
                product_.rhs_along_k);
  }

  /// The sums over k in [from, to), at most a chunk.
  Values chunk(Value from, Value to) {
    const Value step = e.index(k_step), one = e.index(1);
    const Value whole = e.add(from, e.mul(e.div(e.sub(to, from), step), step));
    const mlir::ValueRange most = whole_steps(from, whole);
    return Values(e.loop(whole, to, step, most, [&](Value k, mlir::ValueRange sums) {
      put(load(k, e.sub(to, one)));
      return Values(e.loop(e.index(0), e.sub(to, k), one, sums, [&](Value i, mlir::ValueRange sums) {
        Values next(sums);
        multiply_add(i, next);
        return next;
      }));
    }));
  }

  /// The sums of whole steps in [from, to).
  mlir::ValueRange whole_steps(Value from, Value to) {
    const Values zeros(count(), e.number(DType::f32, 0, 1));
    return product_.loads_ahead() ? steps_ahead(from, to, zeros) : steps(from, to, zeros);
  }

  void multiply_add_step(Values& sums) {
    if (product_.pairs) return add_pairs(sums);
    for (int i = 0; i < k_step; ++i) multiply_add(e.index(i), sums);
  }

  /// Adds a step of paired32.
  void add_pairs(Values& sums) {
    static_assert(k_step == PairProducts::words_of_step);
    PairProducts pairs(e, 1);
    const Values zeros(count(), e.number(DType::f32, 0, 1));
    Values even = zeros, odd = zeros;
    for (int i = 0; i < k_step; ++i) {
      const auto [a, b] = operands_at(e.index(i));
      for (const auto part : {PairProducts::Part::even, PairProducts::Part::odd}) {
        Values lhs, rhs;
        for (const Value words : a) lhs.push_back(pairs.part(words, part));
        for (const Value words : b) rhs.push_back(pairs.part(words, part));
        Value* sum = part == PairProducts::Part::even ? even.begin() : odd.begin();
        for (const Value x : lhs)
          for (const Value y : rhs) {
            *sum = pairs.multiply_add(x, y, *sum);
            ++sum;
          }
      }
    }
    for (auto [sum, x, y] : llvm::zip(sums, even, odd)) sum = pairs.add(sum, pairs.add(x, y));
  }

  /// Whole steps in [from, to).
  mlir::ValueRange steps(Value from, Value to, const Values& sums) {
    return e.loop(from, to, e.index(k_step), sums, [&](Value k, mlir::ValueRange sums) {
      put(load(k, {}));
      Values next(sums);
      multiply_add_step(next);
      return next;
    });
  }

  /// The same, with the loads of the next step before the arithmetic of this one, which hides their latency.
  mlir::ValueRange steps_ahead(Value from, Value to, const Values& sums) {
    const Value step = e.index(k_step);
    Values carried = sums;
    llvm::append_range(carried, load_if(e.less(from, to), from));
    const mlir::ValueRange end = e.loop(from, to, step, carried, [&](Value k, mlir::ValueRange carried) {
      put(carried.drop_front(count()));
      // After the last step this one is loaded again.
      const Values loaded = load(e.min(e.add(k, step), e.sub(to, step)), {});
      Values next(carried.take_front(count()));
      multiply_add_step(next);
      llvm::append_range(next, loaded);
      return next;
    });
    return end.take_front(count());
  }

  /// Loads the elements that this thread moves to shared memory, of a step from k on. `last`: the last k, if
  /// the step is not whole.
  Values load(Value k, Value last) {
    Values loaded;
    for (const StagedOperand* side : {&lhs_, &rhs_})
      for (auto [first, in_step] : llvm::zip(side->first, side->k)) {
        Value at = e.add(k, in_step);
        if (last) at = e.min(at, last);
        loaded.push_back(
            e.load_scalar(e.element(side->base, e.add(first, e.mul(at, side->k_stride)), product_.element()),
                          product_.element()));
      }
    return loaded;
  }
  Values load_if(Value condition, Value k) {
    const auto yield = [&](const std::function<Values()>& values) {
      return
          [&, values](mlir::OpBuilder&, mlir::Location) { mlir::scf::YieldOp::create(e.b, e.loc, values()); };
    };
    auto branch = mlir::scf::IfOp::create(
        e.b, e.loc, condition, yield([&] { return load(k, {}); }),
        yield([&] { return Values(lhs_.k.size() + rhs_.k.size(), e.number(product_.element(), 0, 1)); }));
    return Values(branch.getResults());
  }

  void put(mlir::ValueRange loaded) { stage(e, team_, lhs_, rhs_, product_.element(), loaded); }

  /// The row, or column, within the tile of element i of a thread's part; `number` is the thread's along the
  /// side. Parts are groups of four neighbours, which threads have in turn.
  Value line(Value number, int i) {
    return e.add(
        e.mul(number, e.index(shared_vector)),
        e.index(std::int64_t{i / shared_vector} * threads_of_side * shared_vector + i % shared_vector));
  }
  Value row_number() { return e.div(thread_, e.index(threads_of_side)); }
  Value column_number() { return e.rem(thread_, e.index(threads_of_side)); }

  /// This thread's elements of A and B in row i of a step.
  std::pair<Values, Values> operands_at(Value i) {
    const Value row = e.mul(i, e.index(product_.shared_stride()));
    const auto load = [&](const StagedOperand& side, Value number) {
      Values values;
      const mlir::Type type = mlir::VectorType::get({shared_vector}, e.memory_type(product_.element()));
      for (int first = 0; first < product_.side; first += shared_vector) {
        const Value at =
            team_.shared_element(side.shared, e.add(row, line(number, first)), product_.element());
        const Value lanes = mlir::LLVM::LoadOp::create(e.b, e.loc, type, at, shared_vector * sizeof(float));
        for (int lane = 0; lane < shared_vector; ++lane) values.push_back(e.extract(lanes, lane));
      }
      return values;
    };
    return {load(lhs_, row_number()), load(rhs_, column_number())};
  }

  void multiply_add(Value i, Values& sums) {
    const auto [a, b] = operands_at(i);
    Value* sum = sums.begin();
    for (const Value x : a)
      for (const Value y : b) {
        *sum = arithmetic_.multiply_add(e, x, y, *sum);
        ++sum;
      }
  }

  void store(mlir::ValueRange sums) {
    epilogue_.prepare(e, args_, batch_.end(), place_.batch_index);
    const Value rows = params_["rows"], columns = params_["columns"];
    const std::int64_t side = product_.side;
    store_elements(
        e, epilogue_, rows, columns,
        {side, side,
         [&](std::int64_t r) { return e.add(place_.first_row, line(row_number(), static_cast<int>(r))); },
         [&](std::int64_t c) {
           return e.add(place_.first_column, line(column_number(), static_cast<int>(c)));
         },
         [&](std::int64_t r, std::int64_t c) { return sums[static_cast<unsigned>(r * side + c)]; }});
  }

  KernelBuilder& e;
  const ProductPlan& product_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const ProductParams params_;
  const OuterAxes batch_;
  const Tile arithmetic_{DType::f32, 1, 1, 1};
  Team team_;
  Value thread_;
  TilePlace place_;
  StagedOperand lhs_, rhs_;
};

/// The side of a thread's part.
int side_for(std::int64_t rows, std::int64_t columns, std::int64_t matrices, const Epilogue& epilogue) {
  return prefers_large_tile({rows, columns}, matrices, {64, 64}, {128, 128}, epilogue) ? 8 : 4;
}

}  // namespace

Launch launch_gpu_dot(ir::FusionOp fusion, ir::PackedDotOp root) {
  if (auto chains = launch_gpu_chains(fusion, root)) return *chains;
  const Contraction p = contraction_of(root);
  const Dims extra_strides[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root.getResult()).getRank() - 1, extra_strides,
                          /*fixed_in_rows=*/1);
  const Dims& extents = epilogue.extents();
  const std::int64_t rows = extents.back(),
                     matrices = mlir::ShapedType::getNumElements(llvm::ArrayRef(extents).drop_back());
  const auto unpacked = p.unpacked.value_or(Contraction::Unpacked{});
  const ProductPlan product{.operands = FactorOperands::of(p.lhs, p.rhs),
                            .side = side_for(rows, p.columns, matrices, epilogue),
                            .panel = p.unpacked ? 0 : p.panel,
                            .one_chunk = p.k_extent <= Tile::chunk,
                            .pairs = p.of_pairs(),
                            .lhs_along_k = p.k_stride == 1,
                            .rhs_along_k = p.unpacked && unpacked.row_stride == 1,
                            .outer_count = extents.size() - 1};
  const std::int64_t row_tiles = llvm::divideCeilSigned(rows, product.tile()),
                     column_tiles = llvm::divideCeilSigned(p.columns, product.tile());
  Launch launch = planned_launch<ProductEmitter>(fusion, "product", product, epilogue);
  launch.request.flushes_subnormals = product.pairs;
  launch.request.gpu = {fmt::format("a block per tile of {0} by {0}", product.tile()), Team::most,
                        Team::most};
  ProductParams::append(launch.params, {{"k_extent", p.k_extent},
                                        {"columns", p.columns},
                                        {"rows", rows},
                                        {"row_tiles", row_tiles},
                                        {"column_tiles", column_tiles},
                                        {"lhs_offset", p.lhs.offset},
                                        {"lhs_stride", epilogue.extra_strides(0).back()},
                                        {"lhs_k_stride", p.k_stride},
                                        {"panel_stride", p.k_extent * p.panel},
                                        {"rhs_k_stride", unpacked.row_stride},
                                        {"rhs_column_stride", unpacked.column_stride}});
  OuterAxes::append(launch.params, epilogue);
  epilogue.append_params(launch.params);
  launch.extent = matrices * row_tiles * column_tiles;
  return launch;
}

}  // namespace kiln::codegen

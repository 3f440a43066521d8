// Matrix products on tensor cores, as tensor_cores of kiln.dot in ir/KilnOps.td defines them. A block of
// threads has a tile of the result, each warp a part of it in the fragments of `mma` instructions. Two steps
// of the instruction go from global through shared memory at a time. Values of k beyond the last are zeros;
// rows and columns beyond the last one are read as the last one, and not stored.
#include "codegen/cuda/contraction/product_tile.h"
#include "codegen/cuda/launch.h"
#include "codegen/emit/contraction.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"
#include "ir/views.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

#include <array>

namespace kiln::codegen {
namespace {

namespace LLVM = mlir::LLVM;
namespace arith = mlir::arith;

constexpr ParamNames mma_names{"k_extent",         "columns",    "rows",         "row_tiles",  "column_tiles",
                               "lhs_offset",       "lhs_stride", "lhs_k_stride", "rhs_offset", "rhs_k_stride",
                               "rhs_column_stride"};
using MmaParams = KernelParams<mma_names>;

// A word of 32 bits has two halves that are neighbours along k, or one TF32 number. The instruction takes 16
// rows of A and 8 columns of B, of 8 words each, and adds to 16 by 8 sums.
constexpr std::int64_t words_of_mma = 8, rows_of_mma = 16, columns_of_mma = 8;
constexpr std::int64_t words_of_step = 2 * words_of_mma;
/// Words of a row or column in shared memory: the lanes of a warp then read different banks.
constexpr std::int64_t words_of_line = words_of_step + 4;
constexpr std::size_t sums_of_lane = 4;  // of an instruction
constexpr std::int64_t warps = Team::most / Team::warp;

/// The tile of a block: warps one below the other, each with `down` by `across` instructions.
struct BlockTile {
  std::int64_t warps_down, down, across;
  static constexpr auto fields() {
    return std::tuple(PlanField{"warps_down", &BlockTile::warps_down}, PlanField{"down", &BlockTile::down},
                      PlanField{"across", &BlockTile::across});
  }

  std::int64_t warps_across() const { return warps / warps_down; }
  std::int64_t warp_rows() const { return down * rows_of_mma; }
  std::int64_t warp_columns() const { return across * columns_of_mma; }
  std::int64_t rows() const { return warps_down * warp_rows(); }
  std::int64_t columns() const { return warps_across() * warp_columns(); }
  TileExtents extents() const { return {rows(), columns()}; }
  std::size_t sums() const { return static_cast<std::size_t>(down * across) * sums_of_lane; }
};

BlockTile tile_for(std::int64_t rows, std::int64_t columns, std::int64_t matrices, const Epilogue& epilogue) {
  constexpr BlockTile low{1, 1, 2}, small{2, 2, 2}, large{2, 4, 4};
  if (rows <= low.rows()) return low;
  return prefers_large_tile({rows, columns}, matrices, small.extents(), large.extents(), epilogue) ? large
                                                                                                   : small;
}

/// Everything that the code depends on.
struct MmaPlan {
  DType factors;  // f16, bf16, or f32: rounded to TF32
  FactorOperands operands;
  BlockTile tile;
  bool one_chunk;
  bool lhs_along_k, rhs_along_k;  // neighbours in memory
  std::size_t outer_count;

  std::int64_t values_of_word() const { return factors == DType::f32 ? 1 : 2; }
  std::int64_t k_step() const { return words_of_step * values_of_word(); }
  static constexpr auto fields() {
    return std::tuple(PlanField{"factors", &MmaPlan::factors}, PlanField{"operands", &MmaPlan::operands},
                      PlanField{"tile", &MmaPlan::tile}, PlanField{"one_chunk", &MmaPlan::one_chunk},
                      PlanField{"lhs_along_k", &MmaPlan::lhs_along_k},
                      PlanField{"rhs_along_k", &MmaPlan::rhs_along_k},
                      PlanField{"outer_count", &MmaPlan::outer_count});
  }
};

class MmaEmitter {
 public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  MmaEmitter(KernelBuilder& e, const MmaPlan& product, Epilogue& epilogue, const KernelArgs& args)
      : e(e),
        product_(product),
        tile_(product.tile),
        epilogue_(epilogue),
        args_(args),
        params_(e, args.params),
        batch_(e, args.params, MmaParams::size, product.outer_count),
        team_(e, Team::most),
        lane_(team_.lane()),
        warp_(team_.warp_number()),
        k_extent_(params_["k_extent"]),
        place_(e, args.begin, params_["row_tiles"], params_["column_tiles"], product.tile.extents(), batch_) {
  }

  void run() {
    divide_operands();
    lhs_.shared = team_.shared(DType::i32, tile_.rows() * words_of_line);
    rhs_.shared = team_.shared(DType::i32, tile_.columns() * words_of_line);
    const Value zero = e.index(0);
    Values carried(tile_.sums(), product_.one_chunk ? f32_zero() : arithmetic_.initial_total(e));
    llvm::append_range(carried, load(zero));
    if (product_.one_chunk) return store(steps(zero, k_extent_, carried).take_front(tile_.sums()));
    const Value length = e.index(Tile::chunk);
    const mlir::ValueRange end =
        e.loop(zero, k_extent_, length, carried, [&](Value from, mlir::ValueRange carried) {
          Values chunk(tile_.sums(), f32_zero());
          llvm::append_range(chunk, carried.drop_front(tile_.sums()));
          const mlir::ValueRange sums = steps(from, e.min(e.add(from, length), k_extent_), chunk);
          Values next;
          for (std::size_t i = 0; i < sums.size(); ++i)
            next.push_back(i < tile_.sums() ? arithmetic_.plus(e, carried[i], sums[i]) : sums[i]);
          return next;
        });
    store(end.take_front(tile_.sums()));
  }

 private:
  Value f32_zero() { return e.number(DType::f32, 0, 1); }
  mlir::Type i32() { return e.b.getI32Type(); }

  void divide_operands() {
    const StagedOperand::Step step{words_of_step, product_.values_of_word(), 1, words_of_line};
    const auto base = [&](int operand, Value offset) {
      return e.element(e.buffer(args_.buffers, operand), offset, product_.factors);
    };
    lhs_.base = base(product_.operands.lhs, e.add(params_["lhs_offset"], place_.lhs_offset));
    lhs_.k_stride = product_.lhs_along_k ? e.index(1) : params_["lhs_k_stride"];
    lhs_.divide(e, team_, step,
                {place_.first_row, params_["rows"], tile_.rows(),
                 [&](Value row) { return e.mul(row, params_["lhs_stride"]); }},
                product_.lhs_along_k);
    rhs_.base = base(product_.operands.rhs, e.add(params_["rhs_offset"], place_.rhs_offset));
    rhs_.k_stride = product_.rhs_along_k ? e.index(1) : params_["rhs_k_stride"];
    rhs_.divide(e, team_, step,
                {place_.first_column, params_["columns"], tile_.columns(),
                 [&](Value column) { return e.mul(column, params_["rhs_column_stride"]); }},
                product_.rhs_along_k);
  }

  /// The steps of k in [from, to), at most a chunk. Carried are the sums, then the words of the first step,
  /// which are loaded; the end has the words of the step that follows. The loads of a step are before the
  /// arithmetic of the preceding one, which hides their latency.
  mlir::ValueRange steps(Value from, Value to, const Values& carried) {
    const Value step = e.index(product_.k_step());
    return e.loop(from, to, step, carried, [&](Value k, mlir::ValueRange carried) {
      put(carried.drop_front(tile_.sums()));
      const Values loaded = load(e.add(k, step));
      Values next(carried.take_front(tile_.sums()));
      for (std::int64_t word = 0; word < words_of_step; word += words_of_mma) multiply_add(word, next);
      llvm::append_range(next, loaded);
      return next;
    });
  }

  /// The words that this thread moves to shared memory of a step from k on: zeros beyond the last k.
  Values load(Value k) {
    Values words;
    for (const StagedOperand* side : {&lhs_, &rhs_})
      for (auto [first, in_step] : llvm::zip(side->first, side->k))
        words.push_back(load_word(*side, first, e.add(k, in_step)));
    return words;
  }
  Value load_word(const StagedOperand& side, Value first, Value k) {
    Value word;
    for (std::int64_t i = 0; i < product_.values_of_word(); ++i) {
      const Value at = i == 0 ? k : e.add(k, e.index(i));
      const Value inside = e.less(at, k_extent_), near = e.min(at, e.sub(k_extent_, e.index(1)));
      const Value address = e.element(side.base, e.add(first, e.mul(near, side.k_stride)), product_.factors);
      Value bits = e.select(inside, load_bits(address), word_of(0));
      if (i > 0) bits = arith::ShLIOp::create(e.b, e.loc, bits, word_of(16));
      word = word ? arith::OrIOp::create(e.b, e.loc, word, bits).getResult() : bits;
    }
    return word;
  }
  Value word_of(std::int32_t v) { return arith::ConstantOp::create(e.b, e.loc, e.b.getI32IntegerAttr(v)); }
  /// An element as the instruction reads it.
  Value load_bits(Value address) {
    if (product_.factors == DType::f32)
      return LLVM::CallIntrinsicOp::create(e.b, e.loc, i32(), e.b.getStringAttr("llvm.nvvm.f2tf32.rna"),
                                           mlir::ValueRange{e.load_scalar(address, DType::f32)})
          .getResults();
    const Value half = LLVM::LoadOp::create(e.b, e.loc, e.b.getI16Type(), address, sizeof(std::int16_t));
    return arith::ExtUIOp::create(e.b, e.loc, i32(), half);
  }

  void put(mlir::ValueRange words) { stage(e, team_, lhs_, rhs_, DType::i32, words); }

  // The fragments of an instruction (PTX ISA, "Matrix Fragments for mma.m16n8k16"). Lane l is in group l / 4,
  // with number l % 4. It has the words at its number, and 4 further on, of the rows of A and of the column
  // of B at its group, and sums at twice its number.
  Value group() { return e.div(lane_, e.index(4)); }
  Value in_group() { return e.rem(lane_, e.index(4)); }
  Value first_warp_row() {
    return e.mul(e.div(warp_, e.index(tile_.warps_across())), e.index(tile_.warp_rows()));
  }
  Value first_warp_column() {
    return e.mul(e.rem(warp_, e.index(tile_.warps_across())), e.index(tile_.warp_columns()));
  }

  /// One step of the instruction, from a word of the lines in shared memory on.
  void multiply_add(std::int64_t first_word, Values& sums) {
    const auto load = [&](const StagedOperand& side, Value line, std::int64_t further, std::int64_t word) {
      const Value at = e.add(e.mul(e.add(line, group()), e.index(words_of_line)), in_group());
      return e.load_scalar(
          team_.shared_element(side.shared, e.add(at, e.index(further * words_of_line + first_word + word)),
                               DType::i32),
          DType::i32);
    };
    llvm::SmallVector<std::array<Value, 4>> a;
    llvm::SmallVector<std::array<Value, 2>> b;
    for (std::int64_t row = 0; row < tile_.warp_rows(); row += rows_of_mma) {
      const Value first = first_warp_row();
      a.push_back({load(lhs_, first, row, 0), load(lhs_, first, row + 8, 0), load(lhs_, first, row, 4),
                   load(lhs_, first, row + 8, 4)});
    }
    for (std::int64_t column = 0; column < tile_.warp_columns(); column += columns_of_mma) {
      const Value first = first_warp_column();
      b.push_back({load(rhs_, first, column, 0), load(rhs_, first, column, 4)});
    }
    Value* sum = sums.begin();
    for (const auto& x : a)
      for (const auto& y : b) {
        mma(x, y, {sum, sums_of_lane});
        sum += sums_of_lane;
      }
  }

  void mma(llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b, llvm::MutableArrayRef<Value> sums) {
    const bool is_f16 = product_.factors == DType::f16;
    const llvm::StringRef name = is_f16                           ? "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
                                 : product_.factors == DType::f32 ? "llvm.nvvm.mma.m16n8k8.row.col.tf32"
                                                                  : "llvm.nvvm.mma.m16n8k16.row.col.bf16";
    const mlir::Type pair = mlir::VectorType::get({2}, e.b.getF16Type());
    Values arguments;
    for (llvm::ArrayRef<Value> side : {a, b})
      for (const Value word : side)
        arguments.push_back(is_f16 ? LLVM::BitcastOp::create(e.b, e.loc, pair, word).getResult() : word);
    llvm::append_range(arguments, sums);
    const mlir::Type four = LLVM::LLVMStructType::getLiteral(
        e.b.getContext(), llvm::SmallVector<mlir::Type>(sums_of_lane, e.b.getF32Type()));
    const Value next =
        LLVM::CallIntrinsicOp::create(e.b, e.loc, four, e.b.getStringAttr(name), arguments).getResults();
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = LLVM::ExtractValueOp::create(e.b, e.loc, next, static_cast<std::int64_t>(i));
  }

  void store(mlir::ValueRange sums) {
    epilogue_.prepare(e, args_, batch_.end(), place_.batch_index);
    const Value rows = params_["rows"], columns = params_["columns"];
    const Value my_row = e.add(e.add(place_.first_row, first_warp_row()), group()),
                my_column =
                    e.add(e.add(place_.first_column, first_warp_column()), e.mul(in_group(), e.index(2)));
    store_elements(
        e, epilogue_, rows, columns,
        {2 * tile_.down, 2 * tile_.across, [&](std::int64_t r) { return e.add(my_row, e.index(8 * r)); },
         [&](std::int64_t c) { return e.add(my_column, e.index(c / 2 * columns_of_mma + c % 2)); },
         [&](std::int64_t r, std::int64_t c) {
           return sums[static_cast<std::size_t>((r / 2 * tile_.across + c / 2) * 4 + r % 2 * 2 + c % 2)];
         }});
  }

  KernelBuilder& e;
  const MmaPlan& product_;
  const BlockTile& tile_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const MmaParams params_;
  const OuterAxes batch_;
  const Tile arithmetic_{DType::f32, 1, 1, 1};
  Team team_;
  Value lane_, warp_, k_extent_;
  TilePlace place_;
  StagedOperand lhs_, rhs_;
};

/// An operand's view: strides along the batch, the rows or columns, and k.
struct Factor {
  Factor(mlir::Value v, bool k_is_last) : view(ir::view_of(v)) {
    const std::size_t batch = view.shape.size() - 2;
    strides.assign(view.strides.begin(), view.strides.begin() + static_cast<std::ptrdiff_t>(batch));
    line_stride = view.strides[batch + (k_is_last ? 0 : 1)];
    k_stride = view.strides[batch + (k_is_last ? 1 : 0)];
    k_extent = view.shape[batch + (k_is_last ? 1 : 0)];
    const auto argument = llvm::dyn_cast<mlir::BlockArgument>(view.base);
    if (!argument) fail_internal("a factor on tensor cores is not in memory");
    operand = static_cast<int>(argument.getArgNumber());
  }
  ir::View view;
  Dims strides;
  std::int64_t line_stride, k_stride, k_extent;
  int operand;
};

}  // namespace

Launch launch_gpu_mma(ir::FusionOp fusion, ir::DotOp root) {
  if (!ir::is_on_tensor_cores(root)) fail_internal("a dot without a layout is in a kernel");
  const Factor lhs(root.getLhs(), /*k_is_last=*/!root.getTransposeLhs()),
      rhs(root.getRhs(), /*k_is_last=*/root.getTransposeRhs());
  const auto shape = ir::ranked(root.getResult()).getShape();
  const std::int64_t columns = shape.back();
  Dims extra_strides[] = {lhs.strides, rhs.strides};
  extra_strides[0].push_back(lhs.line_stride);
  extra_strides[1].push_back(0);
  const Epilogue epilogue(fusion, root.getResult(), shape.size() - 1, extra_strides, /*fixed_in_rows=*/1);
  const Dims& extents = epilogue.extents();
  const std::int64_t rows = extents.back(),
                     matrices = mlir::ShapedType::getNumElements(llvm::ArrayRef(extents).drop_back());
  const MmaPlan product{.factors = dtype_of_value(root.getLhs()),
                        .operands = {lhs.operand, rhs.operand},
                        .tile = tile_for(rows, columns, matrices, epilogue),
                        .one_chunk = lhs.k_extent <= Tile::chunk,
                        .lhs_along_k = lhs.k_stride == 1,
                        .rhs_along_k = rhs.k_stride == 1,
                        .outer_count = extents.size() - 1};
  const std::int64_t row_tiles = llvm::divideCeilSigned(rows, product.tile.rows()),
                     column_tiles = llvm::divideCeilSigned(columns, product.tile.columns());
  Launch launch = planned_launch<MmaEmitter>(fusion, "product by mma", product, epilogue);
  launch.request.gpu = {fmt::format("a block per tile of {} by {}, on tensor cores", product.tile.rows(),
                                    product.tile.columns()),
                        Team::most, Team::most};
  launch.request.on_tensor_cores = true;
  MmaParams::append(launch.params, {{"k_extent", lhs.k_extent},
                                    {"columns", columns},
                                    {"rows", rows},
                                    {"row_tiles", row_tiles},
                                    {"column_tiles", column_tiles},
                                    {"lhs_offset", lhs.view.offset},
                                    {"lhs_stride", epilogue.extra_strides(0).back()},
                                    {"lhs_k_stride", lhs.k_stride},
                                    {"rhs_offset", rhs.view.offset},
                                    {"rhs_k_stride", rhs.k_stride},
                                    {"rhs_column_stride", rhs.line_stride}});
  OuterAxes::append(launch.params, epilogue);
  epilogue.append_params(launch.params);
  launch.extent = matrices * row_tiles * column_tiles;
  return launch;
}

}  // namespace kiln::codegen

// Products of so few rows that each element of B is used by one tile: packing B would take longer than
// multiplying by it, so registers are loaded from B itself. A task is a part of the columns for all rows.
// Where columns are neighbours in memory, a register of them is loaded for each k. Where the elements of a
// column are (a matrix times a vector), a square of as many columns as lanes and as many k is transposed in
// registers.
#include "codegen/cpu/kernels/few_rows_product.h"

#include "codegen/cpu/choices.h"
#include "codegen/cpu/kernels/pack.h"
#include "codegen/cpu/loops/epilogue.h"
#include "codegen/cpu/loops/kernel_params.h"
#include "codegen/cpu/loops/outer_axes.h"
#include "codegen/cpu/loops/tile.h"
#include "codegen/cpu/target_model.h"
#include "codegen/cpu/tuning.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using llvm::divideCeilSigned;
using Value = mlir::Value;

constexpr ParamNames names{"k_extent",       "columns",      "lhs_offset",
                           "lhs_row_stride", "lhs_k_stride", "rhs_column_stride",
                           "rhs_k_stride",   "rhs_prefetch", "tiles"};
/// Those of the batch's axes follow.
using Params = KernelParams<names>;

/// Of the columns: as wide as the others, narrower, or narrower and the only one.
enum class LastTile { whole, part, only };

/// Everything that the code depends on, with its epilogue: equal plans, equal code.
struct Plan {
  Tile tile;
  bool transposes;  // squares of B
  int lhs_k_class;  // stride_class
  bool one_chunk;
  bool has_rest;  // of k after the last square
  LastTile last_tile;
  std::size_t batch_axes;
  int lhs_operand, rhs_operand;

  std::string key() const {
    return fmt::format("{} rows={} vectors={}x{}{} batch={} lhs={} rhs={} k={}{}{}{}", name_of(tile.dtype),
                       tile.rows, tile.vectors, tile.lanes, transposes ? " transposes" : "", batch_axes,
                       lhs_operand, rhs_operand, lhs_k_class == 1 ? "1" : "any", one_chunk ? "" : "+",
                       has_rest ? " rest" : "",
                       last_tile == LastTile::whole  ? ""
                       : last_tile == LastTile::part ? " part"
                                                     : " only");
  }
};

class Emitter {
 public:
  Emitter(KernelBuilder& e, const Plan& plan, Epilogue& epilogue, const KernelArgs& args)
      : e(e),
        plan_(plan),
        tile_(plan.tile),
        epilogue_(epilogue),
        args_(args),
        params_(e, args.params),
        batch_(e, args.params, Params::size, plan.batch_axes) {}

  void run() {
    const Value lhs =
        e.element(e.buffer(args_.buffers, plan_.lhs_operand), params_["lhs_offset"], tile_.dtype);
    const Value rhs = e.buffer(args_.buffers, plan_.rhs_operand), width = e.index(tile_.width()),
                tiles = params_["tiles"];
    lhs_row_stride_ = params_["lhs_row_stride"];
    lhs_k_stride_ = params_["lhs_k_stride"];
    rhs_k_stride_ = params_["rhs_k_stride"];
    column_stride_ = params_["rhs_column_stride"];
    rhs_prefetch_ = params_["rhs_prefetch"];
    if (plan_.batch_axes == 0) choose_product(lhs, rhs, {});
    e.loop(args_.begin, args_.end, e.index(1), [&](Value task) {
      if (plan_.batch_axes > 0) choose_product(lhs, rhs, e.div(task, tiles));
      first_column_ = e.mul(plan_.batch_axes > 0 ? e.rem(task, tiles) : task, width);
      columns_ = e.sub(params_["columns"], first_column_);
      rhs_ = e.element(product_rhs_, e.mul(first_column_, column_stride_), tile_.dtype);
      const std::function<void()> whole = [&] { compute(true); }, part = [&] { compute(false); };
      if (plan_.last_tile == LastTile::whole)
        whole();
      else if (plan_.last_tile == LastTile::only)
        part();
      else
        e.when(e.less(columns_, width), part, whole);
    });
  }

 private:
  /// Addresses of product `number` of the batch.
  void choose_product(Value lhs, Value rhs, Value number) {
    llvm::SmallVector<Value> index;
    if (plan_.batch_axes > 0) index = batch_.index(e, number);
    lhs = e.element(lhs, batch_.lhs_offset(e, index), tile_.dtype);
    rows_.clear();
    for (int r = 0; r < tile_.rows; ++r)
      rows_.push_back(e.element(lhs, e.mul(e.index(r), lhs_row_stride_), tile_.dtype));
    product_rhs_ = e.element(rhs, batch_.rhs_offset(e, index), tile_.dtype);
    epilogue_.prepare(e, args_, batch_.end(), index);
  }

  /// The tile; its columns from `columns_` on are missing unless it is `whole`.
  void compute(bool whole) {
    masks_.clear();
    for (int v = 0; v < tile_.vectors; ++v)
      masks_.push_back(whole ? Value()
                             : e.mask_below(e.sub(columns_, e.index(v * tile_.lanes)), tile_.lanes));
    const auto over = [&](Value from, Value to) {
      return plan_.transposes ? by_squares(from, to) : by_rows(from, to);
    };
    const auto sums = tile_.sum_over_chunks(e, params_["k_extent"], plan_.one_chunk, over);
    for (int r = 0; r < tile_.rows; ++r)
      for (int v = 0; v < tile_.vectors; ++v)
        epilogue_.store(e, tile_.value(e, sums[static_cast<std::size_t>(r * tile_.vectors + v)]), e.index(r),
                        e.add(first_column_, e.index(v * tile_.lanes)), tile_.lanes,
                        masks_[static_cast<std::size_t>(v)]);
  }

  Value lhs_at(int row, Value k) {
    return e.element(rows_[static_cast<std::size_t>(row)],
                     plan_.lhs_k_class == 1 ? k : e.mul(k, lhs_k_stride_), tile_.dtype);
  }

  llvm::SmallVector<Value> by_rows(Value from, Value to) {
    return tile_.emit(e, from, to, [&](Value k) {
      Tile::Operands operands;
      const Value row = e.element(rhs_, e.mul(k, rhs_k_stride_), tile_.dtype);
      for (int v = 0; v < tile_.vectors; ++v)
        operands.rhs.push_back(e.load(e.element(row, e.index(v * tile_.lanes), tile_.dtype), tile_.dtype,
                                      tile_.lanes, masks_[static_cast<std::size_t>(v)]));
      e.prefetch(e.element(row, rhs_prefetch_, tile_.dtype),
                 tile_.width() * static_cast<std::int64_t>(size_of(tile_.dtype)));
      operands.lhs_address = [this, k](int r) { return lhs_at(r, k); };
      return operands;
    });
  }

  llvm::SmallVector<Value> by_squares(Value from, Value to) {
    const Value side = e.index(tile_.lanes), whole = e.add(from, e.mul(e.div(e.sub(to, from), side), side));
    const auto add = [&](Value begin, Value end, mlir::ValueRange before, Value last_k) {
      const mlir::ValueRange sums = e.loop(begin, end, side, before, [&](Value k, mlir::ValueRange before) {
        llvm::SmallVector<Value> sums(before.begin(), before.end());
        for (int v = 0; v < tile_.vectors; ++v) add_square(k, v, last_k, sums);
        return sums;
      });
      return llvm::SmallVector<Value>(sums.begin(), sums.end());
    };
    const llvm::SmallVector<Value> zeros(tile_.registers(), e.number(tile_.dtype, 0, tile_.lanes));
    const auto sums = add(from, whole, zeros, {});
    return plan_.has_rest ? add(whole, to, sums, e.sub(to, e.index(1))) : sums;
  }

  /// Adds the products of register v's columns at `lanes` values of k, in ascending order, but none after
  /// `last_k`, if there is one.
  void add_square(Value k, int v, Value last_k, llvm::SmallVectorImpl<Value>& sums) {
    const Value first_column = e.index(v * tile_.lanes),
                last = e.sub(columns_, e.add(first_column, e.index(1))),
                first = e.element(rhs_, e.add(e.mul(first_column, column_stride_), k), tile_.dtype),
                mask = last_k ? e.mask_below(e.add(e.sub(last_k, k), e.index(1)), tile_.lanes) : Value();
    llvm::SmallVector<Value> square;
    for (int lane = 0; lane < tile_.lanes; ++lane) {
      // A missing column is read where the last one is, which may lie before the register's first.
      const Value number = masks_.front() == Value() ? e.index(lane) : e.min(e.index(lane), last);
      const Value column = e.element(first, e.mul(number, column_stride_), tile_.dtype);
      square.push_back(e.load(column, tile_.dtype, tile_.lanes, mask));
    }
    for (auto [i, rhs] : llvm::enumerate(e.transpose(square)))
      for (int r = 0; r < tile_.rows; ++r) {
        Value& sum = sums[static_cast<std::size_t>(r * tile_.vectors + v)];
        const Value at = e.add(k, e.index(static_cast<std::int64_t>(i)));
        const Value lhs = e.load_scalar(lhs_at(r, last_k ? e.min(at, last_k) : at), tile_.dtype);
        const Value next = tile_.multiply_add(e, e.splat(lhs, tile_.lanes), rhs, sum);
        sum = last_k ? e.select(e.less(last_k, at), sum, next) : next;
      }
  }

  KernelBuilder& e;
  const Plan& plan_;
  const Tile& tile_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const Params params_;
  const OuterAxes batch_;
  Value lhs_row_stride_, lhs_k_stride_, rhs_k_stride_, column_stride_, rhs_prefetch_;
  // Of the product.
  llvm::SmallVector<Value> rows_;  // of A
  Value product_rhs_;
  // Of the task.
  Value rhs_, first_column_, columns_;
  llvm::SmallVector<Value> masks_;
};

/// Registers of columns in a tile, all tiles nearly equal; 0 if the rows leave too few registers for them.
int unpacked_vectors(std::int64_t rows, std::int64_t columns, int lanes, int registers, bool transposes) {
  // Beside the accumulators: those of a square and two for its transposition, or those of B, if several rows
  // use them; and one of A.
  const std::int64_t others = 1 + (transposes ? lanes + 2 : 0),
                     of_column = std::max<std::int64_t>(rows, 1) + (!transposes && rows > 1),
                     all = std::max<std::int64_t>(divideCeilSigned(columns, lanes), 1),
                     most = std::min((registers - others) / of_column,
                                     transposes ? tuning::squares : tuning::most_unpacked_vectors);
  if (most < std::min(all, transposes ? tuning::squares : tuning::least_unpacked_vectors)) return 0;
  return static_cast<int>(divideCeilSigned(all, divideCeilSigned(all, most)));
}

}  // namespace

/// Every batch of products of which this holds has a kernel here: no other kernel packs a batch.
bool CpuTargetModel::multiplies_unpacked(std::int64_t rows, std::int64_t columns, std::int64_t panel,
                                         unsigned bits, bool by_rows) const {
  if (lanes_ == 1) return false;
  const int lanes = Tile::lanes_of(static_cast<int>(lanes_of(bits)), panel);
  return unpacked_vectors(rows, columns, lanes, vector_registers(lanes_), !by_rows) > 0;
}

std::optional<Launch> launch_few_rows(ir::FusionOp fusion, mlir::Value root, const Contraction& p,
                                      const CpuTarget& target) {
  if (!p.unpacked || target.lanes(4) == 1) return std::nullopt;
  const auto neighbours = Packer::neighbours_of(p.unpacked->row_stride, p.unpacked->column_stride);
  if (neighbours == Packer::Neighbours::none) return std::nullopt;
  const Dims extra_strides[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, extra_strides, /*fixed_in_rows=*/1);
  const llvm::ArrayRef<std::int64_t> batch = llvm::ArrayRef(epilogue.extents()).drop_back();
  const std::int64_t rows = epilogue.extents().back(), products = mlir::ShapedType::getNumElements(batch);
  const DType dtype = dtype_of_value(root);
  const int lanes = Tile::lanes_of(target, dtype, p.panel);
  const bool transposes = neighbours == Packer::Neighbours::elements;
  const int vectors = unpacked_vectors(rows, p.columns, lanes, target.registers(), transposes);
  if (vectors == 0) return std::nullopt;

  const Tile tile{dtype, static_cast<int>(rows), vectors, lanes};
  const auto element_bytes = static_cast<std::int64_t>(size_of(dtype));
  const Plan plan{.tile = tile,
                  .transposes = transposes,
                  .lhs_k_class = stride_class(p.k_stride),
                  .one_chunk = p.k_extent <= Tile::chunk,
                  .has_rest = transposes && p.k_extent % lanes != 0,
                  .last_tile = p.columns % tile.width() == 0 ? LastTile::whole
                               : p.columns > tile.width()    ? LastTile::part
                                                             : LastTile::only,
                  .batch_axes = batch.size(),
                  .lhs_operand = static_cast<int>(llvm::cast<mlir::BlockArgument>(p.lhs.base).getArgNumber()),
                  .rhs_operand = static_cast<int>(p.rhs)};
  const std::int64_t tiles = divideCeilSigned(p.columns, tile.width());
  const std::int64_t prefetch_k = divideCeilSigned(
      choices::stream_prefetch_bytes(*target.machine, p.k_extent * p.columns * element_bytes),
      tile.width() * element_bytes);
  Launch launch{{name_of_location(fusion.getLoc()),
                 fmt::format("few-rows {}{}", plan.key(), epilogue.key()),
                 fusion.getLoc(),
                 {}},
                {}};
  Params::append(launch.params, {{"k_extent", p.k_extent},
                                 {"columns", p.columns},
                                 {"lhs_offset", p.lhs.offset},
                                 {"lhs_row_stride", epilogue.extra_strides(0).back()},
                                 {"lhs_k_stride", p.k_stride},
                                 {"rhs_column_stride", p.unpacked->column_stride},
                                 {"rhs_k_stride", p.unpacked->row_stride},
                                 {"rhs_prefetch", prefetch_k * p.unpacked->row_stride},
                                 {"tiles", tiles}});
  OuterAxes::append(launch.params, batch, llvm::ArrayRef(epilogue.extra_strides(0)).drop_back(),
                    llvm::ArrayRef(epilogue.extra_strides(1)).drop_back());
  epilogue.append_params(launch.params);
  launch.extent = rows == 0 ? 0 : products * tiles;
  launch.grain = grain_for(launch.extent, rows * vectors * Tile::cost_of_register(p.k_extent));
  launch.request.in_order = transposes;  // LLVM would move all loads of a square, and spill it
  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    Epilogue own = epilogue;
    Emitter(e, plan, own, args).run();
  };
  return launch;
}

}  // namespace kiln::codegen

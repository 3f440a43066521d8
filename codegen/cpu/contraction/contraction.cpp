// The kernel of all contractions. A task is a block of rows by a block of columns. It takes the column tiles
// one by one, each with all row tiles of its block, so that a packed panel stays in L1 and A's rows in L2. A
// kernel that packs B itself takes the row tiles one by one, each with all column tiles, so that the packed
// block stays in L2.
#include "codegen/cpu/contraction/contraction.h"

#include "codegen/cpu/contraction/contraction_lhs.h"
#include "codegen/cpu/contraction/contraction_plan.h"
#include "codegen/cpu/contraction/even_rows.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/outer_axes.h"
#include "codegen/target/tuning.h"

namespace kiln::codegen {
namespace {

constexpr ParamNames contraction_names{"k_extent",
                                       "columns",
                                       "rows",
                                       "tiles_of_axis",
                                       "larger_tiles",
                                       "block_row_tiles",
                                       "column_tiles",
                                       "block_column_tiles",
                                       "column_blocks",
                                       "product_row_tiles",
                                       "product_row_blocks",
                                       "column_tiles_of_group",
                                       "lhs_offset",
                                       "lhs_group_stride",
                                       "lhs_k_stride",
                                       "lhs_prefetch",
                                       "panel_stride",
                                       "rhs_group_stride",
                                       "rhs_k_stride",
                                       "rhs_column_stride",  // of a B that is not packed
                                       "epilogue_rows"};
/// Those of A's rows (EvenRows) and of the outer axes follow.
using ContractionParams = KernelParams<contraction_names>;

/// Emits the kernel.
class ContractionEmitter {
 public:
  using Value = mlir::Value;

  ContractionEmitter(KernelBuilder& e, const ContractionPlan& plan, Epilogue& epilogue,
                     const KernelArgs& args)
      : e(e),
        plan_(plan),
        tile_(plan.tile),
        epilogue_(epilogue),
        args_(args),
        params_(e, args.params),
        lhs_rows_(e, args.params, ContractionParams::size),
        outer_(e, args.params, ContractionParams::end<EvenRows::Params>(1), plan.outer_count),
        vectors_(plan.tile.vectors) {}

  void run() {
    lhs_ = e.element(e.buffer(args_.buffers, plan_.lhs_operand), params_["lhs_offset"], tile_.dtype);
    rhs_ = e.buffer(args_.buffers, plan_.rhs_operand);
    if (plan_.table) k_offsets_ = e.buffer(args_.buffers, plan_.table_operand);
    panel_stride_ = params_["panel_stride"];
    lhs_k_stride_ = params_["lhs_k_stride"];
    take_scratch();
    if (plan_.one_chunk && plan_.rolls_epilogue) sums_ = e.stack(wide(), plan_.tile_elements());
    // Consecutive tasks of one column block reuse its packed B; where A is packed, too, those of one row
    // block its packed A.
    const Value column_blocks = params_["column_blocks"], row_blocks = params_["product_row_blocks"],
                one = e.index(1), none = e.index(-1);
    const bool by_columns = plan_.column_block_outer;
    const Value outer_blocks = by_columns ? column_blocks : row_blocks,
                inner_blocks = by_columns ? row_blocks : column_blocks;
    e.loop(args_.begin, args_.end, one, none,
           [&](Value task, mlir::ValueRange last) -> llvm::SmallVector<Value> {
             const Value number = e.div(task, inner_blocks), inner = e.rem(task, inner_blocks);
             is_new_outer_block_ = e.less(last[0], number);
             Value outer = number, product;
             if (plan_.packs_batch) {
               product = e.div(number, outer_blocks);
               outer = e.rem(number, outer_blocks);
             }
             by_columns ? compute(product, inner, outer) : compute(product, outer, inner);
             return {number};
           });
  }

 private:
  DType wide() const { return tile_.wide(); }

  void take_scratch() {
    Value free = plan_.one_chunk && !plan_.packer ? Value() : e.buffer(args_.buffers, plan_.scratch_operand);
    if (!plan_.one_chunk) {
      totals_ = free;
      const Value row_tiles_of_task = e.mul(params_["block_column_tiles"], params_["block_row_tiles"]);
      free = e.element(totals_, e.mul(row_tiles_of_task, e.index(plan_.tile_elements())), wide());
    }
    (plan_.packer ? packed_ : copies_) = free;
    if (plan_.packs_lhs) {
      const Value panels = e.mul(params_["block_column_tiles"], e.index(plan_.size.panels));
      strips_ = e.element(packed_, e.mul(panels, panel_stride_), tile_.dtype);
    }
  }

  /// One task: blocks of the `product` of a batch that it packs, if there is one.
  void compute(Value product, Value row_block, Value column_block) {
    const Value block = params_["block_row_tiles"], tiles = params_["product_row_tiles"];
    first_row_tile_ = e.mul(row_block, block);
    end_row_tile_ = e.min(e.add(first_row_tile_, block), tiles);
    product_rhs_ = rhs_;
    if (product) {
      const Value before = e.mul(product, tiles);
      first_row_tile_ = e.add(before, first_row_tile_);
      end_row_tile_ = e.add(before, end_row_tile_);
      product_rhs_ = e.element(rhs_, outer_.rhs_offset(e, outer_.index(e, product)), tile_.dtype);
    }
    first_column_tile_ = e.mul(column_block, params_["block_column_tiles"]);
    end_column_tile_ =
        e.min(e.add(first_column_tile_, params_["block_column_tiles"]), params_["column_tiles"]);
    if (plan_.one_chunk) {
      const Value from = e.index(0), to = params_["k_extent"];
      if (plan_.packs_lhs) {
        e.when(is_new_outer_block_, [&] { pack_lhs(from, to); });
        pack(from, to);
      } else if (plan_.packer) {
        e.when(is_new_outer_block_, [&] { pack(from, to); });
      }
      return over_chunk(from, to);
    }
    // Chunk by chunk for all rows of the block, so that the chunk of a panel stays in L1; totals are in
    // memory.
    clear_totals();
    const Value length = e.index(Tile::chunk);
    e.loop(e.index(0), params_["k_extent"], length, [&](Value from) {
      const Value to = e.min(e.add(from, length), params_["k_extent"]);
      if (plan_.packer) pack(from, to);
      if (plan_.packs_lhs) pack_lhs(from, to);
      if (plan_.copies_lhs) each_row_tile(lhs_, [&](const RowTile& row_tile) { copy(row_tile, from, to); });
      over_chunk(from, to);
    });
  }

  /// Packs B of the column block.
  void pack(Value from, Value to) {
    const Value column = e.mul(first_column_tile_, e.index(plan_.tile.width())),
                stride = params_["rhs_column_stride"];
    plan_.packer->emit(
        e, {.in = e.element(product_rhs_, e.mul(column, stride), tile_.dtype),
            .out = packed_,
            .columns = e.sub(params_["columns"], column),
            .panels = e.mul(e.sub(end_column_tile_, first_column_tile_), e.index(plan_.size.panels)),
            .panel_columns = e.index(plan_.panel),
            .panel_stride = panel_stride_,
            .column_stride = stride,
            .from = from,
            .to = to,
            .k_stride = params_["rhs_k_stride"],
            .table = {}});
  }

  /// The task over k in [from, to).
  void over_chunk(Value from, Value to) {
    const auto over_columns = [&](llvm::function_ref<void()> body) {
      e.loop(first_column_tile_, end_column_tile_, e.index(1), [&](Value tile) {
        choose_columns(tile, from);
        body();
      });
    };
    if (plan_.packer)
      return each_row_tile(
          lhs_, [&](const RowTile& row_tile) { over_columns([&] { compute(row_tile, from, to); }); });
    over_columns(
        [&] { each_row_tile(group_lhs_, [&](const RowTile& row_tile) { compute(row_tile, from, to); }); });
  }

  void choose_columns(Value column_tile, Value from) {
    const Value group = e.div(column_tile, params_["column_tiles_of_group"]),
                in_group = e.rem(column_tile, params_["column_tiles_of_group"]);
    tile_in_task_ = e.sub(column_tile, first_column_tile_);
    first_column_ = e.mul(in_group, e.index(tile_.width()));
    group_column_ = e.mul(group, params_["columns"]);
    const auto panels_before = [&](Value tile) {
      return e.mul(e.mul(tile, e.index(plan_.size.panels)), panel_stride_);
    };
    if (plan_.packer) {  // the packed panels begin at k = from
      panels_ = e.element(packed_, e.sub(panels_before(tile_in_task_), e.mul(from, e.index(plan_.panel))),
                          tile_.dtype);
    } else {
      panels_ = e.element(rhs_, e.mul(group, params_["rhs_group_stride"]), tile_.dtype);
      panels_ = e.element(panels_, panels_before(in_group), tile_.dtype);
    }
    group_lhs_ = e.element(lhs_, e.mul(group, params_["lhs_group_stride"]), tile_.dtype);
  }

  void clear_totals() {
    const Value none = tile_.initial_total(e);
    const Value count = e.mul(e.mul(params_["block_column_tiles"], params_["block_row_tiles"]),
                              e.index(plan_.tile_elements()));
    e.loop(e.index(0), count, e.index(tile_.lanes),
           [&](Value at) { e.store(none, e.element(totals_, at, wide()), wide(), tile_.lanes); });
  }

  struct RowTile {
    Value number;  // in the block
    Value lhs;     // address of its first row's elements of A
    Value first;   // first row group, along the axis that tiles divide
    int row_groups;
    int rows;
    Value begin, end;  // the row groups that it stores
  };
  /// Calls `body` for the row tiles that code is emitted for: with their first row group along the axis, how
  /// many they have, and which of these they store.
  void each_height(Value number,
                   llvm::function_ref<void(Value first, int row_groups, Value begin, Value end)> body) {
    const TileRows& heights = plan_.size.row_groups;
    if (!plan_.generic)
      return heights.emit(e, number, params_["larger_tiles"], [&](Value first, int row_groups) {
        body(first, row_groups, e.index(0), e.index(row_groups));
      });
    const Value zero = e.index(0), height = e.index(heights.most), rows = params_["rows"],
                not_stored = e.mul(number, height),
                first = e.max(zero, e.min(not_stored, e.sub(rows, height)));
    body(first, heights.most, e.sub(not_stored, first), e.min(height, e.sub(rows, first)));
  }
  /// Emits loops over the row tiles of the block.
  void each_row_tile(Value base, llvm::function_ref<void(const RowTile&)> body) {
    const Value zero = e.index(0), one = e.index(1), tiles = params_["tiles_of_axis"];
    const Value outer_end = e.div(e.add(end_row_tile_, e.sub(tiles, one)), tiles);
    e.loop(e.div(first_row_tile_, tiles), outer_end, one, [&](Value o) {
      outer_index_ = outer_.index(e, o);
      const Value lhs = e.element(base, outer_.lhs_offset(e, outer_index_), tile_.dtype);
      rhs_offset_ = outer_.rhs_offset(e, outer_index_);
      if (!prepares_each_group()) epilogue_.prepare(e, args_, first_epilogue(), outer_index_);
      const Value first = e.mul(o, tiles);
      e.loop(e.max(zero, e.sub(first_row_tile_, first)), e.min(tiles, e.sub(end_row_tile_, first)), one,
             [&](Value row_tile) {
               const Value number = e.sub(e.add(first, row_tile), first_row_tile_);
               each_height(row_tile, [&](Value first_group, int row_groups, Value begin, Value end) {
                 body({number, e.byte_offset(lhs, e.mul(first_group, lhs_rows_.distance())), first_group,
                       row_groups, row_groups * plan_.size.rows_per_group, begin, end});
               });
             });
    });
  }

  std::int64_t first_epilogue() const { return outer_.end(); }

  /// Packs A of the row block. Its elements at consecutive k are on lines of their own, which several row
  /// tiles share: some values of k at a time, so that these lines are still in L2 for the next row tile.
  void pack_lhs(Value from, Value to) {
    const Value length = e.index(tuning::packed_lhs_k);
    e.loop(from, to, length, [&](Value first) {
      const Value end = e.min(e.add(first, length), to);
      each_row_tile(lhs_, [&](const RowTile& row_tile) {
        const Value strip = strip_of(row_tile, from);
        e.loop(first, end, e.index(1), [&](Value k) {
          const Value in = e.element(row_tile.lhs, lhs_offset(k), tile_.dtype),
                      out = e.element(strip, e.mul(k, e.index(row_tile.rows)), tile_.dtype);
          pack_rows(e, plan_, row_tile.rows, in, out);
        });
      });
    });
  }
  /// Where the packed A of a row tile would begin at k = 0.
  Value strip_of(const RowTile& row_tile, Value from) {
    const Value number = e.mul(row_tile.number, e.index(plan_.strip_elements()));
    return e.element(strips_, e.sub(number, e.mul(from, e.index(row_tile.rows))), tile_.dtype);
  }
  /// A's offset at k.
  Value lhs_offset(Value k) {
    if (plan_.table) return e.load_scalar(e.element(k_offsets_, k, DType::i64), DType::i64);
    return plan_.k_class == 1 ? k : e.mul(k, lhs_k_stride_);
  }

  /// Its increment.
  Value lhs_step() { return plan_.k_class == 1 ? e.index(1) : lhs_k_stride_; }

  /// Copies A's rows of a row tile.
  void copy(const RowTile& row_tile, Value from, Value to) {
    const Value own = e.element(copies_, e.mul(row_tile.number, e.index(plan_.copy_elements())), tile_.dtype);
    for (int r = 0; r < row_tile.rows; ++r) {
      const Value row = plan_.even_rows
                            ? e.byte_offset(row_tile.lhs, e.mul(e.index(r), lhs_rows_.distance()))
                            : e.element(row_tile.lhs, e.index(plan_.offset_in_lhs(r)), tile_.dtype);
      copy_row(e, plan_, r, e.element(row, from, tile_.dtype), e.sub(to, from), own);
    }
  }

  void compute(const RowTile& row_tile, Value from, Value to) {
    if (!plan_.narrows_last()) return compute_tile(row_tile, from, to);
    // Registers that no column of the last tile is in are not computed.
    const auto compute_registers = [&](int vectors) {
      vectors_ = vectors;
      compute_tile(row_tile, from, to);
    };
    e.when(
        has_all_columns(), [&] { compute_registers(tile_.vectors); },
        [&] { compute_registers(plan_.last_vectors()); });
  }
  Value has_all_columns() {
    return e.less(e.add(first_column_, e.index(tile_.width() - 1)), params_["columns"]);
  }

  void compute_tile(const RowTile& row_tile, Value from, Value to) {
    const auto sums = sums_over(row_tile, from, to);
    if (plan_.one_chunk && !plan_.rolls_epilogue) return store(row_tile, [&](int i) { return sums[i]; });

    const Value own = plan_.one_chunk ? sums_ : totals_of(row_tile);
    const auto place = [&](std::size_t i) {
      return e.element(own, e.index(static_cast<std::int64_t>(i) * tile_.lanes), wide());
    };
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Value sum =
          plan_.one_chunk ? sums[i] : tile_.plus(e, e.load(place(i), wide(), tile_.lanes), sums[i]);
      e.store(sum, place(i), wide(), tile_.lanes);
    }
    const auto store_all = [&] { store_from(own, row_tile); };
    if (plan_.one_chunk) return store_all();
    e.when(e.less(e.sub(params_["k_extent"], e.index(1)), to), store_all);
  }

  /// Totals are in memory in the order in which tiles are computed.
  Value totals_of(const RowTile& row_tile) {
    const Value number = plan_.packer
                             ? e.add(e.mul(row_tile.number, params_["block_column_tiles"]), tile_in_task_)
                             : e.add(e.mul(tile_in_task_, params_["block_row_tiles"]), row_tile.number);
    return e.element(totals_, e.mul(number, e.index(plan_.tile_elements())), wide());
  }

  llvm::SmallVector<Value> sums_over(const RowTile& row_tile, Value from, Value to) {
    Tile tile = tile_;
    tile.rows = row_tile.rows;
    tile.vectors = vectors_;
    const Value base =
        plan_.packs_lhs ? strip_of(row_tile, from)
        : plan_.copies_lhs
            ? e.element(copies_, e.sub(e.mul(row_tile.number, e.index(plan_.copy_elements())), from),
                        tile_.dtype)
            : row_tile.lhs;
    const Value rhs = plan_.packer ? panels_ : e.element(panels_, rhs_offset_, tile_.dtype);
    llvm::SmallVector<Value> panels{rhs};
    for (int number = 1; number < plan_.size.panels; ++number) {
      Value next = e.element(panels.back(), panel_stride_, tile_.dtype);
      if (plan_.lacks_panels) {  // what is not there is computed from the last panel, and not stored
        const Value column = e.add(first_column_, e.index(number * plan_.panel));
        next = e.select(e.less(column, params_["columns"]), next, panels.back());
      }
      panels.push_back(next);
    }
    const auto slice =
        plan_.prefetch_rhs ? std::optional(slice_of(row_tile.number, rhs, from, to)) : std::nullopt;
    Tile::Carried carried;
    if (slice) carried.push_back(slice->begin(e));
    const bool moves = plan_.even_rows && !plan_.copies_lhs;  // pointers to A, with k
    if (moves)
      llvm::append_range(
          carried, lhs_rows_.pointers(e, e.element(base, lhs_offset(from), tile_.dtype), row_tile.rows));
    return tile.emit(e, from, to, carried, [&](Value k, Tile::Carried& at) {
      Tile::Operands operands;
      const Value row_of_panel = e.mul(k, e.index(plan_.panel));
      for (const Value panel : panels)
        tile_.load_rhs(e, e.element(panel, row_of_panel, tile_.dtype), vectors_of_panel(), plan_.panel,
                       operands.rhs);
      if (slice) at[0] = slice->prefetch(e, at[0]);
      prefetch_operands(row_tile, base, k);
      if (moves) {
        const llvm::MutableArrayRef<Value> moving = llvm::MutableArrayRef(at).drop_front(slice.has_value());
        operands.lhs_address = [this, pointers = llvm::to_vector(moving)](int r) {
          return lhs_rows_.address(e, pointers, r);
        };
        for (Value& pointer : moving) pointer = e.element(pointer, lhs_step(), tile_.dtype);
      } else {
        operands.lhs_address = rows_at(row_tile, base, k);
      }
      return operands;
    });
  }

  /// A's rows at k, where their distances are constants.
  std::function<Value(int)> rows_at(const RowTile& row_tile, Value base, Value k) {
    const Value step = plan_.packs_lhs ? e.mul(k, e.index(row_tile.rows)) : lhs_offset(k);
    return [this, here = e.element(base, step, tile_.dtype)](int r) {
      const std::int64_t offset = plan_.packs_lhs    ? r
                                  : plan_.copies_lhs ? r * ContractionPlan::copied_row_stride
                                                     : plan_.offset_in_lhs(r);
      return e.element(here, e.index(offset), tile_.dtype);
    };
  }

  PrefetchSlice slice_of(Value number, Value rhs, Value from, Value to) {
    const Value length = e.sub(to, from);
    // The same chunk of the next panel, if the task has several column tiles; otherwise the following memory.
    Value distance = e.mul(length, e.index(plan_.panel));
    if (!plan_.one_chunk)
      distance = e.select(e.less(e.index(1), params_["block_column_tiles"]), panel_stride_, distance);
    const Value next = e.element(rhs, distance, tile_.dtype);
    return {e,
            e.element(next, e.mul(from, e.index(plan_.panel)), tile_.dtype),
            plan_.panel * static_cast<std::int64_t>(size_of(tile_.dtype)),
            length,
            number,
            e.sub(end_row_tile_, first_row_tile_)};
  }

  /// Prefetches operands that do not stay in a core's caches, a part at each k.
  void prefetch_operands(const RowTile& row_tile, Value base, Value k) {
    if (plan_.prefetch_lhs) {  // a row tile's part of the rows some tiles later
      e.prefetch(
          e.element(base, e.add(params_["lhs_prefetch"], e.mul(k, e.index(plan_.size.rows()))), tile_.dtype));
    }
    if (plan_.prefetch_epilogue)  // row by row, in time for the epilogue
      epilogue_.prefetch(e, e.add(row_tile.first, e.min(k, e.index(row_tile.row_groups - 1))),
                         e.add(group_column_, first_column_), tile_.width());
  }

  int registers_of_group() const { return plan_.size.rows_per_group * vectors_; }
  int vectors_of_panel() const { return vectors_ / plan_.size.panels; }

  /// The sum in register i of a row group.
  using Sum = std::function<Value(int i)>;

  /// Calls `body` with the number of columns of the tile: once, or for two numbers.
  void each_width(llvm::function_ref<void(int columns)> body) {
    masks_.clear();
    if (plan_.any_columns)
      for (int v = 0; v < tile_.vectors; ++v) {
        const Value before = e.add(first_column_, e.index(std::int64_t{v} * tile_.lanes));
        masks_.push_back(e.mask_below(e.sub(params_["columns"], before), tile_.lanes));
      }
    if (plan_.narrows_last()) return body(vectors_ == tile_.vectors ? tile_.width() : plan_.last_columns);
    if (plan_.one_column_tile || !plan_.is_ragged()) return body(plan_.last_columns);
    e.when(
        has_all_columns(), [&] { body(tile_.width()); }, [&] { body(plan_.last_columns); });
  }

  /// The epilogue of a tile whose sums are in registers.
  void store(const RowTile& row_tile, const Sum& sum) {
    each_width([&](int columns) {
      Position at = first_position(row_tile);
      for (int group = 0; group < row_tile.row_groups; ++group, at = next(at))
        store_group(at, columns, [&](int i) { return sum(group * registers_of_group() + i); });
    });
  }

  /// The same in a loop, with sums in memory.
  void store_from(Value sums, const RowTile& row_tile) {
    const Value elements = e.index(std::int64_t{registers_of_group()} * tile_.lanes);
    each_width([&](int columns) {
      e.loop(row_tile.begin, row_tile.end, e.index(1), first_position(row_tile),
             [&](Value group, mlir::ValueRange range) {
               const Position at(range);
               const Value own = e.element(sums, e.mul(group, elements), wide());
               store_group(at, columns, [&](int i) {
                 return e.load(e.element(own, e.index(std::int64_t{i} * tile_.lanes), wide()), wide(),
                               tile_.lanes);
               });
               return next(at);
             });
    });
  }

  /// Of a row group in the epilogue's arrays: its row, after its last outer index where tiles divide both as
  /// one axis.
  using Position = llvm::SmallVector<Value>;
  Position first_position(const RowTile& row_tile) {
    if (!plan_.collapses_outer) return {e.add(row_tile.first, row_tile.begin)};
    const Value rows = params_["epilogue_rows"];
    return {e.div(row_tile.first, rows), e.rem(row_tile.first, rows)};
  }
  Position next(const Position& at) {
    const Value following = e.add(at.back(), e.index(1));
    if (!plan_.collapses_outer) return {following};
    const Value stays = e.less(following, params_["epilogue_rows"]);
    return {e.select(stays, at[0], e.add(at[0], e.index(1))), e.select(stays, following, e.index(0))};
  }

  /// Whether the epilogue's base addresses are computed for each row group, not for each outer index.
  bool prepares_each_group() const { return plan_.collapses_outer || plan_.row_groups_are_outer(); }
  void prepare(Value last_outer) {
    auto index = outer_index_;
    index.push_back(last_outer);
    epilogue_.prepare(e, args_, first_epilogue(), index);
  }

  void store_group(const Position& at, int columns, const Sum& sum) {
    if (prepares_each_group()) prepare(at[0]);
    if (!plan_.row_groups_are_outer()) return store_row(0, at.back(), columns, sum);
    for (int r = 0; r < plan_.size.rows_per_group; ++r) store_row(r, e.index(r), columns, sum);
  }

  /// Row `row` of the epilogue, made of row r of the group, or, if it pools, of all its rows.
  void store_row(int r, Value row, int columns, const Sum& sum) {
    for (int v = 0; v < vectors_ && v * tile_.lanes < columns; ++v) {
      const int rest = columns - v * tile_.lanes;
      llvm::SmallVector<Value> sums;
      for (int i = r; i < r + plan_.pooled_rows(); ++i) sums.push_back(tile_.value(e, sum(i * vectors_ + v)));
      epilogue_.store(e, sums, row, e.add(group_column_, e.add(first_column_, e.index(v * tile_.lanes))),
                      tile_.lanes,
                      plan_.any_columns    ? masks_[static_cast<std::size_t>(v)]
                      : rest < tile_.lanes ? e.mask_below(rest, tile_.lanes)
                                           : Value());
    }
  }

  KernelBuilder& e;
  const ContractionPlan& plan_;
  const Tile& tile_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const ContractionParams params_;
  const EvenRows lhs_rows_;  // row groups, if rows are not even
  const OuterAxes outer_;
  Value lhs_, rhs_, k_offsets_, panel_stride_, lhs_k_stride_, totals_, sums_, copies_, packed_, strips_;
  // Of the task.
  Value product_rhs_, is_new_outer_block_, first_row_tile_, end_row_tile_, first_column_tile_,
      end_column_tile_;
  // Of the column tile.
  Value tile_in_task_, first_column_, group_column_, panels_, group_lhs_;
  int vectors_;                     // registers of columns
  llvm::SmallVector<Value> masks_;  // of its columns, where the code is for any number of them
  // Of the outer index.
  llvm::SmallVector<Value> outer_index_;
  Value rhs_offset_;
};

/// None if there is no kernel for these numbers of rows.
std::optional<Launch> launch(ir::FusionOp fusion, mlir::Value root, const Contraction& p, const char* family,
                             const CpuTarget& target, RowCounts counts) {
  const Dims extra_strides[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, extra_strides, /*fixed_in_rows=*/1,
                          p.row_order);
  ContractionSizes sizes{.extents = epilogue.extents(),
                         .lhs_strides = epilogue.extra_strides(0),
                         .rhs_strides = epilogue.extra_strides(1)};
  const auto operands = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults());
  const auto planned = plan_contraction(p, dtype_of_value(root), epilogue, operands, target, counts, sizes);
  if (!planned) return std::nullopt;
  const ContractionPlan& plan = *planned;

  Launch launch{{name_of_location(fusion.getLoc()),
                 fmt::format("{} {}{}", family, plan.key(), epilogue.key()),
                 fusion.getLoc(),
                 {}},
                {}};
  // Panels that the kernel packs itself have one chunk of k.
  const std::int64_t panel_elements =
      (plan.packer ? std::min(p.k_extent, Tile::chunk) : p.k_extent) * p.panel;
  const auto unpacked = p.unpacked.value_or(Contraction::Unpacked{});
  const std::int64_t tiles_of_group = llvm::divideCeilSigned(p.panels, plan.size.panels);
  ContractionParams::append(launch.params, {{"k_extent", p.k_extent},
                                            {"columns", p.columns},
                                            {"rows", sizes.rows},
                                            {"tiles_of_axis", sizes.tiles_of_axis},
                                            {"larger_tiles", sizes.larger_tiles},
                                            {"block_row_tiles", sizes.block_row_tiles},
                                            {"column_tiles", sizes.column_tiles},
                                            {"block_column_tiles", sizes.block_column_tiles},
                                            {"column_blocks", sizes.column_blocks},
                                            {"product_row_tiles", sizes.product_row_tiles},
                                            {"product_row_blocks", sizes.row_blocks_of_product()},
                                            {"column_tiles_of_group", tiles_of_group},
                                            {"lhs_offset", p.lhs.offset},
                                            {"lhs_group_stride", p.lhs_group},
                                            {"lhs_k_stride", p.k_stride},
                                            {"lhs_prefetch", lhs_prefetch_distance(plan, sizes)},
                                            {"panel_stride", panel_elements},
                                            {"rhs_group_stride", p.panels * panel_elements},
                                            {"rhs_k_stride", unpacked.row_stride},
                                            {"rhs_column_stride", unpacked.column_stride},
                                            {"epilogue_rows", sizes.epilogue_rows}});
  EvenRows::append(launch.params,
                   sizes.lhs_strides.back() * static_cast<std::int64_t>(size_of(plan.tile.dtype)),
                   sizes.rows);
  OuterAxes::append(launch.params, llvm::ArrayRef(sizes.extents).take_front(plan.outer_count),
                    llvm::ArrayRef(sizes.lhs_strides).take_front(plan.outer_count),
                    llvm::ArrayRef(sizes.rhs_strides).take_front(plan.outer_count));
  epilogue.append_params(launch.params);
  launch.table = p.k_offsets;
  const bool nothing = sizes.row_tiles * plan.size.rows_per_group == 0 || p.columns == 0 || p.groups == 0;
  launch.extent = nothing ? 0 : sizes.tasks();
  launch.grain =
      grain_for(launch.extent, plan.size.rows() * plan.tile.vectors * Tile::cost_of_register(p.k_extent) *
                                   sizes.block_row_tiles * sizes.block_column_tiles);
  launch.scratch_bytes = sizes.scratch_bytes;
  launch.request.emit = [=, plan = plan](KernelBuilder& e, const KernelArgs& args) {
    Epilogue own = epilogue;
    ContractionEmitter(e, plan, own, args).run();
  };
  return launch;
}

}  // namespace

Launch launch_contraction(ir::FusionOp fusion, mlir::Value root, const Contraction& p, const char* family,
                          const CpuTarget& target) {
  Launch special = *launch(fusion, root, p, family, target, RowCounts::given);
  if (auto generic = launch(fusion, root, p, family, target, RowCounts::any))
    special.generic = std::make_shared<Launch>(*std::move(generic));
  return special;
}

}  // namespace kiln::codegen

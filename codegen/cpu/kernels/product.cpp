// The kernel of all products. Work comes in units: a block of rows and a strip of columns. The rows of a
// block pass by one packed panel after the other, so that the panel stays in the nearest caches and the
// block's left factors in the second. Where the kernel packs itself, the strip stays in the second cache and
// each tile's rows pass by all of it.
#include "codegen/cpu/kernels/product.h"

#include "codegen/cpu/kernels/product_plan.h"
#include "codegen/cpu/loops/epilogue.h"

namespace kiln::codegen {
namespace {

/// Left factors of rows that follow each other are asked for so long before.
constexpr std::int64_t elements_ahead = 1024;

enum Param : std::int64_t {
  K,
  N,
  row_tiles,
  larger_tiles,
  items,
  items_of_block,
  column_tiles,
  column_tiles_of_unit,
  column_strips,
  column_tiles_of_group,
  lhs_offset,
  lhs_group,
  lhs_k,
  panel_step,
  group_step,
  rhs_row,  // steps of right factors that come unpacked
  rhs_column,
  end_rows,
  first_outer  // extent, step of the left and of the right factor of each outer axis
};

/// Emits the kernel. An item is a tile's rows, a unit a block of items with a strip of column tiles.
class Emitter {
 public:
  using Value = mlir::Value;

  Emitter(KernelBuilder& e, const ProductPlan& plan, Epilogue& finish, Value buffers, Value params)
      : e(e), plan_(plan), tile_(plan.tile), finish_(finish), buffers_(buffers), params_(params) {}

  void run(Value begin, Value end) {
    left_ = e.element(e.buffer(buffers_, plan_.lhs_operand), param(lhs_offset), tile_.dtype);
    right_ = e.buffer(buffers_, plan_.rhs_operand);
    if (plan_.table) offsets_ = e.buffer(buffers_, plan_.table_operand);
    panel_step_ = param(panel_step);
    k_step_ = param(lhs_k);
    take_scratch();
    const Value strips = param(column_strips), one = e.index(1), none = e.index(-1);
    if (!plan_.by_strip)
      return e.loop(begin, end, one, [&](Value unit) { compute(e.div(unit, strips), e.rem(unit, strips)); });
    // What is packed for a block serves the next one of the strip.
    const Value blocks = e.div(e.add(param(items), e.sub(param(items_of_block), one)), param(items_of_block));
    e.loop(begin, end, one, none, [&](Value unit, mlir::ValueRange packed) -> llvm::SmallVector<Value> {
      const Value strip = e.div(unit, blocks);
      is_new_strip_ = e.less(packed[0], strip);
      compute(e.rem(unit, blocks), strip);
      return {strip};
    });
  }

 private:
  Value param(std::int64_t p) { return e.param(params_, p); }
  /// What sums are held as.
  DType wide() const {
    return tile_.dtype == DType::f16 || tile_.dtype == DType::bf16 ? DType::f32 : tile_.dtype;
  }

  void take_scratch() {
    Value free = plan_.one_chunk && !plan_.packer ? Value() : e.buffer(buffers_, plan_.scratch_operand);
    if (!plan_.one_chunk) {
      totals_ = free;
      const Value unit_items = e.mul(param(column_tiles_of_unit), param(items_of_block));
      free = e.element(totals_, e.mul(unit_items, e.index(plan_.item_elements())), wide());
    }
    (plan_.packer ? packed_ : copies_) = free;
  }

  /// One unit.
  void compute(Value block, Value strip) {
    first_item_ = e.mul(block, param(items_of_block));
    last_item_ = e.min(e.add(first_item_, param(items_of_block)), param(items));
    first_tile_ = e.mul(strip, param(column_tiles_of_unit));
    last_tile_ = e.min(e.add(first_tile_, param(column_tiles_of_unit)), param(column_tiles));
    if (plan_.one_chunk) {
      if (plan_.packer) e.when(is_new_strip_, [&] { pack(e.index(0), param(K)); });
      return over_chunk(e.index(0), param(K));
    }
    // Chunk by chunk for all rows of the block, so that a panel's part stays in a near cache; the sums so far
    // wait in memory.
    clear_totals();
    const Value length = e.index(Tile::chunk);
    e.loop(e.index(0), param(K), length, [&](Value from) {
      const Value to = e.min(e.add(from, length), param(K));
      if (plan_.packer) pack(from, to);
      if (plan_.copied) each_item(left_, [&](const Item& item) { copy(item, from, to); });
      over_chunk(from, to);
    });
  }

  /// The strip's right factors.
  void pack(Value from, Value to) {
    const Value column = e.mul(first_tile_, e.index(plan_.tile.width())), step = param(rhs_column);
    plan_.packer->emit(e, {.in = e.element(right_, e.mul(column, step), tile_.dtype),
                           .out = packed_,
                           .left = e.sub(param(N), column),
                           .panels = e.mul(e.sub(last_tile_, first_tile_), e.index(plan_.size.panels)),
                           .width = e.index(plan_.panel),
                           .panel_step = panel_step_,
                           .column_step = step,
                           .from = from,
                           .to = to,
                           .row_step = param(rhs_row),
                           .table = {}});
  }

  /// All that the unit computes, over k in [from, to).
  void over_chunk(Value from, Value to) {
    const auto over_columns = [&](llvm::function_ref<void()> body) {
      e.loop(first_tile_, last_tile_, e.index(1), [&](Value tile) {
        choose_columns(tile, from);
        body();
      });
    };
    if (plan_.packer)
      return each_item(left_, [&](const Item& item) { over_columns([&] { compute(item, from, to); }); });
    over_columns([&] { each_item(group_left_, [&](const Item& item) { compute(item, from, to); }); });
  }

  void choose_columns(Value column_tile, Value from) {
    const Value group = e.div(column_tile, param(column_tiles_of_group)),
                in_group = e.rem(column_tile, param(column_tiles_of_group));
    tile_number_ = e.sub(column_tile, first_tile_);
    first_column_ = e.mul(in_group, e.index(tile_.width()));
    columns_before_ = e.mul(group, param(N));
    const auto panels_before = [&](Value tile) {
      return e.mul(e.mul(tile, e.index(plan_.size.panels)), panel_step_);
    };
    if (plan_.packer) {  // what is packed begins with the chunk
      panels_ = e.element(packed_, e.sub(panels_before(tile_number_), e.mul(from, e.index(plan_.panel))),
                          tile_.dtype);
    } else {
      panels_ = e.element(right_, e.mul(group, param(group_step)), tile_.dtype);
      panels_ = e.element(panels_, panels_before(in_group), tile_.dtype);
    }
    group_left_ = e.element(left_, e.mul(group, param(lhs_group)), tile_.dtype);
  }

  void clear_totals() {
    const Value none = tile_.no_sum(e);
    const Value count =
        e.mul(e.mul(param(column_tiles_of_unit), param(items_of_block)), e.index(plan_.item_elements()));
    e.loop(e.index(0), count, e.index(tile_.lanes),
           [&](Value at) { e.store(none, e.element(totals_, at, wide()), wide(), tile_.lanes); });
  }

  struct Item {
    Value number;  // in the block
    Value lhs;     // its first left factor
    Value first;   // its first span, along the axis of tiles
    int spans;
    int rows;
  };
  /// The items of the block.
  void each_item(Value left, llvm::function_ref<void(const Item&)> body) {
    const Value zero = e.index(0), one = e.index(1), tiles = param(row_tiles);
    const Value end_outer = e.div(e.add(last_item_, e.sub(tiles, one)), tiles);
    e.loop(e.div(first_item_, tiles), end_outer, one, [&](Value o) {
      const auto of_axis = [](std::size_t i) { return first_outer + 3 * static_cast<std::int64_t>(i); };
      llvm::SmallVector<Value> extents;
      for (std::size_t i = 0; i < plan_.outer_count; ++i) extents.push_back(param(of_axis(i)));
      outer_index_ = e.coordinates(o, extents);
      Value lhs = left;
      rhs_offset_ = zero;
      for (std::size_t i = 0; i < plan_.outer_count; ++i) {
        const auto at = of_axis(i);
        lhs = e.element(lhs, e.mul(outer_index_[i], param(at + 1)), tile_.dtype);
        rhs_offset_ = e.add(rhs_offset_, e.mul(outer_index_[i], param(at + 2)));
      }
      if (!prepares_each_span()) finish_.prepare(e, buffers_, params_, first_epilogue(), outer_index_);
      const Value first = e.mul(o, tiles);
      e.loop(e.max(zero, e.sub(first_item_, first)), e.min(tiles, e.sub(last_item_, first)), one,
             [&](Value row_tile) {
               const Value number = e.sub(e.add(first, row_tile), first_item_);
               plan_.size.spans.emit(e, row_tile, param(larger_tiles), [&](Value first_span, int spans) {
                 body({number, e.element(lhs, e.mul(first_span, e.index(plan_.span_step)), tile_.dtype),
                       first_span, spans, spans * plan_.size.span_rows});
               });
             });
    });
  }

  std::int64_t first_epilogue() const {
    return first_outer + 3 * static_cast<std::int64_t>(plan_.outer_count);
  }

  /// The left factors of an item, row by row.
  void copy(const Item& item, Value from, Value to) {
    const Value own = e.element(copies_, e.mul(item.number, e.index(plan_.copied_elements())), tile_.dtype);
    const Value lanes = e.index(tile_.lanes), count = e.sub(to, from);
    for (int r = 0; r < item.rows; ++r) {
      const Value row = e.element(item.lhs, e.add(from, e.index(plan_.offset_in_lhs(r))), tile_.dtype);
      e.loop(e.index(0), count, lanes, [&](Value k) {
        const Value mask = tile_.lanes > 1 ? e.mask_below(e.sub(count, k), tile_.lanes) : Value();
        e.store(e.load(e.element(row, k, tile_.dtype), tile_.dtype, tile_.lanes, mask),
                e.element(own, e.add(k, e.index(r * ProductPlan::copied_row)), tile_.dtype), tile_.dtype,
                tile_.lanes);
      });
    }
  }

  void compute(const Item& item, Value from, Value to) {
    const auto sums = sums_over(item, from, to);
    if (plan_.one_chunk) return store(item, [&](std::size_t i) { return sums[i]; });

    // One behind the other as they are computed.
    const Value number = plan_.packer ? e.add(e.mul(item.number, param(column_tiles_of_unit)), tile_number_)
                                      : e.add(e.mul(tile_number_, param(items_of_block)), item.number);
    const Value own = e.element(totals_, e.mul(number, e.index(plan_.item_elements())), wide());
    const auto place = [&](std::size_t i) {
      return e.element(own, e.index(static_cast<std::int64_t>(i) * tile_.lanes), wide());
    };
    const auto total = [&](std::size_t i) {
      return tile_.plus(e, e.load(place(i), wide(), tile_.lanes), sums[i]);
    };
    e.when(e.less(to, param(K)), [&] {
      for (std::size_t i = 0; i < sums.size(); ++i) e.store(total(i), place(i), wide(), tile_.lanes);
    });
    e.when(e.less(e.sub(param(K), e.index(1)), to), [&] { store(item, total); });
  }

  llvm::SmallVector<Value> sums_over(const Item& item, Value from, Value to) {
    Tile tile = tile_;
    tile.rows = item.rows;
    const Value base =
        plan_.copied ? e.element(copies_, e.sub(e.mul(item.number, e.index(plan_.copied_elements())), from),
                                 tile_.dtype)
                     : item.lhs;
    const Value right = e.element(panels_, rhs_offset_, tile_.dtype);
    llvm::SmallVector<Value> panels{right};
    while (static_cast<int>(panels.size()) < plan_.size.panels)
      panels.push_back(e.element(panels.back(), panel_step_, tile_.dtype));
    const auto share =
        plan_.prefetch_rhs ? std::optional(share_of(item.number, right, from, to)) : std::nullopt;
    return tile.emit(e, from, to, [&](Value k) {
      Value step = k;
      if (plan_.table)
        step = e.load_scalar(e.element(offsets_, k, DType::i64), DType::i64);
      else if (plan_.k_class != 1)
        step = e.mul(k, k_step_);
      Tile::Factors f;
      const Value row_of_panel = e.mul(k, e.index(plan_.panel));
      for (const Value panel : panels)
        tile_.load_right(e, e.element(panel, row_of_panel, tile_.dtype), plan_.panel, f.right);
      if (share) share->ask(e, e.sub(k, from));
      ask_ahead(item, base, k);
      f.address_of_left = [this, here = e.element(base, step, tile_.dtype)](int r) {
        return e.element(here, e.index(plan_.row_offset(r)), tile_.dtype);
      };
      return f;
    });
  }

  PrefetchSlice share_of(Value number, Value right, Value from, Value to) {
    const Value length = e.sub(to, from);
    // The same chunk of the next panel, where the unit has several; else what lies behind.
    const Value behind =
        e.element(right, plan_.copied ? panel_step_ : e.mul(length, e.index(plan_.panel)), tile_.dtype);
    return {e,
            e.element(behind, e.mul(from, e.index(plan_.panel)), tile_.dtype),
            plan_.panel * static_cast<std::int64_t>(size_of(tile_.dtype)),
            length,
            number,
            e.sub(last_item_, first_item_)};
  }

  /// Operands that are not near, one step of k after the other.
  void ask_ahead(const Item& item, Value base, Value k) {
    if (plan_.prefetch_lhs) {  // an item's share of what follows some items later
      const std::int64_t step = std::max<std::int64_t>(plan_.size.rows() * plan_.span_step, 1),
                         distance = (1 + elements_ahead / step) * step;
      e.prefetch(
          e.element(base, e.add(e.index(distance), e.mul(k, e.index(plan_.size.rows()))), tile_.dtype));
    }
    if (plan_.prefetch_epilogue)  // row by row, in time for the end
      finish_.prefetch(e, e.add(item.first, e.min(k, e.index(item.spans - 1))),
                       e.add(columns_before_, first_column_), tile_.width());
  }

  using Sum = std::function<Value(std::size_t)>;

  void store(const Item& item, const Sum& sum) {
    if (plan_.one_tile || !plan_.is_ragged()) return store(item, plan_.last_columns, sum);
    e.when(
        e.less(e.add(first_column_, e.index(tile_.width())), param(N)),
        [&] { store(item, tile_.width(), sum); }, [&] { store(item, plan_.last_columns, sum); });
  }

  /// Whether the end looks for the place of each span, not of an outer index.
  bool prepares_each_span() const { return plan_.runs_on || plan_.spans_are_outer(); }
  void prepare(Value last_outer) {
    auto index = outer_index_;
    index.push_back(last_outer);
    finish_.prepare(e, buffers_, params_, first_epilogue(), index);
  }

  void store(const Item& item, int columns, const Sum& sum) {
    if (plan_.runs_on) return store_run(item, columns, sum);
    for (int s = 0; s < item.spans; ++s) {
      const Value along = e.add(item.first, e.index(s));
      if (!plan_.spans_are_outer()) {
        store_row(s * plan_.pooled_rows(), along, columns, sum);
        continue;
      }
      prepare(along);
      for (int r = 0; r < plan_.size.span_rows; ++r)
        store_row(s * plan_.size.span_rows + r, e.index(r), columns, sum);
    }
  }

  /// Rows of a tile that runs on from one point of the end's last outer axis to the next.
  void store_run(const Item& item, int columns, const Sum& sum) {
    const Value rows = param(end_rows), one = e.index(1);
    Value outer = e.div(item.first, rows), row = e.rem(item.first, rows);
    for (int r = 0; r < item.rows; ++r) {
      prepare(outer);
      store_row(r, row, columns, sum);
      const Value next = e.add(row, one), stays = e.less(next, rows);
      outer = e.select(stays, outer, e.add(outer, one));
      row = e.select(stays, next, e.index(0));
    }
  }

  /// The end's row `row`, which is made of row r of the tile, or of those from r on.
  void store_row(int r, Value row, int columns, const Sum& sum) {
    for (int v = 0; v < tile_.vectors && v * tile_.lanes < columns; ++v) {
      const int rest = columns - v * tile_.lanes;
      llvm::SmallVector<Value> sums;
      for (int i = r; i < r + plan_.pooled_rows(); ++i)
        sums.push_back(tile_.value(e, sum(static_cast<std::size_t>(i * tile_.vectors + v))));
      finish_.store(e, sums, row, e.add(columns_before_, e.add(first_column_, e.index(v * tile_.lanes))),
                    tile_.lanes, rest < tile_.lanes ? e.mask_below(rest, tile_.lanes) : Value());
    }
  }

  KernelBuilder& e;
  const ProductPlan& plan_;
  const Tile& tile_;
  Epilogue& finish_;
  Value buffers_, params_;
  Value left_, right_, offsets_, panel_step_, k_step_, totals_, copies_, packed_;
  // Of the unit.
  Value is_new_strip_, first_item_, last_item_, first_tile_, last_tile_;
  // Of the column tile.
  Value tile_number_, first_column_, columns_before_, panels_, group_left_;
  // Of the outer index.
  llvm::SmallVector<Value> outer_index_;
  Value rhs_offset_;
};

}  // namespace

Launch launch_product(ir::FusionOp fusion, mlir::Value root, const Product& p, const char* family,
                      const Target& target) {
  const Dims guests[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, guests, /*fixed_in_rows=*/1);
  ProductWork work{
      .extents = epilogue.extents(), .lhs_steps = epilogue.guest(0), .rhs_steps = epilogue.guest(1)};
  const auto operands = static_cast<int>(fusion.getNumOperands() + fusion.getNumResults());
  const ProductPlan plan =
      plan_product(p, dtype_of_value(root), epilogue.reads_rows(), operands, target, work);

  Launch launch{{name_of_location(fusion.getLoc()),
                 fmt::format("{} {}{}", family, plan.key(), epilogue.key()),
                 fusion.getLoc(),
                 {}},
                {}};
  // Of panels that the kernel packs, a chunk is kept.
  const std::int64_t panel_elements =
      (plan.packer ? std::min(p.k_extent, Tile::chunk) : p.k_extent) * p.panel;
  const auto unpacked = p.unpacked.value_or(Product::Unpacked{});
  launch.params = {p.k_extent,
                   p.columns,
                   work.row_tiles,
                   work.larger_tiles,
                   work.items,
                   work.block,
                   work.column_tiles,
                   work.columns,
                   work.strips,
                   p.panels / plan.size.panels,
                   p.lhs.offset,
                   p.lhs_group,
                   p.k_stride,
                   panel_elements,
                   p.panels * panel_elements,
                   unpacked.row_stride,
                   unpacked.column_stride,
                   work.end_rows};
  for (std::size_t i = 0; i < plan.outer_count; ++i)
    launch.params.insert(launch.params.end(), {work.extents[i], work.lhs_steps[i], work.rhs_steps[i]});
  epilogue.append_params(launch.params);
  launch.table = p.k_offsets;
  const bool nothing = work.items * plan.size.span_rows == 0 || p.columns == 0 || p.groups == 0;
  launch.extent = nothing ? 0 : work.units();
  launch.grain = grain_for(launch.extent, plan.size.rows() * plan.tile.vectors *
                                              Tile::cost_of_register(p.k_extent) * work.block * work.columns);
  launch.scratch_bytes = work.scratch_bytes;
  launch.request.emit = [=](KernelBuilder& e, mlir::Value buffers, mlir::Value params, mlir::Value begin,
                            mlir::Value end) {
    Epilogue finish = epilogue;
    Emitter(e, plan, finish, buffers, params).run(begin, end);
  };
  return launch;
}

}  // namespace kiln::codegen

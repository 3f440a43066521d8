// Contractions of few results over many chunks of k, whose lanes are chunks. Elements of A and B, which lie
// along k, are transposed in registers. The operand of fewer lines (rows of A, columns of B) is held: it is
// transposed once for a block of k, into memory on the stack, and read by all lines of the other. Chunk sums
// are added in the order of k.
#include "codegen/cpu/contraction/chunk_lanes.h"

#include "codegen/cpu/contraction/chunk_lanes_plan.h"
#include "codegen/emit/epilogue.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/outer_axes.h"
#include "codegen/emit/planned_launch.h"
#include "codegen/emit/tile.h"
#include "codegen/target/choices.h"

namespace kiln::codegen {
namespace {

using Value = mlir::Value;
using Values = llvm::SmallVector<Value>;

constexpr ParamNames chunk_lanes_names{"k_extent", "lhs_offset",      "rows",
                                       "columns",  "lhs_line_stride", "rhs_line_stride"};
/// The parameters of the batch's axes follow.
using ChunkLanesParams = KernelParams<chunk_lanes_names>;

constexpr int registers = choices::registers_of_chunks;

class ChunkLanesEmitter {
 public:
  ChunkLanesEmitter(KernelBuilder& e, const ChunkLanesPlan& plan, Epilogue& epilogue, const KernelArgs& args)
      : e(e),
        plan_(plan),
        tile_(plan.tile),
        epilogue_(epilogue),
        args_(args),
        params_(e, args.params),
        batch_(e, args.params, ChunkLanesParams::size, plan.batch_axes) {}

  void run() {
    const Value lhs =
                    e.element(e.buffer(args_.buffers, plan_.lhs.operand), params_["lhs_offset"], tile_.dtype),
                rhs = e.buffer(args_.buffers, plan_.rhs.operand);
    rows_ = params_["rows"];
    columns_ = params_["columns"];
    other_lines_ = plan_.holds_rhs ? rows_ : columns_;
    const Value lhs_stride = params_["lhs_line_stride"], rhs_stride = params_["rhs_line_stride"];
    held_stride_ = plan_.holds_rhs ? rhs_stride : lhs_stride;
    other_stride_ = plan_.holds_rhs ? lhs_stride : rhs_stride;
    results_ = e.mul(other_lines_, e.index(plan_.held().lines));
    block_ = e.stack(tile_.wide(), plan_.block() * plan_.held().lines * plan_.chunks());
    sums_ = e.stack(tile_.wide(), std::int64_t{choices::max_results_of_chunk_lanes} * plan_.chunks());
    partial_ = e.stack(tile_.wide(), choices::max_results_of_chunk_lanes);
    totals_ = e.stack(tile_.wide(), choices::max_results_of_chunk_lanes);
    e.loop(args_.begin, args_.end, e.index(1), [&](Value task) {
      const Values index = plan_.batch_axes > 0 ? batch_.index(e, task) : Values();
      const Value own_lhs = e.element(lhs, batch_.lhs_offset(e, index), tile_.dtype),
                  own_rhs = e.element(rhs, batch_.rhs_offset(e, index), tile_.dtype);
      held_ = plan_.holds_rhs ? own_rhs : own_lhs;
      other_ = plan_.holds_rhs ? own_lhs : own_rhs;
      sum();
      epilogue_.prepare(e, args_, batch_.end(), index);
      store();
    });
  }

 private:
  /// The chunks of a group: where their elements begin, in values of k after the group's first.
  struct Lanes {
    Values starts;  // of all lanes; none: lane l is chunk l
  };

  void sum() {
    const Tile scalar{tile_.dtype, 1, 1, 1};
    each_result([&](Value i) { store_scalar(scalar.initial_total(e), totals_, i); });
    const Value length = e.index(Tile::chunk), group = e.index(plan_.chunks() * Tile::chunk),
                zero = e.index(0), k_extent = params_["k_extent"],
                whole = e.whole_steps(zero, k_extent, group);
    e.loop(zero, whole, group, [&](Value from) {
      clear();
      add_blocks(from, zero, length, {});
      add_to_totals(e.index(plan_.chunks()));
    });
    e.when(e.less(whole, k_extent), [&] { add_last(whole); });
  }

  /// The last group: some whole chunks and perhaps a shorter one, whose lane stops at its end. Lanes without
  /// a chunk compute the first one.
  void add_last(Value group) {
    const Value length = e.index(Tile::chunk), zero = e.index(0), one = e.index(1),
                left = e.sub(params_["k_extent"], group), whole = e.div(left, length),
                rest = e.rem(left, length);
    clear();
    const auto starts = [&](Value chunks) {
      Values all;
      for (int lane = 0; lane < plan_.chunks(); ++lane)
        all.push_back(e.select(e.less(e.index(lane), chunks), e.index(lane * Tile::chunk), zero));
      return all;
    };
    e.loop(zero, e.index(2), one, [&](Value part) {
      const Value first = e.less(part, one);
      add_blocks(group, e.select(first, zero, rest),
                 e.select(first, rest, e.select(e.less(zero, whole), length, rest)),
                 {starts(e.select(first, e.add(whole, one), whole))});
      e.when(first, [&] {
        each_result([&](Value i) {
          store_scalar(load_scalar(sums_, e.add(e.mul(i, all_chunks()), whole)), partial_, i);
        });
      });
    });
    add_to_totals(whole);
    e.when(e.less(zero, rest), [&] {
      each_result([&](Value i) {
        store_scalar(scalar().plus(e, load_scalar(totals_, i), load_scalar(partial_, i)), totals_, i);
      });
    });
  }

  Tile scalar() const { return {tile_.dtype, 1, 1, 1}; }
  Value all_chunks() { return e.index(plan_.chunks()); }
  void each_result(const KernelBuilder::LoopBody& body) { e.loop(e.index(0), results_, e.index(1), body); }
  Value load_scalar(Value array, Value i) {
    return e.load_scalar(e.element(array, i, tile_.wide()), tile_.wide());
  }
  void store_scalar(Value value, Value array, Value i) {
    e.store_scalar(value, e.element(array, i, tile_.wide()), tile_.wide());
  }

  void clear() {
    const Value zero = e.number(tile_.dtype, 0, tile_.lanes);
    e.loop(e.index(0), e.mul(results_, all_chunks()), e.index(tile_.lanes),
           [&](Value at) { e.store(zero, e.element(sums_, at, tile_.wide()), tile_.wide(), tile_.lanes); });
  }
  void add_to_totals(Value chunks) {
    each_result([&](Value i) {
      const Value first = e.mul(i, all_chunks());
      const auto total = e.loop(e.index(0), chunks, e.index(1), {load_scalar(totals_, i)},
                                [&](Value lane, mlir::ValueRange total) -> Values {
                                  return {scalar().plus(e, total[0], load_scalar(sums_, e.add(first, lane)))};
                                });
      store_scalar(total[0], totals_, i);
    });
  }

  /// The products at [from, to) of each chunk of the group that begins at k = `group`.
  void add_blocks(Value group, Value from, Value to, const Lanes& lanes) {
    const Value length = e.index(plan_.block());
    e.loop(from, to, length, [&](Value first) {
      const Value end = e.min(e.add(first, length), to);
      hold(group, first, end, lanes);
      const ChunkSide& other = plan_.other();
      if (other.interleaved) return add_interleaved(group, first, end, lanes);
      e.loop(e.index(0), other_lines_, e.index(1),
             [&](Value line) { add_line(line, group, first, end, lanes); });
    });
  }

  /// Whole steps in [from, to), then, where lanes are not all whole chunks, single values of k.
  using Body = std::function<Values(Value k, int count, mlir::ValueRange carried)>;
  Values each_step(const ChunkSide& side, Value from, Value to, const Lanes& lanes, const Values& carried,
                   const Body& body) {
    const int step = plan_.step(side);
    const Value whole = e.whole_steps(from, to, e.index(step));
    const auto over = [&](Value from, Value to, int count, const Values& before) {
      return Values(e.loop(from, to, e.index(count), before,
                           [&](Value k, mlir::ValueRange at) { return body(k, count, at); }));
    };
    const Values after = over(from, whole, step, carried);
    return lanes.starts.empty() ? after : over(whole, to, 1, after);
  }

  /// Calls `body` with `count` consecutive elements of each chunk of register v, a register for each number.
  /// The first is at `base` for the group's first value of k. Each value of k has `k_elements` elements of
  /// the side.
  void each_element(Value base, int v, int k_elements, int count, const Lanes& lanes,
                    llvm::function_ref<void(int number, Value elements)> body) {
    const auto address = [&](int lane, int first) {
      const int chunk = v * tile_.lanes + lane;
      const Value start = lanes.starts.empty()
                              ? e.index(chunk * Tile::chunk * k_elements)
                              : e.mul(lanes.starts[static_cast<std::size_t>(chunk)], e.index(k_elements));
      return e.element(e.element(base, start, tile_.dtype), e.index(first), tile_.dtype);
    };
    const int square = plan_.square();
    if (count % square != 0) {  // of a single value of k
      for (int i = 0; i < count; ++i)
        body(i, joined(llvm::map_to_vector(llvm::seq(tile_.lanes), [&](int lane) {
               return e.load_scalar(address(lane, i), tile_.dtype);
             })));
      return;
    }
    for (int first = 0; first < count; first += square) {
      const Values at =
          llvm::map_to_vector(llvm::seq(tile_.lanes), [&](int lane) { return address(lane, first); });
      const Values all =
          square < tile_.lanes ? e.load_half_transposed(at, tile_.dtype) : e.load_transposed(at, tile_.dtype);
      for (auto [i, elements] : llvm::enumerate(all)) body(first + static_cast<int>(i), elements);
    }
  }
  /// At `count` values of k of each chunk of a group, the first of them at `base`: prefetches as many of the
  /// next group to L2, in the order of their addresses. The lines of a group are too far apart for hardware
  /// prefetchers.
  void prefetch_next_group(Value base, Value k, int k_elements, int count) {
    if (!plan_.streams || count == 1) return;
    const int bytes = count * k_elements * static_cast<int>(size_of(tile_.dtype)) * plan_.chunks();
    // From k of the group's first chunk to k * chunks of the next group's.
    const Value ahead = e.add(e.index(plan_.chunks() * Tile::chunk), e.mul(k, e.index(plan_.chunks() - 1))),
                first = e.element(base, e.mul(ahead, e.index(k_elements)), tile_.dtype);
    e.prefetch(first, bytes, KernelBuilder::Cache::l2);
  }
  /// One register of scalars.
  Value joined(const Values& scalars) {
    Value all = e.number(tile_.dtype, 0, tile_.lanes);
    for (auto [lane, scalar] : llvm::enumerate(scalars))
      all = mlir::LLVM::InsertElementOp::create(e.b, e.loc, all, scalar,
                                                e.index(static_cast<std::int64_t>(lane)));
    return all;
  }

  /// Where the held element of (k, line) is: `number` counts lines, then values of k of the block.
  Value held_at(Value number, int v) {
    return e.element(block_, e.add(e.mul(number, all_chunks()), e.index(v * tile_.lanes)), tile_.wide());
  }
  void hold(Value group, Value from, Value to, const Lanes& lanes) {
    const ChunkSide& side = plan_.held();
    const int own = side.interleaved ? 1 : side.lines, k_elements = side.interleaved ? side.lines : 1;
    for (int line = 0; line < own; ++line) {
      const Value first = e.element(
          held_, e.add(e.mul(group, e.index(k_elements)), e.mul(e.index(line), held_stride_)), tile_.dtype);
      each_step(side, from, to, lanes, {}, [&](Value k, int count, mlir::ValueRange) -> Values {
        const Value base = e.element(first, e.mul(k, e.index(k_elements)), tile_.dtype);
        prefetch_next_group(base, k, k_elements, count);
        for (int v = 0; v < registers; ++v)
          each_element(base, v, k_elements, k_elements * count, lanes, [&](int number, Value elements) {
            const Value place = e.add(e.mul(e.sub(k, from), e.index(side.lines)),
                                      e.index(side.interleaved ? number : number * side.lines + line));
            e.store(elements, held_at(place, v), tile_.wide(), tile_.lanes);
          });
        return {};
      });
    }
  }
  Value held(Value k, Value from, int line, int v) {
    return e.load(held_at(e.add(e.mul(e.sub(k, from), e.index(plan_.held().lines)), e.index(line)), v),
                  tile_.wide(), tile_.lanes);
  }

  /// The address of the sums of a line of the other side with held line `line`.
  Value sums_at(Value other, int line, int v) {
    const Value result = e.add(e.mul(other, e.index(plan_.held().lines)), e.index(line));
    return e.element(sums_, e.add(e.mul(result, all_chunks()), e.index(v * tile_.lanes)), tile_.wide());
  }

  void add_line(Value line, Value group, Value from, Value to, const Lanes& lanes) {
    const int held_lines = plan_.held().lines;
    const Value first = e.element(other_, e.add(group, e.mul(line, other_stride_)), tile_.dtype);
    Values sums;
    for (int h = 0; h < held_lines; ++h)
      for (int v = 0; v < registers; ++v)
        sums.push_back(e.load(sums_at(line, h, v), tile_.wide(), tile_.lanes));
    const Values after =
        each_step(plan_.other(), from, to, lanes, sums, [&](Value k, int count, mlir::ValueRange before) {
          Values next(before);
          prefetch_next_group(e.element(first, k, tile_.dtype), k, 1, count);
          for (int v = 0; v < registers; ++v)
            each_element(e.element(first, k, tile_.dtype), v, 1, count, lanes, [&](int i, Value elements) {
              for (int h = 0; h < held_lines; ++h) {
                Value& sum = next[static_cast<std::size_t>(h * registers + v)];
                sum = tile_.multiply_add(e, elements, held(e.add(k, e.index(i)), from, h, v), sum);
              }
            });
          return next;
        });
    for (int h = 0; h < held_lines; ++h)
      for (int v = 0; v < registers; ++v)
        e.store(after[static_cast<std::size_t>(h * registers + v)], sums_at(line, h, v), tile_.wide(),
                tile_.lanes);
  }

  /// The same for all lines of an interleaved side, whose elements at one k come one after the other.
  void add_interleaved(Value group, Value from, Value to, const Lanes& lanes) {
    const int lines = plan_.other().lines, held_lines = plan_.held().lines;
    const Value first = e.element(other_, e.mul(group, e.index(lines)), tile_.dtype);
    for (int v = 0; v < registers; ++v) {
      Values sums;
      for (int line = 0; line < lines; ++line)
        for (int h = 0; h < held_lines; ++h)
          sums.push_back(e.load(sums_at(e.index(line), h, v), tile_.wide(), tile_.lanes));
      const Values after =
          each_step(plan_.other(), from, to, lanes, sums, [&](Value k, int count, mlir::ValueRange before) {
            Values next(before);
            const Value base = e.element(first, e.mul(k, e.index(lines)), tile_.dtype);
            if (v == 0) prefetch_next_group(base, k, lines, count);
            each_element(base, v, lines, lines * count, lanes, [&](int number, Value elements) {
              for (int h = 0; h < held_lines; ++h) {
                Value& sum = next[static_cast<std::size_t>(number % lines * held_lines + h)];
                sum =
                    tile_.multiply_add(e, elements, held(e.add(k, e.index(number / lines)), from, h, v), sum);
              }
            });
            return next;
          });
      for (int line = 0; line < lines; ++line)
        for (int h = 0; h < held_lines; ++h)
          e.store(after[static_cast<std::size_t>(line * held_lines + h)], sums_at(e.index(line), h, v),
                  tile_.wide(), tile_.lanes);
    }
  }

  void store() {
    const Value zero = e.index(0), one = e.index(1), held_lines = e.index(plan_.held().lines);
    e.loop(zero, rows_, one, [&](Value row) {
      e.loop(zero, columns_, one, [&](Value column) {
        const Value result =
            plan_.holds_rhs ? e.add(e.mul(row, held_lines), column) : e.add(e.mul(column, held_lines), row);
        epilogue_.store(e, tile_.value(e, load_scalar(totals_, result)), row, column, 1, {});
      });
    });
  }

  KernelBuilder& e;
  const ChunkLanesPlan& plan_;
  const Tile& tile_;
  Epilogue& epilogue_;
  const KernelArgs& args_;
  const ChunkLanesParams params_;
  const OuterAxes batch_;
  Value rows_, columns_, other_lines_, results_, held_stride_, other_stride_;
  Value block_, sums_, partial_, totals_;  // on the stack
  // Of the product.
  Value held_, other_;
};

}  // namespace

std::optional<Launch> launch_chunk_lanes(ir::FusionOp fusion, mlir::Value root, const Contraction& p,
                                         const CpuTarget& target) {
  const DType dtype = dtype_of_value(root);
  const int lanes = target.lanes(std::max<std::size_t>(size_of(dtype), 4));
  if (!p.unpacked || p.rhs_dtype != dtype || lanes == 1) return std::nullopt;
  const Dims extra_strides[] = {p.lhs_strides, p.rhs_strides};
  const Epilogue epilogue(fusion, root, ir::ranked(root).getRank() - 1, extra_strides, /*fixed_in_rows=*/1);
  const llvm::ArrayRef<std::int64_t> batch = llvm::ArrayRef(epilogue.extents()).drop_back();
  const std::int64_t rows = epilogue.extents().back(), products = mlir::ShapedType::getNumElements(batch),
                     row_stride = epilogue.extra_strides(0).back();
  const auto plan = plan_chunk_lanes(p, {dtype, 1, 1, lanes}, rows, row_stride, batch.size(), target);
  if (!plan) return std::nullopt;

  Launch launch = planned_launch<ChunkLanesEmitter>(fusion, "chunk lanes", *plan, epilogue);
  ChunkLanesParams::append(launch.params, {{"k_extent", p.k_extent},
                                           {"lhs_offset", p.lhs.offset},
                                           {"rows", rows},
                                           {"columns", p.columns},
                                           {"lhs_line_stride", row_stride},
                                           {"rhs_line_stride", p.unpacked->column_stride}});
  OuterAxes::append(launch.params, epilogue);
  epilogue.append_params(launch.params);
  launch.extent = products;
  launch.grain = grain_for(launch.extent, (rows + p.columns) * p.k_extent);
  launch.request.in_order = true;  // LLVM would move all loads of a square, and spill it
  return launch;
}

}  // namespace kiln::codegen

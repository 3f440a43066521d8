// Cumulative operations: a chain along one axis; lanes and threads run along the others. Semantics:
// kiln.cumulative.
//
// Rows are all positions along the axis. Each is combined with the result of the preceding row, in the order
// of memory. Short rows keep that result in registers; long ones read it from the result array, still in L1
// or L2.
#include "codegen/cpu/kernels.h"
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/scalar_expr.h"
#include "codegen/math/math.h"
#include "codegen/target/choices.h"

#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
namespace {

using Value = mlir::Value;

constexpr ParamNames cumulative_names{"rows", "row_length", "strip_length"};
using CumulativeParams = KernelParams<cumulative_names>;

/// Everything that the code depends on: equal plans, equal code.
struct CumulativePlan {
  DType dtype;
  ir::Reduce kind;
  int lanes;
  int registers;      // of a short row, whose last one may be masked; 0: rows are long
  bool divides_rows;  // tasks are parts of rows, else arrays of rows

  /// Registers in a step of the loop over a long row.
  static constexpr int step_registers = 4;

  static constexpr auto fields() {
    return std::tuple(PlanField{"dtype", &CumulativePlan::dtype}, PlanField{"kind", &CumulativePlan::kind},
                      PlanField{"lanes", &CumulativePlan::lanes},
                      PlanField{"registers", &CumulativePlan::registers},
                      PlanField{"divides_rows", &CumulativePlan::divides_rows});
  }
};

class CumulativeEmitter {
 public:
  CumulativeEmitter(KernelBuilder& e, const CumulativePlan& plan, const KernelArgs& args)
      : e(e), plan_(plan), args_(args), params_(e, args.params) {}

  void run() {
    rows_ = params_["rows"];
    length_ = params_["row_length"];
    const Value from = e.buffer(args_.buffers, 0), to = e.buffer(args_.buffers, 1);
    from_ = from;
    to_ = to;
    if (plan_.divides_rows) return long_rows(args_.begin, args_.end);
    e.loop(args_.begin, args_.end, e.index(1), [&](Value number) {
      const Value first = e.mul(number, e.mul(rows_, length_));
      from_ = at(from, first);
      to_ = at(to, first);
      plan_.registers > 0 ? short_rows() : long_rows(e.index(0), length_);
    });
  }

 private:
  Value at(Value base, Value index) { return e.element(base, index, plan_.dtype); }
  Value load(Value base, Value index, Value mask) {
    return e.load(at(base, index), plan_.dtype, plan_.lanes, mask);
  }
  void store(Value x, Value index, Value mask) { e.store(x, at(to_, index), plan_.dtype, plan_.lanes, mask); }
  Value combined(Value before, Value x) {
    return emit_binary(e.b, e.loc, ir::combiner(plan_.kind), plan_.dtype, before, x, e.target.isa);
  }

  void short_rows() {
    const Value last = e.index((plan_.registers - 1) * plan_.lanes);
    const Value mask = plan_.lanes > 1 ? e.mask_below(e.sub(length_, last), plan_.lanes) : Value();
    const auto row = [&](Value first, mlir::ValueRange before) {
      llvm::SmallVector<Value> results;
      for (int i = 0; i < plan_.registers; ++i) {
        const Value place = e.add(first, e.index(i * plan_.lanes)),
                    of_last = i + 1 == plan_.registers ? mask : Value(), x = load(from_, place, of_last);
        results.push_back(before.empty() ? x : combined(before[static_cast<std::size_t>(i)], x));
        store(results.back(), place, of_last);
      }
      return results;
    };
    const auto first = row(e.index(0), {});
    e.loop(e.index(1), rows_, e.index(1), first,
           [&](Value number, mlir::ValueRange before) { return row(e.mul(number, length_), before); });
  }

  /// Columns [begin, end). All columns are one stream, if the row before is still in L1 or L2 then; parts
  /// of rows are strips.
  void long_rows(Value begin, Value end) {
    const Value strip = params_["strip_length"];
    const Value is_stream =
        mlir::arith::AndIOp::create(e.b, e.loc, e.less(e.sub(length_, strip), e.index(1)),
                                    e.less(e.sub(length_, e.sub(end, begin)), e.index(1)));
    e.when(
        is_stream,
        [&] {
          copy(e.index(0), length_);
          combine(length_, e.mul(length_, e.sub(rows_, e.index(1))));
        },
        [&] {
          e.loop(begin, end, strip, [&](Value column) {
            const Value count = e.min(strip, e.sub(end, column));
            copy(column, count);
            e.loop(e.index(1), rows_, e.index(1),
                   [&](Value number) { combine(e.add(e.mul(number, length_), column), count); });
          });
        });
  }
  void copy(Value first, Value count) {
    each_aligned_register(first, count, [&](Value i, Value mask) { store(load(from_, i, mask), i, mask); });
  }
  /// Each element with the result of the row before.
  void combine(Value first, Value count) {
    each_aligned_register(first, count, [&](Value i, Value mask) {
      store(combined(load(to_, e.sub(i, length_), mask), load(from_, i, mask)), i, mask);
    });
  }
  /// `body` for registers of the elements [first, first + count) of the results, perhaps more than once for
  /// an element. All registers except the first and the last one are aligned: a store of two cache lines
  /// takes as long as two.
  void each_aligned_register(Value first, Value count, llvm::function_ref<void(Value i, Value mask)> body) {
    const Value lanes = e.index(plan_.lanes), step = e.index(CumulativePlan::step_registers * plan_.lanes);
    e.when(
        e.less(count, lanes),
        [&] {  // of one lane: no elements, as of the rows after a single one
          if (plan_.lanes > 1) body(first, e.mask_below(count, plan_.lanes));
        },
        [&] {
          const Value end = e.add(first, count),
                      aligned =
                          e.add(first,
                                e.sub(lanes, e.rem(e.number_of_element(at(to_, first), plan_.dtype), lanes))),
                      steps_end = e.whole_steps(aligned, end, step),
                      whole_end = e.whole_steps(aligned, end, lanes);
          body(first, {});
          e.loop(aligned, steps_end, step, [&](Value i) {
            for (int r = 0; r < CumulativePlan::step_registers; ++r)
              body(e.add(i, e.index(r * plan_.lanes)), {});
          });
          e.loop(steps_end, whole_end, lanes, [&](Value i) { body(i, {}); });
          e.when(e.less(whole_end, end), [&] { body(e.sub(end, lanes), {}); });
        });
  }

  KernelBuilder& e;
  const CumulativePlan& plan_;
  const KernelArgs& args_;
  const CumulativeParams params_;
  Value rows_, length_;
  Value from_, to_;  // of the array of rows
};

}  // namespace

Launch launch_cumulative(ir::CumulativeOp op, const CpuTarget& target) {
  const llvm::ArrayRef<std::int64_t> shape = ir::ranked(op.getX()).getShape();
  const auto axis = static_cast<std::size_t>(op.getAxis());
  const std::int64_t arrays = mlir::ShapedType::getNumElements(shape.take_front(axis)), rows = shape[axis],
                     length = mlir::ShapedType::getNumElements(shape.drop_front(axis + 1));
  const DType dtype = dtype_of_value(op.getX());
  const int lanes = length > 1 ? target.lanes(size_of(dtype)) : 1;
  const std::int64_t registers = llvm::divideCeilSigned(length, lanes);
  // Half of the registers: few enough that none is spilled.
  const bool is_long = registers > target.registers() / 2;
  const CumulativePlan plan{.dtype = dtype,
                            .kind = op.getKind(),
                            .lanes = lanes,
                            .registers = is_long ? 0 : static_cast<int>(registers),
                            .divides_rows = is_long && arrays == 1};
  const std::int64_t strip =
      choices::previous_row_bytes(*target.machine) / static_cast<std::int64_t>(size_of(dtype));
  Launch launch{{name_of_location(op.getLoc()), plan_key("cumulative", plan), op.getLoc(), {}}, {}};
  CumulativeParams::append(launch.params, {{"rows", rows}, {"row_length", length}, {"strip_length", strip}});
  launch.extent = arrays * rows * length == 0 ? 0 : (plan.divides_rows ? length : arrays);
  launch.grain =
      grain_for(launch.extent, rows * (plan.divides_rows ? 1 : length), plan.divides_rows ? 64 : 1);
  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    CumulativeEmitter(e, plan, args).run();
  };
  return launch;
}

}  // namespace kiln::codegen

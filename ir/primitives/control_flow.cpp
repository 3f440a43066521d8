// Loops and branches: primitives that hold bodies.
#include "ir/dialect.h"
#include "ir/gradient_rules.h"
#include "ir/primitives.h"
#include "runtime/fail.h"

namespace kiln::ir {
namespace {

/// Verifies a body's arguments and yielded values.
mlir::LogicalResult expect_signature(mlir::Operation* op, mlir::Region& body, mlir::TypeRange arguments,
                                     mlir::TypeRange yielded) {
  mlir::Block& block = body.front();
  if (block.getArgumentTypes() != arguments)
    return op->emitOpError() << "needs a body with arguments of " << arguments << ", not "
                             << block.getArgumentTypes();
  auto yield = block.empty() ? nullptr : llvm::dyn_cast<YieldOp>(block.back());
  if (!yield) return op->emitOpError("needs a body that ends in kiln.yield");
  if (yield.getOperandTypes() != yielded)
    return op->emitOpError() << "needs a body that yields " << yielded << ", not " << yield.getOperandTypes();
  return mlir::success();
}

bool is_one_bool(mlir::Value v) {
  return ranked(v).getNumElements() == 1 && ranked(v).getElementType().isInteger(1);
}

/// A loop or branch on a tape. Its bodies are differentiated by the operators that compose them
/// (frontend/ops).
struct ControlFlowPrimitive {
  static constexpr bool on_tape_alone = true;
  Values gradient(Primitives&, const Taped&, Value, const Wanted&) const {
    fail("a loop or branch within an operator has no gradient rule");
  }
};

}  // namespace

void Primitives::open_body(std::span<const Value> arguments) {
  begin_body(arguments);
  const auto next = static_cast<std::uint32_t>(types_.size());
  bodies_.push_back({arguments.empty() ? next : arguments.front().id, {}});
}

void Primitives::close_body(std::span<const Value> yielded) {
  use(yielded);
  used_by_closed_.push_back(std::move(bodies_.back().used));
  bodies_.pop_back();
  end_body(yielded);
}

void Primitives::tape_control_flow(std::vector<Value> operands, std::size_t bodies,
                                   std::span<const Value> results) {
  for (; bodies > 0; --bodies) {
    const std::vector<Value>& used = used_by_closed_.back();
    operands.insert(operands.end(), used.begin(), used.end());
    used_by_closed_.pop_back();
  }
  if (!tape_scopes_.empty())
    tape({std::make_shared<const PrimitiveOf<ControlFlowPrimitive>>(ControlFlowPrimitive()),
          std::move(operands),
          {results.begin(), results.end()}});
}

std::vector<Value> Primitives::loop(std::int64_t steps, std::span<const Value> carries,
                                    std::span<const Value> rows, Value condition, const LoopBody& body,
                                    std::optional<std::int64_t> replayed) {
  require_existing(carries);
  require_existing(rows);
  if (steps < 0) fail("a loop cannot take {} steps", steps);
  std::vector<Value> arguments, row_arguments, results;
  for (Value v : carries) arguments.push_back(add_value(TensorType(type(v))));
  for (Value v : rows) {
    if (shape(v).rank() < 1 || shape(v)[0] != steps)
      fail("a loop of {} steps needs as many rows, got {}", steps, type(v).str());
    row_arguments.push_back(add_value({dtype(v), Shape(shape(v).dims().subspan(1))}));
  }
  std::vector<Value> all = arguments;
  all.insert(all.end(), row_arguments.begin(), row_arguments.end());
  open_body(all);
  const LoopStep step = body(arguments, row_arguments);
  std::vector<Value> yielded = step.carries;
  yielded.insert(yielded.end(), step.outputs.begin(), step.outputs.end());
  if (condition.valid()) yielded.push_back(step.condition);
  require_existing(yielded);
  if (step.carries.size() != carries.size())
    fail("a loop has {} initial carried values, but its body returns {}", carries.size(),
         step.carries.size());
  for (std::size_t i = 0; i < carries.size(); ++i)
    if (!(type(step.carries[i]) == type(carries[i])))
      fail("the loop-carried value {} is {} before a step and {} after it: shape and dtype must stay", i,
           type(carries[i]).str(), type(step.carries[i]).str());
  const auto check_condition = [&](Value v) {
    if (dtype(v) != DType::boolean || type(v).elements() != 1)
      fail("the condition of a loop must be one bool, got {}", type(v).str());
  };
  if (condition.valid()) {
    check_condition(condition);
    check_condition(step.condition);
    if (shape(condition) != shape(step.condition)) fail_internal("the conditions of a loop differ in shape");
  }
  close_body(yielded);
  for (Value v : carries) results.push_back(add_value(TensorType(type(v))));
  for (Value v : step.outputs) results.push_back(add_value({dtype(v), Shape::stacked(steps, shape(v))}));
  emit_loop({steps, carries, rows, condition, replayed}, results);
  std::vector<Value> operands(carries.begin(), carries.end());
  operands.insert(operands.end(), rows.begin(), rows.end());
  if (condition.valid()) operands.push_back(condition);
  tape_control_flow(std::move(operands), 1, results);
  return results;
}

std::vector<Value> Primitives::branch(Value condition, const BranchBody& then, const BranchBody& otherwise) {
  require_existing({{condition}});
  if (dtype(condition) != DType::boolean || type(condition).elements() != 1)
    fail("a branch needs one bool, got {}", type(condition).str());
  const auto compose = [&](const BranchBody& body) {
    open_body({});
    std::vector<Value> values = body();
    require_existing(values);
    close_body(values);
    return values;
  };
  const std::vector<Value> a = compose(then), b = compose(otherwise);
  if (a.size() != b.size()) fail("one branch gives {} values, the other {}", a.size(), b.size());
  std::vector<Value> results;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(type(a[i]) == type(b[i])))
      fail("value {} is {} in one branch and {} in the other", i, type(a[i]).str(), type(b[i]).str());
    results.push_back(add_value(TensorType(type(a[i]))));
  }
  emit_branch(condition, results);
  tape_control_flow({condition}, 2, results);
  return results;
}

mlir::RankedTensorType row_type(mlir::Type stacked) {
  auto type = llvm::cast<mlir::RankedTensorType>(stacked);
  return mlir::RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
}

mlir::LogicalResult LoopOp::verify() {
  auto steps = static_cast<std::int64_t>(getSteps());
  if (steps < 0) return emitOpError("needs a number of steps that is not negative");
  llvm::SmallVector<mlir::Type> arguments(getCarries().getTypes()), yielded(arguments);
  auto stacked = [&](mlir::Type type) {
    auto shape = llvm::cast<mlir::RankedTensorType>(type).getShape();
    return !shape.empty() && shape.front() == steps;
  };
  for (mlir::Type type : getRows().getTypes()) {
    if (!stacked(type)) return emitOpError() << "needs rows of extent " << steps << ", not " << type;
    arguments.push_back(row_type(type));
  }
  std::size_t carried = getCarries().size();
  if (getNumResults() < carried ||
      mlir::TypeRange(getResultTypes()).take_front(carried) != mlir::TypeRange(getCarries().getTypes()))
    return emitOpError("gives its carried values first");
  for (mlir::Type type : mlir::TypeRange(getResultTypes()).drop_front(carried)) {
    if (!stacked(type)) return emitOpError() << "needs outputs of extent " << steps << ", not " << type;
    yielded.push_back(row_type(type));
  }
  if (getCondition()) {
    if (!is_one_bool(getCondition())) return emitOpError("needs a condition of one bool");
    yielded.push_back(getCondition().getType());
  }
  return expect_signature(*this, getBody(), arguments, yielded);
}

mlir::LogicalResult IfOp::verify() {
  if (!is_one_bool(getCondition())) return emitOpError("chooses by one bool");
  if (mlir::failed(expect_signature(*this, getThen(), {}, getResultTypes()))) return mlir::failure();
  return expect_signature(*this, getOtherwise(), {}, getResultTypes());
}

}  // namespace kiln::ir

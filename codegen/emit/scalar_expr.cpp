// Builds and emits scalar expressions.
#include "codegen/emit/scalar_expr.h"

#include "codegen/math/math.h"
#include "ir/windows.h"
#include "runtime/dtype_table.h"
#include "runtime/fail.h"

#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/SaveAndRestore.h>

namespace kiln::codegen {
namespace {

/// A splat's number as exact text.
std::string splat_text(ir::ConstantOp op) {
  auto splat = llvm::cast<mlir::DenseElementsAttr>(op.getValue());
  llvm::SmallString<40> text;
  if (llvm::isa<mlir::FloatType>(splat.getElementType()))
    splat.getSplatValue<llvm::APFloat>().bitcastToAPInt().toString(text, 16, false);
  else
    splat.getSplatValue<llvm::APInt>().toString(text, 16, false);
  return std::string(text);
}

/// A splat's number in the register type, exactly.
mlir::Value splat_value(KernelBuilder& e, ir::ConstantOp op, int lanes) {
  auto splat = llvm::cast<mlir::DenseElementsAttr>(op.getValue());
  DType d = dtype_of_value(op.getResult());
  mlir::Type t = e.register_type(d);
  mlir::TypedAttr attr;
  if (auto f = llvm::dyn_cast<mlir::FloatType>(t)) {
    llvm::APFloat v = splat.getSplatValue<llvm::APFloat>();
    bool inexact;
    v.convert(f.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    attr = mlir::FloatAttr::get(t, v);
  } else {
    attr = mlir::IntegerAttr::get(t, splat.getSplatValue<llvm::APInt>());
  }
  return e.splat(mlir::arith::ConstantOp::create(e.b, e.loc, attr), lanes);
}

}  // namespace

llvm::SmallVector<Output> outputs_of(ir::FusionOp fusion) {
  return llvm::map_to_vector(fusion.getResults(), [](mlir::OpResult result) -> Output {
    const mlir::Value yielded = ir::yielded_as(result).get();
    if (auto pad = yielded.getDefiningOp<ir::PadOp>()) return {pad.getX(), ir::inner_of(pad)};
    if (auto insert = yielded.getDefiningOp<ir::InsertOp>())
      return {insert.getUpdate(), ir::replaced_by(insert)};
    return {yielded, ir::View::whole(result)};
  });
}

llvm::SmallVector<mlir::Value> values_of(llvm::ArrayRef<Output> outputs) {
  return llvm::map_to_vector(outputs, [](const Output& o) { return o.value; });
}

ScalarExpr::ScalarExpr(llvm::ArrayRef<mlir::Value> outputs, llvm::ArrayRef<mlir::Value> roots)
    : roots_(roots), outputs_(outputs.begin(), outputs.end()) {
  for (mlir::Value v : outputs) visit(v);
  text_ += " ->";
  for (mlir::Value v : outputs) text_ += fmt::format(" %{}", number_[v]);
}

void ScalarExpr::note_type(mlir::Value v) {
  // A bool takes no room of its own.
  widest_ = std::max(widest_, size_of(wide_dtype(dtype_of_value(v))));
}

void ScalarExpr::visit(mlir::Value v) {
  if (number_.count(v)) return;
  mlir::Operation* op = v.getDefiningOp();
  auto add_leaf = [&](Leaf leaf, const std::string& text) {
    leaf.value = v;
    leaf.dtype = dtype_of_value(v);
    note_type(v);
    leaf_index_[v] = leaves_.size();
    number_[v] = number_.size();
    text_ += fmt::format(" %{}=leaf{}:{}:{};", number_[v], leaves_.size(), text, name_of(leaf.dtype));
    leaves_.push_back(std::move(leaf));
  };
  const auto add_root = [&](std::int64_t number) {
    Leaf leaf{Leaf::Kind::root, v, {}, 0, {}};
    leaf.root = number;
    add_leaf(leaf, fmt::format("root{}", number));
  };
  if (const auto root = llvm::find(roots_, v); root != roots_.end()) return add_root(root - roots_.begin());
  if (auto slice = llvm::dyn_cast_if_present<ir::SliceOp>(op);
      slice && llvm::is_contained(roots_, slice.getX()))
    return add_root(ir::windows_over(slice.getX())->point_of(slice));
  if (op && (ir::is_pointwise(op) || llvm::isa<ir::ConstantOp>(op))) {
    for (mlir::Value operand : op->getOperands()) visit(operand);
    note_type(v);
    number_[v] = number_.size();
    std::string what = llvm::TypeSwitch<mlir::Operation*, std::string>(op)
                           .Case([](ir::UnaryOp o) { return ir::stringifyUnary(o.getKind()).str(); })
                           .Case([](ir::BinaryOp o) { return ir::stringifyBinary(o.getKind()).str(); })
                           .Case([](ir::FmaOp) { return std::string("fma"); })
                           .Case([](ir::CompareOp o) { return ir::stringifyCompare(o.getKind()).str(); })
                           .Case([](ir::SelectOp) { return std::string("select"); })
                           .Case([](ir::CastOp) { return std::string("cast"); })
                           .Case([](ir::ConstantOp o) { return "0x" + splat_text(o); });
    text_ += fmt::format(" %{}={}:{}(", number_[v], what, name_of(dtype_of_value(v)));
    for (mlir::Value operand : op->getOperands()) text_ += fmt::format("%{} ", number_[operand]);
    text_ += ");";
    order_.push_back(op);
    return;
  }
  if (auto iota = llvm::dyn_cast_if_present<ir::IotaOp>(op))
    return add_leaf({Leaf::Kind::iota, v, {}, 0, {}, static_cast<std::int64_t>(iota.getAxis())}, "iota");
  if (auto random = llvm::dyn_cast_if_present<ir::RandomUniformOp>(op)) {
    auto draw = static_cast<std::int64_t>(random.getDraw());
    auto slot = static_cast<std::size_t>(llvm::find(counter_offsets_, draw) - counter_offsets_.begin());
    if (slot == counter_offsets_.size()) counter_offsets_.push_back(draw);
    return add_leaf({Leaf::Kind::random, v, {}, 0, {}, 0, slot, static_cast<int>(random.getWord())},
                    fmt::format("random{}.{}", slot, random.getWord()));
  }
  if (llvm::isa_and_present<ir::GatherOp>(op)) return add_leaf({Leaf::Kind::gather, v, {}, 0, {}}, "gather");
  ir::View view = ir::view_of(v);
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(view.base);
  if (!argument) fail_internal("a fusion reads a value that is not a window on its arguments");
  add_leaf({Leaf::Kind::memory, v, {}, argument.getArgNumber(), view},
           fmt::format("arg{}", argument.getArgNumber()));
}

/// The registers that a function leaves room for; 0 for other operations.
static int registers_of(mlir::Operation* op) {
  if (auto unary = llvm::dyn_cast<ir::UnaryOp>(op))
    return registers_at_once(unary.getKind(), dtype_of_value(unary.getX()));
  if (auto binary = llvm::dyn_cast<ir::BinaryOp>(op)) return registers_at_once(binary.getKind());
  return 0;
}

int ScalarExpr::min_registers() const {
  int least = 0;
  for (mlir::Operation* op : order_)
    if (const int wanted = registers_of(op); wanted > 0)
      least = least == 0 ? wanted : std::min(least, wanted);
  return least;
}

int ScalarExpr::function_depth() const {
  llvm::DenseMap<mlir::Value, int> depths;
  int deepest = 0;
  for (mlir::Operation* op : order_) {
    int depth = 0;
    for (mlir::Value v : op->getOperands()) depth = std::max(depth, depths.lookup(v));
    depth += registers_of(op) > 0 ? 1 : 0;
    depths[op->getResult(0)] = depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

llvm::SmallVector<mlir::Value> ScalarExpr::emit(KernelBuilder& e, int lanes,
                                                const std::function<mlir::Value(std::size_t)>& leaf) const {
  return emit(e, lanes, 1, [&](std::size_t, std::size_t i) { return leaf(i); }).front();
}

/// The operation `op` on the registers `in(i)` of its operands.
static mlir::Value emit_operation(KernelBuilder& e, mlir::Operation* op, int lanes,
                                  llvm::function_ref<mlir::Value(unsigned)> in) {
  const DType d = op->getNumOperands() > 0 ? dtype_of_value(op->getOperand(0)) : DType::f32;
  return llvm::TypeSwitch<mlir::Operation*, mlir::Value>(op)
      .Case([&](ir::UnaryOp o) { return emit_unary(e.b, e.loc, o.getKind(), d, in(0), e.target.isa); })
      .Case(
          [&](ir::BinaryOp o) { return emit_binary(e.b, e.loc, o.getKind(), d, in(0), in(1), e.target.isa); })
      .Case([&](ir::FmaOp) { return emit_fma(e.b, e.loc, d, in(0), in(1), in(2), e.target.isa); })
      .Case([&](ir::CompareOp o) { return emit_compare(e.b, e.loc, o.getKind(), d, in(0), in(1)); })
      .Case([&](ir::SelectOp) { return emit_select(e.b, e.loc, in(0), in(1), in(2)); })
      .Case([&](ir::CastOp o) {
        return emit_cast(e.b, e.loc, d, dtype_of_value(o.getResult()), in(0), e.target.isa);
      })
      .Case([&](ir::ConstantOp o) { return splat_value(e, o, lanes); });
}

std::vector<llvm::SmallVector<mlir::Value>> ScalarExpr::emit(
    KernelBuilder& e, int lanes, std::size_t points,
    const std::function<mlir::Value(std::size_t, std::size_t)>& leaf) const {
  std::vector<llvm::DenseMap<mlir::Value, mlir::Value>> values(points);
  for (std::size_t i = 0; i < leaves_.size(); ++i)
    for (std::size_t place = 0; place < points; ++place) values[place][leaves_[i].value] = leaf(place, i);
  const llvm::SaveAndRestore outer(e.loc);
  for (mlir::Operation* op : order_) {
    e.loc = op->getLoc();
    for (auto& here : values) {
      const auto in = [&](unsigned i) { return here.lookup(op->getOperand(i)); };
      const mlir::Value result = emit_operation(e, op, lanes, in);
      here[op->getResult(0)] = result;
    }
  }
  std::vector<llvm::SmallVector<mlir::Value>> out(points);
  for (std::size_t place = 0; place < points; ++place)
    for (mlir::Value v : outputs_) out[place].push_back(values[place].lookup(v));
  return out;
}

}  // namespace kiln::codegen

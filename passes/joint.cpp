// Cuts a joint function: clones its operations into the forward and the backward half.
#include "passes/joint.h"

#include "ir/build.h"
#include "passes/memory_order.h"
#include "runtime/control.h"

#include <llvm/ADT/STLExtras.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Utils/IndexingUtils.h>
#include <mlir/IR/IRMapping.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace kiln::passes {
namespace {

/// "dense0_fwd (net.cpp:12)", or the operation's name.
std::string place_of(mlir::Operation* op) {
  const auto name = op->getLoc()->findInstanceOf<mlir::NameLoc>();
  const auto line = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  return (name ? name.getName() : op->getName().stripDialect()).str() +
         (line ? fmt::format(" ({}:{})", line.getFilename().str(), line.getLine()) : "");
}

/// A module with one function, filled with clones of a joint function's operations.
class Half {
  static mlir::RankedTensorType ordered(mlir::RankedTensorType type, const MemoryOrder& order) {
    return mlir::RankedTensorType::get(mlir::applyPermutation(type.getShape(), order), type.getElementType());
  }

 public:
  Half(mlir::func::FuncOp joint, const std::string& name)
      : builder_(joint.getContext()), module_(mlir::ModuleOp::create(joint.getLoc())) {
    builder_.setInsertionPointToStart(module_->getBody());
    function_ = mlir::func::FuncOp::create(builder_, joint.getLoc(), name, builder_.getFunctionType({}, {}));
    builder_.setInsertionPointToStart(function_.addEntryBlock());
  }

  /// An argument that stands for `v`.
  void add_argument(mlir::Value v, mlir::DictionaryAttr attrs) {
    mapping_.map(v, function_.getBody().front().addArgument(v.getType(), v.getLoc()));
    attrs_.push_back(attrs);
  }
  /// An argument that stands for `v` with its axes in this order.
  void add_argument(mlir::Value v, const MemoryOrder& order, mlir::DictionaryAttr attrs) {
    if (order.empty()) return add_argument(v, attrs);
    const mlir::RankedTensorType type = ir::ranked(v);
    const mlir::Value argument = function_.getBody().front().addArgument(ordered(type, order), v.getLoc());
    mapping_.map(v, ir::TransposeOp::create(builder_, v.getLoc(), type, argument,
                                            mlir::invertPermutationVector(order)));
    attrs_.push_back(attrs);
  }
  bool has(mlir::Value v) const { return mapping_.contains(v); }
  /// The value, with its axes in this order.
  mlir::Value value(mlir::Value v, const MemoryOrder& order = {}) {
    const mlir::Value own = mapping_.lookup(v);
    if (order.empty()) return own;
    return ir::TransposeOp::create(builder_, v.getLoc(), ordered(ir::ranked(v), order), own, order);
  }
  void clone(mlir::Operation* op) {
    builder_.clone(*op, mapping_)->walk([](mlir::Operation* copy) {
      if (ir::child_block_of(copy) != 0)
        copy->setLoc(llvm::cast<mlir::FusedLoc>(copy->getLoc()).getLocations().front());
    });
  }

  /// A result that the other half takes as an argument.
  struct SavedResult {
    unsigned number;
    std::int64_t offset;
  };
  /// `results`: values of this function.
  mlir::OwningOpRef<mlir::ModuleOp> finish(llvm::ArrayRef<mlir::Value> results,
                                           llvm::ArrayRef<SavedResult> saved = {}) {
    mlir::func::ReturnOp::create(builder_, builder_.getUnknownLoc(), results);
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value v : results) types.push_back(v.getType());
    function_.setFunctionType(
        builder_.getFunctionType(function_.getBody().front().getArgumentTypes(), types));
    function_.setAllArgAttrs(attrs_);
    for (const auto [number, offset] : saved)
      function_.setResultAttr(number, ir::saved_attr, builder_.getI64IntegerAttr(offset));
    return std::move(module_);
  }
  mlir::func::FuncOp function() { return function_; }

 private:
  mlir::OpBuilder builder_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  mlir::IRMapping mapping_;
  llvm::SmallVector<mlir::Attribute> attrs_;
};

class Cutter {
 public:
  Cutter(mlir::func::FuncOp joint, Recompute policy, const TargetModel& target)
      : joint_(joint),
        values_(choose_saved_values(joint_, policy)),
        orders_(memory_orders(joint_.block, target)) {
    for (mlir::Operation& op : joint_.block) position_[&op] = position_.size();
    for (const auto& [v, why] : values_.saved) {
      offsets_.push_back(saved_bytes_);
      saved_bytes_ += aligned_bytes(ir::bytes_of(v));
    }
  }

  CutJoint run() {
    CutJoint out;
    for (mlir::Operation* op : values_.recomputed)
      if (is_repeated(op) && !ir::is_view_op(op))
        for (mlir::Value v : op->getResults())
          out.recomputed_bytes += static_cast<std::size_t>(ir::bytes_of(v));
    out.report = report();
    out.forward = forward(out);
    out.backward = backward(out);
    return out;
  }

 private:
  mlir::DictionaryAttr attrs_of(unsigned argument) {
    mlir::DictionaryAttr attrs = joint_.function.getArgAttrDict(argument);
    return attrs ? attrs : mlir::DictionaryAttr::get(joint_.function.getContext());
  }

  mlir::OwningOpRef<mlir::ModuleOp> forward(CutJoint& out) {
    Half half(joint_.function, joint_.function.getName().str());
    for (unsigned i = 0; i < joint_.inputs; ++i) half.add_argument(joint_.block.getArgument(i), attrs_of(i));
    for (mlir::Operation& op : joint_.block.without_terminator())
      if (values_.forward.contains(&op)) half.clone(&op);
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value v : joint_.outputs) results.push_back(half.value(v));
    llvm::SmallVector<Half::SavedResult> saved;
    for (const auto& [value, offset] : llvm::zip_equal(values_.saved, offsets_)) {
      saved.push_back({static_cast<unsigned>(results.size()), offset});
      results.push_back(half.value(value.first, orders_.lookup(value.first)));
    }
    out.saved = saved.size();
    for (mlir::Value v : joint_.writes) results.push_back(half.value(v));
    for (const llvm::StringLiteral attr : {ir::writes_attr, ir::draws_attr})
      if (mlir::Attribute value = joint_.function->getAttr(attr)) half.function()->setAttr(attr, value);
    half.function()->setAttr(ir::saved_bytes_attr, saved_bytes());
    return half.finish(results, saved);
  }

  mlir::OwningOpRef<mlir::ModuleOp> backward(CutJoint& out) {
    Half half(joint_.function, joint_.function.getName().str() + "_backward");
    // Weights of a network in training change between two calls: a prepacked constant would not be used
    // twice.
    mlir::Builder b(joint_.function.getContext());
    const auto named = [&](llvm::StringRef name) {
      return b.getDictionaryAttr(b.getNamedAttr(ir::name_attr, b.getStringAttr(name)));
    };
    for (unsigned i = 0; i < joint_.inputs; ++i)
      if (values_.kept.contains(joint_.block.getArgument(i))) {
        out.inputs.push_back(i);
        half.add_argument(joint_.block.getArgument(i),
                          named(llvm::cast<mlir::StringAttr>(attrs_of(i).get(ir::name_attr)).getValue()));
      }
    for (std::size_t i = 0; i < joint_.outputs.size(); ++i) {
      mlir::Value v = joint_.outputs[i];
      if (llvm::isa<mlir::BlockArgument>(v) || !values_.kept.contains(v) || half.has(v)) continue;
      out.outputs.push_back(static_cast<std::int64_t>(i));
      half.add_argument(v, named("output" + std::to_string(i)));
    }
    for (unsigned i = joint_.inputs; i < joint_.block.getNumArguments(); ++i)
      half.add_argument(joint_.block.getArgument(i), attrs_of(i));
    for (const auto& [value, offset] : llvm::zip_equal(values_.saved, offsets_)) {
      mlir::NamedAttrList attrs(named("saved:" + place_of(value.first.getDefiningOp())));
      attrs.set(ir::saved_attr, b.getI64IntegerAttr(offset));
      half.add_argument(value.first, orders_.lookup(value.first), attrs.getDictionary(b.getContext()));
    }
    half.function()->setAttr(ir::saved_bytes_attr, saved_bytes());

    llvm::SmallVector<mlir::Value> sums;
    const auto terms = joint_.function->getAttrOfType<mlir::DenseBoolArrayAttr>(ir::terms_attr).asArrayRef();
    for (const auto [sum, has_term] : llvm::zip_equal(joint_.sums, terms)) {
      out.sums.push_back(has_term);
      if (has_term) sums.push_back(sum);
    }
    for (mlir::Operation& op : joint_.block.without_terminator())
      if (values_.backward.contains(&op)) clone_with_operands(half, &op);
    for (mlir::Value v : sums)
      if (!half.has(v)) clone_with_operands(half, v.getDefiningOp());
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value v : sums) results.push_back(half.value(v));
    if (draws_random(half.function()))
      half.function()->setAttr(ir::draws_attr, joint_.function->getAttr(ir::draws_attr));
    return half.finish(results);
  }

  mlir::Attribute saved_bytes() {
    return mlir::Builder(joint_.function.getContext()).getI64IntegerAttr(saved_bytes_);
  }

  /// Clones `op`, preceded by its producers that this half lacks. Recomputed values are thus short-lived.
  void clone_with_operands(Half& half, mlir::Operation* op) {
    std::map<std::size_t, mlir::Operation*> missing;  // in their order
    llvm::SmallVector<mlir::Operation*> todo{op};
    while (!todo.empty())
      for (mlir::Value v : used_values(todo.pop_back_val()))
        if (mlir::Operation* source = v.getDefiningOp(); source && !half.has(v))
          if (missing.insert({position_.lookup(source), source}).second) todo.push_back(source);
    for (const auto& [at, source] : missing) half.clone(source);
    half.clone(op);
  }

  /// Whether a recomputed operation runs in both parts.
  bool is_repeated(mlir::Operation* op) const {
    return values_.forward.contains(op) && op->getNumOperands() > 0;
  }

  std::string report() const {
    std::int64_t kept = 0;
    for (mlir::Value v : values_.kept) kept += ir::bytes_of(v);
    std::map<std::string, std::size_t> recomputed;
    for (mlir::Operation* op : values_.recomputed)
      if (is_repeated(op)) ++recomputed[place_of(op)];
    std::string text = fmt::format(
        "// the forward part saves {} values of {} bytes; the backward part also reads {} inputs and outputs "
        "of {} bytes\n",
        values_.saved.size(), saved_bytes_, values_.kept.size(), kept);
    for (const auto& [v, why] : values_.saved) {
      const MemoryOrder order = orders_.lookup(v);
      text += fmt::format("//   saved {}, {} bytes, of {}: {}{}\n", ir::to_tensor_type(v.getType()).str(),
                          ir::bytes_of(v), place_of(v.getDefiningOp()), why,
                          order.empty() ? "" : fmt::format("; stored by axes {}", fmt::join(order, ", ")));
    }
    for (const auto& [node, count] : recomputed)
      text += fmt::format("//   recomputed {} operation{} of {}\n", count, count == 1 ? "" : "s", node);
    return text;
  }

  JointFunction joint_;
  SavedValues values_;
  llvm::DenseMap<mlir::Value, MemoryOrder> orders_;
  std::vector<std::int64_t> offsets_;  // by saved value
  std::int64_t saved_bytes_ = 0;
  llvm::DenseMap<mlir::Operation*, std::size_t> position_;
};

}  // namespace

CutJoint cut_joint(mlir::ModuleOp module, Recompute policy, const TargetModel& target) {
  return Cutter(*module.getOps<mlir::func::FuncOp>().begin(), policy, target).run();
}

}  // namespace kiln::passes

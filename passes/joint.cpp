#include "passes/joint.h"

#include "ir/build.h"

#include <llvm/ADT/STLExtras.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Transforms/RegionUtils.h>

#include <fmt/format.h>
#include <map>

namespace kiln::passes {
namespace {

/// "dense0_fwd (net.cpp:12)", or the operation's name.
std::string place_of(mlir::Operation* op) {
  std::string node = op->getName().stripDialect().str(), line;
  op->getLoc()->walk([&](mlir::Location loc) {
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(loc)) node = name.getName().str();
    if (auto file = llvm::dyn_cast<mlir::FileLineColLoc>(loc))
      line = fmt::format(" ({}:{})", file.getFilename().str(), file.getLine());
    return mlir::WalkResult::advance();
  });
  return node + line;
}

/// A module with one function, filled with clones of a joint function's operations.
class Half {
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
  bool has(mlir::Value v) const { return mapping_.contains(v); }
  void clone(mlir::Operation* op) {
    builder_.clone(*op, mapping_)->walk([](mlir::Operation* copy) {
      if (ir::child_block_of(copy) != 0)
        copy->setLoc(llvm::cast<mlir::FusedLoc>(copy->getLoc()).getLocations().front());
    });
  }

  mlir::OwningOpRef<mlir::ModuleOp> finish(llvm::ArrayRef<mlir::Value> results) {
    llvm::SmallVector<mlir::Value> mapped;
    for (mlir::Value v : results) mapped.push_back(mapping_.lookup(v));
    mlir::func::ReturnOp::create(builder_, builder_.getUnknownLoc(), mapped);
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value v : mapped) types.push_back(v.getType());
    function_.setFunctionType(
        builder_.getFunctionType(function_.getBody().front().getArgumentTypes(), types));
    function_.setAllArgAttrs(attrs_);
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
  Cutter(mlir::func::FuncOp joint, Recompute policy)
      : joint_(joint), block_(joint.getBody().front()), values_(choose_saved_values(joint, policy)) {
    const auto counts = joint->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::joint_attr).asArrayRef();
    inputs_ = static_cast<unsigned>(counts[0]);
    outputs_ = static_cast<unsigned>(counts[1]);
    if (const auto writes = joint->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::writes_attr))
      writes_ = static_cast<unsigned>(writes.size());
    for (mlir::Operation& op : block_) position_[&op] = position_.size();
  }

  CutJoint run() {
    CutJoint out;
    out.report = report();
    out.forward = forward();
    out.backward = backward(out);
    for (const auto& [v, why] : values_.saved) out.saved.push_back(ir::to_tensor_type(v.getType()));
    return out;
  }

 private:
  mlir::ValueRange returned() const { return block_.getTerminator()->getOperands(); }
  mlir::DictionaryAttr attrs_of(unsigned argument) {
    mlir::DictionaryAttr attrs = joint_.getArgAttrDict(argument);
    return attrs ? attrs : mlir::DictionaryAttr::get(joint_.getContext());
  }

  mlir::OwningOpRef<mlir::ModuleOp> forward() {
    Half half(joint_, joint_.getName().str());
    for (unsigned i = 0; i < inputs_; ++i) half.add_argument(block_.getArgument(i), attrs_of(i));
    for (mlir::Operation& op : block_.without_terminator())
      if (values_.forward.contains(&op)) half.clone(&op);
    llvm::SmallVector<mlir::Value> results(returned().take_front(outputs_));
    for (const auto& [v, why] : values_.saved) results.push_back(v);
    llvm::append_range(results, returned().take_back(writes_));
    for (const llvm::StringLiteral attr : {ir::writes_attr, ir::draws_attr})
      if (mlir::Attribute value = joint_->getAttr(attr)) half.function()->setAttr(attr, value);
    return half.finish(results);
  }

  mlir::OwningOpRef<mlir::ModuleOp> backward(CutJoint& out) {
    Half half(joint_, joint_.getName().str() + "_backward");
    // Weights of a network in training change between two calls: a prepacked constant would not be used
    // twice.
    const auto named = [&](llvm::StringRef name) {
      mlir::Builder b(joint_.getContext());
      return b.getDictionaryAttr(b.getNamedAttr(ir::name_attr, b.getStringAttr(name)));
    };
    for (unsigned i = 0; i < inputs_; ++i)
      if (values_.kept.contains(block_.getArgument(i))) {
        out.inputs.push_back(i);
        half.add_argument(block_.getArgument(i),
                          named(llvm::cast<mlir::StringAttr>(attrs_of(i).get(ir::name_attr)).getValue()));
      }
    for (unsigned i = 0; i < outputs_; ++i) {
      mlir::Value v = returned()[i];
      if (llvm::isa<mlir::BlockArgument>(v) || !values_.kept.contains(v) || half.has(v)) continue;
      out.outputs.push_back(i);
      half.add_argument(v, named("output" + std::to_string(i)));
    }
    for (const auto& [v, why] : values_.saved)
      half.add_argument(v, named("saved:" + place_of(v.getDefiningOp())));
    for (unsigned i = inputs_; i < block_.getNumArguments(); ++i)
      half.add_argument(block_.getArgument(i), attrs_of(i));

    llvm::SmallVector<mlir::Value> results;
    const auto terms = joint_->getAttrOfType<mlir::DenseBoolArrayAttr>(ir::terms_attr).asArrayRef();
    for (const auto [sum, has_term] :
         llvm::zip_equal(returned().drop_front(outputs_).drop_back(writes_), terms)) {
      out.sums.push_back(has_term);
      if (has_term) results.push_back(sum);
    }
    // What is recomputed stands in front of its first use: it is in memory no longer than necessary.
    for (mlir::Operation& op : block_.without_terminator()) {
      if (!values_.backward.contains(&op)) continue;
      recompute_operands(half, &op);
      half.clone(&op);
    }
    for (mlir::Value v : results)
      if (!half.has(v)) {
        recompute_operands(half, v.getDefiningOp());
        half.clone(v.getDefiningOp());
      }
    if (half.function()
            ->walk([](ir::RandomUniformOp) { return mlir::WalkResult::interrupt(); })
            .wasInterrupted())
      half.function()->setAttr(ir::draws_attr, joint_->getAttr(ir::draws_attr));
    return half.finish(results);
  }

  /// Clones operations whose results `op` uses and the half does not have, and theirs.
  void recompute_operands(Half& half, mlir::Operation* op) {
    std::map<std::size_t, mlir::Operation*> missing;  // in their order
    llvm::SmallVector<mlir::Operation*> todo{op};
    while (!todo.empty()) {
      mlir::Operation* user = todo.pop_back_val();
      llvm::SetVector<mlir::Value> used(user->operand_begin(), user->operand_end());
      for (mlir::Region& body : user->getRegions()) mlir::getUsedValuesDefinedAbove(body, used);
      for (mlir::Value v : used)
        if (mlir::Operation* source = v.getDefiningOp(); source && !half.has(v))
          if (missing.insert({position_.lookup(source), source}).second) todo.push_back(source);
    }
    for (const auto& [at, source] : missing) half.clone(source);
  }

  std::string report() const {
    std::int64_t bytes = 0;
    for (const auto& [v, why] : values_.saved) bytes += ir::bytes_of(v);
    std::int64_t kept = 0;
    for (mlir::Value v : values_.kept) kept += ir::bytes_of(v);
    std::map<std::string, std::size_t> recomputed;
    for (mlir::Operation* op : values_.recomputed)
      if (values_.forward.contains(op) && op->getNumOperands() > 0) ++recomputed[place_of(op)];
    std::string text = fmt::format(
        "// the forward part saves {} values of {} bytes; the backward part also reads {} inputs and outputs "
        "of {} bytes\n",
        values_.saved.size(), bytes, values_.kept.size(), kept);
    for (const auto& [v, why] : values_.saved)
      text += fmt::format("//   saved {}, {} bytes, of {}: {}\n", ir::to_tensor_type(v.getType()).str(),
                          ir::bytes_of(v), place_of(v.getDefiningOp()), why);
    for (const auto& [node, count] : recomputed)
      text += fmt::format("//   recomputed {} operation{} of {}\n", count, count == 1 ? "" : "s", node);
    return text;
  }

  mlir::func::FuncOp joint_;
  mlir::Block& block_;
  SavedValues values_;
  unsigned inputs_ = 0, outputs_ = 0, writes_ = 0;
  llvm::DenseMap<mlir::Operation*, std::size_t> position_;
};

}  // namespace

CutJoint cut_joint(mlir::ModuleOp module, Recompute policy) {
  return Cutter(*module.getOps<mlir::func::FuncOp>().begin(), policy).run();
}

}  // namespace kiln::passes

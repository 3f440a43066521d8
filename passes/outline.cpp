// Turns the bodies of loops and branches into functions and their captured values into arguments.
#include "passes/outline.h"

#include "passes/sweep.h"
#include "passes/view_analysis.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/PatternMatch.h>
#include <mlir/Transforms/RegionUtils.h>

namespace kiln::passes {
namespace {

class Outline final : public mlir::PassWrapper<Outline, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Outline)
  llvm::StringRef getArgument() const override { return "kiln-outline"; }
  llvm::StringRef getDescription() const override {
    return "Make functions of the bodies of loops and branches";
  }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect, mlir::func::FuncDialect>();
  }

  void runOnOperation() override {
    for (mlir::func::FuncOp function :
         llvm::make_early_inc_range(getOperation().getOps<mlir::func::FuncOp>())) {
      count_ = 0;
      // Inner bodies first: an outer body is then a flat list of operations.
      llvm::SmallVector<mlir::Operation*> nested;
      function.walk([&](mlir::Operation* op) {
        if (llvm::isa<ir::LoopOp, ir::IfOp>(op)) nested.push_back(op);
      });
      for (mlir::Operation* op : nested) {
        if (auto loop = llvm::dyn_cast<ir::LoopOp>(op))
          outline(function, loop);
        else
          outline(function, llvm::cast<ir::IfOp>(op));
      }
    }
  }

 private:
  /// Turns values that the bodies use from outside into arguments after their own, the same for all bodies.
  llvm::SmallVector<mlir::Value> isolate(llvm::ArrayRef<mlir::Region*> bodies) {
    mlir::IRRewriter rewriter(&getContext());
    llvm::SetVector<mlir::Value> captured;
    for (mlir::Region* body : bodies) {
      bring_in_cheap(rewriter, *body);
      mlir::getUsedValuesDefinedAbove(*body, captured);
    }
    for (mlir::Region* body : bodies)
      for (mlir::Value v : captured) {
        mlir::BlockArgument argument = body->front().addArgument(v.getType(), v.getLoc());
        mlir::replaceAllUsesInRegionWith(v, argument, *body);
      }
    return captured.takeVector();
  }

  static bool is_cheap(mlir::Operation* op) { return op && (is_nullary(op) || ir::is_view_op(op)); }

  /// Clones splats, iota and views from outside, chains of views included.
  static void bring_in_cheap(mlir::IRRewriter& rewriter, mlir::Region& body) {
    llvm::SetVector<mlir::Value> used;
    mlir::getUsedValuesDefinedAbove(body, used);
    for (std::size_t i = 0; i < ir::max_view_chain && !used.empty(); ++i) {
      llvm::SmallVector<mlir::Operation*> copies;
      for (mlir::Value v : used) {
        if (!is_cheap(v.getDefiningOp())) continue;
        rewriter.setInsertionPointToStart(&body.front());
        copies.push_back(rewriter.clone(*v.getDefiningOp()));
        mlir::replaceAllUsesInRegionWith(v, copies.back()->getResult(0), body);
      }
      // Operands of the copies come next, in the order of the copies.
      used.clear();
      for (mlir::Operation* copy : llvm::reverse(copies)) used.insert_range(copy->getOperands());
    }
  }

  /// The body as a function that precedes `function`.
  mlir::FlatSymbolRefAttr function_of(mlir::func::FuncOp function, mlir::Region& body, llvm::StringRef kind) {
    mlir::OpBuilder builder(function);
    mlir::Block& block = body.front();
    auto yield = llvm::cast<ir::YieldOp>(block.getTerminator());
    auto type = builder.getFunctionType(block.getArgumentTypes(), yield.getOperandTypes());
    std::string name = (function.getName() + "_" + kind + std::to_string(count_++)).str();
    auto outlined = mlir::func::FuncOp::create(builder, yield->getParentOp()->getLoc(), name, type);
    outlined.setPrivate();
    builder.setInsertionPoint(yield);
    mlir::func::ReturnOp::create(builder, yield.getLoc(), yield.getOperands());
    yield.erase();
    outlined.getBody().takeBody(body);
    return mlir::FlatSymbolRefAttr::get(outlined.getNameAttr());
  }

  void outline(mlir::func::FuncOp function, ir::LoopOp loop) {
    llvm::SmallVector<mlir::Value> invariants = isolate({&loop.getBody()});
    mlir::FlatSymbolRefAttr body = function_of(function, loop.getBody(), "body");
    mlir::OpBuilder builder(loop);
    auto run = ir::RunLoopOp::create(builder, loop.getLoc(), loop.getResultTypes(), body, loop.getStepsAttr(),
                                     loop.getDrawsAttr(), loop.getCarries(), loop.getRows(), invariants,
                                     loop.getCondition());
    loop->replaceAllUsesWith(run.getResults());
    loop.erase();
  }

  void outline(mlir::func::FuncOp function, ir::IfOp branch) {
    llvm::SmallVector<mlir::Value> arguments = isolate({&branch.getThen(), &branch.getOtherwise()});
    mlir::FlatSymbolRefAttr then = function_of(function, branch.getThen(), "then");
    mlir::FlatSymbolRefAttr otherwise = function_of(function, branch.getOtherwise(), "else");
    mlir::OpBuilder builder(branch);
    auto run = ir::RunIfOp::create(builder, branch.getLoc(), branch.getResultTypes(), then, otherwise,
                                   branch.getCondition(), arguments);
    branch->replaceAllUsesWith(run.getResults());
    branch.erase();
  }

  int count_ = 0;
};

}  // namespace

std::unique_ptr<mlir::Pass> create_outline_pass() { return std::make_unique<Outline>(); }

}  // namespace kiln::passes

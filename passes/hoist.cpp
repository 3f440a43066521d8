// Moves loop-invariant operations out of bodies.
#include "passes/hoist.h"

#include "passes/sweep.h"

#include <mlir/Transforms/LoopInvariantCodeMotionUtils.h>

namespace kiln::passes {
namespace {

/// Whether each step must execute it even if all steps compute the same. Random numbers differ from step to
/// step, and a check in a step that does not run must not throw.
bool is_of_step(mlir::Operation* op) {
  return op
      ->walk([](mlir::Operation* inner) {
        return llvm::isa<ir::RandomUniformOp, ir::CheckBoundsOp>(inner) ? mlir::WalkResult::interrupt()
                                                                        : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

void hoist(mlir::Operation* op) {
  llvm::SmallVector<mlir::Region*> bodies;
  for (mlir::Region& body : op->getRegions()) bodies.push_back(&body);
  const bool loop = llvm::isa<ir::LoopOp>(op);
  mlir::moveLoopInvariantCode(
      bodies, [](mlir::Value v, mlir::Region* body) { return v.getParentRegion()->isProperAncestor(body); },
      [&](mlir::Operation* inner, mlir::Region*) {
        return loop ? mlir::isMemoryEffectFree(inner) && !is_of_step(inner) : llvm::isa<ir::PackOp>(inner);
      },
      [&](mlir::Operation* inner, mlir::Region*) { inner->moveBefore(op); });
}

class Hoist final : public mlir::PassWrapper<Hoist, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Hoist)
  llvm::StringRef getArgument() const override { return "kiln-hoist"; }
  llvm::StringRef getDescription() const override { return "Move what does not change out of loops"; }
  void runOnOperation() override {
    getOperation().walk([](mlir::Operation* op) {
      if (llvm::isa<ir::LoopOp, ir::IfOp>(op)) hoist(op);
    });
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_hoist_pass() { return std::make_unique<Hoist>(); }

}  // namespace kiln::passes

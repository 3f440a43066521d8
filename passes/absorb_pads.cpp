#include "passes/absorb_pads.h"

#include "passes/sweep.h"

namespace kiln::passes {
namespace {

class AbsorbPads final : public mlir::PassWrapper<AbsorbPads, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AbsorbPads)
  llvm::StringRef getArgument() const override { return "kiln-absorb-pads"; }
  llvm::StringRef getDescription() const override { return "Let kernels write into padded arrays"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    for_each_block(getOperation(), [](mlir::Block& block) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block))
        if (auto pad = llvm::dyn_cast<ir::PadOp>(op)) absorb(pad);
    });
  }

 private:
  static void absorb(ir::PadOp pad) {
    auto result = llvm::dyn_cast<mlir::OpResult>(pad.getX());
    if (!result || !result.hasOneUse() || !llvm::isa<ir::FusionOp>(result.getOwner())) return;
    mlir::Operation* yield = llvm::cast<ir::FusionOp>(result.getOwner()).getBody().front().getTerminator();
    mlir::OpOperand& yielded = yield->getOpOperand(result.getResultNumber());
    if (llvm::isa_and_present<ir::PadOp>(yielded.get().getDefiningOp())) return;

    mlir::OpBuilder builder(yield);
    mlir::Operation* inside = builder.clone(*pad);
    inside->setOperand(0, yielded.get());
    yielded.set(inside->getResult(0));
    result.setType(pad.getType());
    pad.replaceAllUsesWith(pad.getX());
    pad.erase();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_absorb_pads_pass() { return std::make_unique<AbsorbPads>(); }

}  // namespace kiln::passes

#include "passes/absorb_copies.h"

#include "ir/prepacked.h"
#include "passes/sweep.h"

namespace kiln::passes {
namespace {

using Dims = llvm::SmallVector<std::int64_t, 6>;

/// Whether `v` is the result of a kernel that runs in every call (not prepacked) and has one user.
bool is_movable(mlir::Value v) {
  auto fusion = v.getDefiningOp<ir::FusionOp>();
  if (!fusion || ir::is_prepacked(fusion) || !v.hasOneUse()) return false;
  mlir::Operation* op = ir::yielded_as(llvm::cast<mlir::OpResult>(v)).get().getDefiningOp();
  return !llvm::isa_and_present<ir::PadOp, ir::InsertOp>(op);
}

void absorb(ir::PadOp pad) {
  if (!is_movable(pad.getX())) return;
  mlir::OpOperand& yielded = ir::yielded_as(llvm::cast<mlir::OpResult>(pad.getX()));
  mlir::OpBuilder builder(yielded.getOwner());
  mlir::Operation* inside = builder.clone(*pad);
  inside->setOperand(0, yielded.get());
  yielded.set(inside->getResult(0));
  pad.getX().setType(pad.getType());
  pad.replaceAllUsesWith(pad.getX());
  pad.erase();
}

/// The result `part` of a fusion, which now writes a part of `whole`.
void write_into(mlir::Value part, mlir::Value whole, llvm::ArrayRef<std::int64_t> start) {
  mlir::OpOperand& yielded = ir::yielded_as(llvm::cast<mlir::OpResult>(part));
  auto fusion = llvm::cast<ir::FusionOp>(part.getDefiningOp());
  fusion->insertOperands(fusion->getNumOperands(), whole);
  mlir::Value argument = fusion.getBody().front().addArgument(whole.getType(), whole.getLoc());
  mlir::OpBuilder builder(yielded.getOwner());
  yielded.set(
      ir::InsertOp::create(builder, part.getLoc(), argument, yielded.get(), start, Dims(start.size(), 1)));
  part.setType(whole.getType());
}

void absorb(ir::ConcatenateOp concat) {
  // One result of a kernel only: the array passed on by another result does not exist when the kernel starts.
  llvm::SmallPtrSet<mlir::Operation*, 8> kernels;
  const auto is_absorbed = [&](mlir::Value v) {
    return is_movable(v) && v.getDefiningOp()->getBlock() == concat->getBlock() &&
           kernels.insert(v.getDefiningOp()).second;
  };
  if (llvm::none_of(concat.getParts(), is_movable)) return;
  struct Part {
    mlir::Value value;
    Dims start;
  };
  llvm::SmallVector<Part> parts;
  mlir::OpBuilder builder(concat);
  Dims start(static_cast<std::size_t>(concat.getType().getRank()), 0);
  const auto axis = static_cast<std::size_t>(concat.getAxis());
  for (mlir::Value v : concat.getParts()) {
    parts.push_back({is_absorbed(v) ? v : ir::create_copy(builder, concat.getLoc(), v), start});
    start[axis] += ir::ranked(v).getDimSize(static_cast<unsigned>(axis));
  }
  mlir::Value result = concat.getResult();
  // The array is passed from kernel to kernel in program order.
  llvm::stable_sort(parts, [](const Part& a, const Part& b) {
    return a.value.getDefiningOp()->isBeforeInBlock(b.value.getDefiningOp());
  });
  builder.setInsertionPoint(parts.front().value.getDefiningOp());
  mlir::Value whole = ir::EmptyOp::create(builder, concat.getLoc(), result.getType());
  concat->dropAllReferences();
  for (const Part& part : parts) {
    write_into(part.value, whole, part.start);
    whole = part.value;
  }
  result.replaceAllUsesWith(whole);
  concat.erase();
}

class AbsorbCopies final : public mlir::PassWrapper<AbsorbCopies, mlir::OperationPass<mlir::func::FuncOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AbsorbCopies)
  llvm::StringRef getArgument() const override { return "kiln-absorb-copies"; }
  llvm::StringRef getDescription() const override {
    return "Let kernels write into padded and concatenated arrays";
  }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }

  void runOnOperation() override {
    for_each_block(getOperation(), [](mlir::Block& block) {
      for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
        if (auto pad = llvm::dyn_cast<ir::PadOp>(op))
          absorb(pad);
        else if (auto concat = llvm::dyn_cast<ir::ConcatenateOp>(op))
          absorb(concat);
      }
    });
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_absorb_copies_pass() { return std::make_unique<AbsorbCopies>(); }

}  // namespace kiln::passes

// Destination passing into the interior of padded arrays and into the parts of concatenations and insertions.
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

/// A value that becomes a part of an array.
struct ArrayPart {
  mlir::Value value;
  Dims start, step;
};

/// The result `part.value` of a fusion, which now writes a part of `whole`.
void write_into(const ArrayPart& part, mlir::Value whole) {
  mlir::Value value = part.value;
  mlir::OpOperand& yielded = ir::yielded_as(llvm::cast<mlir::OpResult>(value));
  auto fusion = llvm::cast<ir::FusionOp>(value.getDefiningOp());
  fusion->insertOperands(fusion->getNumOperands(), whole);
  mlir::Value argument = fusion.getBody().front().addArgument(whole.getType(), whole.getLoc());
  mlir::OpBuilder builder(yielded.getOwner());
  yielded.set(ir::InsertOp::create(builder, value.getLoc(), argument, yielded.get(), part.start, part.step));
  value.setType(whole.getType());
}

/// The kernels of a block that may write parts of one array. One result of a kernel only: the array passed on
/// by another result does not exist when the kernel starts.
class Writers {
 public:
  explicit Writers(mlir::Block* block) : block_(block) {}
  bool add(mlir::Value part) {
    return is_movable(part) && part.getDefiningOp()->getBlock() == block_ &&
           kernels_.insert(part.getDefiningOp()).second;
  }

 private:
  mlir::Block* block_;
  llvm::SmallPtrSet<mlir::Operation*, 8> kernels_;
};

/// Replaces `op` by the array that these kernels write, each after the one before it in the program. The
/// array begins as the result of `fill`, or without one as memory that is not set.
void write_parts(mlir::Operation* op, llvm::SmallVector<ArrayPart> parts, ir::FusionOp fill) {
  mlir::Value result = op->getResult(0);
  llvm::stable_sort(parts, [](const ArrayPart& a, const ArrayPart& b) {
    return a.value.getDefiningOp()->isBeforeInBlock(b.value.getDefiningOp());
  });
  mlir::Operation* const first = parts.front().value.getDefiningOp();
  mlir::Value whole;
  if (fill) {
    fill->moveBefore(first);
    whole = fill.getResult(0);
  } else {
    mlir::OpBuilder builder(first);
    whole = ir::EmptyOp::create(builder, op->getLoc(), result.getType());
  }
  op->dropAllReferences();
  for (const ArrayPart& part : parts) {
    write_into(part, whole);
    whole = part.value;
  }
  result.replaceAllUsesWith(whole);
  op->erase();
}

void absorb(ir::ConcatenateOp concat) {
  if (llvm::none_of(concat.getParts(), is_movable)) return;
  Writers writers(concat->getBlock());
  llvm::SmallVector<ArrayPart> parts;
  mlir::OpBuilder builder(concat);
  Dims start(static_cast<std::size_t>(concat.getType().getRank()), 0);
  const auto axis = static_cast<std::size_t>(concat.getAxis());
  for (mlir::Value v : concat.getParts()) {
    parts.push_back(
        {writers.add(v) ? v : ir::create_copy(builder, concat.getLoc(), v), start, Dims(start.size(), 1)});
    start[axis] += ir::ranked(v).getDimSize(static_cast<unsigned>(axis));
  }
  write_parts(concat, std::move(parts), {});
}

/// Whether no element is in both parts: along some axis they alternate, or one ends before the other begins.
bool are_apart(const ArrayPart& a, const ArrayPart& b) {
  const auto shape_a = ir::ranked(a.value).getShape(), shape_b = ir::ranked(b.value).getShape();
  for (std::size_t i = 0; i < a.start.size(); ++i) {
    if (a.step[i] == b.step[i] && (a.start[i] - b.start[i]) % a.step[i] != 0) return true;
    const std::int64_t last_a = a.start[i] + a.step[i] * (shape_a[i] - 1);
    const std::int64_t last_b = b.start[i] + b.step[i] * (shape_b[i] - 1);
    if (last_a < b.start[i] || last_b < a.start[i]) return true;
  }
  return false;
}

/// `last` is the last of insertions one into the other. The first of them is into an array that a kernel
/// fills with a constant, which the parts may leave nothing of.
void absorb(ir::InsertOp last) {
  if (last->hasOneUse())
    if (auto next = llvm::dyn_cast<ir::InsertOp>(*last->user_begin()); next && next.getX() == last) return;
  llvm::SmallVector<ir::InsertOp> chain{last};
  while (auto inner = chain.back().getX().getDefiningOp<ir::InsertOp>()) {
    if (!inner->hasOneUse()) return;
    chain.push_back(inner);
  }
  auto fill = chain.back().getX().getDefiningOp<ir::FusionOp>();
  if (!fill || fill->getNumOperands() > 0 || !fill->hasOneUse() || fill->getBlock() != last->getBlock())
    return;
  llvm::SmallVector<ArrayPart> parts;
  std::int64_t left = last.getType().getNumElements();
  for (ir::InsertOp insert : chain) {
    ArrayPart part{insert.getUpdate(), Dims(insert.getStart()), Dims(insert.getStep())};
    if (!llvm::all_of(parts, [&](const ArrayPart& other) { return are_apart(part, other); })) return;
    left -= insert.getUpdate().getType().getNumElements();
    parts.push_back(std::move(part));
  }
  if (llvm::none_of(parts, [](const ArrayPart& part) { return is_movable(part.value); })) return;
  Writers writers(last->getBlock());
  mlir::OpBuilder builder(last);
  for (ArrayPart& part : parts)
    if (!writers.add(part.value)) part.value = ir::create_copy(builder, last.getLoc(), part.value);
  for (ir::InsertOp insert : chain) insert->dropAllReferences();
  for (ir::InsertOp insert : llvm::drop_begin(chain)) insert.erase();
  if (left == 0) {
    fill.erase();
    fill = {};
  }
  write_parts(last, std::move(parts), fill);
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
        else if (auto insert = llvm::dyn_cast<ir::InsertOp>(op))
          absorb(insert);
      }
    });
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_absorb_copies_pass() { return std::make_unique<AbsorbCopies>(); }

}  // namespace kiln::passes

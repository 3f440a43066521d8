// Finds operations that derive from parameters and are worth keeping.
#include "passes/prepack.h"

#include "ir/prepacked.h"

namespace kiln::passes {
namespace {

constexpr std::int64_t max_packed_growth = 1 << 20;  // bytes of results above the bytes of operands

/// Whether equal operands always give equal results.
bool is_function_of_operands(mlir::Operation* op) {
  return llvm::isa<ir::PackOp, ir::PadOp, ir::ConcatenateOp, ir::ReduceOp, ir::GatherOp>(op) ||
         ir::is_pointwise(op) || ir::is_view_op(op) || ir::is_product(op);
}

/// Whether it widens a parameter for kernels that read it in panels, or that reduce it: the wide array is
/// none in memory, or one that the call needs.
bool is_widening_of_weights(mlir::Operation* op) {
  return llvm::isa<ir::CastOp>(op) &&
         ir::ranked(op->getOperand(0)).getElementTypeBitWidth() <
             ir::ranked(op->getResult(0)).getElementTypeBitWidth() &&
         llvm::all_of(op->getUsers(), [](mlir::Operation* user) {
           return llvm::isa<ir::PackOp, ir::PackedConvolutionOp, ir::ReduceOp>(user);
         });
}

bool is_worth_memory(mlir::Operation* op, const ViewAnalysis& view_analysis) {
  if (llvm::isa<ir::PackOp>(op) || (ir::is_view_op(op) && !view_analysis.is_buffer(op)) ||
      is_widening_of_weights(op))
    return true;
  std::int64_t read = 0;
  for (mlir::Value v : op->getOperands()) {
    const mlir::Value base = view_analysis.base(v);
    // A rounded parameter is no array of half the bytes: one kernel rounds and widens.
    auto cast = base.getDefiningOp<ir::CastOp>();
    read += std::max(ir::bytes_of(base), cast ? ir::bytes_of(view_analysis.base(cast.getX())) : 0);
  }
  return ir::bytes_of(op->getResult(0)) <= read + max_packed_growth;
}

/// Whether it packs B for contractions that read it unpacked.
bool is_taken_as_it_lies(mlir::Operation* op, const TargetModel& target) {
  auto pack = llvm::dyn_cast<ir::PackOp>(op);
  return pack && ir::values_of_word(pack.getKind()) == 1 &&
         llvm::all_of(op->getUsers(), [&](mlir::Operation* user) {
           auto dot = llvm::dyn_cast<ir::PackedDotOp>(user);
           if (!dot) return false;
           const mlir::RankedTensorType result = dot.getType(), lhs = ir::ranked(dot.getLhs());
           const std::int64_t rank = result.getRank();
           return target.has_lanes_of_chunks(result.getDimSize(rank - 2), result.getDimSize(rank - 1),
                                             lhs.getDimSize(rank - (dot.getTransposeLhs() ? 2 : 1)),
                                             result.getElementTypeBitWidth());
         });
}

}  // namespace

llvm::DenseSet<mlir::Operation*> find_prepackable(mlir::Block& block, const ViewAnalysis& view_analysis,
                                                  const TargetModel& target) {
  llvm::DenseSet<mlir::Operation*> returned, found;
  for (mlir::Value v : block.getTerminator()->getOperands())
    returned.insert(view_analysis.base(v).getDefiningOp());
  for (mlir::Operation& op : block.without_terminator()) {
    bool reads_parameter = false;
    const bool derived = llvm::all_of(op.getOperands(), [&](mlir::Value v) {
      mlir::Operation* maker = v.getDefiningOp();
      if (llvm::isa_and_present<ir::ConstantOp, ir::IotaOp>(maker)) return true;
      reads_parameter = true;
      return maker ? found.contains(maker) : ir::is_unchanged_parameter(v);
    });
    if (derived && reads_parameter && !is_taken_as_it_lies(&op, target) && !returned.contains(&op) &&
        is_function_of_operands(&op) && is_worth_memory(&op, view_analysis))
      found.insert(&op);
  }
  return found;
}

}  // namespace kiln::passes

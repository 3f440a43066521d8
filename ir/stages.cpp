// The table of KilnOps.td: where each operation may stand.
#include "ir/stages.h"

#include "ir/dialect.h"

namespace kiln::ir {
namespace {

struct Row {
  llvm::StringRef stages;
  bool per_axis = false;
};
using Table = llvm::DenseMap<mlir::TypeID, Row>;

template <class... Ops>
Table table_of() {
  Table table;
  (table.insert({mlir::TypeID::get<Ops>(), Row{Ops::stages, Ops::per_axis}}), ...);
  return table;
}

Row row_of(mlir::Operation* op) {
  static const Table table = table_of<
#define GET_OP_LIST
#include "ir/KilnOps.cpp.inc"
      >();
  return table.lookup(op->getName().getTypeID());
}

llvm::StringRef name_of(Stage stage) {
  switch (stage) {
    case Stage::graph:
      return "a graph";
    case Stage::lowered:
      return "a graph lowered for the target";
    case Stage::kernels:
      return "a list of kernels";
    case Stage::fusion:
      return "a fusion";
  }
  llvm_unreachable("all stages are listed");
}

}  // namespace

bool may_stand(mlir::Operation* op, Stage stage) {
  return row_of(op).stages.contains(static_cast<char>(stage));
}

mlir::LogicalResult verify_stage(mlir::Operation* module, Stage stage) {
  const mlir::WalkResult walked = module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (!llvm::isa_and_present<KilnDialect>(op->getDialect())) return mlir::WalkResult::advance();
    const bool fused = stage == Stage::kernels && llvm::isa<FusionOp>(op->getParentOp());
    const Stage place = fused ? Stage::fusion : stage;
    if (may_stand(op, place)) return mlir::WalkResult::advance();
    op->emitOpError() << "may not stand in " << name_of(place)
                      << (stage == Stage::graph ? ", which a dump has as its stage kiln" : "");
    return mlir::WalkResult::interrupt();
  });
  return mlir::failure(walked.wasInterrupted());
}

bool is_per_axis(mlir::Operation* op) { return row_of(op).per_axis; }

}  // namespace kiln::ir

// The fusion operation: parser, printer and verifier.
#include "ir/dialect.h"
#include "ir/stages.h"
#include "ir/windows.h"

namespace kiln::ir {

mlir::Value create_copy(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value v) {
  auto fusion = FusionOp::create(builder, loc, v.getType(), v);
  mlir::Block& body = fusion.getBody().emplaceBlock();
  auto inside = mlir::OpBuilder::atBlockEnd(&body);
  YieldOp::create(inside, loc, body.addArgument(v.getType(), loc));
  return fusion.getResult(0);
}

mlir::OpOperand& yielded_as(mlir::OpResult result) {
  mlir::Operation* yield = llvm::cast<FusionOp>(result.getOwner()).getBody().front().getTerminator();
  return yield->getOpOperand(result.getResultNumber());
}

// kiln.fusion (%x = %0, %y = %1) : (types) -> (types) { ... }
void FusionOp::print(mlir::OpAsmPrinter& p) {
  p << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getOperands()), p, [&](auto pair) {
    p.printRegionArgument(std::get<0>(pair), {}, /*omitType=*/true);
    p << " = " << std::get<1>(pair);
  });
  p << ")";
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  p << " : ";
  p.printFunctionalType(getOperation());
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

mlir::ParseResult FusionOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  llvm::SmallVector<mlir::OpAsmParser::Argument> arguments;
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  mlir::FunctionType type;
  auto pair = [&]() -> mlir::ParseResult {
    return mlir::failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                         parser.parseOperand(operands.emplace_back()));
  };
  llvm::SMLoc where = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Paren, pair) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseColonType(type))
    return mlir::failure();
  if (type.getNumInputs() != operands.size())
    return parser.emitError(where) << "has " << operands.size() << " operands and " << type.getNumInputs()
                                   << " types";
  for (auto [argument, t] : llvm::zip(arguments, type.getInputs())) argument.type = t;
  result.addTypes(type.getResults());
  if (parser.resolveOperands(operands, type.getInputs(), where, result.operands)) return mlir::failure();
  return parser.parseRegion(*result.addRegion(), arguments);
}

/// Whether the fusion of the pack computes packs of views of its one operand, and nothing else.
static bool packs_alone(PackOp pack) {
  const auto is_part = [](mlir::Operation& op) {
    auto other = llvm::dyn_cast<PackOp>(op);
    return is_view_op(&op) || (other && packs_weights(other));
  };
  return pack->getBlock()->getNumArguments() == 1 &&
         llvm::all_of(pack->getBlock()->without_terminator(), is_part) && pack->hasOneUse() &&
         llvm::isa<YieldOp>(*pack->user_begin());
}

mlir::LogicalResult FusionOp::verify() {
  mlir::Block& block = getBody().front();
  if (block.getArgumentTypes() != getOperandTypes())
    return emitOpError("needs a body argument for each operand, of its type");
  auto yield = llvm::dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes()) return emitOpError("must yield its results");
  ReduceOp first_reduction;
  llvm::SmallPtrSet<mlir::Operation*, 8> reduced;  // reductions, and users of their results
  int reductions = 0, contractions = 0;
  for (mlir::Operation& op : block.without_terminator()) {
    bool root = llvm::isa<ReduceOp>(op) || is_product(&op);
    contractions += is_product(&op);
    const bool reads_reduced =
        llvm::any_of(op.getOperands(), [&](mlir::Value v) { return reduced.contains(v.getDefiningOp()); });
    auto reduce = llvm::dyn_cast<ReduceOp>(op);
    if (reduce || reads_reduced) reduced.insert(&op);
    if (reduce) {
      if (reads_reduced) return emitOpError("reduces what it computes from the result of another reduction");
      if (reductions++ == 0) first_reduction = reduce;
      if (reduce.getX().getType() != first_reduction.getX().getType() ||
          reduce.getAxes() != first_reduction.getAxes())
        return emitOpError("reduces values of different types, or different axes");
    }
    if (root && llvm::any_of(op.getUsers(), is_view_op) && !pooled_windows(&op))
      return emitOpError() << "moves the result of its " << op.getName()
                           << ", and not as the windows of a pooling";
    if (llvm::isa<PadOp, InsertOp>(op)) {
      if (!op.hasOneUse() || *op.user_begin() != yield)
        return emitOpError() << "has a " << op.getName() << " that is not yielded";
      if (auto insert = llvm::dyn_cast<InsertOp>(op);
          insert && (!llvm::isa<mlir::BlockArgument>(insert.getX()) || !insert.getX().hasOneUse()))
        return emitOpError("inserts into a value that it computes or reads");
    } else if (auto pack = llvm::dyn_cast<PackOp>(op)) {
      if (packs_weights(pack) ? !packs_alone(pack)
                              : values_of_word(pack.getKind()) > 1 || !op.hasOneUse() ||
                                    !llvm::isa<PackedDotOp>(*op.user_begin()) ||
                                    !llvm::isa<mlir::BlockArgument>(op.getOperand(0)))
        return emitOpError(
            "may pack weights of one operand and do nothing else, or an operand for its own packed_dot");
    } else if (!may_stand(&op, Stage::fusion) || (llvm::isa<DotOp>(op) && !root)) {
      return emitOpError() << "cannot hold " << op.getName();
    }
  }
  if (contractions > 1 || (contractions > 0 && reductions > 0))
    return emitOpError("contains more than one contraction, or one and a reduction");
  return mlir::success();
}

}  // namespace kiln::ir

// Grains of tasks, and names of kernels.
#include "codegen/emit/launch.h"

#include "codegen/target/tuning.h"
#include "ir/dialect.h"

#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/MathExtras.h>

namespace kiln::codegen {
std::int64_t grain_for(std::int64_t extent, std::int64_t cost, std::int64_t multiple) {
  const std::int64_t least = llvm::divideCeilSigned(tuning::min_task_cost, std::max<std::int64_t>(cost, 1)),
                     pieces = std::max<std::int64_t>(extent / least, 1);
  return llvm::alignTo(std::max<std::int64_t>(llvm::divideCeilSigned(extent, pieces), 1), multiple);
}

std::string name_of_location(mlir::Location loc) {
  std::string name;
  auto append = [&](llvm::StringRef part) {
    if (part.empty() || name.size() + part.size() > 80) return;
    if (!name.empty()) name += "+";
    name += part;
  };
  llvm::SmallVector<llvm::StringRef> seen;
  loc->walk([&](mlir::Location inner) {
    if (auto named = llvm::dyn_cast<mlir::NameLoc>(inner);
        named && !llvm::is_contained(seen, named.getName().getValue())) {
      seen.push_back(named.getName().getValue());
      append(named.getName());
    }
    return mlir::WalkResult::advance();
  });
  return name.empty() ? "kernel" : name;
}

namespace {

/// The word of one operation, without "packed_" and such, which tell of its operands.
llvm::StringRef word_of(mlir::Operation* op) {
  return llvm::TypeSwitch<mlir::Operation*, llvm::StringRef>(op)
      .Case([](ir::UnaryOp o) { return ir::stringifyUnary(o.getKind()); })
      .Case([](ir::BinaryOp o) { return ir::stringifyBinary(o.getKind()); })
      .Case([](ir::CompareOp o) { return ir::stringifyCompare(o.getKind()); })
      .Case<ir::ReduceOp, ir::ReduceWindowOp>([](auto o) { return ir::stringifyReduce(o.getKind()); })
      .Case([](ir::PackedDotOp) { return llvm::StringRef("dot"); })
      .Case<ir::PackedConvolutionOp, ir::DepthwiseOp>([](auto) { return llvm::StringRef("convolution"); })
      .Default([](mlir::Operation* o) { return o->getName().stripDialect(); });
}

/// Operations that count only if a fusion has no other.
bool is_movement(mlir::Operation* op) { return llvm::isa<ir::CastOp, ir::PackOp>(op) || ir::is_view_op(op); }

}  // namespace

std::string words_of(mlir::Operation* op) {
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  if (!fusion) return word_of(op).str();
  std::string words;
  llvm::SmallVector<llvm::StringRef> seen;
  const auto add = [&](mlir::Operation& inner) {
    if (llvm::isa<ir::ConstantOp, ir::YieldOp>(inner)) return;
    const llvm::StringRef word = word_of(&inner);
    if (llvm::is_contained(seen, word) || words.size() + word.size() >= max_words_length) return;
    seen.push_back(word);
    if (!words.empty()) words += "_";
    words += word;
  };
  mlir::Block& body = fusion.getBody().front();
  for (mlir::Operation& inner : body)
    if (!is_movement(&inner)) add(inner);
  if (words.empty())
    for (mlir::Operation& inner : body) add(inner);
  return words.empty() ? "copy" : words;
}

}  // namespace kiln::codegen

// Counts bytes and multiply-adds of operations of the dialect, and lists them for people.
#include "codegen/driver/kernel_work.h"

#include "ir/dialect.h"
#include "ir/views.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/TypeSwitch.h>

namespace kiln::codegen {
namespace {

double elements_of(mlir::Value v) { return static_cast<double>(ir::to_tensor_type(v.getType()).elements()); }

std::int64_t product_of_list(llvm::ArrayRef<std::int64_t> list) {
  std::int64_t product = 1;
  for (const std::int64_t n : list) product *= n;
  return product;
}

/// The extent of the contracted axis of A (batch..., m, k), or (batch..., k, m) if it is transposed.
double contracted(mlir::Value lhs, bool transposed) {
  const auto shape = ir::ranked(lhs).getShape();
  return static_cast<double>(shape[shape.size() - (transposed ? 2 : 1)]);
}

double multiply_adds_of(mlir::Operation* op) {
  return llvm::TypeSwitch<mlir::Operation*, double>(op)
      .Case([](ir::DotOp o) {
        return elements_of(o.getResult()) * contracted(o.getLhs(), o.getTransposeLhs());
      })
      .Case([](ir::PackedDotOp o) {
        return elements_of(o.getResult()) * contracted(o.getLhs(), o.getTransposeLhs());
      })
      .Case([](ir::PackedConvolutionOp o) {
        const auto x = ir::ranked(o.getX()).getShape();
        const std::int64_t channels = o.getChannelsFirst() ? x[1] : x.back();
        const auto groups = static_cast<std::int64_t>(o.getGroups());
        return elements_of(o.getResult()) *
               static_cast<double>(product_of_list(o.getKernel()) *
                                   (channels / std::max<std::int64_t>(groups, 1)));
      })
      .Case([](ir::DepthwiseOp o) {
        const auto w = ir::ranked(o.getW()).getShape();
        return elements_of(o.getResult()) * static_cast<double>(product_of_list(w.drop_front(2)));
      })
      .Case([](ir::WinogradOp o) {
        return elements_of(o.getResult()) * 9 * static_cast<double>(ir::ranked(o.getX()).getShape().back());
      })
      .Case([](ir::WeightsProductOp o) {
        // Each weight is the sum over the images and the places of g.
        const auto g = ir::ranked(o.getG()).getShape();
        return elements_of(o.getResult()) * static_cast<double>(product_of_list(g.drop_back(1)));
      })
      .Default([](mlir::Operation*) { return 0.0; });
}

void add_nodes(mlir::Location loc, bool only_viewed, std::vector<KernelReport::Node>& nodes) {
  loc->walk([&](mlir::Location inner) {
    const auto named = llvm::dyn_cast<mlir::NameLoc>(inner);
    if (!named) return mlir::WalkResult::advance();
    KernelReport::Node node{named.getName().getValue().str(), {}, 0, only_viewed};
    if (const auto at = llvm::dyn_cast<mlir::FileLineColLoc>(named.getChildLoc())) {
      node.file = at.getFilename().str();
      node.line = at.getLine();
    }
    const auto known = llvm::find_if(nodes, [&](const KernelReport::Node& n) {
      return n.name == node.name && n.file == node.file && n.line == node.line;
    });
    if (known == nodes.end())
      nodes.push_back(std::move(node));
    else
      known->only_viewed &= only_viewed;
    return mlir::WalkResult::advance();
  });
}

std::string line_of(mlir::Operation* op, mlir::AsmState& names) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, names);
  return text + "\n";
}

/// Bytes that a fusion reads of an argument: of one that is only sliced or gathered, the parts.
std::int64_t read_bytes(mlir::BlockArgument argument) {
  const std::int64_t whole = ir::bytes_of(argument);
  std::int64_t parts = 0;
  for (mlir::OpOperand& use : argument.getUses()) {
    mlir::Operation* const user = use.getOwner();
    if (llvm::isa<ir::SliceOp, ir::GatherOp>(user) && use.getOperandNumber() == 0)
      parts += ir::bytes_of(user->getResult(0));
    else if (!llvm::isa<ir::InsertOp>(user) || use.getOperandNumber() != 0)  // which keeps the rest as it is
      parts += whole;
  }
  return std::min(parts, whole);
}

/// Bytes that a fusion writes of a result.
std::int64_t written_bytes(mlir::OpResult result) {
  mlir::Operation* const last = ir::yielded_as(result).get().getDefiningOp();
  if (auto pad = llvm::dyn_cast_or_null<ir::PadOp>(last)) return ir::bytes_of(pad.getX());
  if (auto insert = llvm::dyn_cast_or_null<ir::InsertOp>(last)) return ir::bytes_of(insert.getUpdate());
  return ir::bytes_of(result);
}

class Counter {
 public:
  explicit Counter(mlir::AsmState& names) : names_(names) {}

  void add(mlir::Operation* op) {
    add_nodes(op->getLoc(), false, report_.nodes);
    if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
      mlir::Block& body = fusion.getBody().front();
      for (mlir::Operation& inner : body.without_terminator()) add_operation(&inner);
      if (body.without_terminator().empty()) report_.operations += line_of(op, names_);  // a copy
      for (auto [v, argument] : llvm::zip(fusion.getOperands(), body.getArguments()))
        add_array(v, read_bytes(argument));
      for (mlir::OpResult r : fusion->getResults()) add_array(r, written_bytes(r));
    } else {
      add_operation(op);
      for (mlir::Value v : op->getOperands()) add_array(v, ir::bytes_of(v));
      for (mlir::Value v : op->getResults()) add_array(v, ir::bytes_of(v));
    }
    if (!has_dtype_ && op->getNumResults() > 0) set_dtype(op->getResult(0));
  }

  KernelReport take(std::int64_t bytes) {
    if (bytes < 0) {
      bytes = 0;
      for (const auto& [memory, used] : arrays_) bytes += used;
    }
    report_.bytes = bytes;
    return std::move(report_);
  }

 private:
  /// Memory that several operations use counts once.
  void add_array(mlir::Value v, std::int64_t bytes) {
    const mlir::Value memory = ir::memory_of(v);
    std::int64_t& used = arrays_[memory];
    used = std::min(used + bytes, ir::bytes_of(memory));
  }
  void add_operation(mlir::Operation* op) {
    const double count = multiply_adds_of(op);
    report_.multiply_adds += count;
    if (count > 0)
      set_dtype(ir::values_of_word(op->getOperand(0), op->getResult(0)) > 1 ? op->getOperand(0)
                                                                            : op->getResult(0));
    // A constant has the node that used its value first, of all in the function.
    if (!llvm::isa<ir::ConstantOp>(op)) add_nodes(op->getLoc(), ir::is_view_op(op), report_.nodes);
    report_.operations += line_of(op, names_);
  }
  void set_dtype(mlir::Value v) {
    report_.dtype = ir::to_tensor_type(v.getType()).dtype;
    has_dtype_ = true;
  }

  mlir::AsmState& names_;
  KernelReport report_;
  bool has_dtype_ = false;
  llvm::MapVector<mlir::Value, std::int64_t> arrays_;
};

}  // namespace

KernelReport KernelWork::of(llvm::ArrayRef<mlir::Operation*> operations, std::int64_t bytes) {
  if (!names_) {
    const auto flags = mlir::OpPrintingFlags().elideLargeElementsAttrs(8).skipRegions().useLocalScope();
    names_ = std::make_unique<mlir::AsmState>(function_, flags);
  }
  Counter counter(*names_);
  for (mlir::Operation* op : operations) counter.add(op);
  return counter.take(bytes);
}

}  // namespace kiln::codegen

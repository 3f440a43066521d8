// The dialect: verifiers, folders, types and attributes.
#include "ir/dialect.h"

#include "ir/emission.h"

#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Utils/IndexingUtils.h>
#include <mlir/IR/DialectImplementation.h>

#include "ir/KilnDialect.cpp.inc"
#include "ir/KilnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/KilnAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/KilnOps.cpp.inc"

namespace kiln::ir {

void KilnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/KilnOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/KilnAttributes.cpp.inc"
      >();
}

mlir::Operation* KilnDialect::materializeConstant(mlir::OpBuilder& builder, mlir::Attribute value,
                                                  mlir::Type type, mlir::Location loc) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements || elements.getType() != type) return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

mlir::RankedTensorType tensor_type(mlir::MLIRContext* context, const TensorType& type) {
  return mlir::RankedTensorType::get(llvm::ArrayRef<std::int64_t>(type.shape.begin(), type.shape.size()),
                                     element_type(context, type.dtype));
}

bool is_depthwise(PackedConvolutionOp op) {
  return op.getGroups() > 1 && ranked(op.getW()).getDimSize(0) == 1;
}

std::int64_t values_of_word(PackKind kind) {
  return kind == PackKind::words ? bytes_of_word : kind == PackKind::pairs ? 2 : 1;
}

std::int64_t values_of_word(mlir::Value lhs, mlir::Value result) {
  // Other contractions have operands A of the result's width.
  return ranked(result).getElementTypeBitWidth() / ranked(lhs).getElementTypeBitWidth();
}

bool packs_weights(PackOp op) {
  return op.getKind() == PackKind::convolution || op.getKind() == PackKind::winograd;
}

bool is_product(mlir::Operation* op) {
  return llvm::isa<PackedDotOp, PackedConvolutionOp, DepthwiseOp, ReduceWindowOp, WeightsProductOp,
                   WinogradOp>(op) ||
         is_on_tensor_cores(op);
}

llvm::SmallVector<std::int64_t> packed_shape(PackKind kind, llvm::ArrayRef<std::int64_t> x,
                                             std::int64_t panel, std::int64_t groups) {
  const auto panels = [&](std::int64_t n) { return llvm::divideCeilSigned(n, panel); };
  switch (kind) {
    case PackKind::matrix:
    case PackKind::transposed: {
      llvm::SmallVector<std::int64_t> to(x.drop_back(2));
      const bool transposed = kind == PackKind::transposed;
      to.append({panels(x[x.size() - (transposed ? 2 : 1)]), x[x.size() - (transposed ? 1 : 2)], panel});
      return to;
    }
    case PackKind::words:
    case PackKind::pairs: {
      llvm::SmallVector<std::int64_t> to(x.drop_back(2));
      to.append({panels(x[x.size() - 2]), x.back() / values_of_word(kind), panel});
      return to;
    }
    case PackKind::convolution:
      return {groups, panels(x[0] / groups), mlir::ShapedType::getNumElements(x.drop_front()), panel};
    case PackKind::winograd:
      return {panels(x[0]), 16, x[1], panel};
  }
  llvm_unreachable("all kinds are listed");
}

TensorType to_tensor_type(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  return {dtype_of_element(tensor.getElementType()),
          Shape(std::span(tensor.getShape().data(), tensor.getShape().size()))};
}

std::int64_t child_block_of(mlir::Operation* op) {
  auto fused = llvm::dyn_cast<mlir::FusedLoc>(op->getLoc());
  auto number = fused ? llvm::dyn_cast_if_present<mlir::IntegerAttr>(fused.getMetadata()) : nullptr;
  return number ? number.getInt() : 0;
}

bool is_countable(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  const mlir::Type element = tensor.getElementType();
  if (tensor.getRank() > Shape::max_rank || !element.isIntOrFloat()) return false;
  const std::span extents(tensor.getShape().data(), tensor.getShape().size());
  const auto bytes = product_of(extents, (element.getIntOrFloatBitWidth() + 7) / 8);
  return bytes && *bytes <= max_array_bytes;
}

mlir::SplatElementsAttr splat_of(mlir::Value v) {
  auto constant = v.getDefiningOp<ConstantOp>();
  return constant ? llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue()) : nullptr;
}

bool is_pointwise(mlir::Operation* op) {
  return llvm::isa<UnaryOp, BinaryOp, FmaOp, CompareOp, SelectOp, CastOp>(op);
}

bool is_view_op(mlir::Operation* op) {
  return llvm::isa<BroadcastOp, TransposeOp, SliceOp, ReverseOp, ReshapeOp>(op);
}

template <class Op>
static Window window_with(llvm::ArrayRef<std::int64_t> kernel, Op op) {
  return {to_shape(kernel), to_shape(op.getStride()), to_shape(op.getDilate()), to_shape(op.getPadLow()),
          to_shape(op.getPadHigh())};
}

Window window_of(ConvolutionOp op) {
  const auto w = ranked(op.getW()).getShape();
  return window_with(w.drop_front(std::min<std::size_t>(2, w.size())), op);
}
Window window_of(ConvolutionWeightsOp op) { return window_with(op.getKernel(), op); }
Window window_of(ReduceWindowOp op) { return window_with(op.getKernel(), op); }

void load_dialects(mlir::MLIRContext& context) {
  context.loadDialect<KilnDialect, mlir::func::FuncDialect>();
}

mlir::LogicalResult PackOp::verify() {
  llvm::SmallVector<std::int64_t> x(ranked(getX()).getShape());
  auto panel = static_cast<std::int64_t>(getPanel()), groups = static_cast<std::int64_t>(getGroups());
  if (panel < 1 || groups < 1 || x.size() < 2) return emitOpError("needs a matrix and a panel");
  if (getKind() == PackKind::winograd && (x.size() != 4 || x[2] != 3 || x[3] != 3))
    return emitOpError("needs kernels of 3x3");
  const DType dtype = type_of(getX()).dtype;
  if (getKind() == PackKind::words && (dtype != DType::i8 || x.back() % bytes_of_word != 0))
    return emitOpError("needs rows of whole words of i8");
  if (getKind() == PackKind::pairs && (dtype != DType::bf16 || x.back() % step_of_pairs != 0))
    return emitOpError("needs rows of whole steps of bf16");
  return verify_type(*this, [&] {
    return TensorType{values_of_word(getKind()) > 1 ? DType::i32 : dtype,
                      to_shape(packed_shape(getKind(), x, panel, groups))};
  });
}

//===----------------------------------------------------------------------===//
// Folders: the whole list of identities that may rewrite. Each is exact for -0, NaN and infinities.
//===----------------------------------------------------------------------===//

namespace {

/// A splat with another shape.
mlir::OpFoldResult move_splat(mlir::Attribute x, mlir::Type result) {
  auto splat = llvm::dyn_cast_if_present<mlir::SplatElementsAttr>(x);
  return splat ? splat.resizeSplat(llvm::cast<mlir::ShapedType>(result)) : mlir::OpFoldResult();
}

bool is_float_splat(mlir::Attribute x, double value, bool negative_zero = false) {
  auto splat = llvm::dyn_cast_if_present<mlir::SplatElementsAttr>(x);
  if (!splat || !llvm::isa<mlir::FloatType>(splat.getElementType())) return false;
  llvm::APFloat v = splat.getSplatValue<llvm::APFloat>();
  return v.isExactlyValue(negative_zero ? -0.0 : value);
}

bool is_integer_splat(mlir::Attribute x, std::int64_t value) {
  auto splat = llvm::dyn_cast_if_present<mlir::SplatElementsAttr>(x);
  if (!splat || !llvm::isa<mlir::IntegerType>(splat.getElementType())) return false;
  llvm::APInt v = splat.getSplatValue<llvm::APInt>();
  return v.getBitWidth() > 1 && v == llvm::APInt(v.getBitWidth(), static_cast<std::uint64_t>(value));
}

}  // namespace

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

mlir::OpFoldResult UnaryOp::fold(FoldAdaptor) {
  // -(-x) = x: the sign bit flips twice (integers wrap back too).
  if (getKind() == Unary::neg)
    if (auto inner = getX().getDefiningOp<UnaryOp>(); inner && inner.getKind() == Unary::neg)
      return inner.getX();
  return {};
}

mlir::OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
  mlir::Attribute rhs = adaptor.getRhs();
  switch (getKind()) {
    // x * 1 = x, x / 1 = x: exact for every x.
    case Binary::mul:
    case Binary::div:
      if (is_float_splat(rhs, 1.0) || is_integer_splat(rhs, 1)) return getLhs();
      break;
    // x - (+0) = x, for -0 too; x + (-0) = x. But x + (+0) turns -0 into +0 and stays.
    case Binary::sub:
      if (is_float_splat(rhs, 0.0) || is_integer_splat(rhs, 0)) return getLhs();
      break;
    case Binary::add:
      if (is_float_splat(rhs, 0.0, /*negative_zero=*/true) || is_integer_splat(rhs, 0)) return getLhs();
      break;
    default:
      break;
  }
  return {};
}

mlir::OpFoldResult SelectOp::fold(FoldAdaptor) {
  if (getOnTrue() == getOnFalse()) return getOnTrue();
  return {};
}

mlir::OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getX().getType() == getType()) return getX();
  return {};
}

mlir::OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType()) return getX();
  return move_splat(adaptor.getX(), getType());
}

mlir::OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType()) return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return move_splat(adaptor.getX(), getType());
}

mlir::OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  bool identity = true;
  for (auto [i, p] : llvm::enumerate(getPermutation())) identity &= static_cast<std::int64_t>(i) == p;
  if (identity) return getX();
  return move_splat(adaptor.getX(), getType());
}

mlir::OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType()) return getX();
  // A slice that lies in one part of a concatenation is a slice of that part.
  if (auto whole = getX().getDefiningOp<ConcatenateOp>(); whole) {
    auto axis = static_cast<std::size_t>(whole.getAxis());
    std::int64_t begin = 0;
    for (mlir::Value part : whole.getParts()) {
      std::int64_t end = begin + ranked(part).getDimSize(static_cast<unsigned>(axis));
      llvm::SmallVector<std::int64_t> start(getStart()), limit(getLimit());
      if (start[axis] >= begin && limit[axis] <= end && start[axis] < limit[axis]) {
        start[axis] -= begin;
        limit[axis] -= begin;
        setStart(start);
        setLimit(limit);
        getXMutable().assign(part);
        return getX().getType() == getType() ? mlir::OpFoldResult(getX()) : getResult();
      }
      begin = end;
    }
  }
  return move_splat(adaptor.getX(), getType());
}

mlir::OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  if (getParts().size() == 1) return getParts()[0];
  return {};
}

}  // namespace kiln::ir

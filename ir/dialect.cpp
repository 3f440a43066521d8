#include "ir/dialect.h"

#include "ir/algorithm.h"
#include "ir/result_types.h"
#include "runtime/dtype_table.h"

#include <kiln/error.h>

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

// The enums of the dialect and of Primitives have the same enumerators; build.cpp converts by value.
static_assert(static_cast<int>(Unary::logical_not) == static_cast<int>(UnaryKind::logical_not));
static_assert(static_cast<int>(Unary::tanh) == static_cast<int>(UnaryKind::tanh));
static_assert(static_cast<int>(Binary::logical_xor) == static_cast<int>(BinaryKind::logical_xor));
static_assert(static_cast<int>(Compare::ge) == static_cast<int>(CompareKind::ge));
static_assert(static_cast<int>(Binary::min) == static_cast<int>(BinaryKind::min));
static_assert(static_cast<int>(Reduce::min) == static_cast<int>(ReduceKind::min));
static_assert(static_cast<int>(Scatter::add) == static_cast<int>(ScatterKind::add));
static_assert(static_cast<int>(Extend::reflect) == static_cast<int>(ExtendKind::reflect));

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

bool packs_weights(PackOp op) {
  return op.getKind() == PackKind::convolution || op.getKind() == PackKind::winograd;
}

bool is_on_tensor_cores(mlir::Operation* op) {
  auto dot = llvm::dyn_cast<DotOp>(op);
  return dot && dot.getAlgorithm() == Algorithm::tensor_cores;
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

bool sorts_packed(mlir::Value x) {
  return ranked(x).getElementTypeBitWidth() <= 32 && ranked(x).getShape().back() < (std::int64_t{1} << 31);
}

mlir::RankedTensorType sort_scratch(mlir::Value x, std::int64_t count) {
  auto type = ranked(x);
  std::int64_t extent = type.getShape().back(),
               rows = mlir::ShapedType::getNumElements(type.getShape().drop_back());
  const bool packed = sorts_packed(x);
  const std::int64_t of_row =
      count < extent ? (packed ? 2 : 4) * sort_candidates(count) : (packed ? 1 : 3) * extent;
  return mlir::RankedTensorType::get({rows, of_row}, mlir::IntegerType::get(type.getContext(), 64));
}

bool sorts_part(SortOp op) {
  return ranked(op.getOrder()).getShape().back() < ranked(op.getX()).getShape().back();
}

static Shape to_shape(llvm::ArrayRef<std::int64_t> v) { return Shape(std::span(v.data(), v.size())); }

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

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

namespace {

TensorType type_of(mlir::Value v) { return to_tensor_type(v.getType()); }

/// Checks the type of the operation's first result against that of `infer`, a rule of ir/result_types.h.
template <class Infer>
mlir::LogicalResult verify_type(mlir::Operation* op, Infer infer) {
  try {
    const ResultType expected = infer();
    if (const Mismatch* mismatch = expected.mismatch()) return op->emitOpError(mismatch->operation);
    const mlir::Type given = op->getResult(0).getType();
    if (to_tensor_type(given) == expected.value()) return mlir::success();
    return op->emitOpError() << "must give " << tensor_type(op->getContext(), expected.value()) << ", not "
                             << given;
  } catch (const Error& e) {  // more axes than Shape::max_rank
    return op->emitOpError(e.what());
  }
}

}  // namespace

mlir::LogicalResult CompareOp::verify() {
  return verify_type(*this, [&] { return compare_type(type_of(getLhs()), type_of(getRhs())); });
}

mlir::LogicalResult SelectOp::verify() {
  return verify_type(*this, [&] {
    return select_type(type_of(getCondition()), type_of(getOnTrue()), type_of(getOnFalse()));
  });
}

mlir::LogicalResult IotaOp::verify() {
  return verify_type(*this,
                     [&] { return iota_type(type_of(getResult()), static_cast<std::int64_t>(getAxis())); });
}

mlir::LogicalResult RandomUniformOp::verify() {
  auto word = static_cast<std::int64_t>(getWord());
  if (word < 0 || word > (ranked(getResult()).getElementType().isF32() ? 3 : 0))
    return emitOpError() << "has no word " << word;
  return verify_type(*this, [&] { return random_uniform_type(type_of(getResult())); });
}

mlir::LogicalResult BroadcastOp::verify() {
  return verify_type(*this, [&] {
    return broadcast_type(type_of(getX()), type_of(getResult()).shape, to_shape(getDims()));
  });
}

mlir::LogicalResult ReshapeOp::verify() {
  return verify_type(*this, [&] { return reshape_type(type_of(getX()), type_of(getResult()).shape); });
}

mlir::LogicalResult TransposeOp::verify() {
  return verify_type(*this, [&] { return transpose_type(type_of(getX()), to_shape(getPermutation())); });
}

mlir::LogicalResult SliceOp::verify() {
  return verify_type(*this, [&] {
    return slice_type(type_of(getX()), to_shape(getStart()), to_shape(getLimit()), to_shape(getStep()));
  });
}

mlir::LogicalResult ReverseOp::verify() {
  return verify_type(*this, [&] { return reverse_type(type_of(getX()), to_shape(getAxes())); });
}

mlir::LogicalResult PadOp::verify() {
  if (getValue().getType() != ranked(getX()).getElementType())
    return emitOpError("needs a value of its element type");
  return verify_type(*this,
                     [&] { return pad_type(type_of(getX()), to_shape(getLow()), to_shape(getHigh())); });
}

mlir::LogicalResult ExtendOp::verify() {
  return verify_type(*this, [&] {
    return extend_type(static_cast<Extend>(getKind()), type_of(getX()), to_shape(getLow()),
                       to_shape(getHigh()));
  });
}

mlir::LogicalResult ConcatenateOp::verify() {
  return verify_type(*this, [&] {
    const auto parts = llvm::map_to_vector(getParts(), type_of);
    return concatenate_type({parts.data(), parts.size()}, static_cast<std::int64_t>(getAxis()));
  });
}

mlir::LogicalResult InsertOp::verify() {
  return verify_type(*this, [&] {
    return insert_type(type_of(getX()), type_of(getUpdate()), to_shape(getStart()), to_shape(getStep()));
  });
}

mlir::LogicalResult GatherOp::verify() {
  return verify_type(*this, [&] {
    return gather_type(type_of(getX()), type_of(getIndices()), static_cast<std::int64_t>(getAxis()));
  });
}

mlir::LogicalResult CheckBoundsOp::verify() {
  if (static_cast<std::int64_t>(getExtent()) < 0) return emitOpError("needs an extent that is not negative");
  return verify_type(*this, [&] { return check_bounds_type(type_of(getIndices())); });
}

mlir::LogicalResult ScatterOp::verify() {
  return verify_type(*this, [&] {
    return scatter_type(type_of(getX()), type_of(getIndices()), type_of(getUpdates()),
                        static_cast<std::int64_t>(getAxis()));
  });
}

mlir::LogicalResult SortOp::verify() {
  const mlir::RankedTensorType x = ranked(getX()), order = ranked(getOrder());
  if (x.getRank() == 0) return emitOpError("needs an axis");
  const std::int64_t extent = x.getShape().back(), count = order.getRank() == 0 ? 0 : order.getShape().back();
  const bool part = count > 0 && sort_candidates(count) < extent;
  llvm::SmallVector<std::int64_t> shape(x.getShape());
  if (part) shape.back() = count;
  const auto expected = mlir::RankedTensorType::get(shape, mlir::IntegerType::get(getContext(), 64));
  if (order != expected) return emitOpError() << "must give " << expected << ", not " << order;
  const mlir::RankedTensorType scratch = sort_scratch(getX(), shape.back());
  if (getScratch().getType() != scratch) return emitOpError() << "must have the scratch memory " << scratch;
  return mlir::success();
}

mlir::LogicalResult CumulativeOp::verify() {
  if (getKind() == ReduceKind::sum_squares) return emitOpError("adds no squares");
  return verify_type(*this,
                     [&] { return cumulative_type(type_of(getX()), static_cast<std::int64_t>(getAxis())); });
}

mlir::LogicalResult ReduceOp::verify() {
  return verify_type(*this, [&] { return reduce_type(type_of(getX()), to_shape(getAxes())); });
}

mlir::LogicalResult DotOp::verify() {
  if (getAlgorithm() == Algorithm::winograd) return emitOpError("is no convolution, which winograd is for");
  const bool on_tensor_cores = getAlgorithm() == Algorithm::tensor_cores;
  if (on_tensor_cores && wide_dtype(type_of(getLhs()).dtype) != DType::f32)
    return emitOpError("by tensor_cores needs operands of f16, bf16 or f32");
  return verify_type(*this, [&] {
    const ResultType result =
        dot_type(type_of(getLhs()), type_of(getRhs()), {getTransposeLhs(), getTransposeRhs()});
    if (!on_tensor_cores || result.mismatch()) return result;
    return ResultType(TensorType{DType::f32, result.value().shape});
  });
}

mlir::LogicalResult ConvolutionOp::verify() {
  const auto groups = static_cast<std::int64_t>(getGroups());
  const auto type = verify_type(*this, [&] {
    return convolution_type(type_of(getX()), type_of(getW()), {window_of(*this), groups});
  });
  if (mlir::failed(type)) return type;
  if (getAlgorithm() == Algorithm::tensor_cores) return emitOpError("cannot be by tensor_cores");
  if (getAlgorithm() == Algorithm::winograd && !winograd_is_defined(ranked(getW()), window_of(*this), groups))
    return emitOpError("by winograd needs f32, kernels of 3x3, one group, and steps of 1");
  return mlir::success();
}

mlir::LogicalResult ConvolutionWeightsOp::verify() {
  return verify_type(*this, [&] {
    const TensorType x = type_of(getX());
    const std::int64_t groups = getDepthwise() && x.shape.rank() > 1 ? x.shape[1] : 1;
    return convolution_weights_type(x, type_of(getG()), {window_of(*this), groups});
  });
}

mlir::LogicalResult ReduceWindowOp::verify() {
  if (getKind() == ReduceKind::sum_squares) return emitOpError("adds no squares");
  return verify_type(*this, [&] { return reduce_window_type(type_of(getX()), window_of(*this)); });
}

mlir::LogicalResult PackOp::verify() {
  llvm::SmallVector<std::int64_t> x(ranked(getX()).getShape());
  auto panel = static_cast<std::int64_t>(getPanel()), groups = static_cast<std::int64_t>(getGroups());
  if (panel < 1 || groups < 1 || x.size() < 2) return emitOpError("needs a matrix and a panel");
  if (getKind() == PackKind::winograd && (x.size() != 4 || x[2] != 3 || x[3] != 3))
    return emitOpError("needs kernels of 3x3");
  return verify_type(*this, [&] {
    return TensorType{type_of(getX()).dtype, to_shape(packed_shape(getKind(), x, panel, groups))};
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
  if (getKind() == UnaryKind::neg)
    if (auto inner = getX().getDefiningOp<UnaryOp>(); inner && inner.getKind() == UnaryKind::neg)
      return inner.getX();
  return {};
}

mlir::OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
  mlir::Attribute rhs = adaptor.getRhs();
  switch (getKind()) {
    // x * 1 = x, x / 1 = x: exact for every x.
    case BinaryKind::mul:
    case BinaryKind::div:
      if (is_float_splat(rhs, 1.0) || is_integer_splat(rhs, 1)) return getLhs();
      break;
    // x - (+0) = x, for -0 too; x + (-0) = x. But x + (+0) turns -0 into +0 and stays.
    case BinaryKind::sub:
      if (is_float_splat(rhs, 0.0) || is_integer_splat(rhs, 0)) return getLhs();
      break;
    case BinaryKind::add:
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

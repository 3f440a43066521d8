#include "ir/dialect.h"

#include "ir/algorithm.h"

#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/DialectImplementation.h>

#include "ir/KilnDialect.cpp.inc"
#include "ir/KilnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/KilnAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "ir/KilnOps.cpp.inc"

namespace kiln::ir {

// The enums of the dialect and of Primitives are one list each; build.cpp converts by value.
static_assert(static_cast<int>(Unary::logical_not) == static_cast<int>(UnaryKind::logical_not));
static_assert(static_cast<int>(Unary::tanh) == static_cast<int>(UnaryKind::tanh));
static_assert(static_cast<int>(Binary::logical_xor) == static_cast<int>(BinaryKind::logical_xor));
static_assert(static_cast<int>(Compare::ge) == static_cast<int>(CompareKind::ge));
static_assert(static_cast<int>(Binary::min) == static_cast<int>(BinaryKind::min));
static_assert(static_cast<int>(Reduce::min) == static_cast<int>(ReduceKind::min));
static_assert(static_cast<int>(Scatter::add) == static_cast<int>(ScatterKind::add));

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

mlir::Type element_type(mlir::MLIRContext* context, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return mlir::Float32Type::get(context);
    case DType::f64:
      return mlir::Float64Type::get(context);
    case DType::f16:
      return mlir::Float16Type::get(context);
    case DType::bf16:
      return mlir::BFloat16Type::get(context);
    case DType::i8:
      return mlir::IntegerType::get(context, 8);
    case DType::u8:
      return mlir::IntegerType::get(context, 8, mlir::IntegerType::Unsigned);
    case DType::i32:
      return mlir::IntegerType::get(context, 32);
    case DType::i64:
      return mlir::IntegerType::get(context, 64);
    case DType::boolean:
      return mlir::IntegerType::get(context, 1);
  }
  llvm_unreachable("all dtypes are listed");
}

DType dtype_of_element(mlir::Type element) {
  if (element.isF32()) return DType::f32;
  if (element.isF64()) return DType::f64;
  if (element.isF16()) return DType::f16;
  if (element.isBF16()) return DType::bf16;
  if (element.isUnsignedInteger(8)) return DType::u8;
  if (element.isSignlessInteger(8)) return DType::i8;
  if (element.isSignlessInteger(32)) return DType::i32;
  if (element.isSignlessInteger(64)) return DType::i64;
  return DType::boolean;
}

mlir::RankedTensorType tensor_type(mlir::MLIRContext* context, const TensorType& type) {
  return mlir::RankedTensorType::get(llvm::ArrayRef<std::int64_t>(type.shape.begin(), type.shape.size()),
                                     element_type(context, type.dtype));
}

bool is_depthwise(PackedConvolutionOp op) {
  return op.getGroups() > 1 && ranked(op.getW()).getDimSize(0) == 1;
}

bool is_product(mlir::Operation* op) { return llvm::isa<PackedDotOp, PackedConvolutionOp, WinogradOp>(op); }

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

bool is_movement(mlir::Operation* op) {
  return llvm::isa<BroadcastOp, TransposeOp, SliceOp, ReverseOp, ReshapeOp>(op);
}

bool sorts_packed(mlir::Value x) {
  return ranked(x).getElementTypeBitWidth() <= 32 && ranked(x).getShape().back() < (std::int64_t{1} << 31);
}

mlir::RankedTensorType sort_scratch(mlir::Value x) {
  auto type = ranked(x);
  std::int64_t extent = type.getShape().back(),
               rows = mlir::ShapedType::getNumElements(type.getShape().drop_back());
  return mlir::RankedTensorType::get({rows, sorts_packed(x) ? extent : 3 * extent},
                                     mlir::IntegerType::get(type.getContext(), 64));
}

static Shape to_shape(llvm::ArrayRef<std::int64_t> v) { return Shape(std::span(v.data(), v.size())); }

Window window_of(ConvolutionOp op) {
  return {to_shape(ranked(op.getW()).getShape().drop_front(2)), to_shape(op.getStride()),
          to_shape(op.getDilate()), to_shape(op.getPadLow()), to_shape(op.getPadHigh())};
}

Window window_of(ReduceWindowOp op) {
  return {to_shape(op.getKernel()), to_shape(op.getStride()), to_shape(op.getDilate()),
          to_shape(op.getPadLow()), to_shape(op.getPadHigh())};
}

void load_dialects(mlir::MLIRContext& context) {
  context.loadDialect<KilnDialect, mlir::func::FuncDialect>();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

namespace {

using Dims = llvm::ArrayRef<std::int64_t>;
Dims dims(mlir::Value v) { return ranked(v).getShape(); }

mlir::LogicalResult expect_result(mlir::Operation* op, Dims shape, mlir::Type element) {
  auto expected = mlir::RankedTensorType::get(shape, element);
  if (op->getResult(0).getType() == expected) return mlir::success();
  return op->emitOpError() << "must give " << expected << ", not " << op->getResult(0).getType();
}

mlir::LogicalResult expect_same_element(mlir::Operation* op, mlir::Value a, mlir::Value b) {
  if (ranked(a).getElementType() == ranked(b).getElementType()) return mlir::success();
  return op->emitOpError() << "mixes the element types " << ranked(a).getElementType() << " and "
                           << ranked(b).getElementType();
}

mlir::LogicalResult expect_rank(mlir::Operation* op, Dims list, llvm::StringRef name, std::size_t rank) {
  if (list.size() == rank) return mlir::success();
  return op->emitOpError() << "needs " << rank << " values in `" << name << "`, has " << list.size();
}

mlir::LogicalResult verify_axis(mlir::Operation* op, std::int64_t axis, std::size_t rank) {
  if (axis >= 0 && axis < static_cast<std::int64_t>(rank)) return mlir::success();
  return op->emitOpError() << "axis " << axis << " does not exist in rank " << rank;
}

mlir::LogicalResult verify_axes(mlir::Operation* op, Dims axes, std::size_t rank) {
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (mlir::failed(verify_axis(op, axis, rank))) return mlir::failure();
    if (i > 0 && axes[i - 1] >= axis) return op->emitOpError() << "axes must ascend";
  }
  return mlir::success();
}

std::int64_t window_extent(std::int64_t in, const Window& w, std::size_t i) {
  std::int64_t reach = w.dilate[i] * (w.kernel[i] - 1) + 1;
  std::int64_t padded = in + w.pad_low[i] + w.pad_high[i];
  return padded < reach ? -1 : (padded - reach) / w.stride[i] + 1;
}

mlir::LogicalResult verify_window(mlir::Operation* op, mlir::Value x, const Window& w,
                                  std::int64_t channels) {
  Dims in = dims(x);
  std::size_t spatial = in.size() < 2 ? 0 : in.size() - 2;
  if (in.size() < 3) return op->emitOpError() << "needs (n, c, spatial...)";
  for (const Shape* s : {&w.kernel, &w.stride, &w.dilate, &w.pad_low, &w.pad_high})
    if (s->size() != spatial)
      return op->emitOpError() << "needs " << spatial << " values for each part of its window";
  llvm::SmallVector<std::int64_t> out{in[0], channels};
  for (std::size_t i = 0; i < spatial; ++i) {
    if (w.kernel[i] < 1 || w.stride[i] < 1 || w.dilate[i] < 1 || w.pad_low[i] < 0 || w.pad_high[i] < 0)
      return op->emitOpError() << "has a window out of range";
    std::int64_t extent = window_extent(in[i + 2], w, i);
    if (extent < 0) return op->emitOpError() << "has a window larger than its input";
    out.push_back(extent);
  }
  return expect_result(op, out, ranked(x).getElementType());
}

}  // namespace

mlir::LogicalResult CompareOp::verify() {
  return expect_result(*this, dims(getLhs()), mlir::IntegerType::get(getContext(), 1));
}

mlir::LogicalResult SelectOp::verify() {
  if (!ranked(getCondition()).getElementType().isSignlessInteger(1))
    return emitOpError("needs a condition of i1");
  if (dims(getCondition()) != dims(getOnTrue()))
    return emitOpError("needs a condition of its operands' shape");
  return mlir::success();
}

mlir::LogicalResult IotaOp::verify() {
  return verify_axis(*this, static_cast<std::int64_t>(getAxis()), ranked(getResult()).getRank());
}

mlir::LogicalResult RandomUniformOp::verify() {
  mlir::Type element = ranked(getResult()).getElementType();
  if (!element.isF32() && !element.isF64() && !element.isSignlessInteger(64))
    return emitOpError("gives f32, f64 or i64");
  auto word = static_cast<std::int64_t>(getWord());
  if (word < 0 || word > (element.isF32() ? 3 : 0)) return emitOpError() << "has no word " << word;
  return mlir::success();
}

mlir::LogicalResult BroadcastOp::verify() {
  Dims from = dims(getX()), to = dims(getResult());
  if (mlir::failed(expect_rank(*this, getDims(), "dims", from.size()))) return mlir::failure();
  for (auto [i, d] : llvm::enumerate(getDims())) {
    if (mlir::failed(verify_axis(*this, d, to.size()))) return mlir::failure();
    if (i > 0 && getDims()[i - 1] >= d) return emitOpError("dims must ascend");
    if (from[i] != 1 && from[i] != to[static_cast<std::size_t>(d)])
      return emitOpError() << "cannot repeat extent " << from[i] << " to " << to[static_cast<std::size_t>(d)];
  }
  return expect_same_element(*this, getX(), getResult());
}

mlir::LogicalResult ReshapeOp::verify() {
  if (ranked(getX()).getNumElements() != ranked(getResult()).getNumElements())
    return emitOpError("must keep the number of elements");
  return expect_same_element(*this, getX(), getResult());
}

mlir::LogicalResult TransposeOp::verify() {
  Dims from = dims(getX());
  if (mlir::failed(expect_rank(*this, getPermutation(), "permutation", from.size()))) return mlir::failure();
  llvm::SmallVector<bool> seen(from.size());
  llvm::SmallVector<std::int64_t> to;
  for (std::int64_t p : getPermutation()) {
    if (mlir::failed(verify_axis(*this, p, from.size()))) return mlir::failure();
    if (std::exchange(seen[static_cast<std::size_t>(p)], true))
      return emitOpError() << "names axis " << p << " twice";
    to.push_back(from[static_cast<std::size_t>(p)]);
  }
  return expect_result(*this, to, ranked(getX()).getElementType());
}

mlir::LogicalResult SliceOp::verify() {
  Dims from = dims(getX());
  llvm::SmallVector<std::int64_t> to;
  for (auto [name, list] :
       {std::pair<llvm::StringRef, Dims>{"start", getStart()}, {"limit", getLimit()}, {"step", getStep()}})
    if (mlir::failed(expect_rank(*this, list, name, from.size()))) return mlir::failure();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (getStep()[i] < 1) return emitOpError("needs steps above 0");
    if (getStart()[i] < 0 || getStart()[i] > getLimit()[i] || getLimit()[i] > from[i])
      return emitOpError() << "leaves axis " << i << " of extent " << from[i];
    to.push_back((getLimit()[i] - getStart()[i] + getStep()[i] - 1) / getStep()[i]);
  }
  return expect_result(*this, to, ranked(getX()).getElementType());
}

mlir::LogicalResult ReverseOp::verify() { return verify_axes(*this, getAxes(), dims(getX()).size()); }

mlir::LogicalResult PadOp::verify() {
  Dims from = dims(getX());
  if (mlir::failed(expect_rank(*this, getLow(), "low", from.size())) ||
      mlir::failed(expect_rank(*this, getHigh(), "high", from.size())))
    return mlir::failure();
  llvm::SmallVector<std::int64_t> to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (getLow()[i] < 0 || getHigh()[i] < 0) return emitOpError("cannot cut: pads are not negative");
    to.push_back(from[i] + getLow()[i] + getHigh()[i]);
  }
  if (getValue().getType() != ranked(getX()).getElementType())
    return emitOpError("needs a value of its element type");
  return expect_result(*this, to, ranked(getX()).getElementType());
}

mlir::LogicalResult ConcatenateOp::verify() {
  if (getParts().empty()) return emitOpError("needs a part");
  llvm::SmallVector<std::int64_t> to(dims(getParts()[0]));
  if (mlir::failed(verify_axis(*this, static_cast<std::int64_t>(getAxis()), to.size())))
    return mlir::failure();
  std::size_t axis = getAxis();
  to[axis] = 0;
  for (mlir::Value part : getParts()) {
    Dims d = dims(part);
    if (mlir::failed(expect_same_element(*this, part, getResult()))) return mlir::failure();
    if (d.size() != to.size()) return emitOpError("mixes ranks");
    for (std::size_t i = 0; i < d.size(); ++i)
      if (i != axis && d[i] != to[i])
        return emitOpError() << "mixes extents " << to[i] << " and " << d[i] << " on axis " << i;
    to[axis] += d[axis];
  }
  return expect_result(*this, to, ranked(getResult()).getElementType());
}

mlir::LogicalResult InsertOp::verify() {
  Dims to = dims(getX()), from = dims(getUpdate());
  if (mlir::failed(expect_rank(*this, getStart(), "start", to.size())) ||
      mlir::failed(expect_rank(*this, getStep(), "step", to.size())))
    return mlir::failure();
  if (from.size() != to.size()) return emitOpError("needs an update of the same rank");
  for (std::size_t i = 0; i < to.size(); ++i)
    if (getStart()[i] < 0 || getStep()[i] < 1 ||
        (from[i] > 0 && getStart()[i] + (from[i] - 1) * getStep()[i] >= to[i]))
      return emitOpError() << "leaves axis " << i << " of extent " << to[i];
  return expect_same_element(*this, getX(), getUpdate());
}

mlir::LogicalResult GatherOp::verify() {
  Dims x = dims(getX()), indices = dims(getIndices());
  if (mlir::failed(verify_axis(*this, static_cast<std::int64_t>(getAxis()), x.size())))
    return mlir::failure();
  if (!ranked(getIndices()).getElementType().isSignlessInteger())
    return emitOpError("needs indices of i32 or i64");
  llvm::SmallVector<std::int64_t> to(x.take_front(getAxis()));
  to.append(indices.begin(), indices.end());
  to.append(x.begin() + static_cast<std::ptrdiff_t>(getAxis()) + 1, x.end());
  return expect_result(*this, to, ranked(getX()).getElementType());
}

mlir::LogicalResult CheckBoundsOp::verify() {
  if (!ranked(getIndices()).getElementType().isSignlessInteger(64))
    return emitOpError("needs indices of i64");
  if (static_cast<std::int64_t>(getExtent()) < 0) return emitOpError("needs an extent that is not negative");
  return mlir::success();
}

mlir::LogicalResult ScatterOp::verify() {
  Dims x = dims(getX()), indices = dims(getIndices());
  if (mlir::failed(verify_axis(*this, static_cast<std::int64_t>(getAxis()), x.size())))
    return mlir::failure();
  if (!ranked(getIndices()).getElementType().isSignlessInteger())
    return emitOpError("needs indices of i32 or i64");
  llvm::SmallVector<std::int64_t> expected(x.take_front(getAxis()));
  expected.append(indices.begin(), indices.end());
  expected.append(x.begin() + static_cast<std::ptrdiff_t>(getAxis()) + 1, x.end());
  if (dims(getUpdates()) != Dims(expected)) return emitOpError("needs updates of the shape of a gather");
  return expect_same_element(*this, getX(), getUpdates());
}

mlir::LogicalResult SortOp::verify() {
  if (dims(getX()).empty()) return emitOpError("needs an axis");
  if (getScratch().getType() != sort_scratch(getX()))
    return emitOpError() << "must have the scratch memory " << sort_scratch(getX());
  return expect_result(*this, dims(getX()), mlir::IntegerType::get(getContext(), 64));
}

mlir::LogicalResult CumulativeOp::verify() {
  if (getKind() == ReduceKind::sum_squares) return emitOpError("adds no squares");
  return verify_axis(*this, static_cast<std::int64_t>(getAxis()), dims(getX()).size());
}

mlir::LogicalResult ReduceOp::verify() {
  Dims x = dims(getX());
  if (mlir::failed(verify_axes(*this, getAxes(), x.size()))) return mlir::failure();
  llvm::SmallVector<std::int64_t> to;
  for (auto [i, d] : llvm::enumerate(x))
    if (!llvm::is_contained(getAxes(), static_cast<std::int64_t>(i))) to.push_back(d);
  return expect_result(*this, to, ranked(getX()).getElementType());
}

mlir::LogicalResult DotOp::verify() {
  if (getAlgorithm() == Algorithm::winograd) return emitOpError("is no convolution, which winograd is for");
  Dims a = dims(getLhs()), b = dims(getRhs());
  if (a.size() < 2 || a.size() != b.size()) return emitOpError("needs matrices of one rank");
  std::size_t m = a.size() - 2;
  if (a.take_front(m) != b.take_front(m)) return emitOpError("needs equal batch axes");
  if (mlir::failed(expect_same_element(*this, getLhs(), getRhs()))) return mlir::failure();
  std::int64_t ak = getTransposeLhs() ? a[m] : a[m + 1], bk = getTransposeRhs() ? b[m + 1] : b[m];
  if (ak != bk) return emitOpError() << "contracts extents " << ak << " and " << bk;
  llvm::SmallVector<std::int64_t> to(a.take_front(m));
  to.push_back(getTransposeLhs() ? a[m + 1] : a[m]);
  to.push_back(getTransposeRhs() ? b[m] : b[m + 1]);
  return expect_result(*this, to, ranked(getLhs()).getElementType());
}

mlir::LogicalResult ConvolutionOp::verify() {
  Dims x = dims(getX()), w = dims(getW());
  auto groups = static_cast<std::int64_t>(getGroups());
  if (x.size() < 3 || w.size() != x.size())
    return emitOpError("needs (n, c, spatial...) and (o, c / groups, kernel...)");
  if (groups < 1 || x[1] != w[1] * groups || w[0] % groups != 0)
    return emitOpError("has groups that do not divide its channels");
  if (mlir::failed(expect_same_element(*this, getX(), getW()))) return mlir::failure();
  const Window window = window_of(*this);
  if (getAlgorithm() == Algorithm::interleaved64) return emitOpError("cannot be interleaved64");
  if (getAlgorithm() == Algorithm::winograd && !winograd_is_defined(ranked(getW()), window, groups))
    return emitOpError("by winograd needs f32, kernels of 3x3, one group, and steps of 1");
  return verify_window(*this, getX(), window, w[0]);
}

mlir::LogicalResult ReduceWindowOp::verify() {
  if (getKind() == ReduceKind::sum_squares) return emitOpError("adds no squares");
  Dims x = dims(getX());
  return verify_window(*this, getX(), window_of(*this), x.size() > 1 ? x[1] : 0);
}

mlir::LogicalResult PackOp::verify() {
  Dims x = dims(getX());
  auto panel = static_cast<std::int64_t>(getPanel()), groups = static_cast<std::int64_t>(getGroups());
  if (panel < 1 || groups < 1 || x.size() < 2) return emitOpError("needs a matrix and a panel");
  if (getKind() == PackKind::winograd && (x.size() != 4 || x[2] != 3 || x[3] != 3))
    return emitOpError("needs kernels of 3x3");
  return expect_result(*this, packed_shape(getKind(), x, panel, groups), ranked(getX()).getElementType());
}

//===----------------------------------------------------------------------===//
// Folders: the whole list of identities that may rewrite. Each is exact for -0, NaN and infinities.
//===----------------------------------------------------------------------===//

namespace {

/// A splat under another shape is a splat.
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
      std::int64_t end = begin + dims(part)[axis];
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

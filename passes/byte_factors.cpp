// Finds the bytes that a contraction's operands are widened from.
#include "passes/byte_factors.h"

#include "passes/convolution_layout.h"
#include "passes/permute_axes.h"

#include <llvm/ADT/Sequence.h>
#include <llvm/Support/MathExtras.h>
#include <mlir/IR/IRMapping.h>

#include <numeric>

namespace kiln::passes {
namespace {

using Dims = llvm::SmallVector<std::int64_t, 6>;

constexpr std::int64_t offset_of_unsigned = 128;

mlir::Type byte_type(mlir::OpBuilder& builder, bool is_signed) {
  return ir::element_type(builder.getContext(), is_signed ? DType::i8 : DType::u8);
}

mlir::Value splat(mlir::OpBuilder& builder, mlir::Location loc, mlir::RankedTensorType type,
                  std::int64_t value) {
  const auto elements = mlir::DenseElementsAttr::get(
      type, mlir::Attribute(builder.getIntegerAttr(type.getElementType(), value)));
  return ir::ConstantOp::create(builder, loc, type, elements);
}

/// An array of i32 that is widened from bytes, through views and paddings by zeros.
class WidenedBytes {
 public:
  /// Nothing for other values.
  static std::optional<WidenedBytes> of(mlir::Value v) {
    if (!ir::ranked(v).getElementType().isSignlessInteger(32)) return {};
    for (mlir::Operation* op = v.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
      if (auto cast = llvm::dyn_cast<ir::CastOp>(op)) {
        const mlir::Type from = ir::ranked(cast.getX()).getElementType();
        if (!from.isInteger(8)) return {};
        return WidenedBytes(v, !from.isUnsignedInteger());
      }
      if (!ir::is_view_op(op) && !pads_by_zeros(op)) return {};
    }
    return {};
  }

  bool is_signed() const { return is_signed_; }
  /// The array, widened to f32 instead.
  mlir::Value floats(mlir::OpBuilder& builder) const {
    return rebuilt(builder, array_, builder.getF32FloatAttr(0), [&](ir::CastOp cast) -> mlir::Value {
      const auto type = mlir::RankedTensorType::get(cast.getType().getShape(), builder.getF32Type());
      return ir::CastOp::create(builder, cast.getLoc(), type, cast.getX());
    });
  }
  /// The array before it was widened.
  mlir::Value bytes(mlir::OpBuilder& builder) const {
    return rebuilt(builder, array_, builder.getIntegerAttr(byte_type(builder, is_signed_), 0),
                   [](ir::CastOp cast) { return cast.getX(); });
  }
  /// The array before it was widened; each signed byte plus offset_of_unsigned.
  mlir::Value unsigned_bytes(mlir::OpBuilder& builder) const {
    if (!is_signed_) return bytes(builder);
    const mlir::Type u8 = byte_type(builder, false);
    return rebuilt(builder, array_, builder.getIntegerAttr(u8, offset_of_unsigned),
                   [&](ir::CastOp cast) -> mlir::Value {
                     const auto type = mlir::RankedTensorType::get(cast.getType().getShape(), u8);
                     const mlir::Value x = ir::CastOp::create(builder, cast.getLoc(), type, cast.getX());
                     return ir::BinaryOp::create(builder, cast.getLoc(), type, ir::Binary::add, x,
                                                 splat(builder, cast.getLoc(), type, offset_of_unsigned));
                   });
  }

 private:
  WidenedBytes(mlir::Value array, bool is_signed) : array_(array), is_signed_(is_signed) {}

  static bool pads_by_zeros(mlir::Operation* op) {
    auto pad = llvm::dyn_cast<ir::PadOp>(op);
    auto value = pad ? llvm::dyn_cast<mlir::IntegerAttr>(pad.getValueAttr()) : mlir::IntegerAttr();
    return value && value.getValue().isZero();
  }

  /// The views and paddings of `v`, of what `widened` gives instead of the widening; `padding` replaces the
  /// zeros, and has the type of the elements.
  static mlir::Value rebuilt(mlir::OpBuilder& builder, mlir::Value v, mlir::TypedAttr padding,
                             llvm::function_ref<mlir::Value(ir::CastOp)> widened) {
    mlir::Operation* const op = v.getDefiningOp();
    if (auto cast = llvm::dyn_cast<ir::CastOp>(op)) return widened(cast);
    mlir::IRMapping map;
    map.map(op->getOperand(0), rebuilt(builder, op->getOperand(0), padding, widened));
    mlir::Operation* const copy = builder.clone(*op, map);
    copy->getResult(0).setType(mlir::RankedTensorType::get(ir::ranked(v).getShape(), padding.getType()));
    if (auto pad = llvm::dyn_cast<ir::PadOp>(copy)) pad.setValueAttr(padding);
    return copy->getResult(0);
  }

  mlir::Value array_;
  bool is_signed_;
};

/// `v` with elements at the end of an axis, up to whole words.
mlir::Value in_whole_words(mlir::OpBuilder& builder, mlir::Value v, std::size_t axis) {
  const std::int64_t extent = ir::ranked(v).getShape()[axis];
  return lengthened(builder, v, axis,
                    static_cast<std::int64_t>(llvm::alignTo(extent, ir::bytes_of_word)) - extent);
}

/// -128 times the sum of the bytes over `axes`.
mlir::Value correction_of(mlir::OpBuilder& builder, mlir::Value bytes, llvm::ArrayRef<std::int64_t> axes) {
  const mlir::Location loc = bytes.getLoc();
  const mlir::Type i32 = builder.getI32Type();
  const auto shape = ir::ranked(bytes).getShape();
  Dims kept;
  for (std::int64_t axis : llvm::seq<std::int64_t>(0, static_cast<std::int64_t>(shape.size())))
    if (!llvm::is_contained(axes, axis)) kept.push_back(shape[static_cast<std::size_t>(axis)]);
  const mlir::Value wide = ir::CastOp::create(builder, loc, mlir::RankedTensorType::get(shape, i32), bytes);
  const auto type = mlir::RankedTensorType::get(kept, i32);
  const mlir::Value sums = ir::ReduceOp::create(builder, loc, type, ir::Reduce::sum, wide, axes);
  return ir::BinaryOp::create(builder, loc, type, ir::Binary::mul, sums,
                              splat(builder, loc, type, -offset_of_unsigned));
}

/// Whether both operands are widened, the RHS from i8.
struct Widened {
  std::optional<WidenedBytes> lhs, rhs;
  Widened(mlir::Value left, mlir::Value right) : lhs(WidenedBytes::of(left)), rhs(WidenedBytes::of(right)) {}
  explicit operator bool() const { return lhs && rhs && rhs->is_signed(); }
};

}  // namespace

mlir::Value ByteFactors::corrected(mlir::OpBuilder& builder, mlir::Value product) const {
  if (!correction) return product;
  const mlir::RankedTensorType type = ir::ranked(product);
  const auto columns = static_cast<std::int64_t>(type.getRank()) - 1;
  Dims axes(static_cast<std::size_t>(ir::ranked(correction).getRank()));
  std::iota(axes.begin(), axes.end(), 0);
  axes.back() = columns;
  const mlir::Value added = ir::BroadcastOp::create(builder, product.getLoc(), type, correction, axes);
  return ir::BinaryOp::create(builder, product.getLoc(), type, ir::Binary::add, product, added);
}

std::optional<ByteFactors> byte_factors(mlir::OpBuilder& builder, ir::DotOp op) {
  const Widened widened(op.getLhs(), op.getRhs());
  if (!widened) return {};
  ByteFactors factors{widened.lhs->unsigned_bytes(builder), widened.rhs->bytes(builder), {}};
  if (op.getTransposeLhs()) factors.lhs = with_last_axes_swapped(builder, factors.lhs);
  if (!op.getTransposeRhs()) factors.rhs = with_last_axes_swapped(builder, factors.rhs);
  const auto last = ir::ranked(factors.rhs).getRank() - 1;
  if (widened.lhs->is_signed()) factors.correction = correction_of(builder, factors.rhs, last);
  factors.lhs = in_whole_words(builder, factors.lhs, static_cast<std::size_t>(last));
  factors.rhs = in_whole_words(builder, factors.rhs, static_cast<std::size_t>(last));
  return factors;
}

std::optional<ByteFactors> byte_factors(mlir::OpBuilder& builder, ir::ConvolutionOp op) {
  const Widened widened(op.getX(), op.getW());
  const bool whole = ir::ranked(op.getW()).getDimSize(1) % ir::bytes_of_word == 0;
  if (!widened || is_depthwise(op) || (op.getGroups() > 1 && !whole)) return {};
  ByteFactors factors{widened.lhs->unsigned_bytes(builder), widened.rhs->bytes(builder), {}};
  if (widened.lhs->is_signed()) {
    Dims axes(static_cast<std::size_t>(ir::ranked(op.getW()).getRank() - 1));
    std::iota(axes.begin(), axes.end(), 1);
    factors.correction = correction_of(builder, factors.rhs, axes);
  }
  factors.lhs = in_whole_words(builder, factors.lhs, 1);
  factors.rhs = in_whole_words(builder, factors.rhs, 1);
  return factors;
}

ir::ConvolutionOp replace_by_f32(mlir::OpBuilder& builder, ir::ConvolutionOp op) {
  const Widened widened(op.getX(), op.getW());
  constexpr std::int64_t max_product = 255 * 128, exact = 1 << 24;
  const std::int64_t products =
      mlir::ShapedType::getNumElements(ir::ranked(op.getW()).getShape().drop_front());
  if (!widened || products * max_product >= exact) return {};
  mlir::IRMapping map;
  map.map(op.getX(), widened.lhs->floats(builder));
  map.map(op.getW(), widened.rhs->floats(builder));
  auto floats = llvm::cast<ir::ConvolutionOp>(builder.clone(*op, map));
  floats.getResult().setType(mlir::RankedTensorType::get(op.getType().getShape(), builder.getF32Type()));
  // A sum is +0 if it is 0, as in i32. Casts that nothing uses any more are dead.
  for (mlir::Operation* user : op->getUsers())
    if (auto cast = llvm::dyn_cast<ir::CastOp>(user); cast && cast.getType() == floats.getType())
      cast.replaceAllUsesWith(floats.getResult());
  op.replaceAllUsesWith(ir::CastOp::create(builder, op.getLoc(), op.getType(), floats).getResult());
  op.erase();
  return floats;
}

}  // namespace kiln::passes

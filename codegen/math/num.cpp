// The one place where the operations of num.h become operations of MLIR's arith and LLVM dialects.
#include "codegen/math/num.h"

#include <llvm/ADT/Sequence.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

namespace kiln::codegen {

namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;

namespace {

template <class Op>
Num emit(Num like, mlir::Type type, auto... operands) {
  return like.make(Op::create(like.builder(), like.loc(), type, operands.value()...));
}
template <class Op>
Num binary(Num a, Num b) {
  return a.make(Op::create(a.builder(), a.loc(), a.value(), b.value()));
}
template <class Float, class Int>
Num either(Num a, Num b) {
  return a.is_float() ? binary<Float>(a, b) : binary<Int>(a, b);
}
Num compare(Num a, Num b, arith::CmpFPredicate f, arith::CmpIPredicate i) {
  if (a.is_float()) return a.make(arith::CmpFOp::create(a.builder(), a.loc(), f, a.value(), b.value()));
  return a.make(arith::CmpIOp::create(a.builder(), a.loc(), i, a.value(), b.value()));
}
Num splat(Num like, mlir::TypedAttr element) {
  mlir::Type type = like.value().getType();
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
    element = mlir::DenseElementsAttr::get(vector, mlir::ArrayRef<mlir::Attribute>(element));
  return like.make(arith::ConstantOp::create(like.builder(), like.loc(), type, element));
}

}  // namespace

mlir::Type Num::with_element(mlir::Type element) const {
  auto vector = mlir::dyn_cast<mlir::VectorType>(v_.getType());
  return vector ? vector.clone(element) : element;
}
mlir::Type Num::float_type(int width) const {
  switch (width) {
    case 16:
      return with_element(b_->getF16Type());
    case 32:
      return with_element(b_->getF32Type());
    default:
      return with_element(b_->getF64Type());
  }
}
mlir::Type Num::int_type(int width) const {
  return with_element(b_->getIntegerType(static_cast<unsigned>(width)));
}
Num Num::constant(double x) const {
  if (!is_float()) return constant(static_cast<std::int64_t>(x));
  return splat(*this, b_->getFloatAttr(element(), x));
}
Num Num::constant(std::int64_t x) const {
  if (is_float()) return constant(static_cast<double>(x));
  llvm::APInt low(static_cast<unsigned>(width()), static_cast<std::uint64_t>(x), false, true);
  return splat(*this, b_->getIntegerAttr(element(), low));
}

Num operator+(Num a, Num b) { return either<arith::AddFOp, arith::AddIOp>(a, b); }
Num operator-(Num a, Num b) { return either<arith::SubFOp, arith::SubIOp>(a, b); }
Num operator*(Num a, Num b) { return either<arith::MulFOp, arith::MulIOp>(a, b); }
Num operator/(Num a, Num b) { return binary<arith::DivFOp>(a, b); }
Num operator-(Num a) {
  if (!a.is_float()) return a.constant(0) - a;
  return a.make(arith::NegFOp::create(a.builder(), a.loc(), a.value()));
}
Num operator&(Num a, Num b) { return binary<arith::AndIOp>(a, b); }
Num operator|(Num a, Num b) { return binary<arith::OrIOp>(a, b); }
Num operator^(Num a, Num b) { return binary<arith::XOrIOp>(a, b); }
Num operator~(Num a) { return a ^ -1; }
Num operator<<(Num a, int bits) { return binary<arith::ShLIOp>(a, a.constant(bits)); }
Num operator>>(Num a, int bits) { return binary<arith::ShRSIOp>(a, a.constant(bits)); }
Num shift_right_logical(Num a, int bits) { return binary<arith::ShRUIOp>(a, a.constant(bits)); }

using F = arith::CmpFPredicate;
using I = arith::CmpIPredicate;
Num lt(Num a, Num b) { return compare(a, b, F::OLT, I::slt); }
Num le(Num a, Num b) { return compare(a, b, F::OLE, I::sle); }
Num gt(Num a, Num b) { return compare(a, b, F::OGT, I::sgt); }
Num ge(Num a, Num b) { return compare(a, b, F::OGE, I::sge); }
Num eq(Num a, Num b) { return compare(a, b, F::OEQ, I::eq); }
Num ne(Num a, Num b) { return compare(a, b, F::UNE, I::ne); }
Num lt_unsigned(Num a, Num b) { return compare(a, b, F::OLT, I::ult); }
Num le_unsigned(Num a, Num b) { return compare(a, b, F::OLE, I::ule); }
Num is_nan(Num x) { return compare(x, x, F::UNO, I::ne); }

Num select(Num condition, Num a, Num b) {
  return a.make(arith::SelectOp::create(a.builder(), a.loc(), condition.value(), a.value(), b.value()));
}

Num fma(Num a, Num b, Num c) { return emit<LLVM::FMAOp>(a, a.value().getType(), a, b, c); }
Num sqrt(Num x) { return emit<LLVM::SqrtOp>(x, x.value().getType(), x); }
Num abs(Num x) {
  if (!x.is_float()) return select(lt(x, 0), -x, x);
  return emit<LLVM::FAbsOp>(x, x.value().getType(), x);
}
Num copysign(Num magnitude, Num sign) {
  return emit<LLVM::CopySignOp>(magnitude, magnitude.value().getType(), magnitude, sign);
}
Num floor(Num x) { return emit<LLVM::FFloorOp>(x, x.value().getType(), x); }
Num ceil(Num x) { return emit<LLVM::FCeilOp>(x, x.value().getType(), x); }
Num trunc(Num x) { return emit<LLVM::FTruncOp>(x, x.value().getType(), x); }
// roundeven does not depend on the rounding mode, so no pass has to consider it.
Num round_to_even(Num x) { return emit<LLVM::RoundEvenOp>(x, x.value().getType(), x); }
Num divide_signed(Num a, Num b) { return binary<arith::DivSIOp>(a, b); }

Num bits(Num x) { return emit<arith::BitcastOp>(x, x.int_type(x.width()), x); }
Num from_bits(Num x) { return emit<arith::BitcastOp>(x, x.float_type(x.width()), x); }
Num to_f32(Num x) { return x.width() == 32 ? x : emit<arith::TruncFOp>(x, x.float_type(32), x); }
Num to_f64(Num x) { return x.width() == 64 ? x : emit<arith::ExtFOp>(x, x.float_type(64), x); }
Num f16_from_f32(Num x) { return emit<arith::TruncFOp>(x, x.float_type(16), x); }
Num f32_from_f16(Num x) { return emit<arith::ExtFOp>(x, x.float_type(32), x); }
Num float_from_signed(Num x, int width) { return emit<arith::SIToFPOp>(x, x.float_type(width), x); }
Num signed_from_float(Num x, int width) { return emit<arith::FPToSIOp>(x, x.int_type(width), x); }
Num resize_signed(Num x, int width) {
  if (width == x.width()) return x;
  if (width < x.width()) return emit<arith::TruncIOp>(x, x.int_type(width), x);
  return emit<arith::ExtSIOp>(x, x.int_type(width), x);
}
Num resize_unsigned(Num x, int width) {
  if (width <= x.width()) return resize_signed(x, width);
  return emit<arith::ExtUIOp>(x, x.int_type(width), x);
}

Num broadcast(Num scalar, Num lanes) {
  mlir::Type type = lanes.with_element(scalar.value().getType());
  return type == scalar.value().getType() ? scalar : emit<mlir::vector::BroadcastOp>(scalar, type, scalar);
}

Num by_registers(Num a, Num b, int lanes, llvm::function_ref<Num(Num, Num)> f) {
  const int all = a.lanes(), registers = all / lanes;
  if (registers == 1) return f(a, b);
  const auto shuffle = [&](Num x, Num y, llvm::ArrayRef<std::int32_t> mask) {
    return x.make(LLVM::ShuffleVectorOp::create(x.builder(), x.loc(), x.value(), y.value(), mask));
  };
  const auto part = [&](int first, int count) {
    const auto mask = llvm::to_vector(llvm::seq(first, first + count));
    return by_registers(shuffle(a, a, mask), shuffle(b, b, mask), lanes, f);
  };
  const int left = registers / 2 * lanes, right = all - left;
  Num low = part(0, left);
  const Num high = part(left, right);
  // A shuffle takes two vectors of one length; -1 is an unused lane.
  llvm::SmallVector<std::int32_t> both;
  for (int i = 0; i < left; ++i) both.push_back(i);
  if (left < right) {
    auto longer = both;
    longer.resize(static_cast<std::size_t>(right), -1);
    low = shuffle(low, low, longer);
  }
  for (int i = 0; i < right; ++i) both.push_back(right + i);
  return shuffle(low, high, both);
}

Num any(Num lanes) {
  if (!mlir::isa<mlir::VectorType>(lanes.value().getType())) return lanes;
  return lanes.make(mlir::vector::ReductionOp::create(lanes.builder(), lanes.loc(),
                                                      mlir::vector::CombiningKind::OR, lanes));
}

Num replace_rare(Num common, Num is_rare, Num x, llvm::function_ref<Num(Num)> rare) {
  auto branch = mlir::scf::IfOp::create(
      x.builder(), x.loc(), any(is_rare),
      [&](mlir::OpBuilder& b, mlir::Location loc) {
        const Num inside(b, loc, x, x.isa());
        const Num both = select(Num(b, loc, is_rare), rare(inside), Num(b, loc, common));
        mlir::scf::YieldOp::create(b, loc, both.value());
      },
      [&](mlir::OpBuilder& b, mlir::Location loc) { mlir::scf::YieldOp::create(b, loc, common.value()); });
  return x.make(branch.getResult(0));
}

Num repeat_while(Num x, llvm::function_ref<Num(Num)> active, llvm::function_ref<Num(Num)> step) {
  mlir::Type type = x.value().getType();
  auto loop = mlir::scf::WhileOp::create(
      x.builder(), x.loc(), mlir::TypeRange(type), mlir::ValueRange(x.value()),
      [&](mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange now) {
        Num more = any(active(Num(b, loc, now[0])));
        mlir::scf::ConditionOp::create(b, loc, more, now);
      },
      [&](mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange now) {
        Num y(b, loc, now[0]);
        Num next = select(active(y), step(y), y);
        mlir::scf::YieldOp::create(b, loc, next.value());
      });
  return x.make(loop.getResult(0));
}

Num polynomial(Num x, std::initializer_list<double> c) {
  auto it = std::rbegin(c);
  Num sum = x.constant(*it++);
  for (; it != std::rend(c); ++it) sum = fma(sum, x, *it);
  return sum;
}

}  // namespace kiln::codegen

// Emits types, constants, lanes, masks, loops and branches.
#include "codegen/emit/kernel_builder.h"

#include "ir/dialect.h"
#include "runtime/dtype_table.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/Matchers.h>

namespace kiln::codegen {

namespace LLVM = mlir::LLVM;
namespace arith = mlir::arith;

mlir::Type KernelBuilder::memory_type(DType d) {
  if (is_floating(d) && !is_narrow_float(d)) return ir::element_type(b.getContext(), d);
  return b.getIntegerType(static_cast<unsigned>(size_of(d) * 8));
}

mlir::Type KernelBuilder::register_type(DType d) {
  return d == DType::boolean ? b.getI1Type() : memory_type(wide_dtype(d));
}

mlir::Value KernelBuilder::splat(Value scalar, int lanes) {
  if (lanes == 1) return scalar;
  mlir::Attribute constant;  // the splat of a constant is a constant, for matchPattern()
  if (mlir::matchPattern(scalar, mlir::m_Constant(&constant))) {
    const auto type = llvm::cast<mlir::ShapedType>(lanes_of(scalar.getType(), lanes));
    return arith::ConstantOp::create(b, loc, mlir::DenseElementsAttr::get(type, constant));
  }
  return mlir::vector::BroadcastOp::create(b, loc, lanes_of(scalar.getType(), lanes), scalar);
}

llvm::SmallVector<mlir::Value> KernelBuilder::coordinates(Value number, mlir::ValueRange extents) {
  llvm::SmallVector<Value> index(extents.size());
  for (std::size_t i = extents.size(); i-- > 0;) {
    index[i] = i == 0 ? number : rem(number, extents[i]);
    if (i > 0) number = div(number, extents[i]);
  }
  return index;
}

mlir::Value KernelBuilder::lane_numbers(int lanes) {
  if (lanes == 1) return index(0);
  llvm::SmallVector<std::int64_t> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(i);
  return arith::ConstantOp::create(
      b, loc, mlir::DenseElementsAttr::get(mlir::VectorType::get({lanes}, i64()), llvm::ArrayRef(numbers)));
}

mlir::Value KernelBuilder::extract(Value vector, std::int64_t lane) {
  if (!llvm::isa<mlir::VectorType>(vector.getType())) return vector;
  return LLVM::ExtractElementOp::create(b, loc, vector, index(lane));
}

mlir::Value KernelBuilder::sub_vector(Value vector, int first, int count) {
  if (count == 1) return extract(vector, first);
  llvm::SmallVector<std::int32_t> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(first + i);
  return shuffle(vector, vector, lanes);
}

mlir::Value KernelBuilder::shuffle(Value a, Value b_, llvm::ArrayRef<std::int32_t> lanes) {
  return LLVM::ShuffleVectorOp::create(b, loc, a, b_, lanes);
}

mlir::Value KernelBuilder::join(llvm::ArrayRef<Value> parts) {
  if (parts.size() == 1) return parts.front();
  // Both operands of a shuffle have the same size, so each part is first widened to the result's size.
  const std::int64_t side = lanes_in(parts.front()), all = side * static_cast<std::int64_t>(parts.size());
  Value joined;
  for (auto [i, part] : llvm::enumerate(parts)) {
    const std::int64_t first = side * static_cast<std::int64_t>(i);
    llvm::SmallVector<std::int32_t> wide, joined_lanes;
    for (std::int64_t lane = 0; lane < all; ++lane) {
      wide.push_back(static_cast<std::int32_t>(lane < side ? lane : 0));
      joined_lanes.push_back(
          static_cast<std::int32_t>(lane < first ? lane : all + std::min(lane - first, side - 1)));
    }
    const Value widened = shuffle(part, part, wide);
    joined = joined ? shuffle(joined, widened, joined_lanes) : widened;
  }
  return joined;
}

mlir::Value KernelBuilder::select_lanes(Value vector, int count, llvm::function_ref<int(int lane)> lane_of) {
  llvm::SmallVector<std::int32_t> lanes;
  for (int lane = 0; lane < count; ++lane) lanes.push_back(lane_of(lane));
  return shuffle(vector, vector, lanes);
}

mlir::Value KernelBuilder::mask_below(Value count, int lanes) {
  if (lanes == 1) return less(index(0), count);
  // Comparisons of 32 bits take as many registers as f32.
  llvm::SmallVector<std::int32_t> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(i);
  const auto type = mlir::VectorType::get({lanes}, b.getI32Type());
  const Value number = arith::ConstantOp::create(
      b, loc, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<std::int32_t>(numbers)));
  const Value end = arith::TruncIOp::create(b, loc, b.getI32Type(), min(count, index(lanes)));
  return less(number, splat(end, lanes));
}

llvm::SmallVector<mlir::Value> KernelBuilder::masks_below(Value count, int lanes, int parts) {
  llvm::SmallVector<Value> masks;
  if (target.isa == Isa::avx512) {
    // One word of bits for all registers, where comparisons are several instructions for each.
    const Value bits = sub(arith::ShLIOp::create(b, loc, index(1), count), index(1));
    const Value all = LLVM::BitcastOp::create(b, loc, lanes_of(b.getI1Type(), 64), bits);
    for (int i = 0; i < parts; ++i) masks.push_back(sub_vector(all, i * lanes, lanes));
    return masks;
  }
  for (int i = 0; i < parts; ++i)
    masks.push_back(mask_below(sub(count, index(static_cast<std::int64_t>(i) * lanes)), lanes));
  return masks;
}

mlir::Value KernelBuilder::mask_below(int count, int lanes) {
  llvm::SmallVector<bool> set(static_cast<std::size_t>(lanes), false);
  std::fill_n(set.begin(), count, true);
  return mask_of(set);
}

mlir::Value KernelBuilder::mask_of(llvm::ArrayRef<bool> lanes) {
  const auto type = mlir::VectorType::get({static_cast<std::int64_t>(lanes.size())}, b.getI1Type());
  return arith::ConstantOp::create(b, loc, mlir::DenseElementsAttr::get(type, lanes));
}

mlir::Value KernelBuilder::number(DType d, double v, int lanes) {
  mlir::Type t = register_type(d);
  mlir::TypedAttr attr;
  if (llvm::isa<mlir::FloatType>(t)) {
    attr = b.getFloatAttr(t, v);
  } else {
    unsigned width = t.getIntOrFloatBitWidth();
    attr = mlir::IntegerAttr::get(
        t, llvm::APInt(64, static_cast<std::uint64_t>(static_cast<std::int64_t>(v))).trunc(width));
  }
  return splat(arith::ConstantOp::create(b, loc, attr), lanes);
}

void KernelBuilder::loop(Value from, Value to, Value step, const LoopBody& body) {
  mlir::scf::ForOp::create(b, loc, from, to, step, mlir::ValueRange{},
                           [&](mlir::OpBuilder&, mlir::Location, Value i, mlir::ValueRange) {
                             body(i);
                             mlir::scf::YieldOp::create(b, loc);
                           });
}

mlir::ValueRange KernelBuilder::loop(Value from, Value to, Value step, mlir::ValueRange initial,
                                     const CarriedBody& body) {
  auto loop =
      mlir::scf::ForOp::create(b, loc, from, to, step, initial,
                               [&](mlir::OpBuilder&, mlir::Location, Value i, mlir::ValueRange carried) {
                                 mlir::scf::YieldOp::create(b, loc, body(i, carried));
                               });
  return loop.getResults();
}

void KernelBuilder::each_register(Value count, int lanes,
                                  llvm::function_ref<void(Value first, Value mask)> body) {
  const Value width = index(lanes), whole = whole_steps(index(0), count, width);
  loop(index(0), whole, width, [&](Value first) { body(first, {}); });
  if (lanes > 1) when(less(whole, count), [&] { body(whole, mask_below(sub(count, whole), lanes)); });
}

void KernelBuilder::when(Value condition, const std::function<void()>& then,
                         const std::function<void()>& otherwise) {
  const auto block = [&](const std::function<void()>& body) {
    return [&](mlir::OpBuilder&, mlir::Location) {
      body();
      mlir::scf::YieldOp::create(b, loc);
    };
  };
  if (otherwise)
    mlir::scf::IfOp::create(b, loc, condition, block(then), block(otherwise));
  else
    mlir::scf::IfOp::create(b, loc, condition, block(then));
}

}  // namespace kiln::codegen

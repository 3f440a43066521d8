// Batched contractions of matrices.
#include "ir/contraction.h"
#include "ir/gradient_rules.h"
#include "ir/type_rules.h"
#include "runtime/dtype_table.h"

namespace kiln::ir {
namespace {

struct DotPrimitive {
  DotSpec spec;

  ResultType type(const TensorType& lhs, const TensorType& rhs) const {
    const Shape &a = lhs.shape, &b = rhs.shape;
    const auto refused = [&](std::string operation) {
      return Mismatch{
          kiln::compose("cannot multiply {}{} by {}{}", lhs.str(), spec.transpose_lhs ? " transposed" : "",
                        rhs.str(), spec.transpose_rhs ? " transposed" : ""),
          std::move(operation)};
    };
    if (a.rank() < 2 || a.rank() != b.rank()) return refused("needs matrices of one rank");
    if (lhs.dtype != rhs.dtype) return refused(mixed(lhs.dtype, rhs.dtype));
    const std::size_t row = a.size() - 2, column = a.size() - 1;
    Shape to;
    for (std::size_t i = 0; i < row; ++i) {
      if (a[i] != b[i]) return refused("needs equal batch axes");
      to.push_back(a[i]);
    }
    const std::int64_t ka = a[spec.transpose_lhs ? row : column], kb = b[spec.transpose_rhs ? column : row];
    if (ka != kb) return refused(kiln::compose("contracts extents {} and {}", ka, kb));
    to.push_back(a[spec.transpose_lhs ? column : row]);
    to.push_back(b[spec.transpose_rhs ? row : column]);
    return TensorType{lhs.dtype, to};
  }
  /// lhs (m, k) and rhs (k, n), each maybe stored transposed; the contributions are stored alike.
  Values gradient(Primitives& p, const Taped& t, Value g, const Wanted& wanted) const {
    const auto [tl, tr] = spec;
    const Value lhs = t.operands[0], rhs = t.operands[1];
    Values out(2);
    if (wanted[0]) out[0] = tl ? p.dot(rhs, g, {tr, true}) : p.dot(g, rhs, {false, !tr});
    if (wanted[1]) out[1] = tr ? p.dot(g, lhs, {true, tl}) : p.dot(lhs, g, {!tl, false});
    return out;
  }
  double multiply_adds(std::span<const TensorType> operands, const TensorType& result) const {
    const Shape& lhs = operands[0].shape;
    const std::int64_t k = spec.transpose_lhs ? lhs[lhs.size() - 2] : lhs.back();
    return static_cast<double>(result.elements()) * static_cast<double>(k);
  }
  void emit(Emission& e) const {
    const auto shape = ranked(e.in(0)).getShape();
    const auto [algorithm, lhs, rhs] = contraction_of(
        e, {.tensor_cores = true, .neighbours = shape[shape.size() - (spec.transpose_lhs ? 2 : 1)]});
    e.make<DotOp>(lhs, rhs, algorithm, spec.transpose_lhs, spec.transpose_rhs);
  }
};

}  // namespace

Value Primitives::dot(Value lhs, Value rhs, const DotSpec& spec) {
  return record(DotPrimitive{spec}, {{lhs, rhs}}, DotPrimitive{spec}.type(type(lhs), type(rhs)));
}

bool is_on_tensor_cores(mlir::Operation* op) {
  auto dot = llvm::dyn_cast<DotOp>(op);
  return dot && dot.getAlgorithm() == Algorithm::tensor_cores;
}

mlir::LogicalResult DotOp::verify() {
  if (getAlgorithm() == Algorithm::winograd) return emitOpError("is no convolution, which winograd is for");
  const bool on_tensor_cores = getAlgorithm() == Algorithm::tensor_cores,
             in_pairs = getAlgorithm() == Algorithm::paired32;
  const DType operands = type_of(getLhs()).dtype;
  if (on_tensor_cores && wide_dtype(operands) != DType::f32)
    return emitOpError("by tensor_cores needs operands of f16, bf16 or f32");
  if (in_pairs && operands != DType::bf16) return emitOpError("by paired32 needs operands of bf16");
  return verify_type(*this, [&] {
    const DotPrimitive dot{{getTransposeLhs(), getTransposeRhs()}};
    const ResultType result = dot.type(type_of(getLhs()), type_of(getRhs()));
    if (!(on_tensor_cores || in_pairs) || result.mismatch()) return result;
    return ResultType(TensorType{DType::f32, result.value().shape});
  });
}

}  // namespace kiln::ir

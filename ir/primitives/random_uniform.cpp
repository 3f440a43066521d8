// Counter-based uniform random numbers.
#include "ir/emission.h"
#include "ir/type_rules.h"

namespace kiln::ir {
namespace {

struct RandomUniformPrimitive {
  std::int64_t word;

  static constexpr bool differentiable = false;
  std::int64_t random_word() const { return word; }
  ResultType type(const TensorType& to) const {
    if (to.dtype != DType::f32 && to.dtype != DType::f64 && to.dtype != DType::i64)
      return Mismatch{kiln::compose("random numbers of dtype {}", name_of(to.dtype)), "gives f32, f64 or i64",
                      true};
    return to;
  }
  void emit(Emission& e) const {
    e.make<RandomUniformOp>(e.draws.draw(word), static_cast<std::uint64_t>(word));
  }
};

}  // namespace

Value Primitives::random_uniform(const Shape& shape, DType dtype) { return draw({dtype, shape}, 0); }

std::array<Value, 4> Primitives::random_uniforms(const Shape& shape) {
  std::array<Value, 4> words;
  for (int i = 0; i < 4; ++i) words[at(i)] = draw({DType::f32, shape}, i);
  return words;
}

Value Primitives::draw(const TensorType& type, std::int64_t word) {
  const RandomUniformPrimitive uniform{word};
  const ResultType checked = uniform.type(type);
  return replayed_ ? replayed_->next(checked.value(), word) : record(uniform, {}, checked);
}

mlir::LogicalResult RandomUniformOp::verify() {
  const auto word = static_cast<std::int64_t>(getWord());
  if (word < 0 || word > (ranked(getResult()).getElementType().isF32() ? 3 : 0))
    return emitOpError() << "has no word " << word;
  return verify_type(*this, [&] { return RandomUniformPrimitive{word}.type(type_of(getResult())); });
}

}  // namespace kiln::ir

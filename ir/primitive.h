#pragma once
// The interface of a primitive to a composition: its attributes and rules, without their types.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace kiln {
struct TensorType;
}

namespace kiln::ir {

/// A value of the graph under construction.
struct Value {
  std::uint32_t id = ~0u;
  bool valid() const { return id != ~0u; }
};

class Emission;  // ir/emission.h
class Primitives;
struct Taped;
[[noreturn]] void fail_not_emitted();  // internal: a primitive that is not an operation

/// A primitive with its attributes. Each file of ir/primitives defines one as a struct of attributes, whose
/// member functions are the rules below; PrimitiveOf makes it a Primitive.
class Primitive {
 public:
  virtual ~Primitive() = default;

  /// The contributions to the gradients of the operands, given the gradient `g` of the result (of the
  /// result's type): one value for each operand, of its type. Invalid where the derivative is zero everywhere
  /// (floor, indices), and where it is not `wanted`. Integers have gradients as floats have, of their own
  /// type and computed in it: a cast passes the gradient cast to the type of its operand, as in MXNet. A
  /// contribution is a function of the primitive's operands, result and `g` alone; half-precision
  /// contributions of arithmetic are computed in f32 and rounded once. Throws for a primitive that has none
  /// (a scan of extrema), by what it does.
  virtual std::vector<Value> gradient(Primitives& p, const Taped& t, Value g,
                                      const std::vector<bool>& wanted) const = 0;
  /// Whether the result depends smoothly on any operand: false for constants, comparisons, orders and checks.
  virtual bool is_differentiable() const = 0;
  /// The word of a counter's random numbers that the primitive gives, if it draws.
  virtual std::optional<std::int64_t> random_word() const = 0;
  /// The multiply-adds of a contraction or convolution, also those by padding; else 0. Exact below 2^53.
  virtual double multiply_adds(std::span<const TensorType> operands, const TensorType& result) const = 0;
  /// Appends the operation of the dialect.
  virtual void emit(Emission& e) const = 0;
};

/// A composed primitive, or a composition by Primitives::taped_as(). A loop or branch is one entry, with all
/// outer values that its bodies use and all results; their bodies are not on the tape.
struct Taped {
  std::shared_ptr<const Primitive> primitive;
  std::vector<Value> operands, results;
};

/// `Attributes` as a Primitive. It declares `differentiable` as false if it has no `gradient`, and
/// `on_tape_alone` as true if it has no `emit`; one that draws random numbers has `random_word`. A sum of
/// products has `multiply_adds`.
template <class Attributes>
class PrimitiveOf final : public Primitive {
 public:
  explicit PrimitiveOf(const Attributes& attributes) : attributes_(attributes) {}

  std::vector<Value> gradient(Primitives& p, const Taped& t, Value g,
                              const std::vector<bool>& wanted) const override {
    if constexpr (requires { Attributes::differentiable; })
      return std::vector<Value>(t.operands.size());
    else
      return attributes_.gradient(p, t, g, wanted);
  }
  bool is_differentiable() const override {
    return !requires { Attributes::differentiable; };
  }
  std::optional<std::int64_t> random_word() const override {
    if constexpr (requires { attributes_.random_word(); }) return attributes_.random_word();
    return {};
  }
  double multiply_adds(std::span<const TensorType> operands, const TensorType& result) const override {
    if constexpr (requires { attributes_.multiply_adds(operands, result); })
      return attributes_.multiply_adds(operands, result);
    return 0;
  }
  void emit(Emission& e) const override {
    if constexpr (requires { Attributes::on_tape_alone; })
      fail_not_emitted();
    else
      attributes_.emit(e);
  }

 private:
  Attributes attributes_;
};

}  // namespace kiln::ir

#pragma once
// The vocabulary that operators are written in.
#include "ir/primitive.h"
#include "ir/result_type.h"
#include "ir/words.h"
#include "runtime/tensor_type.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

/// The primitives that operators are composed of, one method each; a file of ir/primitives defines each
/// primitive and its method. `emit` has two implementations: shape inference keeps types only, ir/build.cpp
/// builds the kiln dialect.
///
/// Every method checks its operands and infers the type of its result; its kiln::Error names the shapes.
/// ir/KilnOps.td defines the primitives bit by bit.
namespace kiln::ir {

/// A contraction of lhs (batch..., m, k) and rhs (batch..., k, n). Each operand may be stored with its last
/// two axes transposed.
struct DotSpec {
  bool transpose_lhs = false;
  bool transpose_rhs = false;
};

/// A window that slides over the spatial axes (2 and up) of an (N, C, spatial...) array.
struct Window {
  Shape kernel, stride, dilate;
  Shape pad_low, pad_high;
};

struct ConvSpec {
  Window window;
  std::int64_t groups = 1;
};

class DrawCounter;
struct Node;

/// The results of a loop's step: loop-carried values of the next step and outputs to be stacked. In a loop
/// with a condition also whether there is a next step (a bool of one element).
struct LoopStep {
  std::vector<Value> carries;
  std::vector<Value> outputs;
  Value condition;
};
using LoopBody = std::function<LoopStep(std::span<const Value> carries, std::span<const Value> rows)>;
using BranchBody = std::function<std::vector<Value>()>;

class Primitives {
 public:
  virtual ~Primitives() = default;

  const TensorType& type(Value v) const { return types_[v.id]; }
  const Shape& shape(Value v) const { return types_[v.id].shape; }
  DType dtype(Value v) const { return types_[v.id].dtype; }
  /// Training mode; BatchNorm and Dropout depend on it.
  bool train() const { return train_; }
  void set_train(bool on) { train_ = on; }
  /// Whether the node was composed in MXNet's numpy mode, where a result of rank 0 keeps its rank.
  bool np_shape() const { return np_shape_; }
  void set_np_shape(bool on) { np_shape_ = on; }
  /// Whether operators check the indices that they would otherwise clip (Check::indices).
  bool check_indices() const { return check_indices_; }
  void set_check_indices(bool on) { check_indices_ = on; }

  // Pointwise: operands of one shape and dtype.
  Value unary(Unary op, Value x);
  Value binary(Binary op, Value a, Value b);
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c);
  /// A bool tensor.
  Value compare(Compare op, Value a, Value b);
  /// Where `condition` (bool) holds, `a`, else `b`.
  Value select(Value condition, Value a, Value b);
  Value cast(Value x, DType to);

  // Creation.
  /// All elements `value`, converted to the dtype (integers: truncated, wrapped).
  Value full(const TensorType& type, double value);
  /// As full, for integers that a double cannot represent.
  Value full_integer(const TensorType& type, std::int64_t value);
  /// Elements in C order, type.bytes() of them; copied.
  Value constant(const TensorType& type, std::span<const std::byte> elements);
  /// The index along `axis`, converted to the dtype.
  Value iota(const TensorType& type, int axis);
  /// Element i comes from Philox 4x32-10 with counter (i, call counter + draw) and the seed as key. Each call
  /// takes the next draw. A float32 is uniform in [0, 1): the upper 24 bits of word 0 times 2^-24. A float64
  /// is the same from 53 bits of words 0 and 1. An int64 is uniform over all numbers: words 0 and 1.
  Value random_uniform(const Shape& shape, DType dtype = DType::f32);
  /// Four independent float32 arrays as random_uniform's, from the four words of one draw.
  std::array<Value, 4> random_uniforms(const Shape& shape);

  // View operations, and copies with a change of layout.
  /// Axis i of x becomes axis dims[i] of the result; other axes, and axes where x has extent 1, repeat.
  Value broadcast(Value x, const Shape& to, const Shape& dims);
  Value reshape(Value x, const Shape& to);
  Value transpose(Value x, const Shape& permutation);
  /// Elements start, start+step, ... below limit on each axis; step > 0.
  Value slice(Value x, const Shape& start, const Shape& limit, const Shape& step);
  Value reverse(Value x, const Shape& axes);
  /// Pads with the constant `value`; low and high are per axis and not negative.
  Value pad(Value x, double value, const Shape& low, const Shape& high);
  /// x continued beyond its ends by low and high elements per axis; x itself if there are none.
  Value extend(Extend how, Value x, const Shape& low, const Shape& high);
  Value concatenate(std::span<const Value> parts, int axis);
  /// x with the slice start, start+step, ... (of update's extents) replaced by update.
  Value insert(Value x, Value update, const Shape& start, const Shape& step);
  /// Slices of x along `axis` at integer indices (any shape), which are clamped to the axis.
  Value gather(Value x, Value indices, int axis);
  /// The i64 indices themselves. A call in which one is not in [0, extent) throws, naming the node.
  Value check_bounds(Value indices, std::int64_t extent);
  /// x with slices along `axis` replaced by, or incremented by, slices of `updates`, whose shape is the shape
  /// of gather(x, indices, axis). Applied in C order of the indices: the last duplicate wins. Out-of-range
  /// indices are dropped.
  Value scatter(Scatter how, Value x, Value indices, Value updates, int axis);

  // Sorting and scans.
  /// The stable argsort along the last axis, as int64 indices. NaNs are last in either direction, -0 and +0
  /// are equal.
  Value sort(Value x, bool descending);
  /// Inclusive scan: element r along the axis combines elements 0 to r, in order.
  Value cumulative(Reduce op, Value x, int axis);

  // Reductions and contractions.
  /// Removes the axes (sorted, distinct, not negative). A reduction of everything gives rank 0.
  Value reduce(Reduce op, Value x, const Shape& axes);
  Value dot(Value lhs, Value rhs, const DotSpec& spec);
  /// x (N, C, spatial...), w (O, C/groups, kernel...) -> (N, O, spatial'...).
  Value convolution(Value x, Value w, const ConvSpec& spec);
  /// The gradient of the weight in convolution(x, w, spec), given its result's gradient: x (N, C,
  /// spatial...), g (N, O, spatial'...) -> (O, C, kernel...). One group, or depthwise: as many groups as x
  /// and g have channels each, (C, 1, kernel...).
  Value convolution_weights(Value x, Value g, const ConvSpec& spec);
  /// sum or max over each window; positions outside x count as the identity.
  Value reduce_window(Reduce op, Value x, const Window& window);

  // Control flow. A body function is called once, to compose the body; it may use any value that exists
  // already. A branch, and a loop with a condition, always takes `control_draws` random counters.
  static constexpr std::int64_t control_draws = std::int64_t{1} << 32;
  /// Runs `body` `steps` times; with `condition` (a bool of one element) while it holds, and at most `steps`
  /// times. `carries` are the initial loop-carried values, `rows` the scanned inputs: step i gets their slice
  /// i along the first axis. Returns the final loop-carried values, then each output stacked along a new
  /// first axis, with zeros for steps that did not run. With `replayed`, step i repeats the random draws of
  /// step steps - 1 - i of another loop. Its steps took `replayed` counters each, and its first draw is the
  /// next one here.
  std::vector<Value> loop(std::int64_t steps, std::span<const Value> carries, std::span<const Value> rows,
                          Value condition, const LoopBody& body, std::optional<std::int64_t> replayed = {});
  /// The results of `then` if `condition` (a bool of one element) holds, else the results of `otherwise` (the
  /// else body). Both return values of the same types; only one of them runs.
  std::vector<Value> branch(Value condition, const BranchBody& then, const BranchBody& otherwise);

  /// The counter of random draws; null where none is kept.
  virtual DrawCounter* draw_counter() { return nullptr; }

  /// Called around the composition of a node, or of its gradients: attributes their primitives to it.
  virtual void enter(const Node&, bool /*gradients*/) {}
  virtual void leave() {}
  /// Called with each variable of a body and its value, and with each node of a body and its outputs.
  virtual void composed_in_body(const Node&, std::span<const Value> /*outputs*/) {}

  // The tape: the primitives of a composition in order, for differentiation (ir/differentiate.h).
  /// The value that `compose` returns. On the tape it is one entry, of the primitive `attributes`, instead of
  /// the entries that `compose` appended. For a composition whose gradients are simpler than its primitives'
  /// gradients.
  template <class Attributes>
  Value taped_as(const Attributes& attributes, std::span<const Value> operands,
                 const std::function<Value()>& compose) {
    return tape_instead(std::make_shared<const PrimitiveOf<Attributes>>(attributes), operands, compose);
  }
  /// The value that `compose` returns, as a constant: no gradient passes it.
  Value without_gradient(const std::function<Value()>& compose);
  /// Another name of x: the same value, whose uses are told apart from the uses of x.
  Value alias(Value x);
  /// Until the matching end_tape(), primitives outside of bodies that are opened later are appended to one
  /// tape. Scopes nest; the end of one that is not within another one of its body removes its entries.
  void begin_tape() { tape_scopes_.push_back({bodies_.size(), tape_.size()}); }
  void end_tape();
  /// Entries stay where they are while more are appended.
  const std::deque<Taped>& tape() const { return tape_; }
  /// During its lifetime random_uniform and random_uniforms return the draws of the entries [begin, end) of
  /// the tape, in their order, and take no new draws. A gradient that composes its node's primitives again
  /// thus gets the node's random numbers. Draws in bodies cannot be replayed.
  class ReplayedDraws {
   public:
    ReplayedDraws(Primitives& p, std::size_t begin, std::size_t end);
    ~ReplayedDraws();
    ReplayedDraws(const ReplayedDraws&) = delete;

   private:
    friend class Primitives;
    Value next(const TensorType& type, std::int64_t word);

    Primitives& p_;
    ReplayedDraws* outer_;
    std::size_t next_, end_;
  };

  // Compositions shared by many operators.
  Value add(Value a, Value b) { return binary(Binary::add, a, b); }
  Value sub(Value a, Value b) { return binary(Binary::sub, a, b); }
  Value mul(Value a, Value b) { return binary(Binary::mul, a, b); }
  Value div(Value a, Value b) { return binary(Binary::div, a, b); }
  /// A constant of the shape and dtype of x.
  Value like(Value x, double value) { return full(type(x), value); }
  /// numpy's broadcasting: axes are aligned from the right.
  Value broadcast_to(Value x, const Shape& to);
  /// Broadcasts x (rank 1) along `axis` of the shape `to`.
  Value broadcast_along(Value x, const Shape& to, int axis);
  /// Restores the reduced axes with extent 1.
  Value keep_dims(Value reduced, const Shape& original, const Shape& axes);
  /// Gathers along the last axis with indices per row: `indices` has x's shape except for the last axis.
  Value gather_last(Value x, Value indices);

 protected:
  explicit Primitives(bool train) : train_(train) {}
  /// Records the primitive. Its result Value and type exist already.
  virtual void emit(const Primitive& primitive, std::span<const Value> operands, Value result) = 0;
  /// Enclose the composition of a body. emit_loop and emit_branch follow, and take the last bodies.
  virtual void begin_body(std::span<const Value> /*arguments*/) {}
  virtual void end_body(std::span<const Value> /*yielded*/) {}
  struct Loop {
    std::int64_t steps;
    std::span<const Value> carries, rows;
    Value condition;
    std::optional<std::int64_t> replayed;
  };
  virtual void emit_loop(const Loop&, std::span<const Value> /*results*/) {}
  virtual void emit_branch(Value /*condition*/, std::span<const Value> /*results*/) {}
  /// A value without a primitive: an input of the graph, an argument of a body.
  Value add_value(const TensorType& type);

 private:
  void require_existing(std::span<const Value> values) const;
  Value tape_instead(std::shared_ptr<const Primitive> primitive, std::span<const Value> operands,
                     const std::function<Value()>& compose);
  /// Checks the operands and makes the result.
  Value begin_record(std::span<const Value> operands, const ResultType& type);
  template <class Attributes>
  Value record(const Attributes& attributes, std::span<const Value> operands, const ResultType& type) {
    const Value result = begin_record(operands, type);
    const PrimitiveOf<Attributes> primitive(attributes);
    emit(primitive, operands, result);
    if (!tape_scopes_.empty())
      tape({std::make_shared<const PrimitiveOf<Attributes>>(primitive),
            {operands.begin(), operands.end()},
            {result}});
    return result;
  }
  /// Returns x if the view operation is the identity, which its unchanged type tells.
  template <class Attributes>
  Value record_unless_same(const Attributes& attributes, Value x, const ResultType& to) {
    return to.value() == type(x) ? x : record(attributes, {{x}}, to);
  }
  Value draw(const TensorType& type, std::int64_t word);
  void open_body(std::span<const Value> arguments);
  void close_body(std::span<const Value> yielded);
  void tape(Taped primitive);
  /// Appends a loop or branch of the last `bodies` and the values from outside that these used, after its own
  /// `operands`.
  void tape_control_flow(std::vector<Value> operands, std::size_t bodies, std::span<const Value> results);
  void use(std::span<const Value> operands);

  std::deque<TensorType> types_;
  std::deque<Taped> tape_;
  ReplayedDraws* replayed_ = nullptr;
  struct TapeScope {
    std::size_t bodies, begin;  // open bodies and entries when it began
  };
  std::vector<TapeScope> tape_scopes_;
  /// An open body: its first value, and the outer values that it uses, if a tape is on.
  struct OpenBody {
    std::uint32_t first;
    std::vector<Value> used;
  };
  std::vector<OpenBody> bodies_;
  std::vector<std::vector<Value>> used_by_closed_;  // by bodies without an operation yet
  bool train_;
  bool np_shape_ = false;
  bool check_indices_ = false;
};

/// numpy's rule: axes aligned from the right, extent 1 broadcasts. The error names both shapes.
Shape broadcast_shapes(const Shape& a, const Shape& b);

/// a * b of extents. Throws on overflow of 64 bits: both may come from a file.
std::int64_t times(std::int64_t a, std::int64_t b);

/// Infers the types of an operator's results; computes nothing.
class ShapeInference final : public Primitives {
 public:
  explicit ShapeInference(bool train) : Primitives(train) {}
  Value input(const TensorType& type) { return add_value(type); }

 private:
  void emit(const Primitive&, std::span<const Value>, Value) override {}
};

}  // namespace kiln::ir

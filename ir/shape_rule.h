// Facts about partial shapes; shape rules are lists of them.
#pragma once
#include <kiln/shape.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Shape rules: relations between the partial shapes of an operator's inputs and outputs. A rule states
/// facts; a fact infers an unknown extent from any side, so one rule infers forward and backward.
namespace kiln::ir {

/// A partially known shape: unknown rank, unknown extents, or complete.
struct PartialShape {
  static constexpr std::int64_t unknown = -1;

  PartialShape() = default;
  /// Extents below 0 are unknown.
  PartialShape(const Shape& s) : ranked(true), extents(s) {}  // NOLINT: a shape is a partial one
  static PartialShape of_rank(int rank) { return Shape::filled(rank, unknown); }

  bool ranked = false;
  Shape extents;  ///< empty where the rank is unknown

  bool complete() const;
  /// Whether `shape` agrees with all known extents.
  bool fits(const Shape& shape) const;
  /// "(2, ?, 3)"; "unknown".
  std::string str() const;
  bool operator==(const PartialShape&) const = default;
};

/// One axis of a shape; a negative index counts from the end. An axis of a shape of unknown rank, or beyond
/// the rank, is unknown; facts on it have no effect.
struct Axis {
  PartialShape& shape;
  int index;
  std::int64_t get() const;
  /// The extent in `shape.extents`; null if the axis does not exist.
  std::int64_t* find() const;
};

/// The shapes of one node's inputs and outputs while its rule runs. A fact that does not hold throws
/// kiln::Error with the inputs or outputs and their shapes.
class ShapeFacts {
 public:
  struct Body {
    std::span<PartialShape> variables, outputs;
  };
  /// Sizes of the groups of shapes: inputs; outputs; per input, the inputs of its producer if that has
  /// OpDef::shows_parts; per body, its variables and outputs.
  struct Layout {
    std::size_t inputs = 0, outputs = 0;
    std::vector<std::size_t> parts;
    std::vector<std::pair<std::size_t, std::size_t>> bodies;
  };
  /// `shapes`: all groups in the order of Layout.
  ShapeFacts(const Layout& layout, std::vector<PartialShape> shapes,
             std::span<const std::string_view> input_names, bool np_shape, bool may_choose);
  ShapeFacts(const ShapeFacts&) = delete;

  std::span<PartialShape> in, out;
  std::vector<std::span<PartialShape>> parts;
  std::vector<Body> bodies;
  /// Whether the node was composed in MXNet's numpy mode, which has rank 0.
  const bool np_shape;

  void is(PartialShape& x, const PartialShape& expected);
  void same(PartialShape& a, PartialShape& b);
  void rank(PartialShape& x, int rank) { is(x, PartialShape::of_rank(rank)); }
  /// rank(b) = rank(a) + more
  void ranks(PartialShape& a, PartialShape& b, int more = 0);

  void is(Axis a, std::int64_t extent);
  void same(Axis a, Axis b) { linear(a, b, 1, 0); }
  /// b = factor * a + offset
  void linear(Axis a, Axis b, std::int64_t factor, std::int64_t offset);
  /// total = sum of parts
  void sum(const std::vector<Axis>& parts, Axis total);
  /// The products of both lists are equal.
  void same_product(const std::vector<Axis>& a, const std::vector<Axis>& b);

  /// A default, not a fact: MXNet's choice for a shape without any other information.
  void otherwise(PartialShape& x, const PartialShape& choice);

  /// Input `input` is the initial value of variable `variable` of a body, or, with `row`, its scanned input.
  void feeds(std::size_t input, std::size_t body, std::size_t variable, bool row = false);
  struct Feed {
    std::size_t input, body, variable;
    auto operator<=>(const Feed&) const = default;
  };
  const std::vector<Feed>& feeds() const { return feeds_; }

  /// All groups in the order of Layout.
  std::span<PartialShape> shapes() { return shapes_; }
  /// Whether a fact inferred an extent or rank since the last call.
  bool take_changed();

 private:
  void set(Axis a, std::int64_t extent);
  void set(PartialShape& x, const PartialShape& to);
  std::string label(const PartialShape& x) const;

  std::vector<PartialShape> shapes_;
  std::vector<Feed> feeds_;
  std::span<const std::string_view> input_names_;
  bool may_choose_;
  bool changed_ = false;
};

}  // namespace kiln::ir

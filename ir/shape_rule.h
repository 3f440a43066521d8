#pragma once
#include <kiln/shape.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Shape rules: the relation between the shapes of an operator's inputs and outputs. A rule states facts, and
/// a fact fills in an unknown extent from whichever side knows it: one rule infers forwards and backwards.
namespace kiln::ir {

/// A shape as far as it is known: not at all, its rank, some extents, or all of them.
struct PartialShape {
  static constexpr std::int64_t unknown = -1;

  PartialShape() = default;
  /// Extents below 0 are unknown ones.
  PartialShape(const Shape& s) : ranked(true), extents(s) {}  // NOLINT: a shape is a partial one
  static PartialShape of_rank(int rank) { return Shape::filled(rank, unknown); }

  bool ranked = false;
  Shape extents;  ///< empty where the rank is unknown

  bool complete() const;
  /// Whether `shape` may be this one.
  bool fits(const Shape& shape) const;
  /// "(2, ?, 3)"; "unknown".
  std::string str() const;
  bool operator==(const PartialShape&) const = default;
};

/// One axis of a shape; a negative index counts from the end. An axis of a shape of unknown rank, or beyond
/// the rank, is unknown and stays so.
struct Axis {
  PartialShape& shape;
  int index;
  std::int64_t get() const;
  /// Where it is in `shape.extents`; null if it is nowhere.
  std::int64_t* find() const;
};

/// The shapes around one node while its operator's rule runs. Each fact throws kiln::Error, naming the
/// inputs or outputs and their shapes, where it does not hold.
class ShapeFacts {
 public:
  struct Body {
    std::span<PartialShape> variables, outputs;
  };
  /// Sizes of the groups: inputs, outputs, for each input the inputs of the operator that joined it (see
  /// OpDef::shows_parts), for each body its variables and outputs.
  struct Layout {
    std::size_t inputs = 0, outputs = 0;
    std::vector<std::size_t> parts;
    std::vector<std::pair<std::size_t, std::size_t>> bodies;
  };
  /// `shapes` has the shapes of all groups, in that order.
  ShapeFacts(const Layout& layout, std::vector<PartialShape> shapes,
             std::span<const std::string_view> input_names, bool np_shape, bool may_choose);
  ShapeFacts(const ShapeFacts&) = delete;

  std::span<PartialShape> in, out;
  std::vector<std::span<PartialShape>> parts;
  std::vector<Body> bodies;
  /// Whether the node is one of MXNet's numpy mode, in which there is rank 0.
  const bool np_shape;

  void is(PartialShape& x, const PartialShape& expected);
  void same(PartialShape& a, PartialShape& b);
  void rank(PartialShape& x, int rank) { is(x, PartialShape::of_rank(rank)); }
  /// A rank that differs by a constant: b has `more` axes more than a.
  void ranks(PartialShape& a, PartialShape& b, int more = 0);

  void is(Axis a, std::int64_t extent);
  void same(Axis a, Axis b) { linear(a, b, 1, 0); }
  /// b = factor * a + offset
  void linear(Axis a, Axis b, std::int64_t factor, std::int64_t offset);
  /// The total of the parts.
  void sum(const std::vector<Axis>& parts, Axis total);
  /// Both products are one number.
  void same_product(const std::vector<Axis>& a, const std::vector<Axis>& b);

  /// Not a fact but MXNet's choice for a shape of which nothing else tells anything.
  void otherwise(PartialShape& x, const PartialShape& choice);

  /// Input `input` is what variable `variable` of a body begins as, or, with `row`, each row of it.
  void feeds(std::size_t input, std::size_t body, std::size_t variable, bool row = false);
  struct Feed {
    std::size_t input, body, variable;
    auto operator<=>(const Feed&) const = default;
  };
  const std::vector<Feed>& feeds() const { return feeds_; }

  /// Those of all groups, in that order.
  std::span<PartialShape> shapes() { return shapes_; }
  /// Whether a fact filled in something since the last call.
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

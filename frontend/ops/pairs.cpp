// Pointwise operators of two and more arrays: for equal shapes, and with broadcasting.
#include "frontend/ops/pointwise.h"
#include "frontend/ops/shape_rules.h"

#include <array>

namespace kiln::ops {
namespace {

// Functions of two arrays. The forms without broadcasting require equal shapes; both require equal dtypes.

void require_dtype_of_first(Primitives& p, Args in) {
  for (Value v : in)
    if (p.dtype(v) != p.dtype(in[0]))
      fail(Mistake::two_dtypes, "operands have the dtypes {} and {}: convert one of them (astype, Cast)",
           name_of(p.dtype(in[0])), name_of(p.dtype(v)));
}

std::pair<Value, Value> equal_pair(Primitives& p, Args in) {
  require_dtype_of_first(p, in);
  if (!(p.shape(in[0]) == p.shape(in[1])))
    fail(Mistake::no_broadcast,
         "operands have the shapes {} and {}, which must be equal: use the broadcast_ form of the operator",
         p.shape(in[0]).str(), p.shape(in[1]).str());
  return {in[0], in[1]};
}

template <Binary op, bool broadcasts>
Values binary(Primitives& p, Args in, const Attrs&) {
  require_dtype_of_first(p, in);
  auto [a, b] = broadcasts ? broadcast_pair(p, in[0], in[1]) : equal_pair(p, in);
  return {p.binary(op, a, b)};
}
template <Compare op, bool broadcasts>
Values compare(Primitives& p, Args in, const Attrs&) {
  require_dtype_of_first(p, in);
  auto [a, b] = broadcasts ? broadcast_pair(p, in[0], in[1]) : equal_pair(p, in);
  return {convert(p, p.compare(op, a, b), p.dtype(a))};
}
Values add_n(Primitives& p, Args in, const Attrs&) {
  if (in.empty()) fail("add_n needs an operand");
  Value sum = in[0];
  for (Value v : in.subspan(1)) {
    require_dtype_of_first(p, std::array{sum, v});
    sum = p.add(sum, v);
  }
  return {sum};
}
Values where(Primitives& p, Args in, const Attrs&) {
  Value condition = in[0];
  const Shape& shape = p.shape(in[1]);
  Value holds = p.compare(Compare::ne, condition, p.like(condition, 0));
  // A condition of rank 1 selects rows.
  if (p.shape(condition).rank() == 1 && shape.rank() > 1) holds = p.broadcast_along(holds, shape, 0);
  if (!(p.shape(holds) == shape))
    fail(Mistake::operand_shape, "where takes a condition of the shape {} or one for each row, got {}",
         shape.str(), p.shape(condition).str());
  return {p.select(holds, in[1], in[2])};
}

void where_shape(ShapeFacts& f, const Attrs&) {
  PartialShape &condition = f.in[0], &out = f.out[0];
  f.same(f.in[1], out);
  f.same(f.in[2], out);
  if (!condition.ranked || !out.ranked) return;
  if (condition.extents.rank() == 1 && out.extents.rank() > 1)
    f.same(Axis{condition, 0}, Axis{out, 0});
  else
    f.same(condition, out);
}

const std::vector<std::string_view> two{"lhs", "rhs"};

/// Where MXNet defines the form for equal shapes, and the form with broadcasting.
struct Sources {
  std::string_view equal, broadcast;
};
constexpr Sources basic_source{"MXNet 1.9.1 (src/operator/tensor/elemwise_binary_op_basic.cc).",
                               "MXNet 1.9.1 (src/operator/tensor/elemwise_binary_broadcast_op_basic.cc)."};
constexpr Sources extended_source{
    "MXNet 1.9.1 (src/operator/tensor/elemwise_binary_op_extended.cc).",
    "MXNet 1.9.1 (src/operator/tensor/elemwise_binary_broadcast_op_extended.cc)."};
constexpr Sources logic_source{"MXNet 1.9.1 (src/operator/tensor/elemwise_binary_op_logic.cc).",
                               "MXNet 1.9.1 (src/operator/tensor/elemwise_binary_broadcast_op_logic.cc)."};

/// A function of two arrays: for equal shapes, and with broadcasting.
template <auto op>
void add_pair(std::vector<OpDef>& ops, std::string_view equal, std::vector<std::string_view> equal_aliases,
              std::string_view broadcast, std::vector<std::string_view> broadcast_aliases,
              std::string_view summary, const Sources& sources, const OpReference& reference) {
  auto compose = [](auto broadcasts) -> Values (*)(Primitives&, Args, const Attrs&) {
    if constexpr (std::is_same_v<decltype(op), Binary>)
      return binary<op, decltype(broadcasts)::value>;
    else
      return compare<op, decltype(broadcasts)::value>;
  };
  ops.push_back({.name = equal,
                 .aliases = std::move(equal_aliases),
                 .summary = summary,
                 .reference = of_equal_shapes | OpReference{.source = sources.equal} | reference,
                 .inputs = two,
                 .compose = compose(std::false_type{}),
                 .shape_rule = elementwise_shape});
  ops.push_back({.name = broadcast,
                 .aliases = std::move(broadcast_aliases),
                 .summary = summary,
                 .reference = of_broadcast_shapes | OpReference{.source = sources.broadcast} | reference,
                 .inputs = two,
                 .compose = compose(std::true_type{}),
                 .shape_rule = broadcast_shape});
}

/// Sums, products and quotients.
void add_arithmetic(std::vector<OpDef>& ops) {
  add_pair<Binary::add>(
      ops, "elemwise_add", {"_Plus", "_add", "_plus"}, "broadcast_add", {"broadcast_plus"},
      "The sum of lhs and rhs.", basic_source,
      {.integers = "Wraps. Of bools: 'or'.", .gradient = "lhs: g; rhs: g", .formula = "lhs + rhs"});
  add_pair<Binary::sub>(ops, "elemwise_sub", {"_Minus", "_minus", "_sub"}, "broadcast_sub",
                        {"broadcast_minus"}, "The difference of lhs and rhs.", basic_source,
                        {.integers = "Wraps. Of bools: 'exclusive or'.",
                         .gradient = "lhs: g; rhs: -g",
                         .formula = "lhs - rhs"});
  add_pair<Binary::mul>(
      ops, "elemwise_mul", {"_Mul", "_mul"}, "broadcast_mul", {}, "The product of lhs and rhs.", basic_source,
      {.integers = "Wraps. Of bools: 'and'.", .gradient = "lhs: g rhs; rhs: g lhs", .formula = "lhs rhs"});
  add_pair<Binary::div>(ops, "elemwise_div", {"_Div", "_div"}, "broadcast_div", {},
                        "The quotient of lhs and rhs.", basic_source,
                        {.nan = "NaN if lhs or rhs is, and of 0 / 0.",
                         .integers = "Truncated towards zero. Division by 0 gives 0, and the least integer "
                                     "/ -1 stays. Of bools: 'and'.",
                         .gradient = "lhs: g / rhs; rhs: -g (lhs / rhs) / rhs",
                         .formula = "lhs / rhs"});
  add_pair<Binary::mod>(
      ops, "_mod", {"_Mod"}, "broadcast_mod", {}, "The remainder of lhs / rhs, with the sign of rhs.",
      basic_source,
      {.nan = "0 where rhs is 0, of NaN too; else NaN if lhs or rhs is, and if lhs is infinite.",
       .integers = "Exact, with the sign of rhs; 0 if rhs is 0. Of bools: false.",
       .gradient = "lhs: g; rhs: -g q, with q = (lhs - result) / rhs rounded to an integer",
       .formula = "lhs - rhs floor(lhs / rhs), exact"});
}

/// Powers, extrema and lengths.
void add_extended(std::vector<OpDef>& ops) {
  add_pair<Binary::pow>(
      ops, "_power", {"_Power"}, "broadcast_power", {}, "lhs to the power of rhs.", extended_source,
      {.nan = "NaN if lhs or rhs is, but 1 if rhs is 0 or lhs is 1. NaN of a negative lhs and a "
              "rhs that is no integer.",
       .integers = integers_in_float32,
       .gradient = "lhs: g rhs lhs^(rhs - 1), 0 where rhs = 0; rhs: g y log(lhs), with y the result; the "
                   "logarithm counts as 0 where lhs or y is 0",
       .formula = "lhs^rhs"});
  add_pair<Binary::max>(ops, "_maximum", {"_Maximum"}, "broadcast_maximum", {"_npi_maximum"},
                        "The greater one of lhs and rhs.", extended_source,
                        {.ties = "Of zeros of both signs the result is rhs. Of equal elements lhs has the "
                                 "gradient.",
                         .integers = "Exact.",
                         .gradient = "lhs: g where lhs >= rhs, else 0; rhs: g where lhs < rhs, else 0; where "
                                     "one is NaN both get 0",
                         .formula = "max(lhs, rhs)"});
  add_pair<Binary::min>(ops, "_minimum", {"_Minimum"}, "broadcast_minimum", {"_npi_minimum"},
                        "The lesser one of lhs and rhs.", extended_source,
                        {.ties = "Of zeros of both signs the result is rhs. Of equal elements lhs has the "
                                 "gradient.",
                         .integers = "Exact.",
                         .gradient = "lhs: g where lhs <= rhs, else 0; rhs: g where lhs > rhs, else 0; where "
                                     "one is NaN both get 0",
                         .formula = "min(lhs, rhs)"});
  add_pair<Binary::hypot>(ops, "_hypot", {"_Hypot"}, "broadcast_hypot", {},
                          "The length of the vector (lhs, rhs).", extended_source,
                          {.nan = "NaN if lhs or rhs is, and infinite if the other one is.",
                           .integers = integers_in_float32,
                           .gradient = "lhs: g lhs / y; rhs: g rhs / y, with y the result; 0 where y = 0, "
                                       "NaN where y is infinite and lhs, or rhs, is",
                           .formula = "sqrt(lhs^2 + rhs^2), without overflow"});
}

/// A comparison: 1 and 0 in the dtype of the inputs.
template <Compare op>
void add_comparison(std::vector<OpDef>& ops, std::string_view equal, std::string_view equal_alias,
                    std::string_view broadcast, std::string_view summary, std::string_view formula,
                    std::string_view nan = "0 if lhs or rhs is NaN.") {
  add_pair<op>(ops, equal, {equal_alias}, broadcast, {}, summary, logic_source,
               {.nan = nan,
                .ties = "Zeros of both signs are equal.",
                .integers = "Exact.",
                .gradient = gradient_zeros,
                .formula = formula});
}
/// A logical operator: 1 and 0 in the dtype of the inputs.
template <Binary op>
void add_logical(std::vector<OpDef>& ops, std::string_view equal, std::string_view equal_alias,
                 std::string_view broadcast, std::string_view summary, std::string_view formula) {
  add_pair<op>(ops, equal, {equal_alias}, broadcast, {}, summary, logic_source,
               {.nan = "NaN is not 0, so that it counts as true.",
                .integers = "Exact.",
                .gradient = gradient_zeros,
                .formula = formula});
}
void add_logic(std::vector<OpDef>& ops) {
  add_comparison<Compare::eq>(ops, "_equal", "_Equal", "broadcast_equal", "1 where lhs == rhs, else 0.",
                              "lhs == rhs");
  add_comparison<Compare::ne>(ops, "_not_equal", "_Not_Equal", "broadcast_not_equal",
                              "1 where lhs != rhs, else 0.", "lhs != rhs", "1 if lhs or rhs is NaN.");
  add_comparison<Compare::gt>(ops, "_greater", "_Greater", "broadcast_greater", "1 where lhs > rhs, else 0.",
                              "lhs > rhs");
  add_comparison<Compare::ge>(ops, "_greater_equal", "_Greater_Equal", "broadcast_greater_equal",
                              "1 where lhs >= rhs, else 0.", "lhs >= rhs");
  add_comparison<Compare::lt>(ops, "_lesser", "_Lesser", "broadcast_lesser", "1 where lhs < rhs, else 0.",
                              "lhs < rhs");
  add_comparison<Compare::le>(ops, "_lesser_equal", "_Lesser_Equal", "broadcast_lesser_equal",
                              "1 where lhs <= rhs, else 0.", "lhs <= rhs");
  add_logical<Binary::logical_and>(ops, "_logical_and", "_Logical_And", "broadcast_logical_and",
                                   "1 where both lhs and rhs are not 0, else 0.", "lhs != 0 and rhs != 0");
  add_logical<Binary::logical_or>(ops, "_logical_or", "_Logical_Or", "broadcast_logical_or",
                                  "1 where lhs or rhs is not 0, else 0.", "lhs != 0 or rhs != 0");
  add_logical<Binary::logical_xor>(ops, "_logical_xor", "_Logical_Xor", "broadcast_logical_xor",
                                   "1 where exactly one of lhs and rhs is not 0, else 0.",
                                   "(lhs != 0) != (rhs != 0)");
}

OpDef add_n_row() {
  return {.name = "add_n",
          .aliases = {"ElementWiseSum"},
          .summary = "The sum of arrays of one shape.",
          .reference = {.shapes = "args: num_args arrays (...) -> (...)",
                        .dtypes = "Any, one for all inputs; the result has it.",
                        .nan = "NaN if an element of the sum is.",
                        .empty = "Empty arrays give an empty array.",
                        .integers = "Wraps. Of bools: 'or'.",
                        .gradient = "g for each input",
                        .formula = "((args[0] + args[1]) + args[2]) + ..., each sum rounded to the dtype",
                        .source = "MXNet 1.9.1 (src/operator/tensor/elemwise_sum.cc)."},
          .inputs = {"args"},
          .variadic = true,
          .count_attr = "num_args",
          .attrs = {required("num_args", AttrKind::integer, "The number of inputs, 1 or more.")},
          .compose = add_n,
          .shape_rule = elementwise_shape};
}
OpDef where_row() {
  return {
      .name = "where",
      .summary = "Takes elements of x where the condition is not 0, else of y.",
      .reference = {.shapes = "condition (...), x (...), y (...) -> (...); or condition (N), one for each "
                              "row of x (N, ...)",
                    .dtypes = "Any; x and y have one dtype, which the result has.",
                    .nan = "A NaN in the condition counts as not 0. A NaN of x or y counts only where it "
                           "is taken.",
                    .empty = "Empty arrays give an empty array.",
                    .integers = "Exact.",
                    .gradient = "x: g where the condition is not 0, else 0; y: g where it is 0, else 0; "
                                "condition: zeros",
                    .formula = "x where condition != 0, else y",
                    .source = "MXNet 1.9.1 (src/operator/tensor/control_flow_op.cc)."},
      .inputs = {"condition", "x", "y"},
      .compose = where,
      .shape_rule = where_shape};
}

}  // namespace

std::vector<OpDef> pair_ops() {
  std::vector<OpDef> ops;
  add_arithmetic(ops);
  add_extended(ops);
  add_logic(ops);
  ops.push_back(add_n_row());
  ops.push_back(where_row());
  return ops;
}

}  // namespace kiln::ops

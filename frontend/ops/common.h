#pragma once
#include "frontend/ops/families.h"
#include "runtime/fail.h"

#include <string_view>
#include <vector>

/// What several families use.
namespace kiln::ops {

using ir::Args;
using ir::AttrKind;
using ir::Attrs;
using ir::AttrSpec;
using ir::Binary;
using ir::Compare;
using ir::None;
using ir::OpDef;
using ir::Primitives;
using ir::Reduce;
using ir::Unary;
using ir::Value;
using Values = std::vector<Value>;

/// Sums and products in half precision are computed in float32 and rounded at the end.
Value widen(Primitives& p, Value x);
/// x in dtype `to`.
Value convert(Primitives& p, Value x, DType to);

/// 1 / (1 + exp(-x)).
Value sigmoid(Primitives& p, Value x);
/// Zero with probability `rate`, else x / (1 - rate); elements along `axes` share their fate. Takes one
/// random draw.
Value drop(Primitives& p, Value x, double rate, const Shape& axes);

/// A negative axis counts from the end. Throws for one that does not exist.
int axis_of(std::int64_t axis, int rank);
/// The sorted, distinct axes of a list that may have negative ones.
Shape axes_of(const Shape& axes, int rank);
/// All axes of `rank` but these.
Shape other_axes(const Shape& axes, int rank);
/// MXNet's older operators never give rank 0, in numpy mode neither: it becomes (1,).
Value at_least_1d(Primitives& p, Value x);
/// Those whose shape follows numpy's rules give rank 0 in numpy mode; outside of it there is none.
Value scalar_or_1d(Primitives& p, Value x);

/// What an array and the attribute `scalar` have in common: an integer with a number that is none (`is_int`)
/// is computed in float64, a bool in int64 or float64.
Value widened_for_scalar(Primitives& p, Value x, const Attrs& a);

/// a * b. Throws for a product that does not fit in 64 bits: a file may have chosen both.
std::int64_t times(std::int64_t a, std::int64_t b);

/// Both operands under numpy's common shape.
std::pair<Value, Value> broadcast_pair(Primitives& p, Value a, Value b);
/// e / its sum over the axes, as a product with 1 / sum: one division for each sum, not for each element.
Value over_sum(Primitives& p, Value e, const Shape& axes);
/// x - max over the axes: no element is above 0, as exp_nonpositive has it. Among elements of which one is
/// NaN, it alone is sure to become NaN.
Value below_largest(Primitives& p, Value x, const Shape& axes);
/// exp(x - max), over its sum.
Value softmax_over(Primitives& p, Value x, const Shape& axes);

/// For a row's counted_outputs where the attributes do not matter.
template <int n>
int outputs(const Attrs&) {
  return n;
}

// Frequent attributes.
AttrSpec real_attr(std::string_view name, double fallback);
AttrSpec int_attr(std::string_view name, std::int64_t fallback);
AttrSpec bool_attr(std::string_view name, bool fallback);
AttrSpec tuple_attr(std::string_view name);              ///< () when missing
AttrSpec or_none(std::string_view name, AttrKind kind);  ///< None when missing
AttrSpec tuple_or_none(std::string_view name);
AttrSpec required(std::string_view name, AttrKind kind);
AttrSpec word_attr(std::string_view name, std::string fallback, std::vector<std::string_view> words);
AttrSpec dtype_attr(std::string fallback);  ///< "dtype"
AttrSpec dtype_or_none();
/// One that no result depends on, and why.
AttrSpec ignored(AttrSpec spec, std::string_view reason);
AttrSpec of_gradient(AttrSpec spec);   ///< only the operator's gradient depends on it
AttrSpec library_hint(AttrSpec spec);  ///< how MXNet's libraries compute the same
AttrSpec context_attr();               ///< "ctx"

/// Throws where the arrays that `what` takes have two dtypes.
void require_one_dtype(Primitives& p, Value a, Value b, std::string_view what);
/// The value of an integer attribute that counts something. Throws, naming it, where it is below 1.
std::int64_t count_of(const Attrs& a, std::string_view name);

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace kiln::ops

// Helpers of several families of operators.
#pragma once
#include "frontend/ops/families.h"
#include "ir/at.h"
#include "runtime/messages.h"

#include <string_view>
#include <vector>

/// Helpers of several families.
namespace kiln::ops {

using ir::Args;
using ir::at;
using ir::AttrKind;
using ir::Attrs;
using ir::AttrSpec;
using ir::Binary;
using ir::Compare;
using ir::None;
using ir::OpDef;
using ir::OpReference;
using ir::Primitives;
using ir::Reduce;
using ir::times;
using ir::Unary;
using ir::Value;
using Values = std::vector<Value>;

/// Sums and contractions in half precision are computed in float32 and rounded at the end.
Value widen(Primitives& p, Value x);
/// An operand of a contraction: as widen(), and bools as int64, so that a result converted to bool is whether
/// the sum is not 0.
Value widen_factor(Primitives& p, Value x);
/// x in dtype `to`.
Value convert(Primitives& p, Value x, DType to);

/// 1 / (1 + exp(-x)); half precision in float32, rounded once.
Value sigmoid(Primitives& p, Value x);
/// x / (1 + |x|), likewise.
Value softsign(Primitives& p, Value x);
/// Zero with probability `rate`, else x / (1 - rate); elements along `axes` share one mask. Takes one
/// random draw.
Value drop(Primitives& p, Value x, double rate, const Shape& axes);
/// The two halves of drop(): which elements of an array of this shape are kept (one random draw), and
/// x / (1 - rate) there, zero elsewhere. The latter is linear in x and its own gradient.
Value drawn_mask(Primitives& p, const Shape& shape, double rate, const Shape& axes);
Value drop_others(Primitives& p, Value x, Value kept, double rate);

/// The shape in an attribute. None and the empty shape are a scalar, which is (1,) outside of numpy mode.
Shape wanted_shape(const Primitives& p, const Attrs& a, std::string_view attr = "shape");

/// Normalises a negative axis. Throws if it does not exist.
int axis_of(std::int64_t axis, int rank);
/// The same of an axis that is inserted into an array of `rank` axes.
int new_axis_of(std::int64_t axis, int rank);
/// The sorted, distinct axes of a list that may have negative ones.
Shape axes_of(const Shape& axes, int rank);
/// The complement of these axes in `rank`.
Shape other_axes(const Shape& axes, int rank);
/// Reshapes rank 0 to (1,): MXNet's classic operators never return rank 0, in numpy mode either.
Value at_least_1d(Primitives& p, Value x);
/// Reshapes rank 0 to (1,) outside of numpy mode.
Value scalar_or_1d(Primitives& p, Value x);

/// Casts x to its common dtype with the attribute `scalar`: float64 for an integer array with a non-integer
/// (`is_int`) number, int64 or float64 for a bool array.
Value widened_for_scalar(Primitives& p, Value x, const Attrs& a);

/// Broadcasts both operands to their common shape.
std::pair<Value, Value> broadcast_pair(Primitives& p, Value a, Value b);
/// e * (1 / sum of e over the axes): one division per sum instead of one per element.
Value over_sum(Primitives& p, Value e, const Shape& axes);
/// x - max over the axes: no element is above 0, as exp_nonpositive requires. A NaN stays NaN but need not
/// propagate to other elements.
Value below_largest(Primitives& p, Value x, const Shape& axes);
/// exp(x - max), over its sum.
Value softmax_over(Primitives& p, Value x, const Shape& axes);

/// counted_outputs of rows with a fixed number of outputs.
template <int n>
int outputs(const Attrs&) {
  return n;
}

// Common attributes. `meaning` is the attribute's sentence in the reference.
AttrSpec real_attr(std::string_view name, double fallback, std::string_view meaning = {});
AttrSpec int_attr(std::string_view name, std::int64_t fallback, std::string_view meaning = {});
AttrSpec bool_attr(std::string_view name, bool fallback, std::string_view meaning = {});
AttrSpec tuple_attr(std::string_view name, std::string_view meaning = {});              ///< default: ()
AttrSpec or_none(std::string_view name, AttrKind kind, std::string_view meaning = {});  ///< default: None
AttrSpec tuple_or_none(std::string_view name, std::string_view meaning = {});
AttrSpec required(std::string_view name, AttrKind kind, std::string_view meaning = {});
AttrSpec word_attr(std::string_view name, std::string fallback, std::vector<std::string_view> words,
                   std::string_view meaning = {});
AttrSpec dtype_attr(std::string fallback);  ///< "dtype" of the result
AttrSpec dtype_or_none();
/// An attribute that no result depends on, with the reason.
AttrSpec ignored(AttrSpec spec, std::string_view reason);
AttrSpec of_gradient(AttrSpec spec);   ///< affects only the operator's gradient
AttrSpec library_hint(AttrSpec spec);  ///< selects an implementation in MXNet
AttrSpec context_attr();               ///< "ctx"
/// The same attribute with this sentence.
AttrSpec meaning(AttrSpec spec, std::string_view sentence);

/// i64 indices of an axis. Under Check::indices a call in which one is not in [0, extent) throws; otherwise
/// the operator takes the nearest one.
Value clipped_indices(Primitives& p, Value indices, std::int64_t extent);
/// Throws if the inputs of `what` have different dtypes.
void require_one_dtype(Primitives& p, Value a, Value b, std::string_view what);
void require_one_dtype(Primitives& p, Args inputs, std::string_view what);
/// An integer attribute that must be positive. Throws otherwise, naming it.
std::int64_t count_of(const Attrs& a, std::string_view name);
/// The number of inputs of an operator of data, weight and bias: 2 with `no_bias`.
std::size_t inputs_with_bias(const Attrs& a);

}  // namespace kiln::ops

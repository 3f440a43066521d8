// numpy mode's operators that create arrays.
#include "frontend/ops/numpy.h"
#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

namespace kiln::ops {
namespace {

/// An empty shape is a scalar: these operators exist in numpy mode only.
template <int value>
Values constant(Primitives& p, Args, const Attrs& a) {
  const Shape shape = a.is_none("shape") ? Shape{} : a.tuple("shape");
  return {p.full({a.dtype("dtype"), shape}, value)};
}
Values full_like(Primitives& p, Args in, const Attrs& a) {
  const DType d = a.is_none("dtype") ? p.dtype(in[0]) : a.dtype("dtype");
  return {p.full({d, p.shape(in[0])}, a.real("fill_value"))};
}

constexpr OpReference filled_reference{
    .shapes = "-> shape",
    .dtypes = "Any: the result has `dtype`.",
    .nan = "There is no input.",
    .empty = "An extent of 0 gives an empty array.",
    .integers = "Exact.",
    .gradient = "None: there is no input.",
    .source = "MXNet 1.9.1 (src/operator/numpy/np_init_op.cc).",
};

}  // namespace

std::span<const OpDef> numpy_create_ops() {
  static const std::vector<AttrSpec> filled{tuple_or_none("shape", "The shape; None and () are a scalar."),
                                            context_attr(), dtype_attr("float32")};
  static const std::vector<OpDef> rows{
      {.name = "_npi_zeros",
       .summary = "An array of zeros.",
       .reference = filled_reference | OpReference{.formula = "0"},
       .attrs = filled,
       .compose = constant<0>},
      {.name = "_npi_ones",
       .summary = "An array of ones.",
       .reference = filled_reference | OpReference{.formula = "1"},
       .attrs = filled,
       .compose = constant<1>},
      {.name = "_npi_full_like",
       .summary = "An array of one value, with the shape of another: fill_value, 0 by np::zeros_like, 1 by "
                  "np::ones_like.",
       .reference =
           filled_reference |
           OpReference{
               .shapes = "a (...) -> (...)",
               .dtypes = "Any; the result has `dtype`, by default the dtype of a.",
               .nan =
                   "A NaN as fill_value gives NaN; in integers 0, in int64 its least number; in bool true.",
               .empty = "An empty array gives an empty array.",
               .integers = "fill_value is truncated and wrapped to the dtype. In bool: whether it is not 0.",
               .gradient = gradient_zeros,
               .formula = "fill_value"},
       .inputs = {"a"},
       .attrs = {required("fill_value", AttrKind::real, "The value of every element."), context_attr(),
                 dtype_or_none()},
       .compose = full_like,
       .shape_rule = elementwise_shape},
      renamed(create_ops(), "_arange", "_npi_arange", {}),
  };
  return rows;
}

}  // namespace kiln::ops

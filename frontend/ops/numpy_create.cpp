// numpy mode's operators that create arrays.
#include "frontend/ops/numpy.h"
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

}  // namespace

std::span<const OpDef> numpy_create_ops() {
  static const std::vector<AttrSpec> filled{tuple_or_none("shape"), context_attr(), dtype_attr("float32")};
  static const std::vector<OpDef> rows{
      {.name = "_npi_zeros", .summary = "An array of zeros.", .attrs = filled, .compose = constant<0>},
      {.name = "_npi_ones", .summary = "An array of ones.", .attrs = filled, .compose = constant<1>},
      {.name = "_npi_full_like",
       .summary = "An array of one value, with the shape of another.",
       .inputs = {"a"},
       .attrs = {required("fill_value", AttrKind::real), context_attr(), dtype_or_none()},
       .compose = full_like,
       .shape_rule = elementwise_shape},
      renamed(create_ops(), "_arange", "_npi_arange", {}),
  };
  return rows;
}

}  // namespace kiln::ops

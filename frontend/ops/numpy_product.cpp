// numpy mode's contractions.
#include "frontend/ops/numpy.h"
#include "frontend/ops/reference.h"

#include <algorithm>

namespace kiln::ops {
namespace {

Values dot(Primitives& p, Args in, const Attrs&) {
  const int l = p.shape(in[0]).rank(), r = p.shape(in[1]).rank();
  if (l == 0 || r == 0) {
    auto [a, b] = broadcast_pair(p, in[0], in[1]);
    require_one_dtype(p, a, b, "dot");
    return {p.mul(a, b)};
  }
  return {contract(p, in[0], {l - 1}, in[1], {std::max(r - 2, 0)})};
}

/// Contracts the last two axes and broadcasts the others. A vector is a row as LHS, a column as RHS.
Values matmul(Primitives& p, Args in, const Attrs&) {
  Value a = in[0], b = in[1];
  const Shape l = p.shape(a), r = p.shape(b);
  if (l.empty() || r.empty())
    fail("matmul takes arrays of at least one axis, got {} and {}; multiply by a scalar with *", l.str(),
         r.str());
  // A matrix as RHS, or a vector as LHS: no axes to broadcast.
  if (r.rank() <= 2 || l.rank() == 1) return {contract(p, a, {l.rank() - 1}, b, {std::max(r.rank() - 2, 0)})};
  require_one_dtype(p, a, b, "matmul");
  const auto leading = [](const Shape& s) { return Shape(s.dims().first(s.size() - 2)); };
  const Shape batch = ir::broadcast_shapes(leading(l), leading(r));
  const auto spread = [&](Value v) {
    const Shape s = p.shape(v);
    Shape to = batch;
    to.push_back(s[s.size() - 2]);
    to.push_back(s.back());
    return p.broadcast_to(widen_factor(p, v), to);
  };
  const DType d = p.dtype(a);
  return {convert(p, p.dot(spread(a), spread(b), {}), d)};
}

Values tensordot(Primitives& p, Args in, const Attrs& a) {
  return {contract(p, in[0], a.tuple("a_axes_summed"), in[1], a.tuple("b_axes_summed"))};
}
/// Contracts the last n axes of a with the first n of b.
Values tensordot_int_axes(Primitives& p, Args in, const Attrs& a) {
  const std::int64_t n = a.integer("axes");
  const int l = p.shape(in[0]).rank(), r = p.shape(in[1]).rank();
  if (n < 0 || n > l || n > r)
    fail("tensordot cannot sum over {} axes of {} and {}", n, p.shape(in[0]).str(), p.shape(in[1]).str());
  Shape last, first;
  for (int i = 0; i < static_cast<int>(n); ++i) {
    last.push_back(l - n + i);
    first.push_back(i);
  }
  return {contract(p, in[0], last, in[1], first)};
}

}  // namespace

std::span<const OpDef> numpy_product_ops() {
  static const std::vector<std::string_view> two{"a", "b"};
  static constexpr OpReference family =
      contraction_reference |
      OpReference{
          .nan = "A NaN makes all results that have it as a factor NaN.",
          .gradient =
              "a: g contracted with b over the other axes of b. b: a contracted with g over the other axes "
              "of a.",
          .source =
              "MXNet 1.9.1 (src/operator/numpy/np_tensordot_op.cc). The order of additions is Kiln's own.",
      };
  static const std::vector<OpDef> rows{
      {.name = "_np_dot",
       .summary = "NumPy's dot: contracts the last axis of a with the last but one axis of b.",
       .reference =
           contraction_reference |
           OpReference{
               .shapes = "a (..., K), b (..., K, N) -> the axes of a without K, the leading axes of b, N. A "
                         "vector b (K) is contracted with its only axis; of two vectors (). Of a scalar and "
                         "(...) the product (...).",
               .broadcasting = "A scalar, an array without axes, multiplies each element of the other input.",
               .nan = "A NaN in a makes the results of its row NaN, one in b the results of its column.",
               .gradient = "a: g b^T. b: a^T g, summed over the other axes. A scalar: the sum of g times the "
                           "other input.",
               .formula = "y[i, j, n] = sum over k of a[i, k] b[j, k, n], with i and j the leading axes.",
               .source = "MXNet 1.9.1 (src/operator/numpy/np_dot.cc). The order of additions is Kiln's own.",
           },
       .inputs = two,
       .compose = dot},
      {.name = "_npi_matmul",
       .summary = "NumPy's matmul: the matrix product in the last two axes of a and b.",
       .reference = contraction_reference |
                    OpReference{
                        .shapes = "a (..., M, K), b (..., K, N) -> (..., M, N). A vector a (K) is a row, a "
                                  "vector b (K) a column; the result lacks that axis. A scalar throws.",
                        .broadcasting = "The axes before the last two are aligned from the right; an axis of "
                                        "extent 1 or none is repeated.",
                        .nan = "A NaN in a makes its row of its matrices NaN, one in b its column.",
                        .gradient = "a: g b^T. b: a^T g, summed over axes that were repeated.",
                        .formula = "y[..., m, n] = sum over k of a[..., m, k] b[..., k, n].",
                        .source = "MXNet 1.9.1 (src/operator/numpy/np_matmul_op.cc), whose gradient of a "
                                  "broadcast operand is wrong. The order of additions is Kiln's own.",
                    },
       .inputs = two,
       .compose = matmul},
      {.name = "_npi_tensordot",
       .summary = "NumPy's tensordot: contracts pairs of axes of a and b.",
       .reference =
           family |
           OpReference{
               .shapes = "a, b -> the other axes of a, then the other axes of b. Axes that are paired have "
                         "equal extents. Without any () is the outer product.",
               .formula = "y[i, j] = sum over k of a[i, k] b[j, k], where k runs over the paired axes.",
           },
       .inputs = two,
       .attrs = {required("a_axes_summed", AttrKind::tuple,
                          "The axes of a that are summed; negative from the end."),
                 required("b_axes_summed", AttrKind::tuple,
                          "The axes of b, in the order of their partners in a_axes_summed.")},
       .compose = tensordot},
      {.name = "_npi_tensordot_int_axes",
       .summary = "NumPy's tensordot by a number: contracts the last axes of a with the first axes of b.",
       .reference =
           family |
           OpReference{
               .shapes = "a (..., K1, K2, ...), b (K1, K2, ..., ...) -> the other axes of a, then the other "
                         "axes of b.",
               .formula =
                   "y[i, j] = sum over k of a[i, k] b[k, j], where k runs over the axes that are summed.",
           },
       .inputs = two,
       .attrs = {required("axes", AttrKind::integer,
                          "The number of axes that are summed, from 0 to the lesser rank.")},
       .compose = tensordot_int_axes},
  };
  return rows;
}

}  // namespace kiln::ops

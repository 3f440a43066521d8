// numpy mode's contractions.
#include "frontend/ops/numpy.h"

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
    return p.broadcast_to(widen(p, v), to);
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
  static const std::vector<OpDef> rows{
      {.name = "_np_dot",
       .summary = "Contracts the last axis of a with the last but one of b.",
       .inputs = two,
       .compose = dot},
      {.name = "_npi_matmul",
       .summary = "Matrix product; the axes before the last two are broadcast.",
       .inputs = two,
       .compose = matmul},
      {.name = "_npi_tensordot",
       .summary = "Contracts pairs of axes.",
       .inputs = two,
       .attrs = {required("a_axes_summed", AttrKind::tuple), required("b_axes_summed", AttrKind::tuple)},
       .compose = tensordot},
      {.name = "_npi_tensordot_int_axes",
       .summary = "Contracts the last axes of a with the first of b.",
       .inputs = two,
       .attrs = {required("axes", AttrKind::integer)},
       .compose = tensordot_int_axes},
  };
  return rows;
}

}  // namespace kiln::ops

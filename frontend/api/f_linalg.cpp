// F's linear algebra, index arithmetic and ranges.
#include "frontend/api/f_call.h"

namespace kiln {
namespace {

CallAttributes<5> attributes(const GemmOptions& o) {
  CallAttributes<5> given;
  given.set("transpose_a", o.transpose_a);
  given.set("transpose_b", o.transpose_b);
  given.set("alpha", o.alpha);
  given.set("beta", o.beta);
  given.set("axis", o.axis);
  return given;
}

template <OpName op>
Tensor with_shape(const Tensor& x, const Shape& shape, std::source_location where) {
  CallAttributes<1> given;
  given.set("shape", ir::AttrValue(shape));
  return call<op>({&x}, given, where);
}

}  // namespace

Tensor F::linalg::gemm(const Tensor& A, const Tensor& B, const Tensor& C, const GemmOptions& o, Where where) {
  return call<"_linalg_gemm">({&A, &B, &C}, attributes(o), where, o.name);
}
Tensor F::linalg::gemm2(const Tensor& A, const Tensor& B, const GemmOptions& o, Where where) {
  return call<"_linalg_gemm2">({&A, &B}, attributes(o), where, o.name);
}
Tensor F::linalg::syrk(const Tensor& A, const SyrkOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("transpose", o.transpose);
  given.set("alpha", o.alpha);
  return call<"_linalg_syrk">({&A}, given, where, o.name);
}

Tensor F::ravel_multi_index(const Tensor& x, const Shape& shape, Where where) {
  return with_shape<"ravel_multi_index">(x, shape, where);
}
Tensor F::unravel_index(const Tensor& x, const Shape& shape, Where where) {
  return with_shape<"unravel_index">(x, shape, where);
}

Tensor F::eye(std::int64_t N, const EyeOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("N", ir::AttrValue(N));
  given.set("M", o.M);
  given.set("k", o.k);
  given.set("dtype", o.dtype);
  return call<"_eye">({}, given, where, o.name);
}

Tensor F::linspace(Number start, Number stop, std::int64_t num, const LinspaceOptions& o, Where where) {
  CallAttributes<5> given;
  given.set("start", start);
  given.set("stop", stop);
  given.set("num", ir::AttrValue(num));
  given.set("endpoint", o.endpoint);
  given.set("dtype", o.dtype);
  return call<"_linspace">({}, given, where, o.name);
}

}  // namespace kiln

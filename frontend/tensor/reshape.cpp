// Tensor::reshape: a view, recorded under the codes that the program wrote.
#include "frontend/eager/invoke.h"
#include "frontend/eager/numpy_scope.h"
#include "frontend/ops/reshape_target.h"
#include "frontend/tensor/view.h"
#include "frontend/trace/trace.h"
#include "runtime/fail.h"

namespace kiln {

using detail::Array;
using detail::TensorAccess;

namespace {

Shape reshaped(const Shape& from, const Shape& spec, std::source_location where) {
  try {
    return ops::reshape_target(from, spec);
  } catch (const Error& e) {
    fail("{}reshape: {}", line_prefix(where), e.what());
  }
}

/// numpy's rule: -1 is what the other extents leave.
Shape numpy_reshaped(const Shape& from, const Shape& spec, std::source_location where) {
  Shape out = spec, others;
  std::int64_t* open = nullptr;
  for (std::int64_t& extent : out) {
    if (extent >= 0)
      others.push_back(extent);
    else if (extent == -1 && !open)
      open = &extent;
    else
      fail("{}reshape: {} is no shape: one extent may be -1, for what is left", line_prefix(where),
           spec.str());
  }
  const std::int64_t n = from.elements(), known = others.elements();
  if (open && known > 0) *open = n / known;
  if ((open && known == 0) || out.elements() != n)
    fail("{}reshape: {} elements of shape {} do not fill {}", line_prefix(where), n, from.str(), spec.str());
  return out;
}

}  // namespace

Tensor Tensor::reshape(const Shape& spec, std::source_location where) const {
  if (!array_) known_shape(*this, "reshape()", where);
  const bool numpy = NumpyScope::program();
  const auto target = [&] {
    return numpy ? numpy_reshaped(shape_, spec, where) : reshaped(shape_, spec, where);
  };
  if (!array_->traced()) return view_of(*this, offset_, target());
  // The node is recorded here and not at the first use, under the codes that the program wrote, as MXNet
  // records it.
  Given<1> given;
  given.set(numpy ? "newshape" : "shape", ir::AttrValue(spec));
  const Tensor* inputs[] = {this};
  const Call call{.op = row(numpy ? "_np_reshape" : "Reshape"),
                  .inputs = inputs,
                  .given = given.items(),
                  .where = where,
                  .hint = "reshape"};
  if (!array_->shape_known) return invoke_one(call);
  const Shape shape = target();
  const Tensor node = invoke_one(call);
  // Within the body of a loop or branch, the node reads the variable that stands for an array from outside.
  Trace* const trace = Trace::current();
  detail::Array& read = *TensorAccess::array(trace ? trace->resolve(*this) : *this);
  read.views.push_back({offset_, shape, read.value, TensorAccess::array(node)->value});
  return view_of(*this, offset_, shape, spec);
}

}  // namespace kiln

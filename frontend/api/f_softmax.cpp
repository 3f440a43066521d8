// F's softmax family.
#include "frontend/api/f_call.h"

namespace kiln {
namespace {

CallAttributes<4> attributes(const SoftmaxOptions& o) {
  CallAttributes<4> given;
  given.set("axis", o.axis);
  given.set("temperature", o.temperature);
  given.set("dtype", o.dtype);
  return given;
}

const Tensor& array_of(const ArrayArgument& argument) { return argument; }

CallAttributes<4> masked_attributes(const SoftmaxOptions& o) {
  CallAttributes<4> given = attributes(o);
  given.set("use_length", ir::AttrValue(true));
  return given;
}

}  // namespace

Tensor F::softmax(const Tensor& x, const SoftmaxOptions& o, Where where) {
  return call<"softmax">({&x}, attributes(o), where, o.name);
}
Tensor F::softmax(const Tensor& x, const ArrayArgument& length, const SoftmaxOptions& o, Where where) {
  return call<"softmax">({&x, &array_of(length)}, masked_attributes(o), where, o.name);
}

Tensor F::log_softmax(const Tensor& x, const SoftmaxOptions& o, Where where) {
  return call<"log_softmax">({&x}, attributes(o), where, o.name);
}
Tensor F::log_softmax(const Tensor& x, const ArrayArgument& length, const SoftmaxOptions& o, Where where) {
  return call<"log_softmax">({&x, &array_of(length)}, masked_attributes(o), where, o.name);
}

Tensor F::softmin(const Tensor& x, const SoftmaxOptions& o, Where where) {
  return call<"softmin">({&x}, attributes(o), where, o.name);
}
Tensor F::softmin(const Tensor& x, const ArrayArgument& length, const SoftmaxOptions& o, Where where) {
  return call<"softmin">({&x, &array_of(length)}, masked_attributes(o), where, o.name);
}

}  // namespace kiln

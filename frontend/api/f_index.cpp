// F's gathers and scatters, and operators on sequences.
#include "frontend/api/f_call.h"

namespace kiln {
namespace {

CallAttributes<3> attributes(const SequenceOptions& o) {
  CallAttributes<3> given;
  given.set("use_sequence_length", o.use_sequence_length);
  given.set("value", o.value);
  given.set("axis", o.axis);
  return given;
}

}  // namespace

Tensor F::take(const Tensor& a, const Tensor& indices, const TakeOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("axis", o.axis);
  given.set("mode", o.mode);
  return call<"take">({&a, &indices}, given, where, o.name);
}

Tensor F::pick(const Tensor& x, const Tensor& index, const PickOptions& o, Where where) {
  CallAttributes<3> given;
  given.set("axis", o.axis);
  given.set("keepdims", o.keepdims);
  given.set("mode", o.mode);
  return call<"pick">({&x, &index}, given, where, o.name);
}

Tensor F::one_hot(const Tensor& indices, int depth, Where where) {
  return one_hot(indices, OneHotOptions{.depth = depth}, where);
}

Tensor F::one_hot(const Tensor& indices, const OneHotOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("depth", ir::AttrValue(o.depth));
  given.set("on_value", o.on_value);
  given.set("off_value", o.off_value);
  given.set("dtype", o.dtype);
  return call<"one_hot">({&indices}, given, where, o.name);
}

Tensor F::scatter_nd(const Tensor& x, const Tensor& indices, const Shape& shape, Where where) {
  CallAttributes<1> given;
  given.set("shape", ir::AttrValue(shape));
  return call<"scatter_nd">({&x, &indices}, given, where);
}

Tensor F::SequenceMask(const Tensor& x, const Tensor& lengths, const SequenceOptions& o, Where where) {
  return call<"SequenceMask">({&x, &lengths}, attributes(o), where, o.name);
}
Tensor F::SequenceMask(const Tensor& x, const SequenceOptions& o, Where where) {
  return call<"SequenceMask">({&x}, attributes(o), where, o.name);
}
Tensor F::SequenceLast(const Tensor& x, const Tensor& lengths, const SequenceOptions& o, Where where) {
  return call<"SequenceLast">({&x, &lengths}, attributes(o), where, o.name);
}
Tensor F::SequenceLast(const Tensor& x, const SequenceOptions& o, Where where) {
  return call<"SequenceLast">({&x}, attributes(o), where, o.name);
}
Tensor F::SequenceReverse(const Tensor& x, const Tensor& lengths, const SequenceOptions& o, Where where) {
  return call<"SequenceReverse">({&x, &lengths}, attributes(o), where, o.name);
}
Tensor F::SequenceReverse(const Tensor& x, const SequenceOptions& o, Where where) {
  return call<"SequenceReverse">({&x}, attributes(o), where, o.name);
}

}  // namespace kiln

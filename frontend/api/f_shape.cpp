// F's reductions and shapes.
#include "frontend/api/f_call.h"
#include "frontend/call/trace.h"

#include <ostream>

namespace kiln {

std::string_view F::name() { return Trace::current() ? "symbol" : "ndarray"; }
std::string F::module_name() { return "mxnet." + std::string(name()); }
std::ostream& operator<<(std::ostream& os, const F&) { return os << F::module_name(); }

namespace {

CallAttributes<3> attributes(const ReduceOptions& o) {
  CallAttributes<3> given;
  given.set("axis", o.axis);
  given.set("keepdims", o.keepdims);
  given.set("exclude", o.exclude);
  return given;
}

CallAttributes<2> attributes(const ArgReduceOptions& o) {
  CallAttributes<2> given;
  given.set("axis", o.axis);
  given.set("keepdims", o.keepdims);
  return given;
}

CallAttributes<2> attributes(const ReshapeOptions& o) {
  CallAttributes<2> given;
  given.set("shape", ir::AttrValue(o.shape));
  given.set("reverse", o.reverse);
  return given;
}

CallAttributes<1> attributes(const ConcatOptions& o) {
  CallAttributes<1> given;
  given.set("dim", o.dim);
  return given;
}

template <OpName op, class T>
Tensor with_attribute(const Tensor& x, std::string_view attr, T value, F::Where where,
                      std::string_view name = {}) {
  CallAttributes<1> given;
  given.set(attr, ir::AttrValue(std::move(value)));
  return call<op>({&x}, given, where, name);
}

CallAttributes<3> attributes(const PadOptions& o) {
  CallAttributes<3> given;
  given.set("mode", ir::AttrValue(o.mode));
  given.set("pad_width", ir::AttrValue(ir::OptionalInts(o.pad_width.begin(), o.pad_width.end())));
  given.set("constant_value", o.constant_value);
  return given;
}

CallAttributes<2> attributes(const SwapAxesOptions& o) {
  CallAttributes<2> given;
  given.set("dim1", ir::AttrValue(o.dim1));
  given.set("dim2", ir::AttrValue(o.dim2));
  return given;
}

CallAttributes<3> attributes(const SplitOptions& o) {
  CallAttributes<3> given;
  given.set("num_outputs", ir::AttrValue(o.num_outputs));
  given.set("axis", o.axis);
  given.set("squeeze_axis", o.squeeze_axis);
  return given;
}

template <std::size_t N>
std::vector<Tensor> parts(std::string_view op, const Tensor& x, const CallAttributes<N>& given,
                          std::source_location where, std::string_view name) {
  const Tensor* input = &x;
  return invoke_all({.op = find_op_or_throw(op),
                     .inputs = {&input, 1},
                     .given = given.items(),
                     .where = where,
                     .name = name,
                     .hint = op});
}

}  // namespace

Tensor F::sum(const Tensor& x, const ReduceOptions& o, Where where) {
  return call<"sum">({&x}, attributes(o), where, o.name);
}

Tensor F::mean(const Tensor& x, const ReduceOptions& o, Where where) {
  return call<"mean">({&x}, attributes(o), where, o.name);
}

Tensor F::prod(const Tensor& x, const ReduceOptions& o, Where where) {
  return call<"prod">({&x}, attributes(o), where, o.name);
}

Tensor F::max(const Tensor& x, const ReduceOptions& o, Where where) {
  return call<"max">({&x}, attributes(o), where, o.name);
}

Tensor F::min(const Tensor& x, const ReduceOptions& o, Where where) {
  return call<"min">({&x}, attributes(o), where, o.name);
}

Tensor F::nansum(const Tensor& x, const ReduceOptions& o, Where where) {
  return call<"nansum">({&x}, attributes(o), where, o.name);
}

Tensor F::nanprod(const Tensor& x, const ReduceOptions& o, Where where) {
  return call<"nanprod">({&x}, attributes(o), where, o.name);
}

Tensor F::norm(const Tensor& x, const NormOptions& o, Where where) {
  CallAttributes<4> given;
  given.set("ord", o.ord);
  given.set("axis", o.axis);
  given.set("out_dtype", o.out_dtype);
  given.set("keepdims", o.keepdims);
  return call<"norm">({&x}, given, where, o.name);
}

Tensor F::argmax(const Tensor& x, const ArgReduceOptions& o, Where where) {
  return call<"argmax">({&x}, attributes(o), where, o.name);
}

Tensor F::argmin(const Tensor& x, const ArgReduceOptions& o, Where where) {
  return call<"argmin">({&x}, attributes(o), where, o.name);
}

Tensor F::reshape(const Tensor& x, const ReshapeOptions& o, Where where) {
  return call<"reshape">({&x}, attributes(o), where, o.name);
}

Tensor F::Reshape(const Tensor& x, const ReshapeOptions& o, Where where) {
  return call<"Reshape">({&x}, attributes(o), where, o.name);
}

Tensor F::transpose(const Tensor& x, Where where) { return call<"transpose">({&x}, where); }

Tensor F::transpose(const Tensor& x, const TransposeOptions& o, Where where) {
  CallAttributes<1> given;
  given.set_tuple("axes", o.axes);
  return call<"transpose">({&x}, given, where, o.name);
}

Tensor F::swapaxes(const Tensor& x, const SwapAxesOptions& o, Where where) {
  return call<"swapaxes">({&x}, attributes(o), where, o.name);
}
Tensor F::SwapAxis(const Tensor& x, const SwapAxesOptions& o, Where where) {
  return call<"SwapAxis">({&x}, attributes(o), where, o.name);
}

Tensor F::expand_dims(const Tensor& x, int axis, Where where) {
  return with_attribute<"expand_dims">(x, "axis", std::int64_t{axis}, where);
}
Tensor F::expand_dims(const Tensor& x, const AxisOptions& o, Where where) {
  return with_attribute<"expand_dims">(x, "axis", o.axis, where, o.name);
}

Tensor F::squeeze(const Tensor& x, const SqueezeOptions& o, Where where) {
  CallAttributes<1> given;
  given.set("axis", o.axis);
  return call<"squeeze">({&x}, given, where, o.name);
}

Tensor F::broadcast_to(const Tensor& x, const Shape& shape, Where where) {
  return with_attribute<"broadcast_to">(x, "shape", shape, where);
}
Tensor F::broadcast_axis(const Tensor& x, const BroadcastAxisOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("axis", o.axis);
  given.set("size", o.size);
  return call<"broadcast_axis">({&x}, given, where, o.name);
}
Tensor F::tile(const Tensor& x, const Shape& reps, Where where) {
  return with_attribute<"tile">(x, "reps", reps, where);
}
Tensor F::flip(const Tensor& x, const Shape& axis, Where where) {
  return with_attribute<"flip">(x, "axis", axis, where);
}

Tensor F::reverse(const Tensor& x, const Shape& axis, Where where) {
  return with_attribute<"reverse">(x, "axis", axis, where);
}

Tensor F::repeat(const Tensor& x, const RepeatOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("repeats", ir::AttrValue(o.repeats));
  given.set("axis", o.axis);
  return call<"repeat">({&x}, given, where, o.name);
}

Tensor F::pad(const Tensor& x, const PadOptions& o, Where where) {
  return call<"pad">({&x}, attributes(o), where, o.name);
}
Tensor F::Pad(const Tensor& x, const PadOptions& o, Where where) {
  return call<"Pad">({&x}, attributes(o), where, o.name);
}

Tensor F::concat(const Tensors& data, const ConcatOptions& o, Where where) {
  return call_list<"concat">(data, attributes(o), where, o.name);
}
Tensor F::Concat(const Tensors& data, const ConcatOptions& o, Where where) {
  return call_list<"Concat">(data, attributes(o), where, o.name);
}
Tensor F::stack(const Tensors& data, const StackOptions& o, Where where) {
  CallAttributes<1> given;
  given.set("axis", o.axis);
  return call_list<"stack">(data, given, where, o.name);
}
F::Tensors F::split(const Tensor& x, const SplitOptions& o, Where where) {
  return parts("split", x, attributes(o), where, o.name);
}
F::Tensors F::SliceChannel(const Tensor& x, const SplitOptions& o, Where where) {
  return parts("SliceChannel", x, attributes(o), where, o.name);
}
F::Tensors F::split_v2(const Tensor& x, const SplitV2Options& o, Where where) {
  CallAttributes<4> given;
  Shape begins;
  if (o.sections <= 0) begins.push_back(0);  // as MXNet's function does: the first part begins at 0
  for (const std::int64_t i : o.indices) begins.push_back(i);
  given.set("indices", ir::AttrValue(begins));
  given.set("axis", ir::AttrValue(o.axis));
  given.set("squeeze_axis", ir::AttrValue(o.squeeze_axis));
  if (o.sections > 0) given.set("sections", ir::AttrValue(o.sections));
  return parts("_split_v2", x, given, where, o.name);
}

Tensor F::slice_axis(const Tensor& x, const SliceAxisOptions& o, Where where) {
  CallAttributes<3> given;
  given.set("axis", ir::AttrValue(o.axis));
  given.set("begin", ir::AttrValue(o.begin));
  given.set("end", o.end ? ir::AttrValue(*o.end) : ir::AttrValue(ir::None{}));
  return call<"slice_axis">({&x}, given, where, o.name);
}
Tensor F::slice_like(const Tensor& x, const Tensor& shape_like, const Shape& axes, Where where) {
  CallAttributes<1> given;
  given.set_tuple("axes", axes);
  return call<"slice_like">({&x, &shape_like}, given, where);
}

}  // namespace kiln

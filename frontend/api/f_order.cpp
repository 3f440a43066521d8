// F's sorting operators and cumulative sums.
#include "frontend/api/f_call.h"
#include "runtime/fail.h"

namespace kiln {
namespace {

/// The operators take -1 for no axis.
template <std::size_t N>
void set_axis(CallAttributes<N>& given, const std::optional<std::int64_t>& axis) {
  if (!axis)
    given.set("axis", ir::AttrValue(ir::None{}));
  else if (*axis != -1)
    given.set("axis", ir::AttrValue(*axis));
}

CallAttributes<5> attributes(const TopkOptions& o) {
  CallAttributes<5> given;
  set_axis(given, o.axis);
  given.set("k", o.k);
  given.set("ret_typ", o.ret_typ);
  given.set("is_ascend", o.is_ascend);
  given.set("dtype", o.dtype);
  return given;
}

}  // namespace

Tensor F::sort(const Tensor& x, const SortOptions& o, Where where) {
  CallAttributes<2> given;
  set_axis(given, o.axis);
  given.set("is_ascend", o.is_ascend);
  return call<"sort">({&x}, given, where, o.name);
}

Tensor F::argsort(const Tensor& x, const ArgsortOptions& o, Where where) {
  CallAttributes<3> given;
  set_axis(given, o.axis);
  given.set("is_ascend", o.is_ascend);
  given.set("dtype", o.dtype);
  return call<"argsort">({&x}, given, where, o.name);
}

Tensor F::topk(const Tensor& x, const TopkOptions& o, Where where) {
  if (o.ret_typ == "both")
    fail("{}topk with ret_typ \"both\" has two results; call topk_both", line_prefix(where));
  return call<"topk">({&x}, attributes(o), where, o.name);
}

F::Tensors F::topk_both(const Tensor& x, const TopkOptions& o, Where where) {
  TopkOptions both = o;
  both.ret_typ = "both";
  const CallAttributes<5> given = attributes(both);
  const Tensor* inputs[] = {&x};
  return invoke_all({.op = find_op_or_throw("topk"),
                     .inputs = inputs,
                     .given = given.items(),
                     .where = where,
                     .name = o.name,
                     .hint = "topk"});
}

Tensor F::cumsum(const Tensor& x, const CumsumOptions& o, Where where) {
  CallAttributes<2> given;
  given.set("axis", o.axis);
  given.set("dtype", o.dtype);
  return call<"cumsum">({&x}, given, where, o.name);
}

}  // namespace kiln

// The backward pass of a recorded call, itself an operator: it is compiled, recorded, differentiated, printed
// and nested as any other.
#include "frontend/ops/gradient.h"

#include "frontend/ops/common.h"
#include "ir/differentiate.h"

namespace kiln::ops {
namespace {

ir::GradientRequest request_of(const Attrs& a) {
  ir::GradientRequest request;
  for (std::int64_t head : a.integers("heads")) request.heads.push_back(head != 0);
  request.sums = a.integers("sums");
  for (std::int64_t r : a.integers("running")) request.running.push_back(r != 0);
  return request;
}

Values gradients(Primitives& p, Args in, const Attrs& a, ir::Bodies bodies) {
  const ir::Subgraph& body = *bodies[0];
  const ir::GradientRequest request = request_of(a);
  if (request.heads.size() != body.outputs.size() || request.sums.size() != body.inputs.size())
    fail("heads and sums must have a number for each of the {} outputs and {} inputs of the subgraph",
         body.outputs.size(), body.inputs.size());
  return ir::compose_gradients(p, body, request, {a.integers("inputs"), a.integers("outputs")}, in);
}

int sum_count(const Attrs& a) { return static_cast<int>(a.integers("running").size()); }

AttrSpec list(std::string_view name) { return required(name, AttrKind::integers); }

ir::AttrValue integers(const std::vector<std::int64_t>& list) {
  return ir::OptionalInts(list.begin(), list.end());
}
ir::AttrValue flags(const std::vector<bool>& list) { return ir::OptionalInts(list.begin(), list.end()); }

}  // namespace

std::array<ir::Attrs::Item, 5> gradient_attrs(const ir::GradientRequest& request,
                                              const ir::GradientUses& uses) {
  return {{{"inputs", integers(uses.inputs)},
           {"outputs", integers(uses.outputs)},
           {"heads", flags(request.heads)},
           {"sums", integers(request.sums)},
           {"running", flags(request.running)}}};
}

std::span<const OpDef> gradient_ops() {
  static const std::vector<OpDef> rows{
      {.name = "_vjp",
       .summary = "The gradients of a subgraph: what backward() runs for a recorded call.",
       .inputs = {"data"},
       .variadic = true,
       .attrs = {list("inputs"), list("outputs"), list("heads"), list("sums"), list("running")},
       .counted_outputs = sum_count,
       .visible_outputs = sum_count,
       .compose_with = gradients,
       .bodies = 1,
       .train_sensitive = true},
  };
  return rows;
}

}  // namespace kiln::ops

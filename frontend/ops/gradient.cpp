// The backward pass of a recorded call, itself an operator: it is compiled, recorded, differentiated, printed
// and nested as any other.
#include "frontend/ops/gradient.h"

#include "frontend/ops/shape_rules.h"
#include "ir/differentiate.h"

#include <algorithm>

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
  const ir::GradientUses uses{a.integers("inputs"), a.integers("outputs")};
  const auto all_below = [](const std::vector<std::int64_t>& list, std::int64_t least, std::size_t limit) {
    return std::all_of(list.begin(), list.end(),
                       [&](std::int64_t i) { return i >= least && i < static_cast<std::int64_t>(limit); });
  };
  if (!all_below(uses.inputs, 0, body.inputs.size()) || !all_below(uses.outputs, 0, body.outputs.size()) ||
      !all_below(request.sums, ir::GradientRequest::none, request.running.size()))
    fail("inputs, outputs and sums must name inputs, outputs and sums that there are");
  if (in.size() != uses.inputs.size() + uses.outputs.size() + request.head_count() + request.running_count())
    fail("it takes {} inputs, got {}",
         uses.inputs.size() + uses.outputs.size() + request.head_count() + request.running_count(),
         in.size());
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    if (body.inputs[i]->types.empty() &&
        std::find(uses.inputs.begin(), uses.inputs.end(), static_cast<std::int64_t>(i)) == uses.inputs.end())
      fail("the type of the subgraph's input '{}', which is not given, is not known", body.inputs[i]->name);
  if (request.heads.size() != body.outputs.size() || request.sums.size() != body.inputs.size())
    fail("heads and sums must have a number for each of the {} outputs and {} inputs of the subgraph",
         body.outputs.size(), body.inputs.size());
  return ir::compose_gradients(p, body, request, uses, in);
}

/// The inputs that are given feed the subgraph's.
void gradient_shape(ShapeFacts& f, const Attrs& a) {
  const std::vector<std::int64_t> inputs = a.integers("inputs"), sums = a.integers("sums");
  const ShapeFacts::Body& body = f.bodies[0];
  const auto below = [](std::int64_t i, std::size_t limit) {
    return i >= 0 && static_cast<std::size_t>(i) < limit;
  };
  for (std::size_t k = 0; k < inputs.size() && k < f.in.size(); ++k)
    if (below(inputs[k], body.variables.size())) f.feeds(k, 0, static_cast<std::size_t>(inputs[k]));
  for (std::size_t i = 0; i < sums.size() && i < body.variables.size(); ++i)
    if (below(sums[i], f.out.size())) f.same(body.variables[i], f.out[static_cast<std::size_t>(sums[i])]);
}

int sum_count(const Attrs& a) { return static_cast<int>(a.integers("running").size()); }

AttrSpec list(std::string_view name, std::string_view sentence) {
  return required(name, AttrKind::integers, sentence);
}

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
       .summary = "Computes the gradients of a subgraph, as backward() does for a recorded call.",
       .reference =
           {
               .shapes = "data: inputs and outputs of the subgraph, heads, running sums -> a sum for each "
                         "input of the subgraph that has one, of its shape.",
               .dtypes = "Any that the subgraph takes; a sum has the dtype of its input.",
               .nan = "As in the gradients of the operators of the subgraph.",
               .empty = "An input without elements has a gradient without elements.",
               .integers = "As in the gradients of the operators of the subgraph; gradients of integers are "
                           "integers.",
               .gradient = "The second derivatives: the gradients are compositions of operations, and "
                           "differentiated as such.",
               .formula = "sum[i] = running[i] + sum over outputs k of heads[k] d out[k] / d in[i], one "
                          "chain of additions from the last use of in[i] to the first.",
               .source = "Kiln's own: the backward pass of a recorded call (ir/README.md defines its order).",
           },
       .inputs = {"data"},
       .variadic = true,
       .attrs = {list("inputs", "The inputs of the subgraph that are given, by number."),
                 list("outputs", "The outputs of the subgraph that are given, by number."),
                 list("heads", "By output of the subgraph: 1 if its gradient is given, else 0."),
                 list("sums", "By input of the subgraph: the number of its sum, or -1."),
                 list("running", "By sum: 1 if its terms so far are given, else 0.")},
       .counted_outputs = sum_count,
       .visible_outputs = sum_count,
       .compose_with = gradients,
       .bodies = 1,
       .shape_rule = gradient_shape,
       .train_sensitive = true},
  };
  return rows;
}

}  // namespace kiln::ops

// A function with a gradient of the program's own: autograd::Function, recorded as a node with two subgraphs.
#include "frontend/ops/common.h"
#include "frontend/ops/families.h"
#include "frontend/ops/shape_rules.h"
#include "ir/compose.h"
#include "ir/differentiate.h"
#include "ir/draws.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kiln::ops {
namespace {

using ir::Bodies;
using ir::GradientArgs;

/// The attributes of `_function`, whose subgraphs are the two methods.
struct FunctionPlaces {
  /// The outputs, then the hidden outputs: values of forward that backward reads.
  std::int64_t outputs = 0, saved = 0;
  /// By variable of forward: the input of the node.
  std::vector<std::int64_t> forward;
  /// By variable of backward: the position in the list of all outputs (hidden ones too), the gradients of the
  /// outputs, and the inputs of the node, in this order.
  std::vector<std::int64_t> backward;
  /// By input of forward(), the first ones of the node: the output of backward that is its gradient, or -1.
  std::vector<std::int64_t> gradients;
};

FunctionPlaces places_of(const Attrs& a) {
  return {a.integer("num_outputs"), a.integer("num_saved"), a.integers("forward_locs"),
          a.integers("backward_locs"), a.integers("gradient_locs")};
}

/// The outputs of the node, or of these and the hidden ones.
int visible(const Attrs& a) {
  const std::int64_t n = a.integer("num_outputs");
  if (n < 1 || n > 1 << 20) fail("num_outputs = {} is out of range", n);
  return static_cast<int>(n);
}
int counted(const Attrs& a) {
  const std::int64_t saved = a.integer("num_saved");
  if (saved < 0 || saved > 1 << 20) fail("num_saved = {} is out of range", saved);
  return visible(a) + static_cast<int>(saved);
}

/// The number of inputs of forward(). Captured values follow them; the program defines no gradient for these.
std::size_t own_inputs(const Attrs& a) { return a.integers("gradient_locs").size(); }

bool all_in(const std::vector<std::int64_t>& list, std::int64_t least, std::size_t limit) {
  return std::all_of(list.begin(), list.end(),
                     [&](std::int64_t i) { return i >= least && i < static_cast<std::int64_t>(limit); });
}

/// Whether the places exist.
bool fit(const FunctionPlaces& at, std::size_t inputs, std::size_t forward_variables,
         std::size_t forward_outputs, std::size_t backward_variables, std::size_t backward_outputs) {
  const auto outputs = static_cast<std::size_t>(at.outputs),
             all = static_cast<std::size_t>(at.saved) + outputs;
  return forward_outputs == all && at.forward.size() == forward_variables &&
         at.backward.size() == backward_variables && at.gradients.size() <= inputs &&
         all_in(at.forward, 0, inputs) && all_in(at.backward, 0, all + outputs + inputs) &&
         all_in(at.gradients, -1, backward_outputs);
}

FunctionPlaces checked_places(const Attrs& a, std::size_t inputs, Bodies bodies) {
  (void)counted(a);
  FunctionPlaces at = places_of(a);
  if (!fit(at, inputs, bodies[0]->inputs.size(), bodies[0]->outputs.size(), bodies[1]->inputs.size(),
           bodies[1]->outputs.size()))
    fail(
        "forward_locs, backward_locs and gradient_locs must name places that there are, one for each "
        "variable of "
        "the subgraphs, and the first subgraph must return num_outputs + num_saved values");
  return at;
}

Values forward(Primitives& p, Args in, const Attrs& a, Bodies bodies) {
  const FunctionPlaces at = checked_places(a, in.size(), bodies);
  Values values;
  for (const std::int64_t i : at.forward) values.push_back(in[static_cast<std::size_t>(i)]);
  return compose(p, *bodies[0], values);
}

/// The program's gradient of each input, added to its sum: by input, as an entry of the tape adds them. It is
/// not itself differentiated: for second derivatives the tape runs the subgraphs (autograd/function_call.h).
Values backward(Primitives& p, const GradientArgs& args, Args sums) {
  const FunctionPlaces at = checked_places(args.attrs, args.in.size(), args.bodies);
  const auto outputs = static_cast<std::size_t>(at.outputs);
  const ir::DrawReplay replay(p.draw_counter(), args.first_draw);
  Values known(args.out.begin(), args.out.end());
  for (std::size_t k = 0; k < outputs; ++k)
    known.push_back(args.heads[k].valid() ? args.heads[k] : p.like(args.out[k], 0));
  known.insert(known.end(), args.in.begin(), args.in.end());
  Values values;
  for (const std::int64_t i : at.backward) values.push_back(known[static_cast<std::size_t>(i)]);
  const Values terms = compose(p, *args.bodies[1], values);
  Values next(sums.begin(), sums.end());
  for (std::size_t i = 0; i < at.gradients.size(); ++i) {
    if (!args.wanted[i] || at.gradients[i] < 0) continue;
    const Value term = terms[static_cast<std::size_t>(at.gradients[i])];
    if (!(p.type(term) == p.type(args.in[i])))
      fail("the gradient of input {} is {}, the input is {}", i, p.type(term).str(),
           p.type(args.in[i]).str());
    ir::add_term(p, next[args.same[i]], term);
  }
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = next[args.same[i]];
  return next;
}

void function_shape(ShapeFacts& f, const Attrs& a) {
  const FunctionPlaces at = places_of(a);
  const ShapeFacts::Body &forward = f.bodies[0], &backward = f.bodies[1];
  if (at.outputs < 1 || at.saved < 0 ||
      !fit(at, f.in.size(), forward.variables.size(), forward.outputs.size(), backward.variables.size(),
           backward.outputs.size()))
    return;
  const auto outputs = static_cast<std::size_t>(at.outputs), all = forward.outputs.size();
  for (std::size_t i = 0; i < at.forward.size(); ++i) f.feeds(static_cast<std::size_t>(at.forward[i]), 0, i);
  for (std::size_t k = 0; k < f.out.size() && k < all; ++k) f.same(forward.outputs[k], f.out[k]);
  for (std::size_t i = 0; i < at.backward.size(); ++i) {
    const auto place = static_cast<std::size_t>(at.backward[i]);
    if (place >= all + outputs)
      f.feeds(place - all - outputs, 1, i);
    else
      f.same(backward.variables[i], forward.outputs[place < all ? place : place - all]);
  }
  for (std::size_t i = 0; i < at.gradients.size(); ++i)
    if (at.gradients[i] >= 0) f.same(f.in[i], backward.outputs[static_cast<std::size_t>(at.gradients[i])]);
}

AttrSpec integer(std::string_view name, std::string_view sentence) {
  return required(name, AttrKind::integer, sentence);
}
AttrSpec places(std::string_view name, std::string_view sentence) {
  return required(name, AttrKind::integers, sentence);
}

}  // namespace

std::span<const OpDef> function_ops() {
  static const std::vector<OpDef> rows{
      {.name = "_function",
       .summary = "Runs an autograd::Function: a subgraph whose gradient is another subgraph.",
       .reference =
           {
               .shapes = "data: the inputs of forward(), then captured arrays -> the results of forward(), "
                         "which determines their shapes.",
               .dtypes = "Any that the subgraphs take; they determine the dtypes of the results.",
               .nan = "As in the operators of the first subgraph.",
               .empty = "As in the operators of the first subgraph.",
               .integers = "As in the operators of the first subgraph.",
               .gradient = "Inputs of forward(): the results of the second subgraph, backward(), where heads "
                           "without a gradient are 0. Captured arrays: none, they are constants.",
               .formula = "y = forward(data).",
               .source =
                   "Kiln's own: autograd::Function in a traced network. MXNet's files have no such operator.",
           },
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs =
           {integer("num_args", "The number of inputs and of the two subgraphs together."),
            integer("num_outputs", "The number of outputs, 1 or more."),
            integer("num_saved", "The number of hidden outputs, which backward() reads."),
            places("forward_locs", "By variable of the first subgraph: its input of the operator."),
            places("backward_locs",
                   "By variable of the second subgraph: its place among all outputs, hidden ones too, the "
                   "gradients of the outputs, and the inputs."),
            places("gradient_locs",
                   "By input of forward(): the output of the second subgraph that is its gradient, or -1.")},
       .counted_outputs = counted,
       .visible_outputs = visible,
       .compose_with = forward,
       .bodies = 2,
       .gradient_sums = backward,
       .differentiable_inputs = own_inputs,
       .shape_rule = function_shape,
       .train_sensitive = true},
  };
  return rows;
}

}  // namespace kiln::ops

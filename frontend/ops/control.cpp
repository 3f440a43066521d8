// Loops and branches over subgraphs. The attributes map inputs of the operator to variables of the subgraphs.
#include "frontend/ops/control_gradient.h"
#include "frontend/ops/shape_rules.h"
#include "ir/compose.h"

#include <algorithm>

namespace kiln::ops {
namespace {

using ir::Bodies;
using ir::LoopStep;
using ir::Subgraph;

using Positions = std::vector<std::int64_t>;

std::string text_of(const Positions& positions) {
  return ir::to_text(ir::OptionalInts(positions.begin(), positions.end()));
}

/// Throws unless all positions are below `limit`.
void check_positions(std::string_view what, const Positions& positions, std::size_t limit) {
  for (std::int64_t i : positions)
    if (i < 0 || static_cast<std::size_t>(i) >= limit)
      fail("{} = {} must name positions below {}", what, text_of(positions), limit);
}
void check_variables(std::string_view what, const Positions& positions, const Subgraph& body) {
  if (positions.size() != body.inputs.size())
    fail("{} = {} must name an input for each of the {} variables of its subgraph", what, text_of(positions),
         body.inputs.size());
}
void check_outputs(const char* which, const Subgraph& body, std::int64_t outputs) {
  if (static_cast<std::int64_t>(body.outputs.size()) != outputs)
    fail("the subgraph of {} returns {} values instead of {}", which, body.outputs.size(), outputs);
}

int outputs(const Attrs& a) {
  const std::int64_t n = a.integer("num_outputs");
  if (n < 1 || n > 1 << 20) fail("num_outputs = {} is out of range", n);
  return static_cast<int>(n);
}

Values foreach_steps(Primitives& p, Args in, const Attrs& a, Bodies bodies) {
  const Subgraph& body = *bodies[0];
  const Positions data = a.integers("in_data_locs"), states = a.integers("in_state_locs"),
                  others = a.integers("remain_locs");
  const std::size_t n = in.size();
  if (data.size() + states.size() + others.size() != n || body.inputs.size() != n)
    fail(
        "in_data_locs {}, in_state_locs {} and remain_locs {} must match {} inputs to {} variables of the "
        "subgraph",
        text_of(data), text_of(states), text_of(others), n, body.inputs.size());
  check_positions("in_data_locs", data, n);
  check_positions("in_state_locs", states, n);
  check_positions("remain_locs", others, n);
  if (data.empty()) fail("it needs data to go through");
  const std::int64_t count = a.integer("num_out_data"), all = outputs(a);
  if (count < 0 || count + static_cast<std::int64_t>(states.size()) != all)
    fail("num_out_data {} and {} states make {} outputs, not num_outputs {}", count, states.size(),
         count + static_cast<std::int64_t>(states.size()), all);
  check_outputs("the body", body, all);

  const Args rows = in.subspan(0, data.size()), carries = in.subspan(data.size(), states.size()),
             constants = in.subspan(data.size() + states.size());
  for (Value v : rows)
    if (p.shape(v).rank() == 0 || p.shape(v)[0] != p.shape(rows[0])[0])
      fail("all data must have the same number of steps, got {} and {}", p.shape(rows[0]).str(),
           p.shape(v).str());
  auto step = [&](Args carried, Args row) -> LoopStep {
    std::vector<Value> variables(n);
    for (std::size_t i = 0; i < data.size(); ++i) variables[at(data[i])] = scalar_or_1d(p, row[i]);
    for (std::size_t i = 0; i < states.size(); ++i) variables[at(states[i])] = carried[i];
    for (std::size_t i = 0; i < others.size(); ++i) variables[at(others[i])] = constants[i];
    for (Value v : variables)
      if (!v.valid()) fail("two inputs feed one variable of the body");
    Values out = compose(p, body, variables);
    return {{out.begin() + count, out.end()}, {out.begin(), out.begin() + count}, {}};
  };
  Values last_then_stacked = p.loop(p.shape(rows[0])[0], carries, rows, {}, step);
  std::rotate(last_then_stacked.begin(),
              last_then_stacked.begin() + static_cast<std::ptrdiff_t>(states.size()),
              last_then_stacked.end());
  return last_then_stacked;
}

/// Whether all positions are below `limit`; the composition reports others.
bool fit(const Positions& positions, std::size_t limit) {
  return std::all_of(positions.begin(), positions.end(),
                     [&](std::int64_t i) { return i >= 0 && static_cast<std::size_t>(i) < limit; });
}
/// The outputs of a body: the first `stacked` are stacked over the steps, the others are loop-carried.
void stacked_and_carried(ShapeFacts& f, const ShapeFacts::Body& body, std::size_t stacked) {
  for (std::size_t i = 0; i < f.out.size(); ++i)
    if (i < stacked)
      without_axis(f, f.out[i], body.outputs[i], 0);
    else
      f.same(body.outputs[i], f.out[i]);
}

void foreach_shape(ShapeFacts& f, const Attrs& a) {
  const Positions locations[] = {a.integers("in_data_locs"), a.integers("in_state_locs"),
                                 a.integers("remain_locs")};
  const ShapeFacts::Body& body = f.bodies[0];
  const std::size_t data = locations[0].size(), states = locations[1].size(), n = f.in.size();
  const std::int64_t count = a.integer("num_out_data");
  if (data + states + locations[2].size() != n || body.variables.size() != n || count < 0 ||
      body.outputs.size() != f.out.size() || static_cast<std::size_t>(count) + states != f.out.size())
    return;
  std::size_t input = 0;
  for (const Positions& list : locations) {
    if (!fit(list, n)) return;
    for (std::int64_t variable : list) {
      f.feeds(input, 0, static_cast<std::size_t>(variable), input < data);
      if (input >= data && input < data + states)
        f.same(body.variables[static_cast<std::size_t>(variable)],
               body.outputs[static_cast<std::size_t>(count) + input - data]);
      ++input;
    }
  }
  stacked_and_carried(f, body, static_cast<std::size_t>(count));
  for (std::size_t i = 1; i < data; ++i) f.same(Axis{f.in[0], 0}, Axis{f.in[i], 0});
  for (std::size_t i = 0; i < static_cast<std::size_t>(count) && data > 0; ++i)
    f.same(Axis{f.in[0], 0}, Axis{f.out[i], 0});
}

Values while_steps(Primitives& p, Args in, const Attrs& a, Bodies bodies) {
  const Subgraph &condition = *bodies[0], &body = *bodies[1];
  const Positions condition_inputs = a.integers("cond_input_locs"),
                  body_inputs = a.integers("func_input_locs"), loop_variables = a.integers("func_var_locs");
  check_variables("cond_input_locs", condition_inputs, condition);
  check_variables("func_input_locs", body_inputs, body);
  check_positions("cond_input_locs", condition_inputs, in.size());
  check_positions("func_input_locs", body_inputs, in.size());
  check_positions("func_var_locs", loop_variables, body_inputs.size());
  const std::int64_t count = a.integer("num_out_data"), steps = a.integer("max_iterations");
  const auto carried = static_cast<std::int64_t>(loop_variables.size());
  if (count < 0 || count + carried != outputs(a))
    fail("num_out_data {} and {} loop variables do not make num_outputs {}", count, carried, outputs(a));
  if (steps < 0) fail("max_iterations = {} must not be negative", steps);
  check_outputs("the condition", condition, 1);
  check_outputs("the body", body, outputs(a));

  // Per input, the loop variable that it initialises; -1 for others.
  std::vector<std::int64_t> variable_of(in.size(), -1);
  std::vector<Value> initial;
  for (std::int64_t j = 0; j < carried; ++j) {
    const std::int64_t input = body_inputs[at(loop_variables[at(j)])];
    if (variable_of[at(input)] >= 0) fail("two loop variables have the same input");
    variable_of[at(input)] = j;
    initial.push_back(in[at(input)]);
  }
  auto now = [&](std::int64_t input, Args variables) {
    const std::int64_t j = variable_of[at(input)];
    return j < 0 ? in[at(input)] : variables[at(j)];
  };
  auto goes_on = [&](Args variables) {
    std::vector<Value> values;
    for (std::int64_t i : condition_inputs) values.push_back(now(i, variables));
    return truth(p, compose(p, condition, values)[0]);
  };
  auto step = [&](Args variables, Args) -> LoopStep {
    std::vector<Value> values;
    for (std::int64_t i : body_inputs) values.push_back(now(i, variables));
    Values out = compose(p, body, values);
    Values next(out.begin() + count, out.end());
    Value again = goes_on(next);
    return {std::move(next), {out.begin(), out.begin() + count}, again};
  };
  Values last_then_stacked = p.loop(steps, initial, {}, goes_on(initial), step);
  std::rotate(last_then_stacked.begin(), last_then_stacked.begin() + carried, last_then_stacked.end());
  return last_then_stacked;
}

void while_shape(ShapeFacts& f, const Attrs& a) {
  const Positions condition = a.integers("cond_input_locs"), inputs = a.integers("func_input_locs"),
                  carried = a.integers("func_var_locs");
  const std::int64_t count = a.integer("num_out_data");
  if (!fit(condition, f.in.size()) || !fit(inputs, f.in.size()) || !fit(carried, inputs.size()) ||
      count < 0 || condition.size() != f.bodies[0].variables.size() ||
      inputs.size() != f.bodies[1].variables.size() || f.bodies[1].outputs.size() != f.out.size() ||
      static_cast<std::size_t>(count) + carried.size() != f.out.size())
    return;
  for (std::size_t i = 0; i < condition.size(); ++i) f.feeds(static_cast<std::size_t>(condition[i]), 0, i);
  for (std::size_t i = 0; i < inputs.size(); ++i) f.feeds(static_cast<std::size_t>(inputs[i]), 1, i);
  for (std::size_t i = 0; i < carried.size(); ++i)
    f.same(f.bodies[1].variables[static_cast<std::size_t>(carried[i])],
           f.bodies[1].outputs[static_cast<std::size_t>(count) + i]);
  stacked_and_carried(f, f.bodies[1], static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    f.is(Axis{f.out[static_cast<std::size_t>(i)], 0}, a.integer("max_iterations"));
}

Values either(Primitives& p, Args in, const Attrs& a, Bodies bodies) {
  const std::string_view names[] = {"cond_input_locs", "then_input_locs", "else_input_locs"};
  for (std::size_t i = 0; i < 3; ++i) {
    check_variables(names[i], a.integers(names[i]), *bodies[i]);
    check_positions(names[i], a.integers(names[i]), in.size());
    check_outputs(i == 0 ? "the condition" : "a branch", *bodies[i], i == 0 ? 1 : outputs(a));
  }
  auto compose_body = [&](std::size_t i) {
    std::vector<Value> values;
    for (std::int64_t k : a.integers(names[i])) values.push_back(in[at(k)]);
    return compose(p, *bodies[i], values);
  };
  Value condition = truth(p, compose_body(0)[0]);
  return p.branch(
      condition, [&] { return compose_body(1); }, [&] { return compose_body(2); });
}

void either_shape(ShapeFacts& f, const Attrs& a) {
  const std::string_view names[] = {"cond_input_locs", "then_input_locs", "else_input_locs"};
  for (std::size_t body = 0; body < 3; ++body) {
    const Positions locations = a.integers(names[body]);
    if (!fit(locations, f.in.size()) || locations.size() != f.bodies[body].variables.size()) return;
    for (std::size_t i = 0; i < locations.size(); ++i)
      f.feeds(static_cast<std::size_t>(locations[i]), body, i);
    if (body > 0 && f.bodies[body].outputs.size() != f.out.size()) return;
    for (std::size_t i = 0; body > 0 && i < f.out.size(); ++i) f.same(f.bodies[body].outputs[i], f.out[i]);
  }
}

Values first_of(Primitives&, Args in, const Attrs&) { return {in[0]}; }
void first_of_shape(ShapeFacts& f, const Attrs&) { f.same(f.in[0], f.out[0]); }

Values second_of(Primitives&, Args in, const Attrs&) { return {in[1]}; }
void second_of_shape(ShapeFacts& f, const Attrs&) {
  f.same(f.in[0], f.in[1]);
  f.same(f.in[1], f.out[0]);
}

AttrSpec count(std::string_view name, std::string_view sentence) {
  return required(name, AttrKind::integer, sentence);
}
AttrSpec positions(std::string_view name, std::string_view sentence) {
  return required(name, AttrKind::integers, sentence);
}

constexpr std::string_view
    of_inputs = "The number of inputs and subgraphs together.",
    of_outputs = "The number of outputs.",
    of_stacked = "The number of outputs of a step that are stacked; the other outputs are the final states.",
    of_condition = "By variable of the first subgraph, the condition: its input of the operator.";

}  // namespace

std::span<const OpDef> control_ops() {
  static constexpr OpReference family{
      .dtypes = "Any that the subgraphs take; they determine the dtypes of the results.",
      .nan = "As in the operators of the subgraphs. A condition of NaN holds.",
      .integers = "As in the operators of the subgraphs.",
  };
  static constexpr OpReference own_family{
      .dtypes = "Any; the result has the dtype of the input that is returned.",
      .nan = "NaN.",
      .empty = "An empty array gives an empty array.",
      .integers = "Elements are copied.",
  };
  static const std::vector<OpDef> rows{
      {.name = "_foreach",
       .summary = "Runs a subgraph once for each slice of data along its first axis, and passes states from "
                  "step to step.",
       .reference =
           family |
           OpReference{
               .shapes = "data (T, ...) for each scanned array, the initial states, captured values -> (T, "
                         "...) for each output of a step, then the final states. The subgraph takes one "
                         "slice of each scanned array, without its first axis.",
               .empty = "With T = 0 outputs have no steps and the final states are the initial ones.",
               .gradient = "Scanned arrays: row t has the gradient of its slice in step t. States: the "
                           "gradients pass from step to step, from the last to the first. Captured values: "
                           "the sum over all steps, the last one first.",
               .formula = "out[t], s[t + 1] = body(data[t], s[t], captured), for t = 0, ..., T - 1; the "
                          "result is out and s[T].",
               .source = "MXNet 1.9.1 (src/operator/control_flow.cc), as F.contrib.foreach writes it.",
           },
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {count("num_args", of_inputs), count("num_outputs", of_outputs),
                 count("num_out_data", of_stacked),
                 positions("in_state_locs", "By state: its variable of the subgraph."),
                 positions("in_data_locs", "By scanned array: its variable of the subgraph."),
                 positions("remain_locs", "By captured value: its variable of the subgraph.")},
       .counted_outputs = outputs,
       .visible_outputs = outputs,
       .compose_with = foreach_steps,
       .bodies = 1,
       .gradient_sums = foreach_gradient,
       .reached_outputs = foreach_reach,
       .shape_rule = foreach_shape,
       .train_sensitive = true},
      {.name = "_while_loop",
       .summary =
           "Runs a subgraph as long as a condition, another subgraph, holds; at most max_iterations times.",
       .reference =
           family |
           OpReference{
               .shapes = "data: loop variables and captured values -> (max_iterations, ...) for each output "
                         "of a step, then the final loop variables. A condition is one number.",
               .empty = "Rows of steps that do not run are 0. If no step runs, the final loop variables are "
                        "the initial ones.",
               .gradient = "Loop variables: the gradients pass from step to step, from the last step that "
                           "ran. Captured values: the sum over the steps that ran. Where only steps would "
                           "add a term and none ran, it is -0.",
               .formula = "For t = 0, 1, ... while condition(v[t]) != 0 and t < max_iterations: out[t], v[t "
                          "+ 1] = body(v[t], captured). The result is out and the last v.",
               .source = "MXNet 1.9.1 (src/operator/control_flow.cc), as F.contrib.while_loop writes it. "
                         "There rows of steps that do not run are undefined.",
           },
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {count("num_args", of_inputs), count("num_outputs", of_outputs),
                 count("num_out_data", of_stacked),
                 count("max_iterations", "The limit of the number of steps, 0 or more."),
                 positions("cond_input_locs", of_condition),
                 positions("func_input_locs",
                           "By variable of the second subgraph, the body: its input of the operator."),
                 positions("func_var_locs", "By loop variable: its place in func_input_locs.")},
       .counted_outputs = outputs,
       .visible_outputs = outputs,
       .compose_with = while_steps,
       .bodies = 2,
       .gradient_sums = while_gradient,
       .reached_outputs = while_reach,
       .shape_rule = while_shape,
       .train_sensitive = true},
      {.name = "_cond",
       .summary = "Runs one of two subgraphs, which a condition, another subgraph, selects.",
       .reference =
           family |
           OpReference{
               .shapes = "data: the inputs of the three subgraphs -> the outputs of a branch. Both branches "
                         "return the same shapes and dtypes. A condition is one number.",
               .empty = "Arrays without elements pass to the branch. A condition without elements throws.",
               .gradient =
                   "The gradients of the branch that ran. An input that the other branch alone reads has -0.",
               .formula =
                   "y = condition(data) != 0 ? then(data) : else(data). The other branch does not run.",
               .source = "MXNet 1.9.1 (src/operator/control_flow.cc), as F.contrib.cond writes it.",
           },
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {count("num_args", of_inputs), count("num_outputs", of_outputs),
                 positions("cond_input_locs", of_condition),
                 positions("then_input_locs",
                           "By variable of the second subgraph, which runs if the condition is not 0: its "
                           "input of the operator."),
                 positions("else_input_locs",
                           "By variable of the third subgraph: its input of the operator.")},
       .counted_outputs = outputs,
       .visible_outputs = outputs,
       .compose_with = either,
       .bodies = 3,
       .gradient_sums = cond_gradient,
       .reached_outputs = cond_reach,
       .shape_rule = either_shape,
       .train_sensitive = true},
      {.name = "_depends_on",
       .summary =
           "Returns the first input; the others get the gradient -0, as arrays that a loop did not read.",
       .reference = own_family |
                    OpReference{
                        .shapes = "data: x (...), then arrays of any shapes -> (...).",
                        .gradient = "x: g. The others: -0, which changes no sum.",
                        .formula = "y = x.",
                        .source = "Kiln's own: the record of a loop or branch that ran step by step has it, "
                                  "for inputs that no step read.",
                    },
       .inputs = {"data"},
       .variadic = true,
       .count_attr = "num_args",
       .attrs = {count("num_args", "The number of inputs.")},
       .compose = first_of,
       .gradient_sums = depends_on_gradient,
       .shape_rule = first_of_shape},
      {.name = "_overwritten",
       .summary = "Returns contents, which an array with a gradient got inside autograd::Pause; for "
                  "gradients it stays that array.",
       .reference = own_family |
                    OpReference{
                        .shapes = "data (...), contents (...) -> (...).",
                        .gradient = "data: g, as terms of its own sum. contents: none, it is a constant.",
                        .formula = "y = contents.",
                        .source = "Kiln's own: a write into a view or an array inside autograd::Pause.",
                    },
       .inputs = {"data", "contents"},
       .compose = second_of,
       .shares_sum = true,
       .differentiable_inputs = [](const Attrs&) -> std::size_t { return 1; },
       .shape_rule = second_of_shape},
  };
  return rows;
}

}  // namespace kiln::ops

// Which results of a loop or branch depend on its inputs in a way that gradients may take.
#include "frontend/ops/control_gradient.h"
#include "ir/differentiate.h"

#include <algorithm>

namespace kiln::ops {
namespace {

using ir::Subgraph;
using Positions = std::vector<std::int64_t>;

/// The inputs that a body reaches.
struct BodyInputs {
  Flags reaching;
  std::vector<TensorType> types;

  void add(const TensorType& type, bool reaches) {
    types.push_back(type);
    reaching.push_back(reaches);
  }
  Flags outputs(const Subgraph& body, bool train) const {
    return ir::reached_outputs(body, reaching, types, train);
  }
};

/// Loop-carried values that lead to an input, before each step and after the last. The sets are eventually
/// periodic: one period is stored.
struct Sequence {
  std::vector<Flags> states, outputs;  // by step; `states` has one more, after the last step
  std::size_t period = 0;              // of the last states, if they repeat

  /// `step` maps the states before a step to the outputs of the body, the stacked ones first.
  template <class Step>
  Sequence(Flags first, std::int64_t steps, std::size_t stacked, Step step) : states{std::move(first)} {
    for (std::int64_t i = 0; i < steps; ++i) {
      const Flags out = step(states.back());
      const auto middle = out.begin() + static_cast<std::ptrdiff_t>(stacked);
      outputs.emplace_back(out.begin(), middle);
      Flags next(middle, out.end());
      const auto known = std::find(states.begin(), states.end(), next);
      if (known != states.end()) {
        period = static_cast<std::size_t>(states.end() - known);
        return;
      }
      states.push_back(std::move(next));
    }
  }
  /// The states before step i.
  const Flags& at(std::size_t i) const {
    if (i < states.size()) return states[i];
    const std::size_t first = states.size() - period;
    return states[first + (i - first) % period];
  }
};

Flags any_of(const std::vector<Flags>& list, std::size_t size) {
  Flags all(size);
  for (const Flags& f : list) unite(all, f);
  return all;
}
Flags joined(Flags a, const Flags& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Flags foreach_reach(const Primitives& p, Args in, const Flags& reaching, const Attrs& a, ir::Bodies bodies) {
  const Positions data = a.integers("in_data_locs"), states = a.integers("in_state_locs"),
                  others = a.integers("remain_locs");
  const auto stacked = at(a.integer("num_out_data"));
  const std::size_t first_state = data.size(), first_other = first_state + states.size();
  const auto step = [&](const Flags& now) {
    BodyInputs body{Flags(in.size()), std::vector<TensorType>(in.size())};
    const auto set = [&](std::int64_t variable, const TensorType& type, bool reaches) {
      body.types[at(variable)] = type;
      body.reaching[at(variable)] = reaches;
    };
    for (std::size_t i = 0; i < data.size(); ++i) {
      TensorType row = p.type(in[i]);
      row.shape = Shape(row.shape.dims().subspan(1));
      if (row.shape.empty() && !p.np_shape()) row.shape = {1};
      set(data[i], row, reaching[i]);
    }
    for (std::size_t i = 0; i < states.size(); ++i) set(states[i], p.type(in[first_state + i]), now[i]);
    for (std::size_t i = 0; i < others.size(); ++i)
      set(others[i], p.type(in[first_other + i]), reaching[first_other + i]);
    return body.outputs(*bodies[0], p.train());
  };
  const auto begin = reaching.begin() + static_cast<std::ptrdiff_t>(first_state);
  const std::int64_t steps = p.shape(in[0])[0];
  const Sequence s(Flags(begin, begin + static_cast<std::ptrdiff_t>(states.size())), steps, stacked, step);
  return joined(any_of(s.outputs, stacked), s.at(at(steps)));
}

Flags while_reach(const Primitives& p, Args in, const Flags& reaching, const Attrs& a, ir::Bodies bodies) {
  const Positions inputs = a.integers("func_input_locs"), carried = a.integers("func_var_locs");
  const auto stacked = at(a.integer("num_out_data"));
  const auto step = [&](const Flags& now) {
    BodyInputs body;
    for (std::int64_t i : inputs) body.add(p.type(in[at(i)]), reaching[at(i)]);
    for (std::size_t k = 0; k < carried.size(); ++k) body.reaching[at(carried[k])] = now[k];
    return body.outputs(*bodies[1], p.train());
  };
  Flags first;
  for (std::int64_t j : carried) first.push_back(reaching[at(inputs[at(j)])]);
  const Sequence s(first, a.integer("max_iterations"), stacked, step);
  return joined(any_of(s.outputs, stacked), any_of(s.states, first.size()));
}

Flags cond_reach(const Primitives& p, Args in, const Flags& reaching, const Attrs& a, ir::Bodies bodies) {
  Flags all(bodies[1]->outputs.size());
  for (const auto& [positions, number] : {std::pair{"then_input_locs", 1}, std::pair{"else_input_locs", 2}}) {
    BodyInputs body;
    for (std::int64_t i : a.integers(positions)) body.add(p.type(in[at(i)]), reaching[at(i)]);
    unite(all, body.outputs(*bodies[static_cast<std::size_t>(number)], p.train()));
  }
  return all;
}

}  // namespace kiln::ops

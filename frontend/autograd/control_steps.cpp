// Runs loops and branches step by step on the tape.
#include "frontend/autograd/control_steps.h"

#include "frontend/autograd/run_body.h"
#include "frontend/call/call_context.h"
#include "frontend/call/gradient_code.h"
#include "frontend/tensor/elements.h"

#include <kiln/autograd.h>
#include <kiln/control_flow.h>

namespace kiln::detail {
namespace {

using Tensors = std::vector<Tensor>;
using Results = struct F::contrib::Results;
using Positions = std::vector<std::int64_t>;

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

Tensors chosen(const Tensors& list, const Positions& positions) {
  Tensors out;
  for (const std::int64_t i : positions) out.push_back(list.at(place(i)));
  return out;
}

Tensors joined(Results r) {
  r.outputs.insert(r.outputs.end(), r.states.begin(), r.states.end());
  return std::move(r.outputs);
}

class Steps {
 public:
  Steps(const ir::Node& node, const Tensors& inputs, std::source_location where)
      : node_(node), inputs_(inputs), where_(where) {}

  Tensors run() const {
    const std::string_view op = node_.op->name;
    return op == "_foreach" ? for_each() : op == "_while_loop" ? while_loop() : branch();
  }

 private:
  Tensors body(std::size_t number, const Tensors& in) const {
    return run_body(*node_.subgraphs[number], in, [&](const ir::Node& node, const Tensors& inputs) {
      if (node.copies_result) return inputs;
      return is_control_flow(node) ? run_steps(node, inputs, where_) : run_node(node, inputs, where_);
    });
  }
  Results step(std::size_t number, const Tensors& in) const {
    const Tensors all = body(number, in);
    const auto stacked = all.begin() + node_.attrs.integer("num_out_data");
    return {{all.begin(), stacked}, {stacked, all.end()}};
  }
  Tensors input_range(std::size_t begin, std::size_t count) const {
    const auto at = inputs_.begin() + static_cast<std::ptrdiff_t>(begin);
    return {at, at + static_cast<std::ptrdiff_t>(count)};
  }

  Tensors for_each() const {
    const Positions data = node_.attrs.integers("in_data_locs"),
                    states = node_.attrs.integers("in_state_locs"),
                    others = node_.attrs.integers("remain_locs");
    const auto of_step = [&](const Tensors& rows, const Tensors& now) {
      Tensors in(inputs_.size());
      for (std::size_t i = 0; i < data.size(); ++i) {
        // A number has the rank that the mode of the recording gives it.
        const bool number = inputs_[i].shape().rank() == 1;
        in[place(data[i])] = number ? rows[i].reshape(node_.np_shape ? Shape{} : Shape{1}) : rows[i];
      }
      for (std::size_t i = 0; i < states.size(); ++i) in[place(states[i])] = now[i];
      for (std::size_t i = 0; i < others.size(); ++i)
        in[place(others[i])] = inputs_[data.size() + states.size() + i];
      return step(0, in);
    };
    return joined(F::contrib::foreach (of_step, input_range(0, data.size()),
                                       input_range(data.size(), states.size()), where_));
  }

  Tensors while_loop() const {
    const Positions tested = node_.attrs.integers("cond_input_locs"),
                    used = node_.attrs.integers("func_input_locs"),
                    variables = node_.attrs.integers("func_var_locs");
    Tensors initial;
    for (const std::int64_t i : variables) initial.push_back(inputs_.at(place(used.at(place(i)))));
    const std::int64_t most = node_.attrs.integer("max_iterations");
    const auto with = [&](const Tensors& now) {
      Tensors all = inputs_;
      for (std::size_t i = 0; i < variables.size(); ++i) all[place(used[place(variables[i])])] = now[i];
      return all;
    };
    const auto of_step = [&](const Tensors& now) { return step(1, chosen(with(now), used)); };
    if (most > 0)
      return joined(
          F::contrib::while_loop([&](const Tensors& now) { return body(0, chosen(with(now), tested))[0]; },
                                 of_step, initial, most, where_));
    // The outputs have the types of a loop that may run one step, and depend on nothing.
    Results r;
    {
      const autograd::Pause pause(is_training());
      r = F::contrib::while_loop([](const Tensors&) { return zeros({1}); }, of_step, initial, 1, where_);
    }
    for (Tensor& t : r.outputs) {
      Shape shape = t.shape();
      shape[0] = 0;
      t = filled({t.dtype(), shape}, 0, t.device());
    }
    for (std::size_t i = 0; i < initial.size(); ++i) r.states[i] = initial[i].copy();
    return joined(std::move(r));
  }

  Tensors branch() const {
    const auto way = [&](std::size_t number, const char* positions) {
      return body(number, chosen(inputs_, node_.attrs.integers(positions)));
    };
    return F::contrib::cond(
        way(0, "cond_input_locs")[0], [&] { return way(1, "then_input_locs"); },
        [&] { return way(2, "else_input_locs"); }, where_);
  }

  const ir::Node& node_;
  const Tensors& inputs_;
  std::source_location where_;
};

}  // namespace

Tensors run_steps(const ir::Node& node, const Tensors& inputs, std::source_location where) {
  const NodeModes modes(node);
  return Steps(node, inputs, where).run();
}

}  // namespace kiln::detail

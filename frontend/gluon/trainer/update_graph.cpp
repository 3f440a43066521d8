// Composes the rules of optimizers into the graph of an update.
#include "frontend/gluon/trainer/update_graph.h"

#include "frontend/call/call_site.h"
#include "frontend/gluon/trainer/options.h"
#include "frontend/tensor/array.h"
#include "frontend/trace/call_trace.h"
#include "frontend/trace/naming.h"
#include "frontend/view/view.h"
#include "runtime/fail.h"

#include <kiln/autograd.h>
#include <kiln/f.h>

#include <fmt/format.h>

namespace kiln::detail {
namespace {

Tensor as(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : F::cast(t, dtype); }

/// In the trace, `input` has the elements of `next` from now on.
void replace(const Tensor& input, const Tensor& next, DType computed, const optimizer::Optimizer& optimizer,
             std::string_view what) {
  if (!next.defined() || next.shape() != input.shape() || next.dtype() != computed)
    fail("the rule of optimizer '{}' makes of {}, which is {}, {}: an update changes neither shape nor dtype",
         optimizer.name(), std::string(what), TensorType{computed, input.shape()}.str(),
         next.defined() ? TensorType{next.dtype(), next.shape()}.str() : "an undefined Tensor");
  write_view(input, as(next, input.dtype()), {});
}

}  // namespace

std::vector<std::string> state_names(const optimizer::Optimizer& optimizer, const UpdatedParameter& p) {
  std::vector<std::string> names = optimizer.states();
  if (p.master) names.emplace_back(master_state);
  return names;
}

UpdateGraph update_graph(const optimizer::Optimizer& optimizer, std::span<const UpdatedParameter> parameters,
                         std::size_t numbers, std::source_location where) {
  const autograd::Pause pause;
  const CallSite site(is_library_rule(optimizer) ? std::optional(where) : std::nullopt, where);
  CallTrace trace;
  const std::vector<std::string> states = optimizer.states();
  std::vector<optimizer::Update> updates(parameters.size());
  std::vector<Tensor> weights, masters(parameters.size());
  std::vector<std::vector<Tensor>> old(parameters.size());
  const auto input = [&](std::string_view kind, std::size_t i, const TensorType& type) {
    const Tensor t = trace.input(fmt::format("{}{}", kind, i), type);
    // Numbers have the shape (1,), and a scalar of numpy mode combined with one would get it.
    return type.shape.empty() ? t.reshape({1}) : t;
  };
  const auto each = [&](auto&& make) {
    for (std::size_t i = 0; i < parameters.size(); ++i) make(parameters[i], updates[i], i);
  };
  each([&](const UpdatedParameter& p, optimizer::Update&, std::size_t i) {
    weights.push_back(input("weight", i, p.type));
  });
  each([&](const UpdatedParameter& p, optimizer::Update& u, std::size_t i) {
    u.gradient = input("gradient", i, p.type);
  });
  each([&](const UpdatedParameter& p, optimizer::Update&, std::size_t i) {
    for (const std::string& s : states) old[i].push_back(input(s, i, {p.state_dtype(), p.type.shape}));
    if (p.master) masters[i] = input(master_state, i, {DType::f32, p.type.shape});
  });
  each([&](const UpdatedParameter& p, optimizer::Update& u, std::size_t i) {
    const TensorType one{p.computed(), {1}};
    u.rate = input("rate", i, one);
    u.decay = input("decay", i, one);
    u.rescale = input("rescale", i, one);
    for (std::size_t k = 0; k < numbers; ++k) u.numbers.push_back(input("number", i, one));
  });
  each([&](const UpdatedParameter& p, optimizer::Update& u, std::size_t i) {
    const Tensor& weight = p.master ? masters[i] : weights[i];
    u.weight = as(weight, p.computed());
    u.gradient = as(u.gradient, p.computed());
    for (const Tensor& s : old[i]) u.states.push_back(as(s, p.computed()));
    u.name = std::string(p.name);
    // Profiles name a kernel by its nodes. Parameters have names here if the rule reads them.
    const NameScope names(u.name.empty() ? "update_" : u.name + "_update_");
    optimizer.update(u);
    if (u.states.size() != states.size())
      fail("the rule of optimizer '{}' leaves {} states of {}", optimizer.name(), u.states.size(),
           states.size());
    for (std::size_t k = 0; k < states.size(); ++k)
      replace(old[i][k], u.states[k], p.computed(), optimizer, "state " + states[k]);
    replace(weight, u.weight, p.computed(), optimizer, "the weight");
    if (p.master) write_view(weights[i], as(u.weight, p.type.dtype), {});
  });
  UpdateGraph out{trace.finish({}), {}, states.size(), numbers + 3};
  if (!trace.eager_because().empty())
    fail("the rule of optimizer '{}' is no graph: {}", optimizer.name(), trace.eager_because());
  for (const Captured& c : trace.captured()) out.captured.push_back(c.tensor);
  out.graph.name = optimizer.name() + "_update";
  return out;
}

ir::Graph finite_graph(std::span<const UpdatedParameter> parameters) {
  const autograd::Pause pause;
  CallTrace trace;
  std::vector<Tensor> sums;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor gradient = trace.input(fmt::format("gradient{}", i), parameters[i].type);
    // 0 times a finite number is 0, times another it is NaN, which a sum keeps.
    sums.push_back(F::cast(F::sum(gradient * 0).reshape({1}), DType::f32));
  }
  const std::vector<Tensor> all = {F::concat(sums, {.dim = 0})};
  ir::Graph graph = trace.finish(all);
  graph.name = "all_finite";
  return graph;
}

}  // namespace kiln::detail

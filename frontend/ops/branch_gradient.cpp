// Gradients of cond, and of the values that a run step by step would have read.
#include "frontend/ops/control_gradient.h"
#include "ir/compose.h"
#include "ir/differentiate.h"
#include "ir/draws.h"

#include <algorithm>

namespace kiln::ops {

using ir::GradientArgs;
using ir::GradientRequest;
using ir::Subgraph;

Values cond_gradient(Primitives& p, const GradientArgs& args, Args sums) {
  const ir::DrawReplay replay(p.draw_counter(), args.first_draw);
  struct Way {
    const Subgraph& body;
    std::vector<std::size_t> inputs;
    GradientRequest request;
    Flags terms;
  };
  const auto way = [&](std::size_t i, const char* positions) {
    Way w{*args.bodies[i], {}, {valid(args.heads), {}, valid(sums)}, {}};
    std::vector<TensorType> types;
    for (std::int64_t k : args.attrs.integers(positions)) {
      const auto input = static_cast<std::size_t>(k);
      w.inputs.push_back(input);
      w.request.sums.push_back(args.wanted[input] ? static_cast<std::int64_t>(args.same[input])
                                                  : GradientRequest::none);
      types.push_back(p.type(args.in[input]));
    }
    // Sums that the body does not continue have no type in it.
    for (std::size_t s = 0; s < w.request.running.size(); ++s)
      if (std::find(w.request.sums.begin(), w.request.sums.end(), static_cast<std::int64_t>(s)) ==
          w.request.sums.end())
        w.request.running[s] = false;
    GradientRequest alone = w.request;
    alone.running.assign(sums.size(), false);
    w.terms = ir::gradient_reach(w.body, alone, types, p.train()).sums;
    return w;
  };
  const Way then = way(1, "then_input_locs"), otherwise = way(2, "else_input_locs");
  Flags changed = then.terms;
  unite(changed, otherwise.terms);
  if (std::find(changed.begin(), changed.end(), true) == changed.end()) return {sums.begin(), sums.end()};

  const auto values = [&](const std::vector<std::size_t>& inputs) {
    Values list;
    for (std::size_t i : inputs) list.push_back(args.in[i]);
    return list;
  };
  std::vector<std::size_t> tested;
  for (std::int64_t i : args.attrs.integers("cond_input_locs")) tested.push_back(static_cast<std::size_t>(i));
  const Value condition = truth(p, compose(p, *args.bodies[0], values(tested))[0]);
  const auto after = [&](const Way& w) {
    Values running(sums.size());
    for (std::size_t s = 0; s < sums.size(); ++s)
      if (w.request.running[s]) running[s] = sums[s];
    ir::Differentiation d(p, w.body, values(w.inputs));
    const Values next = d.sums(w.request, args.heads, running);
    Values out;
    for (std::size_t s = 0; s < sums.size(); ++s) {
      if (!changed[s]) continue;
      const Value v = w.terms[s] ? next[s] : sums[s];
      out.push_back(v.valid() ? v : no_term(p, p.type(args.in[s])));
    }
    return out;
  };
  const Values sum = p.branch(
      condition, [&] { return after(then); }, [&] { return after(otherwise); });
  Values out(sums.begin(), sums.end());
  std::size_t next = 0;
  for (std::size_t s = 0; s < out.size(); ++s)
    if (changed[s]) out[s] = sum[next++];
  for (std::size_t s = 0; s < out.size(); ++s) out[s] = out[args.same[s]];
  return out;
}

Values depends_on_gradient(Primitives& p, const GradientArgs& args, Args sums) {
  Values out(sums.begin(), sums.end());
  if (args.wanted[0]) ir::add_term(p, out[args.same[0]], args.heads[0]);
  // Also added to a sum, which then counts as one with a term.
  for (std::size_t i = 1; i < args.in.size(); ++i)
    if (args.wanted[i]) ir::add_term(p, out[args.same[i]], no_term(p, p.type(args.in[i])));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[args.same[i]];
  return out;
}

}  // namespace kiln::ops

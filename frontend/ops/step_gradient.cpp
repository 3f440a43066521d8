// Composes the gradient of one step of a loop.
#include "frontend/ops/step_gradient.h"

#include <algorithm>

namespace kiln::ops {

using ir::GradientArgs;
using ir::GradientReach;
using ir::GradientRequest;

namespace {

std::ptrdiff_t signed_size(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

}  // namespace

StepGradient::StepGradient(Primitives& p, const GradientArgs& args, const LoopParts& parts)
    : p_(p), args_(args), parts_(parts) {
  for (const LoopParts::Variable& v : parts.variables)
    if (v.role == LoopParts::Role::captured && args.wanted[v.number]) share(args.same[v.number]);
  // Data that is used otherwise too has one chain for all uses.
  for (std::size_t k = 0; k < parts.data.size(); ++k) {
    const std::size_t of = args.same[parts.data[k]];
    std::size_t uses = 0;
    for (std::size_t i = 0; i < args.same.size(); ++i) uses += args.wanted[i] && args.same[i] == of;
    alone_.push_back(uses <= 1);
    if (uses > 1) share(of);
  }
}

bool StepGradient::any_row_shared() const {
  return std::find(alone_.begin(), alone_.end(), false) != alone_.end();
}

void StepGradient::share(std::size_t input) {
  if (std::find(shared_.begin(), shared_.end(), input) == shared_.end()) shared_.push_back(input);
}

std::size_t StepGradient::shared_number(std::size_t input) const {
  return static_cast<std::size_t>(std::find(shared_.begin(), shared_.end(), input) - shared_.begin());
}

Values StepGradient::variables(Args carried, Args rows) const {
  Values values;
  for (const LoopParts::Variable& v : parts_.variables)
    values.push_back(v.role == LoopParts::Role::row     ? scalar_or_1d(p_, rows[v.number])
                     : v.role == LoopParts::Role::state ? carried[v.number]
                                                        : args_.in[v.number]);
  return values;
}

GradientRequest StepGradient::sums_of_step() const {
  GradientRequest request;
  for (const LoopParts::Variable& v : parts_.variables) {
    std::size_t number = 0;
    switch (v.role) {
      case LoopParts::Role::state:
        number = v.number;
        break;
      case LoopParts::Role::captured:
        number = states() + shared_number(args_.same[v.number]);
        break;
      case LoopParts::Role::row:
        number = states() + shared_.size() + v.number;
        break;
    }
    const bool wanted = v.role == LoopParts::Role::state ||
                        args_.wanted[v.role == LoopParts::Role::row ? parts_.data[v.number] : v.number];
    request.sums.push_back(wanted ? static_cast<std::int64_t>(number) : GradientRequest::none);
  }
  request.running.resize(states() + shared_.size() + parts_.data.size());
  return request;
}

Values StepGradient::step(RunningSums& running, Args carried, Args rows, Args heads, Value index) const {
  GradientRequest request = sums_of_step();
  Values all_heads(heads.begin(), heads.end());
  all_heads.insert(all_heads.end(), running.states.begin(), running.states.end());
  request.heads = valid(all_heads);
  Values so_far(request.running.size());
  std::copy(running.shared.begin(), running.shared.end(), so_far.begin() + signed_size(states()));
  request.running = valid(so_far);
  ir::Differentiation d(p_, parts_.body, variables(carried, rows));
  const Values sums = d.sums(request, all_heads, so_far);
  const auto shared_begin = sums.begin() + signed_size(states()),
             rows_begin = shared_begin + signed_size(shared_.size());
  running = {{sums.begin(), shared_begin}, {shared_begin, rows_begin}};
  Values terms(rows_begin, sums.end());
  // Data that is given twice has one row in each step.
  Values of_row(terms.size());
  for (std::size_t k = terms.size(); k-- > 0;) {
    if (terms[k].valid()) terms[k] = p_.reshape(terms[k], p_.shape(rows[k]));
    if (alone_[k]) continue;
    const std::size_t of = args_.same[parts_.data[k]];
    std::size_t first = 0;
    while (args_.same[parts_.data[first]] != of) ++first;
    add_term(p_, of_row[first], terms[k]);
    terms[k] = {};
    if (first != k || !of_row[k].valid()) continue;
    const Value row = p_.reshape(of_row[k], Shape::stacked(1, p_.shape(rows[k])));
    const Value zeros = p_.full(p_.type(args_.in[parts_.data[k]]), 0);
    add_term(p_, running.shared[shared_number(of)],
             p_.scatter(ir::Scatter::replace, zeros, p_.reshape(index, {1}), row, 0));
  }
  return terms;
}

StepStructure StepGradient::structure(const Flags& states_after, Args heads,
                                      std::span<const TensorType> types) const {
  GradientRequest request = sums_of_step();
  request.heads = valid(heads);
  request.heads.insert(request.heads.end(), states_after.begin(), states_after.end());
  const GradientReach reach = ir::gradient_reach(parts_.body, request, types, p_.train());
  const auto begin = reach.sums.begin();
  const auto shared_begin = begin + signed_size(states()),
             rows_begin = shared_begin + signed_size(shared_.size());
  StepStructure s{
      {begin, shared_begin}, {shared_begin, rows_begin}, {rows_begin, reach.sums.end()}, reach.values};
  for (std::size_t k = 0; k < alone_.size(); ++k)
    if (!alone_[k] && s.rows[k]) s.shared[shared_number(args_.same[parts_.data[k]])] = true;
  return s;
}

}  // namespace kiln::ops

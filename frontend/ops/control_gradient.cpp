// The backward pass of foreach and while_loop.
#include "frontend/ops/control_gradient.h"

#include "frontend/ops/step_gradient.h"
#include "frontend/ops/step_structures.h"
#include "ir/compose.h"
#include "ir/draws.h"

#include <algorithm>
#include <functional>

namespace kiln::ops {
namespace {

using ir::add_term;
using ir::GradientArgs;
using ir::LoopStep;

using Positions = std::vector<std::int64_t>;

/// Maximum number of last steps that are composed outside of the loop because their structures do not recur.
constexpr std::size_t max_apart = 8;

/// The first `n` rows, the last one first.
Value backwards(Primitives& p, Value stacked, std::int64_t n) {
  const Shape& shape = p.shape(stacked);
  Shape limit = shape;
  limit[0] = n;
  const Value rows = p.slice(stacked, Shape::filled(shape.rank(), 0), limit, Shape::filled(shape.rank(), 1));
  return p.reverse(rows, {0});
}
Shape without_first(const Shape& stacked) { return Shape(stacked.dims().subspan(1)); }
Value row_of(Primitives& p, Value stacked, std::int64_t i) {
  const Shape shape = p.shape(stacked);
  Shape start = Shape::filled(shape.rank(), 0), limit = shape;
  start[0] = i;
  limit[0] = i + 1;
  return p.reshape(p.slice(stacked, start, limit, Shape::filled(shape.rank(), 1)), without_first(shape));
}

/// The types of the body's inputs.
std::vector<TensorType> types_of_variables(const Primitives& p, const GradientArgs& args,
                                           const LoopParts& parts) {
  using Role = LoopParts::Role;
  std::vector<TensorType> types;
  for (const LoopParts::Variable& v : parts.variables) {
    TensorType type = p.type(args.in[v.role == Role::row     ? parts.data[v.number]
                                     : v.role == Role::state ? parts.states[v.number]
                                                             : v.number]);
    if (v.role == Role::row) {
      type.shape = without_first(type.shape);
      if (type.shape.empty() && !p.np_shape()) type.shape = {1};
    }
    types.push_back(type);
  }
  return types;
}

/// The backward pass of a loop.
class LoopGradient {
 public:
  LoopGradient(Primitives& p, const GradientArgs& args, const LoopParts& parts, Args sums)
      : p_(p),
        args_(args),
        parts_(parts),
        sums_(sums.begin(), sums.end()),
        heads_(args.heads.begin(), args.heads.begin() + static_cast<std::ptrdiff_t>(parts.outputs)),
        gradient_(p, args, parts),
        structures_(gradient_, heads_, types_of_variables(p, args, parts)) {
    for (std::size_t i : parts.data) data_.push_back(args.in[i]);
    for (std::size_t i : parts.states) initial_.push_back(args.in[i]);
    now_.states.assign(args.heads.begin() + static_cast<std::ptrdiff_t>(parts.outputs), args.heads.end());
    for (std::size_t i : gradient_.shared()) now_.shared.push_back(sums_[i]);
  }

  void run_all(std::int64_t steps);
  void run_while(std::int64_t most, const std::function<Value(Args)>& goes_on);
  Values sums();

 private:
  Values pack(const RunningSums& r, const CarriedSums& c) {
    Values list;
    for (std::size_t i : c.states)
      list.push_back(r.states[i].valid() ? r.states[i] : no_term(p_, p_.type(initial_[i])));
    for (std::size_t i : c.shared)
      list.push_back(r.shared[i].valid() ? r.shared[i]
                                         : no_term(p_, p_.type(args_.in[gradient_.shared()[i]])));
    return list;
  }
  /// The carried values; of the states, only the ones in `states`.
  void unpack(Args list, const CarriedSums& c, const Flags& states, RunningSums& r) const {
    std::size_t next = 0;
    for (std::size_t i : c.states) {
      r.states[i] = states[i] ? list[next] : Value();
      ++next;
    }
    for (std::size_t i : c.shared) r.shared[i] = list[next++];
  }
  RunningSums nothing() const { return {Values(now_.states.size()), Values(now_.shared.size())}; }
  Value integer(std::size_t n) { return p_.full_integer({DType::i64, {}}, static_cast<std::int64_t>(n)); }
  /// The initial values of a loop. If the sequence has several elements, they begin with the place of the
  /// step, the number of its element: a scalar of i64.
  Values start(const StepSequence& s, const CarriedSums& c) {
    Values list = s.list.size() > 1 ? Values{integer(0)} : Values();
    for (Value v : pack(now_, c)) list.push_back(v);
    return list;
  }
  static Args behind_place(const StepSequence& s, Args list) {
    return list.subspan(s.list.size() > 1 ? 1 : 0);
  }
  /// `step`, composed for each element of the sequence, selected by the place. `carried` begins with the
  /// place of the step before; so do the results, with the next place.
  Values step_at_place(const StepSequence& s, Args carried, const std::function<Values(const Flags&)>& step) {
    if (s.list.size() == 1) return step(s.list[0]);
    const Value place = carried.front();
    const std::function<Values(std::size_t)> from = [&](std::size_t i) -> Values {
      if (i + 1 == s.list.size()) return step(s.list[i]);
      return p_.branch(
          p_.compare(Compare::eq, place, integer(i)), [&] { return step(s.list[i]); },
          [&] { return from(i + 1); });
    };
    Values results = from(0);
    const Value next = p_.add(place, integer(1));
    results.insert(results.begin(),
                   p_.select(p_.compare(Compare::eq, next, integer(s.list.size())), integer(s.again), next));
    return results;
  }
  /// The heads of a step: a row of each stacked head that has a gradient.
  Values heads_of(Args rows) const {
    Values heads;
    std::size_t next = 0;
    for (Value v : heads_) heads.push_back(v.valid() ? rows[next++] : Value());
    return heads;
  }
  void run_apart(std::int64_t i);
  void run_loop(std::int64_t steps, const StepSequence& sequence);

  Primitives& p_;
  const GradientArgs& args_;
  const LoopParts& parts_;
  Values sums_;
  Values data_, initial_, heads_;
  StepGradient gradient_;
  StepStructures structures_;
  RunningSums now_;
  Values before_;               // the states at the start of each step, stacked
  std::int64_t per_step_ = 0;   // random counters
  std::vector<Values> pieces_;  // by data: the rows of its gradient, the last ones first; invalid: zeros
  std::vector<std::int64_t> sizes_, terms_;  // of the pieces; by data: steps that have a term
};

void LoopGradient::run_apart(std::int64_t i) {
  ir::DrawCounter* const draws = p_.draw_counter();
  if (draws) draws->seek(args_.first_draw + i * per_step_);
  Values carried, rows, heads;
  for (Value v : before_) carried.push_back(row_of(p_, v, i));
  for (Value v : data_) rows.push_back(row_of(p_, v, i));
  for (Value v : heads_) heads.push_back(v.valid() ? row_of(p_, v, i) : Value());
  const Value index = p_.full_integer({DType::i64, {}}, i);
  const Values terms = gradient_.step(now_, carried, rows, heads, index);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    Value term = terms[k];
    terms_[k] += term.valid();
    if (term.valid()) term = p_.reshape(term, Shape::stacked(1, p_.shape(term)));
    pieces_[k].push_back(term);
  }
  sizes_.push_back(1);
}

void LoopGradient::run_loop(std::int64_t steps, const StepSequence& s) {
  if (ir::DrawCounter* const draws = p_.draw_counter()) draws->seek(args_.first_draw);
  const CarriedSums c = structures_.carried(s);
  Flags has_row(data_.size());
  for (const Flags& f : s.list) unite(has_row, structures_.of(f).rows);
  Values rows;
  for (const Values* list : {&data_, &before_, &heads_})
    for (Value v : *list)
      if (v.valid()) rows.push_back(backwards(p_, v, steps));
  const bool indexed = gradient_.any_row_shared();
  if (indexed) rows.push_back(p_.reverse(p_.iota({DType::i64, {steps}}, 0), {0}));
  const Values first = start(s, c);
  const Values out = p_.loop(
      steps, first, rows, {},
      [&](Args sums, Args row) -> LoopStep {
        const Args data = row.subspan(0, data_.size()), before = row.subspan(data_.size(), before_.size());
        Values next = step_at_place(s, sums, [&](const Flags& states_after) {
          RunningSums r = nothing();
          unpack(behind_place(s, sums), c, states_after, r);
          const Values heads = heads_of(row.subspan(data_.size() + before_.size()));
          const Values terms = gradient_.step(r, before, data, heads, indexed ? row.back() : Value());
          Values results = pack(r, c);
          for (std::size_t k = 0; k < terms.size(); ++k)
            if (has_row[k]) results.push_back(terms[k].valid() ? terms[k] : p_.like(data[k], 0));
          return results;
        });
        const auto end = next.begin() + static_cast<std::ptrdiff_t>(first.size());
        Values terms(end, next.end());
        next.erase(end, next.end());
        return {std::move(next), std::move(terms), {}};
      },
      per_step_);
  // A state that has no gradient before the first step has none.
  Flags last = valid(now_.states);
  for (std::int64_t left = steps, alike = 1; left > 0; left -= alike) {
    const StepStructure& known = structures_.of(last);
    if (known.states == last) alike = left;
    for (std::size_t k = 0; k < data_.size(); ++k) terms_[k] += known.rows[k] ? alike : 0;
    last = known.states;
  }
  unpack(behind_place(s, out), c, last, now_);
  std::size_t next = first.size();
  for (std::size_t k = 0; k < data_.size(); ++k)
    pieces_[k].push_back(has_row[k] ? p_.reverse(out[next++], {0}) : Value());
  sizes_.push_back(steps);
}

void LoopGradient::run_all(std::int64_t steps) {
  pieces_.resize(data_.size());
  terms_.resize(data_.size());
  if (steps == 0) return;
  const ir::DrawReplay replay(p_.draw_counter(), args_.first_draw);
  const Values all = p_.loop(steps, initial_, data_, {}, [&](Args carried, Args rows) -> LoopStep {
    const Values out = compose(p_, parts_.body, gradient_.variables(carried, rows));
    return {{out.begin() + static_cast<std::ptrdiff_t>(parts_.outputs), out.end()},
            {carried.begin(), carried.end()},
            {}};
  });
  before_.assign(all.begin() + static_cast<std::ptrdiff_t>(initial_.size()), all.end());
  if (const ir::DrawCounter* const draws = p_.draw_counter()) per_step_ = draws->per_step();
  for (std::size_t apart = 0; steps > 0; ++apart) {
    const StepSequence s = structures_.merged(structures_.sequence(valid(now_.states), steps));
    if (s.again == 0 || apart == max_apart) return run_loop(steps, s);
    run_apart(--steps);
  }
}

void LoopGradient::run_while(std::int64_t most, const std::function<Value(Args)>& goes_on) {
  const ir::DrawReplay replay(p_.draw_counter(), args_.first_draw);
  const Value first = goes_on(initial_);
  const std::int64_t first_of_steps = p_.draw_counter() ? p_.draw_counter()->count() : 0;
  const Values all = p_.loop(most, initial_, {}, first, [&](Args carried, Args) -> LoopStep {
    const Values out = compose(p_, parts_.body, gradient_.variables(carried, {}));
    Values next(out.begin() + static_cast<std::ptrdiff_t>(parts_.outputs), out.end());
    const Value again = goes_on(next);
    Values stacked(carried.begin(), carried.end());
    stacked.push_back(
        p_.compare(Compare::eq, p_.full_integer({DType::i64, {}}, 0), p_.full_integer({DType::i64, {}}, 0)));
    return {std::move(next), std::move(stacked), again};
  });
  const std::size_t states = initial_.size();
  before_.assign(all.begin() + static_cast<std::ptrdiff_t>(states), all.end() - 1);
  const Value taken = all.back();

  // The values with a gradient after some number of steps. The others are carried as -0 alone.
  const StepSequence every = structures_.sequence(valid(now_.states), most);
  Flags reached = every.list.front(), reached_shared(now_.shared.size());
  if (most > 0)
    for (const Flags& f : every.list) {
      unite(reached, f);
      unite(reached, structures_.of(f).states);
      unite(reached_shared, structures_.of(f).shared);
    }
  const StepSequence s = structures_.merged(every);
  const CarriedSums c = structures_.carried(s);
  Values rows;
  for (const Values* values : {&before_, &heads_})
    for (Value v : *values)
      if (v.valid()) rows.push_back(backwards(p_, v, most));
  rows.push_back(p_.reverse(taken, {0}));
  if (ir::DrawCounter* const draws = p_.draw_counter()) {
    per_step_ = draws->per_step();
    draws->seek(first_of_steps);
  }
  const Values out = p_.loop(
      most, start(s, c), rows, {},
      [&](Args sums, Args row) -> LoopStep {
        const auto step = [&](const Flags& states_after) {
          RunningSums r = nothing();
          unpack(behind_place(s, sums), c, states_after, r);
          const Values heads = heads_of(row.subspan(before_.size()));
          (void)gradient_.step(r, row.subspan(0, before_.size()), {}, heads, {});
          return pack(r, c);
        };
        return {p_.branch(
                    row.back(), [&] { return step_at_place(s, sums, step); },
                    [&] { return Values(sums.begin(), sums.end()); }),
                {},
                {}};
      },
      per_step_);
  RunningSums sums = now_;
  unpack(behind_place(s, out), c, reached, sums);
  now_.states = std::move(sums.states);
  for (std::size_t i = 0; i < reached_shared.size(); ++i)
    if (reached_shared[i]) now_.shared[i] = sums.shared[i];
}

Values LoopGradient::sums() {
  for (std::size_t i = 0; i < now_.shared.size(); ++i) sums_[gradient_.shared()[i]] = now_.shared[i];
  for (std::size_t k = parts_.states.size(); k-- > 0;)
    if (const std::size_t i = parts_.states[k]; args_.wanted[i])
      add_term(p_, sums_[args_.same[i]], now_.states[k]);
  for (std::size_t k = 0; k < pieces_.size(); ++k) {
    const std::size_t input = parts_.data[k];
    if (!gradient_.alone(k) || terms_[k] == 0) continue;
    const TensorType type = p_.type(args_.in[input]);
    Values parts;
    for (std::size_t i = sizes_.size(); i-- > 0;)
      parts.push_back(pieces_[k][i].valid()
                          ? pieces_[k][i]
                          : p_.full({type.dtype, Shape::stacked(sizes_[i], without_first(type.shape))}, 0));
    Value& sum = sums_[args_.same[input]];
    add_term(p_, sum, p_.concatenate(parts, 0));
    // With several steps, each row has got the +0 of another one; the order does not matter.
    if (terms_[k] > 1) sum = p_.add(sum, p_.full(type, 0));
  }
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] = sums_[args_.same[i]];
  return sums_;
}

}  // namespace

Value no_term(Primitives& p, const TensorType& type) { return p.full(type, -0.0); }

Flags valid(Args values) {
  Flags flags;
  for (Value v : values) flags.push_back(v.valid());
  return flags;
}
void unite(Flags& a, const Flags& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
}

Value truth(Primitives& p, Value x) {
  if (p.type(x).elements() != 1) fail("a condition must be one number, got {}", p.type(x).str());
  Value one = p.reshape(x, {});
  return p.compare(Compare::ne, one, p.like(one, 0));
}

Values foreach_gradient(Primitives& p, const GradientArgs& args, Args sums) {
  using Role = LoopParts::Role;
  LoopParts parts{*args.bodies[0], std::vector<LoopParts::Variable>(args.in.size()), {}, {}, 0};
  parts.outputs = static_cast<std::size_t>(args.attrs.integer("num_out_data"));
  std::size_t input = 0;
  const auto place = [&](const char* attr, Role role, std::vector<std::size_t>* inputs) {
    std::size_t number = 0;
    for (std::int64_t variable : args.attrs.integers(attr)) {
      parts.variables[static_cast<std::size_t>(variable)] = {role, inputs ? number++ : input};
      if (inputs) inputs->push_back(input);
      ++input;
    }
  };
  place("in_data_locs", Role::row, &parts.data);
  place("in_state_locs", Role::state, &parts.states);
  place("remain_locs", Role::captured, nullptr);
  LoopGradient gradient(p, args, parts, sums);
  gradient.run_all(p.shape(args.in[0])[0]);
  return gradient.sums();
}

Values while_gradient(Primitives& p, const GradientArgs& args, Args sums) {
  using Role = LoopParts::Role;
  const Positions condition_inputs = args.attrs.integers("cond_input_locs"),
                  body_inputs = args.attrs.integers("func_input_locs");
  LoopParts parts{*args.bodies[1], {}, {}, {}, 0};
  parts.outputs = static_cast<std::size_t>(args.attrs.integer("num_out_data"));
  std::vector<LoopParts::Variable> by_input;
  for (std::size_t i = 0; i < args.in.size(); ++i) by_input.push_back({Role::captured, i});
  for (std::int64_t j : args.attrs.integers("func_var_locs")) {
    const auto input = static_cast<std::size_t>(body_inputs[static_cast<std::size_t>(j)]);
    by_input[input] = {Role::state, parts.states.size()};
    parts.states.push_back(input);
  }
  for (std::int64_t i : body_inputs) parts.variables.push_back(by_input[static_cast<std::size_t>(i)]);
  LoopGradient gradient(p, args, parts, sums);
  gradient.run_while(args.attrs.integer("max_iterations"), [&](Args states) {
    Values values;
    for (std::int64_t i : condition_inputs) {
      const LoopParts::Variable& v = by_input[static_cast<std::size_t>(i)];
      values.push_back(v.role == Role::state ? states[v.number] : args.in[v.number]);
    }
    return truth(p, compose(p, *args.bodies[0], values)[0]);
  });
  return gradient.sums();
}

}  // namespace kiln::ops

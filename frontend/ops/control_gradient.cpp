// The backward pass of foreach and while_loop.
#include "frontend/ops/control_gradient.h"

#include "ir/compose.h"
#include "ir/differentiate.h"
#include "ir/draws.h"

#include <algorithm>
#include <functional>
#include <map>

namespace kiln::ops {
namespace {

using ir::add_term;
using ir::GradientArgs;
using ir::GradientReach;
using ir::GradientRequest;
using ir::LoopStep;
using ir::Subgraph;

using Positions = std::vector<std::int64_t>;

/// Maximum number of last steps that are composed outside of the loop because their structures do not recur.
constexpr std::size_t max_apart = 8;
/// Maximum number of step structures that a loop is composed with. Its other steps have the union of theirs,
/// where a gradient of 0 may have another sign.
constexpr std::size_t max_structures = 64;

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

/// A loop as both operators have it. Outputs of the body: stacked ones, then states.
struct LoopParts {
  enum class Role { row, state, captured };
  struct Variable {
    Role role;
    std::size_t number;  // of the row, the state; of the node's input
  };
  const Subgraph& body;
  std::vector<Variable> variables;        // by input of the body
  std::vector<std::size_t> data, states;  // inputs of the node
  std::size_t outputs;
};

/// Running sums of the backward loop. An invalid value has no term yet.
struct Running {
  Values states, shared;
};

/// The gradient of one step, and the facts that hold for all steps.
class StepGradient {
 public:
  StepGradient(Primitives& p, const GradientArgs& args, const LoopParts& parts)
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

  /// The inputs whose sums the steps continue.
  const std::vector<std::size_t>& shared() const { return shared_; }
  bool alone(std::size_t row) const { return alone_[row]; }
  bool any_row_shared() const { return std::find(alone_.begin(), alone_.end(), false) != alone_.end(); }

  Values variables(Args carried, Args rows) const {
    Values values;
    for (const LoopParts::Variable& v : parts_.variables)
      values.push_back(v.role == LoopParts::Role::row     ? scalar_or_1d(p_, rows[v.number])
                       : v.role == LoopParts::Role::state ? carried[v.number]
                                                          : args_.in[v.number]);
    return values;
  }

  /// Replaces `running` by the sums after the step, and returns the contribution to each row that is alone.
  /// `heads` are the gradients of the stacked outputs, `index` the number of the step (rank 0) if a row is
  /// shared.
  Values step(Running& running, Args carried, Args rows, Args heads, Value index) const {
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

  /// The values with a gradient in a step, given the states that have one after it and the outputs that have
  /// one.
  struct Structure {
    Flags states, shared, rows;  // terms
    ir::Differentiation::Reached values;
  };
  const Structure& structure(const Flags& states_after, Args heads, std::span<const TensorType> types) {
    const auto [at, added] = known_.try_emplace(states_after);
    if (!added) return at->second;
    GradientRequest request = sums_of_step();
    request.heads = valid(heads);
    request.heads.insert(request.heads.end(), states_after.begin(), states_after.end());
    const GradientReach reach = ir::gradient_reach(parts_.body, request, types, p_.train());
    const auto begin = reach.sums.begin();
    const auto shared_begin = begin + signed_size(states()),
               rows_begin = shared_begin + signed_size(shared_.size());
    at->second = {
        {begin, shared_begin}, {shared_begin, rows_begin}, {rows_begin, reach.sums.end()}, reach.values};
    for (std::size_t k = 0; k < alone_.size(); ++k)
      if (!alone_[k] && at->second.rows[k])
        at->second.shared[shared_number(args_.same[parts_.data[k]])] = true;
    return at->second;
  }

 private:
  static std::ptrdiff_t signed_size(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
  std::size_t states() const { return parts_.states.size(); }
  void share(std::size_t input) {
    if (std::find(shared_.begin(), shared_.end(), input) == shared_.end()) shared_.push_back(input);
  }
  std::size_t shared_number(std::size_t input) const {
    return static_cast<std::size_t>(std::find(shared_.begin(), shared_.end(), input) - shared_.begin());
  }
  /// Sums, in this order: the states, the shared inputs, the rows.
  GradientRequest sums_of_step() const {
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

  Primitives& p_;
  const GradientArgs& args_;
  const LoopParts& parts_;
  std::vector<std::size_t> shared_;
  Flags alone_;
  std::map<Flags, Structure> known_;
};

/// The backward pass of a loop.
class LoopGradient {
 public:
  LoopGradient(Primitives& p, const GradientArgs& args, const LoopParts& parts, Args sums)
      : p_(p), args_(args), parts_(parts), sums_(sums.begin(), sums.end()), gradient_(p, args, parts) {
    for (std::size_t i : parts.data) data_.push_back(args.in[i]);
    for (std::size_t i : parts.states) initial_.push_back(args.in[i]);
    heads_.assign(args.heads.begin(), args.heads.begin() + static_cast<std::ptrdiff_t>(parts.outputs));
    now_.states.assign(args.heads.begin() + static_cast<std::ptrdiff_t>(parts.outputs), args.heads.end());
    for (std::size_t i : gradient_.shared()) now_.shared.push_back(sums_[i]);
    for (const LoopParts::Variable& v : parts.variables) {
      using Role = LoopParts::Role;
      TensorType type = p.type(v.role == Role::row     ? data_[v.number]
                               : v.role == Role::state ? initial_[v.number]
                                                       : args.in[v.number]);
      if (v.role == Role::row) {
        type.shape = without_first(type.shape);
        if (type.shape.empty() && !p.np_shape()) type.shape = {1};
      }
      types_.push_back(type);
    }
  }

  void run_all(std::int64_t steps);
  void run_while(std::int64_t most, const std::function<Value(Args)>& goes_on);
  Values sums();

 private:
  const StepGradient::Structure& structure(const Flags& states) {
    return gradient_.structure(states, heads_, types_);
  }
  /// The states that have a gradient after a step, from the last step backwards. The sequence is periodic
  /// from `again` on.
  struct Sequence {
    std::vector<Flags> list;
    std::size_t again = 0;
  };
  Sequence sequence(Flags states, std::int64_t steps) {
    Sequence s{{std::move(states)}, 0};
    while (static_cast<std::int64_t>(s.list.size()) < steps) {
      const Flags& next = structure(s.list.back()).states;
      const auto known = std::find(s.list.begin(), s.list.end(), next);
      s.again = static_cast<std::size_t>(known - s.list.begin());
      if (known != s.list.end()) break;
      s.list.push_back(next);
    }
    return s;
  }
  /// Sets `all` to the union of `list` and of the structures that it leads to in the steps before. Whether
  /// `all` gives each step the structure that it has: a state without gradient may then have -0.
  bool has_one_structure(std::span<const Flags> list, Flags& all) {
    all = list.front();
    for (const Flags& f : list) unite(all, f);
    for (Flags before; before != all;) {
      before = all;
      unite(all, structure(before).states);
    }
    const auto& values = structure(all).values;
    return std::all_of(list.begin(), list.end(),
                       [&](const Flags& f) { return structure(f).values == values; });
  }
  /// The same steps with the longest tail of one structure as one element.
  Sequence merged(Sequence s) {
    const std::size_t last = std::min(s.again, max_structures - 1);
    std::size_t from = 0;
    Flags tail;
    while (from <= last && !has_one_structure(std::span(s.list).subspan(from), tail)) ++from;
    if (from > last) {
      if (s.list.size() <= max_structures) return s;
      from = max_structures - 1;
      (void)has_one_structure(std::span(s.list).subspan(from), tail);
    }
    s.list.resize(from);
    s.list.push_back(std::move(tail));
    s.again = from;
    return s;
  }
  /// Values of `states` and `shared` that are carried, in this order.
  struct Carried {
    std::vector<std::size_t> states, shared;
  };
  /// The values with a gradient before or after one of the steps.
  Carried carried(const Sequence& s) {
    Flags states(initial_.size()), shared(now_.shared.size());
    for (const Flags& f : s.list) {
      unite(states, f);
      unite(states, structure(f).states);
      unite(shared, structure(f).shared);
    }
    Carried c;
    for (std::size_t i = 0; i < states.size(); ++i)
      if (states[i]) c.states.push_back(i);
    for (std::size_t i = 0; i < shared.size(); ++i)
      if (shared[i]) c.shared.push_back(i);
    return c;
  }
  Values pack(const Running& r, const Carried& c) {
    Values list;
    for (std::size_t i : c.states)
      list.push_back(r.states[i].valid() ? r.states[i] : no_term(p_, p_.type(initial_[i])));
    for (std::size_t i : c.shared)
      list.push_back(r.shared[i].valid() ? r.shared[i]
                                         : no_term(p_, p_.type(args_.in[gradient_.shared()[i]])));
    return list;
  }
  /// The carried values; of the states, only the ones in `states`.
  void unpack(Args list, const Carried& c, const Flags& states, Running& r) const {
    std::size_t next = 0;
    for (std::size_t i : c.states) {
      r.states[i] = states[i] ? list[next] : Value();
      ++next;
    }
    for (std::size_t i : c.shared) r.shared[i] = list[next++];
  }
  Running nothing() const { return {Values(now_.states.size()), Values(now_.shared.size())}; }
  Value integer(std::size_t n) { return p_.full_integer({DType::i64, {}}, static_cast<std::int64_t>(n)); }
  /// The initial values of a loop. If the sequence has several elements, they begin with the place of the
  /// step, the number of its element: a scalar of i64.
  Values start(const Sequence& s, const Carried& c) {
    Values list = s.list.size() > 1 ? Values{integer(0)} : Values();
    for (Value v : pack(now_, c)) list.push_back(v);
    return list;
  }
  static Args behind_place(const Sequence& s, Args list) { return list.subspan(s.list.size() > 1 ? 1 : 0); }
  /// `step`, composed for each element of the sequence, selected by the place. `carried` begins with the
  /// place of the step before; so do the results, with the next place.
  Values step_at_place(const Sequence& s, Args carried, const std::function<Values(const Flags&)>& step) {
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
  void run_loop(std::int64_t steps, const Sequence& sequence);

  Primitives& p_;
  const GradientArgs& args_;
  const LoopParts& parts_;
  Values sums_;
  StepGradient gradient_;
  Values data_, initial_, heads_;
  std::vector<TensorType> types_;  // of the body's variables
  Running now_;
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

void LoopGradient::run_loop(std::int64_t steps, const Sequence& s) {
  if (ir::DrawCounter* const draws = p_.draw_counter()) draws->seek(args_.first_draw);
  const Carried c = carried(s);
  Flags has_row(data_.size());
  for (const Flags& f : s.list) unite(has_row, structure(f).rows);
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
          Running r = nothing();
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
    const StepGradient::Structure& known = structure(last);
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
    const Sequence s = merged(sequence(valid(now_.states), steps));
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
  const Sequence every = sequence(valid(now_.states), most);
  Flags reached = every.list.front(), reached_shared(now_.shared.size());
  if (most > 0)
    for (const Flags& f : every.list) {
      unite(reached, f);
      unite(reached, structure(f).states);
      unite(reached_shared, structure(f).shared);
    }
  const Sequence s = merged(every);
  const Carried c = carried(s);
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
          Running r = nothing();
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
  Running sums = now_;
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

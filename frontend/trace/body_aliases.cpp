// Finds and applies the aliasing of bodies' results.
#include "frontend/trace/body_aliases.h"

#include "frontend/trace/traced_view.h"
#include "frontend/view/derivation.h"

#include <algorithm>

namespace kiln {
namespace {

using detail::Array;
using detail::TensorAccess;
using Result = BodyAliases::Result;

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return TensorAccess::array(a) == TensorAccess::array(b) &&
         TensorAccess::offset(a) == TensorAccess::offset(b) &&
         TensorAccess::shape(a) == TensorAccess::shape(b);
}

/// The part if it is within a result of shape `of`, else nothing.
std::optional<Result::Part> part_within(const Result::Part& part, const Shape& of) {
  if (part.offset < 0 || part.offset + part.shape.elements() > of.elements()) return {};
  return part;
}

/// `t` as a part of `of`, a view of the same array; nothing if it is not within it.
std::optional<Result::Part> part_of(const Tensor& t, const Tensor& of, std::size_t index) {
  const std::int64_t offset = TensorAccess::offset(t) - TensorAccess::offset(of);
  return part_within({index, offset, TensorAccess::shape(t)}, TensorAccess::shape(of));
}

Result alias_of(const BodyTrace& body, std::span<const Tensor> results, std::span<const Tensor> states,
                std::size_t i) {
  Result out{.shape = TensorAccess::shape(results[i])};
  const std::shared_ptr<Array>& array = TensorAccess::array(results[i]);
  out.outside = body.outside_of(results[i]);
  if (out.outside.defined()) return out;
  for (std::size_t k = 0; k < states.size(); ++k)
    if (TensorAccess::array(states[k]) == array) out.state = part_of(results[i], states[k], k);
  for (std::size_t j = 0; j < i; ++j) {
    const std::shared_ptr<Array>& other = TensorAccess::array(results[j]);
    if (other == array && !out.part) out.part = part_of(results[i], results[j], j);
    if (!out.part && body.possible_aliases().may_be_one(*array, *other)) out.may_be_result.push_back(j);
  }
  for (const Captured& outside : body.outside())
    if (body.possible_aliases().may_be_one(*array, *TensorAccess::array(outside.traced)))
      out.may_be_outside.push_back(outside.tensor);
  return out;
}

bool agree(std::span<const BodyAliases> ways, std::size_t i) {
  const Result& first = ways[0].results[i];
  return std::all_of(ways.begin(), ways.end(), [&](const BodyAliases& way) {
    const Result& r = way.results[i];
    return same_tensor(r.outside, first.outside) && r.part == first.part && r.may_be_outside.empty() &&
           r.may_be_result.empty();
  });
}

/// The array that holds a state's elements: a captured one, or one made by the loop.
struct Place {
  Tensor outside;
  std::size_t made = 0;  ///< its number, in the order of the states
  std::int64_t offset = 0;

  bool operator==(const Place& o) const {
    return same_tensor(outside, o.outside) && made == o.made && offset == o.offset;
  }
};
using Places = std::vector<Place>;

Place part_of(const Place& of, const Result::Part& part) {
  if (!of.outside.defined()) return {{}, of.made, of.offset + part.offset};
  return {view_of(of.outside, TensorAccess::offset(of.outside) + part.offset, part.shape)};
}

/// The initial states: copies of the loop's arguments.
Places beginning(std::size_t states) {
  Places places(states);
  for (std::size_t i = 0; i < states; ++i) places[i].made = i;
  return places;
}

Places after_step(const Places& before, const BodyAliases& step) {
  Places after;
  std::size_t made = before.size();  // above all earlier numbers
  for (const Result& r : step.results) {
    if (r.outside.defined())
      after.push_back({r.outside});
    else if (r.state)
      after.push_back(part_of(before[r.state->result], *r.state));
    else if (r.part)
      after.push_back(part_of(after[r.part->result], *r.part));
    else
      after.push_back({{}, made++});
  }
  // Renumbered, so that equal aliasings compare equal.
  std::vector<std::size_t> known;
  for (Place& p : after) {
    if (p.outside.defined()) continue;
    const auto found = std::find(known.begin(), known.end(), p.made);
    const auto number = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) known.push_back(p.made);
    p.made = number;
  }
  return after;
}

BodyAliases aliases_at(const Places& places, const BodyAliases& step) {
  BodyAliases out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Result r{.shape = step.results[i].shape};
    const Place& place = places[i];
    r.outside = place.outside;
    for (std::size_t j = 0; j < i && !r.outside.defined() && !r.part; ++j) {
      if (places[j].outside.defined() || places[j].made != place.made) continue;
      r.part = part_within({j, place.offset - places[j].offset, r.shape}, step.results[j].shape);
      if (!r.part) r.may_be_result.push_back(j);
    }
    out.results.push_back(std::move(r));
  }
  // Aliases that depend on values may arise in any step.
  const auto decided = [](const Result& r) { return !r.may_be_outside.empty() || !r.may_be_result.empty(); };
  if (std::none_of(step.results.begin(), step.results.end(), decided)) return out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Result& r = out.results[i];
    for (const Result& other : step.results) {
      if (other.outside.defined()) r.may_be_outside.push_back(other.outside);
      r.may_be_outside.insert(r.may_be_outside.end(), other.may_be_outside.begin(),
                              other.may_be_outside.end());
    }
    for (std::size_t j = 0; j < i; ++j) r.may_be_result.push_back(j);
  }
  return out;
}

}  // namespace

bool BodyAliases::any() const {
  return std::any_of(results.begin(), results.end(), [](const Result& r) { return !r.is_alone(); });
}

BodyAliases aliases_of(BodyTrace& body, std::span<const Tensor> results, std::span<const Tensor> states) {
  std::vector<Tensor> inside;
  for (const Tensor& t : results) inside.push_back(body.resolve(t));
  BodyAliases out;
  for (std::size_t i = 0; i < inside.size(); ++i) out.results.push_back(alias_of(body, inside, states, i));
  return out;
}

BodyAliases after_steps(const BodyAliases& step, std::int64_t steps) {
  if (!step.any()) steps = 1;  // without aliases all steps are alike
  Places places = beginning(step.results.size());
  for (std::int64_t i = 0; i < steps; ++i) {
    Places next = after_step(places, step);
    if (i > 0 && next == places) break;  // a fixed point
    places = std::move(next);
  }
  return aliases_at(places, step);
}

std::vector<BodyAliases> after_any_steps(const BodyAliases& step, std::int64_t most) {
  if (!step.any()) most = 1;
  std::vector<Places> seen;
  Places places = beginning(step.results.size());
  for (std::int64_t i = 0; i < most; ++i) {
    places = after_step(places, step);
    if (std::find(seen.begin(), seen.end(), places) != seen.end()) break;
    seen.push_back(places);
  }
  std::vector<BodyAliases> ways;
  for (const Places& p : seen) ways.push_back(aliases_at(p, step));
  return ways;
}

void share_arrays(std::span<Tensor> results, std::span<const BodyAliases> ways, bool may_not_run, bool own) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& first = ways[0].results[i];
    if (!may_not_run && agree(ways, i)) {
      const ir::Entry made = TensorAccess::array(results[i])->value;
      if (first.outside.defined()) results[i] = first.outside;
      if (first.part) {
        const Tensor& of = results[first.part->result];
        results[i] = view_of(of, TensorAccess::offset(of) + first.part->offset, first.part->shape);
      }
      if (own && (first.outside.defined() || first.part))
        results[i] = own_value(results[i], made, detail::ViewScope::call());
      continue;
    }
    std::vector<std::shared_ptr<Array>> sources;
    for (const BodyAliases& way : ways) {
      const Result& r = way.results[i];
      if (r.outside.defined()) sources.push_back(TensorAccess::array(r.outside));
      if (r.part) sources.push_back(TensorAccess::array(results[r.part->result]));
      for (const Tensor& t : r.may_be_outside) sources.push_back(TensorAccess::array(t));
      for (const std::size_t j : r.may_be_result) sources.push_back(TensorAccess::array(results[j]));
    }
    if (!sources.empty()) Trace::current()->possible_aliases().add(TensorAccess::array(results[i]), sources);
  }
}

}  // namespace kiln

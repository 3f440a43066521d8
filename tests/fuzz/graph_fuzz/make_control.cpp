// Loops and branches over bodies that are drawn as graphs are.
#include "families.h"
#include "graphs/values.h"

#include <algorithm>
#include <fmt/format.h>

namespace graphs {

using namespace kiln;

namespace {

constexpr Weighted of_bodies[] = {{pointwise, 5}, {of_two, 4},        {product, 2},    {reduction, 2},
                                  {rows, 1},      {moved, 2},         {constants, 1},  {random_numbers, 1},
                                  {gathered, 1},  {for_each_loop, 1}, {while_loop, 1}, {branch, 1}};
/// Of bodies within bodies: no third loop.
constexpr Weighted of_inner_bodies[] = {{pointwise, 5}, {of_two, 4},         {product, 2},
                                        {reduction, 2}, {rows, 1},           {moved, 2},
                                        {constants, 1}, {random_numbers, 1}, {gathered, 2}};

/// A graph within the graph. Each of its variables has a value as the body sees it, and is fed by a value of
/// the graph around.
class Body {
 public:
  explicit Body(Maker& outer) : outer_(outer), inner_(outer.for_body()) {}
  Maker& maker() { return inner_; }

  /// A variable that sees `value` at first and is fed by `from`.
  Made variable(const Tensor& value, const Made& from) {
    const Made made = inner_.variable_of(value);
    feeds_.push_back({made.ref.node, from});
    inner_.offer({made});
    return made;
  }
  /// A value of the graph around, as it is.
  Made outside(const Made& value) { return variable(value.value, value); }

  /// `operators` more of what bodies are made of.
  void grow(std::size_t operators) {
    for (std::size_t i = 0; i < operators; ++i)
      inner_.attempt(
          [](Maker& m) { return m.depth() > 1 ? any_of(m, of_inner_bodies) : any_of(m, of_bodies); });
  }

  /// The values of the variables, in their order. Weights that the body drew become new variables of the
  /// enclosing graph.
  MadeList inputs() {
    MadeList list;
    for (std::size_t i = 0; i < nodes().size(); ++i) {
      if (!nodes()[i].is_variable()) continue;
      const auto feed =
          std::find_if(feeds_.begin(), feeds_.end(), [&](const Feed& f) { return f.variable == i; });
      list.push_back(feed == feeds_.end() ? outer_.variable_of(nodes()[i].value) : feed->from);
    }
    return list;
  }
  /// The place of a variable among them.
  std::int64_t position(const Made& variable) const {
    std::int64_t before = 0;
    for (std::size_t i = 0; i < variable.ref.node; ++i) before += nodes()[i].is_variable();
    return before;
  }
  std::string json(const MadeList& results) {
    inner_.graph().outputs.clear();
    for (const Made& r : results) inner_.graph().outputs.push_back(r.ref);
    return to_json(inner_.graph());
  }

 private:
  struct Feed {
    std::size_t variable;
    Made from;
  };
  const std::vector<Node>& nodes() const { return inner_.graph().nodes; }

  Maker& outer_;
  Maker inner_;
  std::vector<Feed> feeds_;
};

/// Arrays of a step are small: there are several, and steps.
Shape some_step_shape(Maker& m) {
  static const std::vector<Shape> shapes{{1}, {5}, {17}, {3, 5}, {2, 17}, {7, 3}, {2, 3, 5}};
  Shape shape = m.one_of(shapes);
  for (std::int64_t& d : shape)
    if (m.chance(6)) d = 1;
  return shape;
}

DType some_step_dtype(Maker& m) { return m.chance(4) ? m.pick_dtype() : m.pick_float(); }

/// Values from outside, and what every step computes of them alike.
void add_invariants(Maker& m, Body& body) {
  for (std::size_t values = m.pick(3); values > 0; --values) {
    const Made outer = m.some_value();
    if (outer.value.size() > 600) continue;
    const Made inner = body.outside(outer);
    if (m.chance(2)) body.maker().attempt([&](Maker& b) { return MadeList{pointwise_of(b, inner)}; });
  }
}

/// The body's value of that shape and dtype, from whatever it ended with.
Made ended(Body& body, const Made& like) {
  Maker& b = body.maker();
  const Made x = b.some_value();
  return b.adapted(x.value.size() > 0 ? x : like, like.shape(), like.dtype());
}

Tensor first_row(Maker& m, const Made& stacked) {
  const Shape shape = stacked.shape();
  Shape row(shape.dims().subspan(1));
  if (row.empty()) row = {1};
  if (shape[0] == 0) return make_values(row, stacked.dtype(), {}, m.random()(), false);
  return F::slice_axis(stacked.value, {.axis = 0, .begin = 0, .end = 1}).reshape(row);
}

std::string list_of(const std::vector<std::string>& subgraphs) {
  std::string text;
  for (const std::string& s : subgraphs) text += (text.empty() ? "[" : ",\n") + s;
  return text + "]";
}

}  // namespace

MadeList for_each_loop(Maker& m) {
  Body body(m);
  const std::int64_t steps = m.one_of(std::vector<std::int64_t>{0, 1, 2, 3, 3, 5});
  const DType dtype = some_step_dtype(m);
  MadeList rows, states;
  for (std::size_t data = 1 + m.chance(4); data > 0; --data) {
    Shape stacked{steps};
    if (!m.chance(6))
      for (const std::int64_t d : some_step_shape(m)) stacked.push_back(d);
    const Made outer = m.array(stacked, dtype);
    rows.push_back(body.variable(first_row(m, outer), outer));
  }
  for (std::size_t count = m.pick(3); count > 0; --count) {
    const Made outer = m.array(m.chance(2) ? rows[0].shape() : some_step_shape(m), dtype);
    states.push_back(body.variable(outer.value, outer));
  }
  add_invariants(m, body);
  const std::size_t operators = 1 + m.pick(4);
  body.grow(operators);

  MadeList results;
  for (std::size_t outputs = m.pick(3) + states.empty(); outputs > 0; --outputs)
    results.push_back(body.maker().some_value());
  const std::size_t stacked = results.size();
  for (const Made& state : states) results.push_back(ended(body, state));

  // The operator takes data, states and the rest, and says which variable each of them feeds.
  const MadeList fed = body.inputs();
  std::vector<std::int64_t> data_at, states_at, rest_at;
  for (const Made& r : rows) data_at.push_back(body.position(r));
  for (const Made& s : states) states_at.push_back(body.position(s));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(fed.size()); ++i)
    if (std::find(data_at.begin(), data_at.end(), i) == data_at.end() &&
        std::find(states_at.begin(), states_at.end(), i) == states_at.end())
      rest_at.push_back(i);
  MadeList inputs;
  for (const auto& places : {data_at, states_at, rest_at})
    for (const std::int64_t i : places) inputs.push_back(fed[static_cast<std::size_t>(i)]);
  return m.node("_foreach", inputs,
                {{"num_args", number(inputs.size() + 1)},
                 {"num_outputs", number(results.size())},
                 {"num_out_data", number(stacked)},
                 {"in_data_locs", tuple(data_at)},
                 {"in_state_locs", tuple(states_at)},
                 {"remain_locs", tuple(rest_at)}},
                list_of({body.json(results)}));
}

MadeList while_loop(Maker& m) {
  Body body(m), condition(m);
  // It counts, and looks at its count or at what it computes.
  const Made count = m.variable({1}, DType::f32, {Values::Kind::indices, 3});
  MadeList outer{count}, variables{body.variable(count.value, count)};
  for (std::size_t more = 1 + m.pick(2); more > 0; --more) {
    outer.push_back(m.array(some_step_shape(m), some_step_dtype(m)));
    variables.push_back(body.variable(outer.back().value, outer.back()));
  }
  Maker& c = condition.maker();
  const bool by_count = !m.chance(3);
  const Made& seen = outer[by_count ? 0 : 1];
  Made holds = condition.variable(seen.value, seen);
  if (by_count)
    holds = c.one("_lesser_scalar", {holds}, {{"scalar", number(c.pick(6))}});
  else
    holds = c.one("_lesser_scalar", {c.one("max", {holds})}, {{"scalar", c.one_of({"1", "3", "100"})}});

  add_invariants(m, body);
  const std::size_t operators = 1 + m.pick(4);
  body.grow(operators);
  MadeList results;
  for (std::size_t outputs = m.pick(3); outputs > 0; --outputs) results.push_back(body.maker().some_value());
  const std::size_t stacked = results.size();
  results.push_back(body.maker().one("_plus_scalar", {variables[0]}, {{"scalar", "1"}}));
  for (std::size_t i = 1; i < variables.size(); ++i) results.push_back(ended(body, variables[i]));

  const MadeList inputs = body.inputs();
  std::vector<std::int64_t> places, carried;
  for (std::size_t i = 0; i < inputs.size(); ++i) places.push_back(static_cast<std::int64_t>(i));
  for (const Made& v : variables) carried.push_back(body.position(v));
  return m.node("_while_loop", inputs,
                {{"num_args", number(inputs.size() + 2)},
                 {"num_outputs", number(results.size())},
                 {"num_out_data", number(stacked)},
                 {"max_iterations", number(m.pick(5))},
                 {"cond_input_locs", tuple({carried[by_count ? 0 : 1]})},
                 {"func_input_locs", tuple(places)},
                 {"func_var_locs", tuple(carried)}},
                list_of({condition.json({holds}), body.json(results)}));
}

MadeList branch(Maker& m) {
  Body condition(m);
  Maker& c = condition.maker();
  const Made x = m.some_value(),
             which = m.chance(2) ? m.variable({1}, DType::f32, {Values::Kind::indices, 2}) : x;
  Made holds = condition.outside(which);
  if (holds.value.size() != 1) holds = c.one("max", {holds});
  holds = c.one("_greater_scalar", {holds}, {{"scalar", c.one_of({"0", "1", "2"})}});

  // Both give the same shapes and dtypes.
  MadeList like{x};
  if (m.chance(2)) like.push_back(m.some_value());
  MadeList inputs = condition.inputs();
  std::vector<std::vector<std::int64_t>> places{{0}};
  std::vector<std::string> subgraphs{condition.json({holds})};
  for (int either = 0; either < 2; ++either) {
    Body body(m);
    body.outside(x);
    add_invariants(m, body);
    body.grow(1 + m.pick(2));
    MadeList results;
    for (const Made& l : like) {
      const Shape shape = l.shape().empty() ? Shape{1} : l.shape();
      results.push_back(body.maker().adapted(body.maker().some_value(), shape, l.dtype()));
    }
    places.emplace_back();
    for (const Made& fed : body.inputs()) {
      places.back().push_back(static_cast<std::int64_t>(inputs.size()));
      inputs.push_back(fed);
    }
    subgraphs.push_back(body.json(results));
  }
  return m.node("_cond", inputs,
                {{"num_args", number(inputs.size() + 3)},
                 {"num_outputs", number(like.size())},
                 {"cond_input_locs", tuple(places[0])},
                 {"then_input_locs", tuple(places[1])},
                 {"else_input_locs", tuple(places[2])}},
                list_of(subgraphs));
}

}  // namespace graphs

// Adds nodes to a graph and runs them eagerly.
#include "maker.h"

#include "graphs/compare.h"
#include "graphs/samples.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace graphs {

using namespace kiln;

namespace {

/// Most arrays stay small: structure is looked for. Pictures have room for every way to convolve them, arrays
/// of a large graph for row fusion.
constexpr std::int64_t max_array_elements = 600, max_picture_elements = 5000, max_large_elements = 90000;

/// Where nearly all is NaN or infinite nothing can be seen.
bool blind(const Tensor& t) {
  if (!is_floating(t.dtype()) || t.size() == 0) return false;
  std::size_t finite = 0;
  for (const double v : t.to_vector<double>()) finite += std::isfinite(v);
  return finite * 2 < static_cast<std::size_t>(t.size());
}

/// Many rows, so that kernels take a few of them at a time.
const std::vector<Shape>& large_shapes() {
  static const std::vector<Shape> shapes{{3528, 5, 3},  {301, 257},      {77, 1025},    {2000, 7, 5},
                                         {64, 1, 1031}, {3, 7, 31, 121}, {301, 16, 17}, {9001, 8}};
  return shapes;
}

}  // namespace

Maker::Maker(std::uint64_t seed) : random_(seed), special_(chance(5)), large_(chance(12)) {
  graph_.seed = seed;
  graph_.train = chance(3);
}

Maker::Maker(std::uint64_t seed, bool special, int depth) : random_(seed), special_(special), depth_(depth) {}

Maker Maker::for_body() {
  Maker body(random_(), special_, depth_ + 1);
  body.graph_.train = graph_.train;
  body.graph_.seed = graph_.seed;
  return body;
}

std::int64_t Maker::max_elements() const { return large_ ? max_large_elements : max_array_elements; }

DType Maker::pick_dtype() { return chance(2) ? DType::f32 : one_of(all_dtypes); }
DType Maker::pick_float() { return chance(2) ? DType::f32 : one_of(float_dtypes); }

Shape Maker::some_shape() {
  if (large_ && !chance(4)) return one_of(large_shapes());
  Shape shape = one_of(odd_shapes());
  if (shape.elements() == 0 && !chance(4)) shape = {3, 5};
  for (std::int64_t& d : shape) {
    if (chance(8)) d = 1;
    if (chance(100)) d = 0;
  }
  return shape;
}

Made Maker::some_value() {
  const std::size_t n = made_.size();
  if (n == 0) throw Error("no value yet");
  const bool any = chance(2);
  return made_[any ? pick(n) : n - 1 - pick(std::min<std::size_t>(n, 3))];
}

Made Maker::some_array() {
  Made x = some_value();
  if (x.shape().empty()) throw Error("no axis");
  return x;
}

Made Maker::variable(const Shape& shape, DType dtype, const Values& values) {
  return variable_of(make_values(shape, dtype, values, random_(), special_));
}

Made Maker::variable_of(const Tensor& value) {
  return {graph_.add_variable(fmt::format("x{}", graph_.nodes.size()), value), value};
}

MadeList Maker::node(const std::string& op, const MadeList& inputs, const Attributes& attrs,
                     const std::string& subgraphs) {
  Graph alone{.nodes = {}, .outputs = {}, .train = graph_.train, .seed = graph_.seed};
  std::vector<Ref> refs, alone_refs;
  for (const Made& m : inputs) {
    refs.push_back(m.ref);
    alone_refs.push_back(alone.add_variable(fmt::format("in{}", alone_refs.size()), m.value));
  }
  const Ref last = alone.add(op, "alone", alone_refs, attrs);
  alone.nodes.back().subgraphs = subgraphs;
  for (std::uint32_t k = 0; k < outputs_of(alone.nodes.back()); ++k) alone.outputs.push_back({last.node, k});
  const Result result = Runner(alone, RunMode::eager).run(1);
  const Ref added = graph_.add(op, fmt::format("{}{}", op, graph_.nodes.size()), refs, attrs);
  graph_.nodes.back().subgraphs = subgraphs;
  MadeList results;
  for (std::uint32_t k = 0; k < alone.outputs.size(); ++k) {
    const bool picture = result.arrays[k].ndim() == 4;
    if (result.arrays[k].size() > std::max(picture ? max_picture_elements : 0, max_elements()))
      throw Error("larger than wanted");
    results.push_back({{added.node, k}, result.arrays[k]});
  }
  return results;
}

Made Maker::adapted(Made x, const Shape& shape, DType dtype) {
  if (x.dtype() != dtype) x = one("Cast", {x}, {{"dtype", std::string(name_of(dtype))}});
  if (x.shape() == shape) return x;
  const std::int64_t wanted = shape.elements(), have = x.value.size();
  if (have == 0 || shape.empty()) throw Error("nothing to take elements from");
  if (wanted != have) {
    x = one("Reshape", {x}, {{"shape", "(-1,)"}});
    if (wanted > have) x = one("tile", {x}, {{"reps", fmt::format("({},)", (wanted + have - 1) / have)}});
    if (x.value.size() != wanted)
      x = one("slice_axis", {x}, {{"axis", "0"}, {"begin", "0"}, {"end", fmt::format("{}", wanted)}});
  }
  if (x.shape() == shape) return x;
  // A 0 in the attribute would be the extent that the axis has.
  return wanted == 0 ? variable(shape, dtype) : one("Reshape", {x}, {{"shape", shape.str()}});
}

std::optional<Made> Maker::alike(const Shape& shape, DType dtype) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < made_.size(); ++i)
    if (made_[i].dtype() == dtype && made_[i].shape() == shape) places.push_back(i);
  if (places.empty()) return {};
  return made_[one_of(places)];
}

Made Maker::array(const Shape& shape, DType dtype) {
  const std::size_t choice = pick(6);
  if (choice > 1)
    if (const auto made = alike(shape, dtype)) return *made;
  const bool own = choice % 2 == 0 || shape.elements() == 0 || shape.elements() > max_array_elements;
  return own ? variable(shape, dtype) : adapted(some_value(), shape, dtype);
}

Made Maker::as_float(const Made& x) {
  if (is_floating(x.dtype())) return x;
  return one("Cast", {x}, {{"dtype", std::string(name_of(pick_float()))}});
}

void Maker::attempt(const std::function<MadeList(Maker&)>& family) {
  const std::size_t before = graph_.nodes.size();
  try {
    const MadeList results = family(*this);
    for (const Made& m : results)
      if (blind(m.value) && !chance(4)) throw Error("nothing to see");
    offer(results);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::user) throw;
    graph_.nodes.resize(before);
  }
}

Graph Maker::finish() {
  std::vector<Ref> operators, outputs;
  for (const Made& m : made_)
    if (!graph_.nodes[m.ref.node].is_variable()) operators.push_back(m.ref);
  if (operators.empty()) operators = {made_.front().ref};
  outputs = {operators.back()};
  for (std::size_t extra = pick(4); extra > 0; --extra) outputs.push_back(one_of(operators));
  for (const Made& m : made_)
    if (m.wanted) outputs.push_back(m.ref);
  for (const Ref& r : outputs)
    if (std::find(graph_.outputs.begin(), graph_.outputs.end(), r) == graph_.outputs.end())
      graph_.outputs.push_back(r);
  return without_dead_nodes(graph_);
}

std::string number(std::size_t n) { return fmt::format("{}", n); }

std::string tuple(const std::vector<std::int64_t>& numbers) {
  return numbers.empty() ? "()" : fmt::format("({},)", fmt::join(numbers, ", "));
}

std::string pair(std::int64_t a, std::int64_t b) { return fmt::format("({}, {})", a, b); }

}  // namespace graphs

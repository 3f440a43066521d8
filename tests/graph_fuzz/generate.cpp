#include "graph_fuzz/generate.h"

#include "graphs/compare.h"
#include "graphs/samples.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>

namespace graphs {

using namespace kiln;

namespace {

/// Arrays stay small: what is looked for is wrong structure. Pictures have room for every way to convolve
/// them.
constexpr std::int64_t most_elements = 600, most_of_pictures = 5000;

struct Made {
  Ref ref;
  Tensor value;  // as eager running has it
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), special_(chance(5)) {
    graph_.seed = seed;
    graph_.train = chance(3);
  }

  Graph graph() {
    const std::size_t variables = 1 + pick(3), operators = 3 + pick(16);
    const DType main = pick_dtype();
    for (std::size_t i = 0; i < variables; ++i)
      made_.push_back(variable(some_shape(), chance(3) ? pick_dtype() : main, {}));
    for (std::size_t tries = 0; graph_.operators() < operators && tries < 6 * operators; ++tries) attempt();
    choose_outputs();
    return without_dead_nodes(graph_);
  }

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool chance(std::size_t one_in) { return pick(one_in) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[pick(list.size())];
  }
  /// Younger values more often, so that graphs get deep.
  const Made& some_value() {
    const std::size_t n = made_.size();
    return made_[chance(2) ? pick(n) : n - 1 - pick(std::min<std::size_t>(n, 3))];
  }
  DType pick_dtype() { return chance(2) ? DType::f32 : one_of(all_dtypes); }
  Shape some_shape() {
    const Shape& s = one_of(odd_shapes());
    return s.elements() == 0 && !chance(4) ? Shape{3, 5} : s;
  }

  Made variable(const Shape& shape, DType dtype, const Values& values) {
    const Tensor value = make_values(shape, dtype, values, random_(), special_);
    return {graph_.add_variable(fmt::format("x{}", graph_.nodes.size()), value), value};
  }

  /// Adds a node and runs it. Throws kiln::Error where Kiln does not take it.
  std::vector<Made> node(const std::string& op, const std::vector<Made>& inputs, const Attributes& attrs = {},
                         const std::string& subgraphs = {}) {
    Graph alone{.nodes = {}, .outputs = {}, .train = graph_.train, .seed = graph_.seed};
    std::vector<Ref> refs, alone_refs;
    for (const Made& m : inputs) {
      refs.push_back(m.ref);
      alone_refs.push_back(alone.add_variable(fmt::format("in{}", alone_refs.size()), m.value));
    }
    const Ref last = alone.add(op, "alone", alone_refs, attrs);
    alone.nodes.back().subgraphs = subgraphs;
    for (std::uint32_t k = 0; k < outputs_of(alone.nodes.back()); ++k)
      alone.outputs.push_back({last.node, k});
    const Result result = Runner(alone, RunMode::eager).run(1);
    const Ref added = graph_.add(op, fmt::format("{}{}", op, graph_.nodes.size()), refs, attrs);
    graph_.nodes.back().subgraphs = subgraphs;
    std::vector<Made> results;
    for (std::uint32_t k = 0; k < alone.outputs.size(); ++k) {
      const bool picture = result.arrays[k].ndim() == 4;
      if (result.arrays[k].size() > (picture ? most_of_pictures : most_elements))
        throw Error("larger than wanted");
      results.push_back({{added.node, k}, result.arrays[k]});
    }
    return results;
  }

  /// x as an array of another shape and dtype: cast, repeated, cut and reshaped.
  Made adapted(Made x, const Shape& shape, DType dtype) {
    if (x.value.dtype() != dtype) x = node("Cast", {x}, {{"dtype", std::string(name_of(dtype))}})[0];
    if (x.value.shape() == shape) return x;
    const std::int64_t wanted = shape.elements(), have = x.value.size();
    if (have == 0) throw Error("nothing to take elements from");
    if (wanted != have) {
      x = node("Reshape", {x}, {{"shape", "(-1,)"}})[0];
      if (wanted > have)
        x = node("tile", {x}, {{"reps", fmt::format("({},)", (wanted + have - 1) / have)}})[0];
      if (x.value.size() != wanted)
        x = node("slice_axis", {x}, {{"axis", "0"}, {"begin", "0"}, {"end", fmt::format("{}", wanted)}})[0];
    }
    if (x.value.shape() == shape) return x;
    return node("Reshape", {x}, {{"shape", shape.str()}})[0];
  }

  std::vector<Made> sampled() {
    const Row& row = one_of(sample_rows());
    const Sample& sample = one_of(row.samples);
    if (sample.large) throw Error("larger than wanted");
    const DType dtype = chance(3) ? pick_dtype() : some_value().value.dtype();
    std::vector<Made> inputs;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      const Input& input = sample.inputs[i];
      if (input.shape.elements() > most_elements) throw Error("larger than wanted");
      const DType d = input.dtype.value_or(dtype);
      const bool own = input.values.kind == Values::Kind::indices || input.shape.elements() == 0 ||
                       i + row.states >= sample.inputs.size();
      inputs.push_back(own || (i > 0 && chance(2)) ? variable(input.shape, d, input.values)
                                                   : adapted(some_value(), input.shape, d));
    }
    return node(one_of(row.operators), inputs, sample.attrs, sample.subgraphs);
  }

  std::vector<Made> pointwise() {
    static const std::vector<std::string> operators{
        "negative", "abs",   "square", "relu",        "tanh",  "sigmoid", "exp",   "sqrt",      "log1p",
        "erf",      "floor", "sign",   "reciprocal",  "sin",   "cbrt",    "rint",  "softsign",  "zeros_like",
        "arctan",   "round", "_copy",  "logical_not", "expm1", "cos",     "rsqrt", "BlockGrad", "ones_like"};
    static const std::vector<std::string> with_number{
        "_plus_scalar", "_mul_scalar",   "_rminus_scalar",  "_div_scalar",  "_maximum_scalar",
        "_mod_scalar",  "_power_scalar", "_greater_scalar", "_rdiv_scalar", "_equal_scalar"};
    static const std::vector<std::string> numbers{"0", "1", "-1", "2", "0.5", "-1.25", "3", "1e-3", "-0.0"};
    if (chance(3)) return node(one_of(with_number), {some_value()}, {{"scalar", one_of(numbers)}});
    return node(one_of(operators), {some_value()});
  }

  std::vector<Made> of_two() {
    static const std::vector<std::string> operators{"add",         "sub",   "mul",    "div",   "maximum",
                                                    "minimum",     "hypot", "power",  "equal", "lesser",
                                                    "logical_and", "mod",   "greater"};
    const Made a = some_value();
    Made b = some_value();
    const std::string op = "broadcast_" + one_of(operators);
    if (b.value.dtype() != a.value.dtype() || chance(3)) {
      // A neighbour of a's shape, or one that repeats along some axes.
      Shape shape = a.value.shape();
      for (std::int64_t& d : shape)
        if (d > 1 && chance(4)) d = 1;
      b = adapted(b, shape, a.value.dtype());
    }
    return node(op, {a, b});
  }

  std::vector<Made> reduction() {
    static const std::vector<std::string> operators{"sum", "mean", "max", "min", "prod", "nansum", "norm"};
    static const std::vector<std::string> over_one{"softmax", "log_softmax", "argmax", "argmin"};
    const Made x = some_value();
    const int rank = x.value.ndim();
    if (rank == 0) throw Error("no axis");
    const std::string axis = fmt::format("{}", pick(static_cast<std::size_t>(rank)));
    if (chance(3)) return node(one_of(over_one), {x}, {{"axis", axis}});
    Attributes attrs;
    if (!chance(4)) attrs["axis"] = axis;
    if (chance(2)) attrs["keepdims"] = "True";
    return node(one_of(operators), {x}, attrs);
  }

  /// What image networks are made of: a convolution, what follows it, and a pooling.
  std::vector<Made> layers() {
    using Extents = std::vector<std::int64_t>;
    const auto pair = [](std::int64_t a, std::int64_t b) { return fmt::format("({}, {})", a, b); };
    // Enough of everything for Winograd's algorithm, or anything.
    const bool by_winograd = chance(3);
    const std::int64_t channels = by_winograd ? 16 : one_of(Extents{1, 3, 4, 16}),
                       filters = by_winograd ? 17 : one_of(Extents{2, 5, 16, 17}),
                       taps = by_winograd ? 3 : one_of(Extents{1, 3, 3, 2}), pad = chance(2) ? taps / 2 : 0;
    const auto side = [&] {
      return (by_winograd ? 9 : 4) + static_cast<std::int64_t>(pick(by_winograd ? 3 : 8));
    };
    const Shape shape{1 + static_cast<std::int64_t>(pick(2)), channels, side(), side()};
    const DType dtype = !by_winograd && chance(3) ? one_of(std::vector{DType::f16, DType::f64}) : DType::f32;
    const auto array = [&](const Shape& shape) {
      return shape.elements() > most_elements ? variable(shape, dtype, {})
                                              : adapted(some_value(), shape, dtype);
    };
    // Mostly small arrays; what comes from outside takes other ways than what was computed.
    const Made x = chance(3) ? variable(shape, dtype, {}) : array(shape),
               w = variable({filters, channels, taps, taps}, dtype, {});
    std::vector<Made> made = node("Convolution", {x, w},
                                  {{"kernel", pair(taps, taps)},
                                   {"pad", pair(pad, pad)},
                                   {"stride", !by_winograd && chance(4) ? "(2, 2)" : "(1, 1)"},
                                   {"num_filter", fmt::format("{}", filters)},
                                   {"no_bias", "True"}});
    const Shape result = made[0].value.shape();
    const auto follow = [&](const std::string& op, std::vector<Made> others) {
      others.insert(others.begin(), made.back());
      made.push_back(node(op, others)[0]);
    };
    if (chance(2)) follow("broadcast_mul", {variable({1, filters, 1, 1}, dtype, {})});
    if (chance(3)) follow("elemwise_add", {array(result)});
    if (!chance(4)) follow(one_of(std::vector<std::string>{"relu", "tanh", "square"}), {});
    const auto window = [&] { return one_of(Extents{1, 2, 2, 3}); };
    const std::int64_t down = window(), across = window();
    made.push_back(node("Pooling", {made.back()},
                        {{"kernel", pair(down, across)},
                         {"stride", chance(4) ? "(2, 1)" : pair(down, across)},
                         {"pool_type", one_of(std::vector<std::string>{"max", "avg", "sum"})}})[0]);
    // Mostly nothing else sees what is in between.
    if (!chance(4)) made = {made.back()};
    return made;
  }

  std::vector<Made> moved() {
    const Made x = some_value();
    const Shape shape = x.value.shape();
    const std::size_t rank = shape.size();
    if (rank == 0) throw Error("no axis");
    const std::size_t axis = pick(rank);
    const std::int64_t extent = shape[axis];
    const std::string axis_text = fmt::format("{}", axis);
    switch (pick(10)) {
      case 0: {
        std::vector<std::size_t> order(rank);
        for (std::size_t i = 0; i < rank; ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), random_);
        return node("transpose", {x}, {{"axes", fmt::format("({},)", fmt::join(order, ", "))}});
      }
      case 1:
        return node("Reshape", {x}, {{"shape", "(-1,)"}});
      case 2: {
        for (const std::int64_t part : {2, 3, 5, 7})
          if (extent % part == 0 && extent > part) {
            Shape to;
            for (std::size_t i = 0; i < rank; ++i) {
              if (i == axis) to.push_back(part);
              to.push_back(i == axis ? extent / part : shape[i]);
            }
            if (to.rank() <= 6) return node("Reshape", {x}, {{"shape", to.str()}});
          }
        return node("expand_dims", {x}, {{"axis", axis_text}});
      }
      case 3:
        return node("reverse", {x}, {{"axis", axis_text}});
      case 4: {
        if (extent < 2) throw Error("nothing to cut");
        const std::int64_t begin = static_cast<std::int64_t>(pick(static_cast<std::size_t>(extent - 1)));
        const auto room = static_cast<std::size_t>(extent - begin);
        return node("slice_axis", {x},
                    {{"axis", axis_text},
                     {"begin", fmt::format("{}", begin)},
                     {"end", fmt::format("{}", begin + 1 + static_cast<std::int64_t>(pick(room)))}});
      }
      case 5: {
        for (const std::int64_t parts : {2, 3, 5})
          if (extent % parts == 0 && extent > 0)
            return node("SliceChannel", {x},
                        {{"axis", axis_text}, {"num_outputs", fmt::format("{}", parts)}});
        throw Error("does not divide");
      }
      case 6: {
        Shape other = shape;
        if (chance(2) && extent > 1) other[axis] = extent - 1;
        const Made y = adapted(some_value(), other, x.value.dtype());
        return node("Concat", {x, y}, {{"num_args", "2"}, {"dim", axis_text}});
      }
      case 7: {
        const std::size_t times = 2 + pick(3);
        if (x.value.size() * static_cast<std::int64_t>(times) > most_elements) throw Error("too large");
        return node("repeat", {x}, {{"axis", axis_text}, {"repeats", fmt::format("{}", times)}});
      }
      case 8: {
        const std::size_t step = 2 + pick(4);
        if (extent < 2) throw Error("nothing to cut");
        std::vector<std::string> begin(rank, "None"), steps(rank, "1");
        const std::vector<std::string> end = begin;
        begin[axis] = fmt::format("{}", pick(std::min(step, static_cast<std::size_t>(extent))));
        steps[axis] = fmt::format("{}", step);
        return node("slice", {x},
                    {{"begin", fmt::format("({},)", fmt::join(begin, ", "))},
                     {"end", fmt::format("({},)", fmt::join(end, ", "))},
                     {"step", fmt::format("({},)", fmt::join(steps, ", "))}});
      }
      default: {
        // What a write through a view becomes.
        std::vector<std::int64_t> begin, end;
        Shape part = shape;
        if (x.value.size() == 0) throw Error("nothing to write");
        for (std::size_t i = 0; i < rank; ++i) {
          begin.push_back(static_cast<std::int64_t>(pick(static_cast<std::size_t>(shape[i]))));
          const auto room = static_cast<std::size_t>(shape[i] - begin[i]);
          end.push_back(begin[i] + 1 + static_cast<std::int64_t>(pick(room)));
          part[i] = end[i] - begin[i];
        }
        const Attributes attrs{{"begin", fmt::format("({},)", fmt::join(begin, ", "))},
                               {"end", fmt::format("({},)", fmt::join(end, ", "))}};
        return node("_slice_assign", {x, adapted(some_value(), part, x.value.dtype())}, attrs);
      }
    }
  }

  /// One more operator, or nothing when it is not one that Kiln takes here.
  void attempt() {
    const std::size_t before = graph_.nodes.size();
    try {
      const std::size_t kind = pick(22);
      std::vector<Made> results = kind < 7    ? sampled()
                                  : kind < 11 ? pointwise()
                                  : kind < 14 ? of_two()
                                  : kind < 16 ? reduction()
                                  : kind < 20 ? moved()
                                              : layers();
      // Where nearly all is NaN or infinite nothing can be seen.
      for (const Made& m : results)
        if (blind(m.value) && !chance(4)) throw Error("nothing to see");
      made_.insert(made_.end(), results.begin(), results.end());
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::user) throw;
      graph_.nodes.resize(before);
    }
  }

  static bool blind(const Tensor& t) {
    if (!is_floating(t.dtype()) || t.size() == 0) return false;
    std::size_t finite = 0;
    for (const double v : t.to_vector<double>()) finite += std::isfinite(v);
    return finite * 2 < static_cast<std::size_t>(t.size());
  }

  void choose_outputs() {
    std::vector<Made> operators;
    for (const Made& m : made_)
      if (!graph_.nodes[m.ref.node].is_variable()) operators.push_back(m);
    if (operators.empty()) operators = {made_.front()};
    graph_.outputs = {operators.back().ref};
    for (std::size_t extra = pick(4); extra > 0; --extra) {
      const Ref r = one_of(operators).ref;
      if (std::find(graph_.outputs.begin(), graph_.outputs.end(), r) == graph_.outputs.end())
        graph_.outputs.push_back(r);
    }
  }

  std::mt19937_64 random_;
  bool special_;
  Graph graph_;
  std::vector<Made> made_;
};

}  // namespace

Graph generate(std::uint64_t seed) { return Generator(seed).graph(); }

}  // namespace graphs

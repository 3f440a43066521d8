// The forward composition of RNN. All weights are one vector. First come, for each layer and direction, the
// weights of the input, of the state and of the projection; then, in the same order, the biases of input and
// state.
#include "frontend/ops/rnn.h"

#include <limits>

namespace kiln::ops::recurrent {
namespace {

double limit_of(const Attrs& a, std::string_view name, double none) {
  return a.is_none(name) ? none : a.real(name);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The vector of parameters, split: weights[layer * directions + direction].
std::vector<Weights> take_apart(Primitives& p, Value parameters, const Layout& r, std::int64_t channels) {
  if (!(p.shape(parameters) == Shape{r.parameters(channels)}))
    fail("{} layer{} of {} with state_size {} on {} channels have {} parameters, got {}", r.layers,
         r.layers == 1 ? "" : "s", r.mode, r.hidden, channels, r.parameters(channels),
         p.shape(parameters).str());
  std::int64_t at = 0;
  auto take = [&](const Shape& shape) {
    Value part = p.slice(parameters, {at}, {at + shape.elements()}, {1});
    at += shape.elements();
    return p.reshape(part, shape);
  };
  std::vector<Weights> all;
  for (std::int64_t i = 0; i < r.layers * r.directions; ++i) {
    Weights& w = all.emplace_back();
    w.input = take({r.gates * r.hidden, r.input(i / r.directions, channels)});
    w.state = take({r.gates * r.hidden, r.out});
    if (r.projected) w.projection = take({r.out, r.hidden});
  }
  for (Weights& w : all) {
    w.input_bias = take({r.gates * r.hidden});
    w.state_bias = take({r.gates * r.hidden});
  }
  return all;
}

/// Splits (N, gates * hidden) into gates.
std::vector<Value> gates_of(Primitives& p, Value x, const Layout& r) {
  std::vector<Value> gates;
  const std::int64_t rows = p.shape(x)[0];
  for (std::int64_t g = 0; g < r.gates; ++g)
    gates.push_back(p.slice(x, {0, g * r.hidden}, {rows, (g + 1) * r.hidden}, {1, 1}));
  return gates;
}

struct Step {
  Value state, cell;
  std::vector<Value> gates;  // as in Kept
};

/// The state after one step and, for lstm, the cell. `x` is the input's contribution to the gates, W x + b.
/// lstm: c' = f c + i g, h' = o tanh(c'). gru: h' = (1 - z) n + z h, n = tanh(x_n + r (U_n h + b_n)).
Step next_state(Primitives& p, Value x, Value h, Value c, const Weights& w, const Layout& r) {
  Value u = p.dot(h, w.state, {false, true});
  u = p.add(u, p.broadcast_along(w.state_bias, p.shape(u), 1));
  if (r.gru()) {
    std::vector<Value> gx = gates_of(p, x, r), gu = gates_of(p, u, r);
    Value reset = sigmoid(p, p.add(gx[0], gu[0])), update = sigmoid(p, p.add(gx[1], gu[1]));
    Value fresh = p.unary(Unary::tanh, p.add(gx[2], p.mul(reset, gu[2])));
    Value state = p.add(p.mul(p.sub(p.like(update, 1), update), fresh), p.mul(update, h));
    return {state, {}, {reset, update, fresh, gu[2]}};
  }
  Value sum = p.add(x, u);
  if (!r.lstm()) {
    Value state =
        r.mode == "rnn_relu" ? p.binary(Binary::max, sum, p.like(sum, 0)) : p.unary(Unary::tanh, sum);
    return {state, {}, {state}};
  }
  std::vector<Value> g = gates_of(p, sum, r);
  Value forget = sigmoid(p, g[1]), kept = p.mul(forget, c);
  Value input = sigmoid(p, g[0]), fresh = p.unary(Unary::tanh, g[2]);
  Value unclipped = p.add(kept, p.mul(input, fresh)), cell = clip_cell(p, unclipped, r);
  Value output = sigmoid(p, g[3]), state = p.mul(output, p.unary(Unary::tanh, cell));
  return {r.projected ? p.dot(state, w.projection, {false, true}) : state,
          cell,
          {input, forget, fresh, output, unclipped}};
}

/// One layer in one direction. `lengths` (N) if sequences have different lengths: after a sequence's end,
/// outputs are zero and states unchanged.
Direction run(Primitives& p, Value x, Value h, Value c, Value lengths, bool backwards, const Weights& w,
              const Layout& r, bool keep) {
  const Shape in = p.shape(x);
  const std::int64_t steps = in[0], batch = in[1];
  // The input's contribution to all steps is one contraction.
  Value shares = p.dot(p.reshape(x, {times(steps, batch), in[2]}), w.input, {false, true});
  shares = p.add(shares, p.broadcast_along(w.input_bias, p.shape(shares), 1));
  shares = p.reshape(shares, {steps, batch, r.gates * r.hidden});
  std::vector<Value> rows{shares}, carries{h};
  if (r.lstm()) carries.push_back(c);
  if (lengths.valid()) rows.push_back(p.iota({p.dtype(lengths), {steps}}, 0));
  if (backwards)
    for (Value& v : rows) v = p.reverse(v, {0});
  Direction done;
  Values last = p.loop(steps, carries, rows, {}, [&](Args carried, Args row) -> ir::LoopStep {
    const Value cell_before = r.lstm() ? carried[1] : Value{};
    Step step = next_state(p, row[0], carried[0], cell_before, w, r);
    Value out = step.state;
    if (lengths.valid()) {
      Value alive = running(p, row[1], lengths);
      out = choose(p, alive, step.state, p.like(step.state, 0));
      step.state = choose(p, alive, step.state, carried[0]);
      if (step.cell.valid()) step.cell = choose(p, alive, step.cell, carried[1]);
    }
    std::vector<Value> next{step.state}, stacked{out};
    if (step.cell.valid()) next.push_back(step.cell);
    if (keep) {
      done.kept = {carried[0], cell_before, step.gates};
      for (Value* v : done.kept.all()) stacked.push_back(*v);
    }
    return {next, stacked, {}};
  });
  done.state = last[0];
  if (r.lstm()) done.cell = last[1];
  auto stacked = last.begin() + (r.lstm() ? 2 : 1);
  const auto take = [&] { return backwards ? p.reverse(*stacked++, {0}) : *stacked++; };
  done.outputs = take();
  if (keep)
    for (Value* v : done.kept.all()) *v = take();
  return done;
}

}  // namespace

Layout::Layout(const Attrs& a)
    : mode(a.word("mode")),
      hidden(a.integer("state_size")),
      layers(a.integer("num_layers")),
      directions(a.boolean("bidirectional") ? 2 : 1),
      projected(!a.is_none("projection_size")),
      out(projected ? a.integer("projection_size") : hidden),
      gates(lstm()  ? 4
            : gru() ? 3
                    : 1),
      cell_min(limit_of(a, "lstm_state_clip_min", -infinity)),
      cell_max(limit_of(a, "lstm_state_clip_max", infinity)),
      clip_nan(a.boolean("lstm_state_clip_nan")) {
  constexpr std::int64_t limit = 1 << 20;
  if (hidden < 1 || hidden > limit || out < 1 || out > limit || layers < 1 || layers > 1024)
    fail("state_size {}, projection_size {} and num_layers {} must be positive and at most {}, {} and 1024",
         hidden, out, layers, limit, limit);
  if (projected && !lstm()) fail("projection_size is for lstm alone, the mode is {}", mode);
}

std::int64_t Layout::parameters(std::int64_t channels) const {
  std::int64_t n = 0;
  for (std::int64_t l = 0; l < layers; ++l)
    n += times(directions * gates * hidden, input(l, channels) + out + 2) +
         (projected ? directions * out * hidden : 0);
  return n;
}

bool Layout::clipped() const { return cell_min != -infinity || cell_max != infinity; }

Value joined(Primitives& p, const std::vector<Weights>& weights) {
  std::vector<Value> parts;
  const auto put = [&](Value part) { parts.push_back(p.reshape(part, {p.shape(part).elements()})); };
  for (const Weights& w : weights) {
    put(w.input);
    put(w.state);
    if (w.projection.valid()) put(w.projection);
  }
  for (const Weights& w : weights) {
    put(w.input_bias);
    put(w.state_bias);
  }
  return p.concatenate(parts, 0);
}

std::vector<Value*> Kept::all() {
  std::vector<Value*> list{&state_before};
  if (cell_before.valid()) list.push_back(&cell_before);
  for (Value& gate : gates) list.push_back(&gate);
  return list;
}

Value clip_cell(Primitives& p, Value cell, const Layout& r) {
  if (!r.clipped()) return cell;
  Value low = p.like(cell, r.cell_min), high = p.like(cell, r.cell_max);
  Value clipped = p.binary(Binary::min, p.binary(Binary::max, cell, low), high);
  if (!r.clip_nan) return clipped;
  return p.select(p.compare(Compare::ne, cell, cell), low, clipped);
}

Value running(Primitives& p, Value step, Value lengths) {
  return p.compare(Compare::lt, p.broadcast_to(step, p.shape(lengths)), lengths);
}

Value choose(Primitives& p, Value alive, Value now, Value otherwise) {
  return p.select(p.broadcast_along(alive, p.shape(now), 0), now, otherwise);
}

Network compose_network(Primitives& p, Args in, const Attrs& a, bool for_gradient) {
  Network n{Layout(a), {}, {}, {}, {}};
  const Layout& r = n.layout;
  const Shape data = p.shape(in[0]);
  if (data.rank() != 3) fail("RNN needs data of (steps, batch, channels), got {}", data.str());
  const std::int64_t batch = data[1];
  for (std::size_t i = 1; i < in.size(); ++i)
    if (i < (r.lstm() ? 4u : 3u)) require_one_dtype(p, in[0], in[i], "RNN");
  auto check_state = [&](std::size_t i, const char* what, std::int64_t size) {
    Shape expected{r.layers * r.directions, batch, size};
    if (!(p.shape(in[i]) == expected))
      fail(Mistake::operand_shape,
           "the {} must have the shape {} (layers and directions, batch, size), got {}", what, expected.str(),
           p.shape(in[i]).str());
  };
  check_state(2, "state", r.out);
  if (r.lstm()) check_state(3, "cell", r.hidden);
  if (a.boolean("use_sequence_length")) {
    n.lengths = convert(p, in.back(), DType::i64);
    if (!(p.shape(n.lengths) == Shape{batch}))
      fail(Mistake::operand_shape, "{} sequences need as many lengths, got {}", batch,
           p.shape(n.lengths).str());
  }

  n.weights = take_apart(p, widen(p, in[1]), r, data[2]);
  auto initial = [&](std::size_t i, std::int64_t which, std::int64_t size) {
    Value all = widen(p, in[i]);
    return p.reshape(p.slice(all, {which, 0, 0}, {which + 1, batch, size}, {1, 1, 1}), {batch, size});
  };
  Value x = widen(p, in[0]);
  if (for_gradient && n.lengths.valid()) {
    const TensorType steps{DType::i64, {data[0], batch}};
    Value alive = p.compare(Compare::lt, p.iota(steps, 0), p.broadcast_along(n.lengths, steps.shape, 1));
    x = p.select(p.broadcast(alive, data, {0, 1}), x, p.like(x, 0));
  }
  for (std::int64_t l = 0; l < r.layers; ++l) {
    Layer layer;
    if (l > 0 && p.train() && a.real("p") > 0) {
      layer.dropped = drawn_mask(p, p.shape(x), a.real("p"), {});
      x = drop_others(p, x, layer.dropped, a.real("p"));
    }
    layer.input = x;
    std::vector<Value> outputs;
    for (std::int64_t d = 0; d < r.directions; ++d) {
      const std::int64_t i = l * r.directions + d;
      layer.directions.push_back(run(p, x, initial(2, i, r.out), r.lstm() ? initial(3, i, r.hidden) : Value{},
                                     n.lengths, d == 1, n.weights[at(static_cast<int>(i))], r, for_gradient));
      outputs.push_back(layer.directions.back().outputs);
    }
    x = p.concatenate(outputs, 2);
    n.layers.push_back(std::move(layer));
  }
  n.outputs = x;
  return n;
}

}  // namespace kiln::ops::recurrent

// The gradient of RNN, from the last layer to the first. For each direction a loop over the steps, from the
// last to the first, carries the gradients of state and cell and stacks the gradients of the gates' sums. The
// gradients of weights are contractions over all steps.
#include "frontend/ops/rnn.h"

namespace kiln::ops::recurrent {
namespace {

Value one_minus(Primitives& p, Value x) { return p.sub(p.like(x, 1), x); }
/// g times the derivative of y = tanh(x): 1 - y^2.
Value through_tanh(Primitives& p, Value g, Value y) { return p.mul(g, one_minus(p, p.mul(y, y))); }
/// g times the derivative of y = sigmoid(x): y (1 - y).
Value through_sigmoid(Primitives& p, Value g, Value y) { return p.mul(g, p.mul(y, one_minus(p, y))); }

/// Gradients of the values that a step reads.
struct CellGradient {
  Value x, u;    // of W x + b and of U h + b: (N, gates * hidden)
  Value state;   // of the state, not through u; invalid for zero
  Value cell;    // of the cell
  Value hidden;  // lstm: no gradient, but the state before its projection
};

Value side_by_side(Primitives& p, std::vector<Value> gates) { return p.concatenate(gates, 1); }

/// n = tanh(x_n + r u_n), h' = (1 - z) n + z h.
CellGradient of_gru(Primitives& p, const Kept& k, Value dh) {
  const Value reset = k.gates[0], update = k.gates[1], fresh = k.gates[2], u_fresh = k.gates[3];
  Value d_update = through_sigmoid(p, p.mul(dh, p.sub(k.state_before, fresh)), update);
  Value d_fresh = through_tanh(p, p.mul(dh, one_minus(p, update)), fresh);
  Value d_reset = through_sigmoid(p, p.mul(d_fresh, u_fresh), reset);
  return {.x = side_by_side(p, {d_reset, d_update, d_fresh}),
          .u = side_by_side(p, {d_reset, d_update, p.mul(d_fresh, reset)}),
          .state = p.mul(dh, update),
          .cell = {},
          .hidden = {}};
}

/// c' = clip(f c + i g), h' = o tanh(c'). The derivative of clip is 1 within the limits, 0 outside and for
/// NaN.
CellGradient of_lstm(Primitives& p, const Kept& k, Value dh, Value dc, const Layout& r) {
  const Value input = k.gates[0], forget = k.gates[1], fresh = k.gates[2], output = k.gates[3];
  const Value unclipped = k.gates[4];
  Value squashed = p.unary(Unary::tanh, clip_cell(p, unclipped, r));
  Value d_output = through_sigmoid(p, p.mul(dh, squashed), output);
  Value d_cell = p.add(dc, through_tanh(p, p.mul(dh, output), squashed));
  if (r.clipped()) {
    Value within =
        p.binary(Binary::logical_and, p.compare(Compare::ge, unclipped, p.like(unclipped, r.cell_min)),
                 p.compare(Compare::le, unclipped, p.like(unclipped, r.cell_max)));
    d_cell = p.select(within, d_cell, p.like(d_cell, 0));
  }
  Value d_input = through_sigmoid(p, p.mul(d_cell, fresh), input);
  Value d_forget = through_sigmoid(p, p.mul(d_cell, k.cell_before), forget);
  Value d_fresh = through_tanh(p, p.mul(d_cell, input), fresh);
  Value d_sum = side_by_side(p, {d_input, d_forget, d_fresh, d_output});
  return {.x = d_sum,
          .u = d_sum,
          .state = {},
          .cell = p.mul(d_cell, forget),
          .hidden = r.projected ? p.mul(output, squashed) : Value{}};
}

/// h' = relu(x + u) or tanh(x + u). The derivative of relu at 0 is 0.
CellGradient of_rnn(Primitives& p, const Kept& k, Value dh, const Layout& r) {
  const Value state = k.gates[0];
  Value d_sum = r.mode == "rnn_relu"
                    ? p.select(p.compare(Compare::gt, state, p.like(state, 0)), dh, p.like(dh, 0))
                    : through_tanh(p, dh, state);
  return {.x = d_sum, .u = d_sum, .state = {}, .cell = {}, .hidden = {}};
}

struct DirectionGradient {
  Weights weights;
  Value input;        // (T, N, channels)
  Value state, cell;  // of the initial ones
};

/// The gradients of one layer in one direction, given the gradients of its outputs (T, N, out), last state
/// and last cell. After a sequence's end its gradients of state and cell pass unchanged, and its outputs are
/// constant.
DirectionGradient gradient_of(Primitives& p, const Direction& done, Value x, Value lengths, bool backwards,
                              const Weights& w, const Layout& r, Value d_outputs, Value d_state,
                              Value d_cell) {
  const Shape in = p.shape(x);
  const std::int64_t steps = in[0], batch = in[1];
  Kept kept = done.kept;
  std::vector<Value> rows{d_outputs}, carries{d_state};
  if (r.lstm()) carries.push_back(d_cell);
  for (Value* v : kept.all()) rows.push_back(*v);
  if (lengths.valid()) rows.push_back(p.iota({p.dtype(lengths), {steps}}, 0));
  // The loop runs against the direction's own order.
  const auto turned = [&](Value v) { return backwards ? v : p.reverse(v, {0}); };
  for (Value& v : rows) v = turned(v);

  Values last = p.loop(steps, carries, rows, {}, [&](Args carried, Args row) -> ir::LoopStep {
    Kept k = kept;
    std::size_t next = 1;
    for (Value* v : k.all()) *v = row[next++];
    Value dh = p.add(carried[0], row[0]), dc = r.lstm() ? carried[1] : Value{}, alive;
    if (lengths.valid()) {
      alive = running(p, row[next], lengths);
      dh = choose(p, alive, dh, p.like(dh, 0));
      if (dc.valid()) dc = choose(p, alive, dc, p.like(dc, 0));
    }
    Value d_hidden = r.projected ? p.dot(dh, w.projection, {}) : dh;
    CellGradient g = r.lstm()  ? of_lstm(p, k, d_hidden, dc, r)
                     : r.gru() ? of_gru(p, k, dh)
                               : of_rnn(p, k, dh, r);
    Value before = p.dot(g.u, w.state, {});
    if (g.state.valid()) before = p.add(before, g.state);
    std::vector<Value> carry{before};
    if (g.cell.valid()) carry.push_back(g.cell);
    if (alive.valid())
      for (std::size_t i = 0; i < carry.size(); ++i) carry[i] = choose(p, alive, carry[i], carried[i]);
    std::vector<Value> stacked{g.x};
    if (r.gru()) stacked.push_back(g.u);
    if (r.projected) stacked.insert(stacked.end(), {dh, g.hidden});
    return {carry, stacked, {}};
  });

  DirectionGradient out;
  out.state = last[0];
  if (r.lstm()) out.cell = last[1];
  auto stacked = last.begin() + (r.lstm() ? 2 : 1);
  const std::int64_t count = times(steps, batch);
  const auto flat = [&](Value v) { return p.reshape(v, {count, p.shape(v)[2]}); };
  const auto take = [&] { return flat(turned(*stacked++)); };
  // dW = g' x over all rows (t, n), db = sum of g.
  const auto weight = [&](Value g, Value factor) { return p.dot(g, factor, {true, false}); };
  const auto bias = [&](Value g) { return p.reduce(Reduce::sum, g, {0}); };
  const Value dx = take(), du = r.gru() ? take() : dx;
  out.weights.input = weight(dx, flat(x));
  out.weights.state = weight(du, flat(done.kept.state_before));
  out.weights.input_bias = bias(dx);
  out.weights.state_bias = r.gru() ? bias(du) : out.weights.input_bias;
  if (r.projected) {
    const Value dh = take(), hidden = take();
    out.weights.projection = weight(dh, hidden);
  }
  out.input = p.reshape(p.dot(dx, w.input, {}), in);
  return out;
}

}  // namespace

Values gradient(Primitives& p, const ir::GradientArgs& args) {
  const Network n = compose_network(p, args.in, args.attrs, true);
  const Layout& r = n.layout;
  const Shape data = p.shape(args.in[0]);
  const std::int64_t steps = data[0], batch = data[1];
  const DType dtype = p.dtype(n.outputs);
  // The gradient of output `i`, zeros without a head.
  const auto head = [&](std::size_t i, const Shape& shape) {
    const bool given = i < args.heads.size() && args.heads[i].valid();
    return given ? widen(p, args.heads[i]) : p.full({dtype, shape}, 0);
  };
  const std::int64_t units = r.layers * r.directions;
  Value d_outputs = head(0, p.shape(n.outputs));
  const Value d_states = head(1, {units, batch, r.out});
  const Value d_cells = r.lstm() ? head(2, {units, batch, r.hidden}) : Value{};
  const auto part = [&](Value all, std::int64_t unit) {
    const std::int64_t size = p.shape(all)[2];
    return p.reshape(p.slice(all, {unit, 0, 0}, {unit + 1, batch, size}, {1, 1, 1}), {batch, size});
  };

  std::vector<DirectionGradient> units_of(static_cast<std::size_t>(units));
  for (std::int64_t l = r.layers; l-- > 0;) {
    const Layer& layer = n.layers[static_cast<std::size_t>(l)];
    Value d_input;
    for (std::int64_t d = r.directions; d-- > 0;) {
      const std::int64_t unit = l * r.directions + d;
      const auto u = static_cast<std::size_t>(unit);
      Value d_own = p.slice(d_outputs, {0, 0, d * r.out}, {steps, batch, (d + 1) * r.out}, {1, 1, 1});
      units_of[u] =
          gradient_of(p, layer.directions[static_cast<std::size_t>(d)], layer.input, n.lengths, d == 1,
                      n.weights[u], r, d_own, part(d_states, unit), r.lstm() ? part(d_cells, unit) : Value{});
      d_input = d_input.valid() ? p.add(d_input, units_of[u].input) : units_of[u].input;
    }
    d_outputs =
        layer.dropped.valid() ? drop_others(p, d_input, layer.dropped, args.attrs.real("p")) : d_input;
  }

  std::vector<Weights> weights;
  std::vector<Value> states, cells;
  for (const DirectionGradient& g : units_of) {
    weights.push_back(g.weights);
    states.push_back(p.reshape(g.state, {1, batch, r.out}));
    if (r.lstm()) cells.push_back(p.reshape(g.cell, {1, batch, r.hidden}));
  }
  const auto finished = [&](Value v) { return convert(p, v, p.dtype(args.in[0])); };
  Values out{finished(d_outputs), finished(joined(p, weights)), finished(p.concatenate(states, 0))};
  if (r.lstm()) out.push_back(finished(p.concatenate(cells, 0)));
  out.resize(args.in.size());  // the lengths have none
  return out;
}

}  // namespace kiln::ops::recurrent

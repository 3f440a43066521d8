// The fused recurrent layers: the operator RNN.
#include "frontend/ops/rnn.h"

#include "frontend/ops/reference.h"
#include "frontend/ops/shape_rules.h"

namespace kiln::ops {
namespace {

using recurrent::Layout;

Values rnn(Primitives& p, Args in, const Attrs& a) {
  const recurrent::Network n = recurrent::compose_network(p, in, a, false);
  const Layout& r = n.layout;
  const DType dtype = p.dtype(in[0]);
  Values results{convert(p, n.outputs, dtype)};
  if (!a.boolean("state_outputs")) return results;
  std::vector<Value> states, cells;
  const std::int64_t batch = p.shape(in[0])[1];
  for (const recurrent::Layer& layer : n.layers)
    for (const recurrent::Direction& d : layer.directions) {
      states.push_back(p.reshape(d.state, {1, batch, r.out}));
      if (r.lstm()) cells.push_back(p.reshape(d.cell, {1, batch, r.hidden}));
    }
  results.push_back(convert(p, p.concatenate(states, 0), dtype));
  if (r.lstm()) results.push_back(convert(p, p.concatenate(cells, 0), dtype));
  return results;
}

bool is_lstm(const Attrs& a) { return a.word("mode") == "lstm"; }
std::size_t rnn_inputs(const Attrs& a) { return 3 + is_lstm(a) + a.boolean("use_sequence_length"); }
int rnn_outputs(const Attrs& a) { return a.boolean("state_outputs") ? (is_lstm(a) ? 3 : 2) : 1; }

/// The parts that were concatenated to the vector of parameters, in the order of take_apart().
void parts_shape(ShapeFacts& f, const Layout& r) {
  const auto parts = f.parts[1];
  const std::int64_t units = r.layers * r.directions, weights = r.projected ? 3 : 2;
  if (static_cast<std::int64_t>(parts.size()) != units * (weights + 2)) return;
  const auto part = [&](std::int64_t i) -> PartialShape& { return parts[at(static_cast<int>(i))]; };
  for (std::int64_t i = 0; i < units; ++i) {
    PartialShape& input = part(i * weights);
    f.rank(input, 1);
    if (i < r.directions)
      f.linear({f.in[0], 2}, {input, 0}, r.gates * r.hidden, 0);
    else
      f.is(input, Shape{r.gates * r.hidden * r.input(1, 0)});
    f.is(part(i * weights + 1), Shape{r.gates * r.hidden * r.out});
    if (r.projected) f.is(part(i * weights + 2), Shape{r.out * r.hidden});
    for (std::int64_t bias : {0, 1}) f.is(part(units * weights + 2 * i + bias), Shape{r.gates * r.hidden});
  }
}

void rnn_shape(ShapeFacts& f, const Attrs& a) {
  const Layout r(a);
  const Axis batch{f.in[0], 1}, channels{f.in[0], 2};
  f.rank(f.in[0], 3);
  // The length of the vector is linear in the number of input channels.
  const std::int64_t least = r.parameters(0);
  f.rank(f.in[1], 1);
  f.linear(channels, {f.in[1], 0}, r.parameters(1) - least, least);
  const auto state = [&](PartialShape& x, std::int64_t size) {
    f.is(x, Shape{r.layers * r.directions, unknown, size});
    f.same(Axis{x, 1}, batch);
  };
  state(f.in[2], r.out);
  if (r.lstm()) state(f.in[3], r.hidden);
  if (a.boolean("use_sequence_length")) {
    f.rank(f.in.back(), 1);
    f.same(Axis{f.in.back(), 0}, batch);
  }
  f.is(f.out[0], Shape{unknown, unknown, r.out * r.directions});
  f.same(Axis{f.out[0], 0}, Axis{f.in[0], 0});
  f.same(Axis{f.out[0], 1}, batch);
  if (f.out.size() > 1) state(f.out[1], r.out);
  if (f.out.size() > 2) state(f.out[2], r.hidden);
  parts_shape(f, r);
}

}  // namespace

std::span<const OpDef> rnn_ops() {
  static const std::vector<OpDef> rows{
      {.name = "RNN",
       .aliases = {"_npx_rnn"},
       .summary =
           "Runs recurrent layers (lstm, gru, rnn_relu or rnn_tanh) over all steps of a batch of sequences.",
       .reference =
           {
               .shapes = "data (T, N, C), parameters (n), state (L D, N, P), state_cell (L D, N, S), "
                         "sequence_length (N) -> (T, N, D P). With state_outputs also the final states (L D, "
                         "N, P) and, of lstm, cells (L D, N, S). state_cell is an input of lstm alone. L "
                         "layers; D is 2 if bidirectional, else 1; P is projection_size or S. parameters "
                         "joins, by layer and direction, the weights (G S, K) of the input, (G S, P) of the "
                         "state and (P, S) of the projection; then likewise the biases (G S) of input and "
                         "state. G gates: 4 of lstm, 3 of gru, else 1; K is C, in later layers D P.",
               .dtypes = "Any, one for data, parameters and states; the results have it too. sequence_length "
                         "may have another dtype. Half precision is computed in float32 and rounded once.",
               .nan = "A NaN in data or states stays in its sequence and passes to all later steps; one in "
                      "parameters reaches all. With lstm_state_clip_nan a cell of NaN becomes "
                      "lstm_state_clip_min. A NaN after the end of a sequence changes nothing.",
               .empty = "With T = 0 there are no outputs and the final states are the initial ones. No "
                        "sequences give none.",
               .integers = truncated_integers,
               .gradient = "data, parameters, state and state_cell: backpropagation through all steps. The "
                           "derivative of relu at 0 is 0; a clipped cell has 1 within the limits, else 0. "
                           "sequence_length: zeros. Steps after the end of a sequence have the gradient 0.",
               .formula =
                   "With u = W x + b and v = R h + c: rnn: h' = act(u + v). gru: r, z = sigmoid(u + v), n = "
                   "tanh(u + r v), h' = (1 - z) n + z h. lstm: i, f, o = sigmoid(u + v), g = tanh(u + v), c' "
                   "= clip(f c + i g), h' = o tanh(c'), times the projection. Gates stand in the order r, z, "
                   "n and i, f, g, o. The second direction goes from the last step to the first. After the "
                   "end of a sequence outputs are 0 and states stay.",
               .source = "MXNet 1.9.1 (src/operator/rnn.cc), which has the layout and the gates of cuDNN.",
           },
       .inputs = {"data", "parameters", "state", "state_cell", "sequence_length"},
       .active_inputs = rnn_inputs,
       .attrs = {required("state_size", AttrKind::integer, "S, the size of the state, from 1 to 2^20."),
                 required("num_layers", AttrKind::integer, "L, the number of layers, from 1 to 1024."),
                 bool_attr("bidirectional", false,
                           "Whether each layer also runs from the last step to the first; its outputs are "
                           "concatenated."),
                 meaning({"mode", AttrKind::word, {}, false, {"gru", "lstm", "rnn_relu", "rnn_tanh"}},
                         "The kind of the layers."),
                 real_attr(
                     "p", 0,
                     "In training the probability that an input of a later layer is dropped, as by Dropout."),
                 bool_attr("state_outputs", false, "Whether the final states are results too."),
                 or_none("projection_size", AttrKind::integer,
                         "P, the size of the projected state of lstm, from 1 to 2^20. None: no projection."),
                 or_none("lstm_state_clip_min", AttrKind::real,
                         "The lower limit of lstm's cell. None: no limit."),
                 or_none("lstm_state_clip_max", AttrKind::real,
                         "The upper limit of lstm's cell. None: no limit."),
                 bool_attr("lstm_state_clip_nan", false,
                           "Whether a cell of NaN becomes lstm_state_clip_min, if there are limits."),
                 bool_attr("use_sequence_length", false,
                           "Whether the input sequence_length is given. False: every sequence has T steps.")},
       .counted_outputs = rnn_outputs,
       .visible_outputs = rnn_outputs,
       .output_names = {"output", "state_output", "statecell_output"},
       .compose = rnn,
       .gradient = recurrent::gradient,
       .shape_rule = rnn_shape,
       .train_sensitive = true},
  };
  return rows;
}

}  // namespace kiln::ops

// The forward composition of the operator RNN (rnn_network.cpp), for the operator (rnn.cpp) and its gradient
// (rnn_gradient.cpp).
#pragma once
#include "frontend/ops/common.h"

#include <string>
#include <vector>

/// The forward composition of the operator RNN, for the operator (rnn.cpp) and its gradient
/// (rnn_gradient.cpp).
namespace kiln::ops::recurrent {

/// The configuration from the attributes.
struct Layout {
  explicit Layout(const Attrs& a);
  bool lstm() const { return mode == "lstm"; }
  bool gru() const { return mode == "gru"; }
  /// Channels of the input of layer `layer`, if the first layer gets `channels`.
  std::int64_t input(std::int64_t layer, std::int64_t channels) const {
    return layer == 0 ? channels : out * directions;
  }
  std::int64_t parameters(std::int64_t channels) const;

  std::string mode;
  std::int64_t hidden, layers, directions;
  bool projected;
  std::int64_t out;  ///< output channels of one direction
  std::int64_t gates;
  double cell_min, cell_max;  ///< limits of lstm's cell; infinite if there are none
  bool clip_nan;              ///< a cell of NaN becomes cell_min
  bool clipped() const;
};

/// One layer in one direction; or the gradients of its weights.
struct Weights {
  Value input, state, projection;  // (gates * hidden, channels), (gates * hidden, out), (out, hidden)
  Value input_bias, state_bias;    // (gates * hidden)
};

/// The vector of parameters from weights[layer * directions + direction]: the inverse of the split.
Value joined(Primitives& p, const std::vector<Weights>& weights);

/// Values that the gradient of a step reads; a field is empty if the mode has none.
struct Kept {
  Value state_before, cell_before;  ///< (N, out), (N, hidden)
  /// (N, hidden) each. rnn: the new state. gru: reset, update, fresh, and U_n h + b_n. lstm: the gates input,
  /// forget, fresh and output, and the cell before clipping.
  std::vector<Value> gates;

  std::vector<Value*> all();
};

/// One layer in one direction over all steps, in order of time.
struct Direction {
  Value outputs;      // (T, N, out)
  Value state, cell;  // (N, out), (N, hidden)
  Kept kept;          // with a first axis T
};

struct Layer {
  Value input;    // (T, N, channels), after dropout
  Value dropped;  // bool like the input: the elements that dropout keeps; invalid without dropout
  std::vector<Direction> directions;
};

struct Network {
  Layout layout;
  std::vector<Weights> weights;  ///< by layer * directions + direction
  std::vector<Layer> layers;
  Value lengths;  ///< (N), i64, if sequences have different lengths
  Value outputs;  ///< (T, N, out * directions)
};

/// Composes all layers, in f32 for half precision. With dropout, one mask is drawn for each layer after the
/// first. `for_gradient` sets `kept`, and replaces the inputs after a sequence's end by zeros. No result
/// depends on them, but a NaN there would reach a weight's gradient as 0 * NaN.
Network compose_network(Primitives& p, Args in, const Attrs& a, bool for_gradient);

/// The cell within the limits of the attributes.
Value clip_cell(Primitives& p, Value cell, const Layout& r);
/// Whether step `step` (a scalar or (1)) is before the end of each sequence: (N) bool.
Value running(Primitives& p, Value step, Value lengths);
/// Row n of `now` where alive[n], else of `otherwise`.
Value choose(Primitives& p, Value alive, Value now, Value otherwise);

/// The gradient of RNN (OpDef::gradient).
Values gradient(Primitives& p, const ir::GradientArgs& args);

}  // namespace kiln::ops::recurrent

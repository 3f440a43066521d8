// Recurrent layers over whole sequences.
#pragma once
#include <kiln/rnn.h>

/// Recurrent layers over whole sequences, `rnn::LSTM(100, {.num_layers = 2})`: one operator for all steps,
/// layers and directions, with MXNet's names, defaults and printed forms.
namespace kiln::rnn {

/// Options of RNN, LSTM and GRU.
struct LayerOptions {
  std::int64_t num_layers = 1;  ///< layers, each over the outputs of the layer below
  std::string layout = "TNC";   ///< of inputs and outputs; or "NTC"
  double dropout = 0;           ///< between layers, in training
  /// A second layer beside each, from the last step to the first; outputs are joined.
  bool bidirectional = false;
  std::int64_t input_size = 0;  ///< 0: inferred by the first call
  /// The initial values of the parameters: i2h from input, h2h from state.
  /// @{
  Initializer i2h_weight_initializer = {};
  Initializer h2h_weight_initializer = {};
  Initializer i2h_bias_initializer = "zeros";
  Initializer h2h_bias_initializer = "zeros";
  /// @}
  DType dtype = DType::f32;  ///< of the parameters
  /// If true, the last input of a call has the length of each sequence, (batch,). Outputs beyond it are 0;
  /// the states belong to the last valid step.
  bool use_sequence_length = false;
  // LSTM only.
  std::optional<std::int64_t> projection_size = {};                ///< size of the projection h' = W_r h
  Initializer h2r_weight_initializer = {};                         ///< of the projection
  std::optional<double> state_clip_min = {}, state_clip_max = {};  ///< limits of the cell's state
  bool state_clip_nan = false;                                     ///< a NaN becomes state_clip_min
  std::optional<std::string> prefix = {};  ///< of the block's name; nothing: made from its class
  const ParameterDict* params = nullptr;   ///< parameters to share; null: own ones
};

/// The common base. A call takes x (steps, batch, channels), in layout "NTC" (batch, steps, channels), and
/// returns outputs (steps, batch, hidden * directions). Given states (layers * directions, batch, hidden)
/// after x it also returns the new states; without them the states start at zero. Parameters: `l0_i2h_weight`
/// (gates
/// * hidden, channels), `l0_h2h_weight`, their biases, `r0_...` for the other direction, `l1_...` for the
/// next layer.
class KILN_API Layer : public HybridBlock {
 public:
  using HybridBlock::operator();
  /// `auto [output, states] = lstm(x, lstm.begin_state(batch));`
  StepOutput operator()(const Tensor& x, const Tensors& states, Where where = Where::current()) const;
  template <BracedInput T>  // makes one braced state a list of states
  StepOutput operator()(const Tensor& x, std::initializer_list<T> states,
                        Where where = Where::current()) const {
    return (*this)(x, Tensors(states.begin(), states.end()), where);
  }
  /// The shapes and layouts of the states; batch_size 0: not known.
  std::vector<StateInfo> state_info(std::int64_t batch_size = 0) const;
  /// Initial states: zeros, or from `options.func`. Throws without a batch size.
  Tensors begin_state(const BeginStateOptions& options, Where where = Where::current()) const;
  Tensors begin_state(std::int64_t batch_size, Where where = Where::current()) const {
    return begin_state(BeginStateOptions{.batch_size = batch_size}, where);
  }
  std::string str() const override;

 protected:
  Layer(std::string_view kind, std::string mode, std::int64_t gates, std::int64_t hidden_size,
        const LayerOptions& options, Where where);
  Tensors hybrid_forward(F& F, const Tensors& inputs) override;

 private:
  Tensors zero_states(const Tensor& x) const;
  Tensor parameters(F& F) const;

  std::string mode_;
  std::int64_t gates_, hidden_size_;
  LayerOptions options_;
  /// Per layer and direction: i2h weight, h2h weight, h2r weight if projected, i2h bias, h2h bias.
  struct Weights {
    Parameter i2h, h2h, h2r, i2h_bias, h2h_bias;
  };
  std::vector<Weights> weights_;
};

/// h' = activation(W_i x + b_i + W_h h + b_h), with "relu" or "tanh".
class KILN_API RNN : public Layer {
 public:
  explicit RNN(std::int64_t hidden_size, const LayerOptions& options = {},
               const std::string& activation = "relu", Where where = Where::current());
  std::string class_name() const override;
};
/// As LSTMCell. Two states, h and c.
class KILN_API LSTM : public Layer {
 public:
  explicit LSTM(std::int64_t hidden_size, const LayerOptions& options = {}, Where where = Where::current());
  std::string class_name() const override;
};
/// As GRUCell.
class KILN_API GRU : public Layer {
 public:
  explicit GRU(std::int64_t hidden_size, const LayerOptions& options = {}, Where where = Where::current());
  std::string class_name() const override;
};

}  // namespace kiln::rnn

// Recurrent layers over whole sequences. Their weights are joined to the one vector that the operator RNN
// takes.
#include "frontend/api/f_call.h"
#include "frontend/call/invoke.h"
#include "frontend/call/trace.h"
#include "frontend/gluon/rnn/rnn_cell.h"
#include "frontend/trace/naming.h"
#include "runtime/fail.h"

#include <kiln/rnn_layer.h>

namespace kiln::rnn {

using kiln::detail::TensorAccess;

namespace {

std::source_location here() { return std::source_location::current(); }

Tensor swapped(const Tensor& x) { return F::swapaxes(x, {.dim1 = 0, .dim2 = 1}, here()); }

ir::AttrValue or_none(const std::optional<double>& v) {
  return v ? ir::AttrValue(*v) : ir::AttrValue(ir::None{});
}
ir::AttrValue or_none(const std::optional<std::int64_t>& v) {
  return v ? ir::AttrValue(*v) : ir::AttrValue(ir::None{});
}

}  // namespace

Layer::Layer(std::string_view kind, std::string mode, std::int64_t gates, std::int64_t hidden_size,
             const LayerOptions& o, Where where) try
    : HybridBlock({.prefix = o.prefix, .params = o.params}, kind),
      mode_(std::move(mode)),
      gates_(gates),
      hidden_size_(hidden_size),
      options_(o) {
  constexpr std::int64_t limit = 1 << 20;
  if (hidden_size < 1 || hidden_size > limit || o.num_layers < 1 || o.num_layers > 1024)
    fail("A recurrent layer needs a hidden_size of 1 to {} and num_layers of 1 to 1024, not {} and {}", limit,
         hidden_size, o.num_layers);
  if (o.layout != "TNC" && o.layout != "NTC")
    fail("Invalid layout {}; must be one of ['TNC' or 'NTC']", o.layout);
  if (o.input_size < 0) fail("input_size {} is negative; 0 leaves it to the first call", o.input_size);
  if (o.dropout < 0 || o.dropout >= 1) fail("dropout must be at least 0 and below 1, not {}", o.dropout);
  if (o.projection_size && (mode_ != "lstm" || *o.projection_size < 1 || *o.projection_size > limit))
    fail("projection_size {} must be 1 to {}, and is for LSTM alone", *o.projection_size, limit);
  options_.params = nullptr;  // belongs to the caller; not used any more
  const std::int64_t rows = gates * hidden_size, out = o.projection_size.value_or(hidden_size);
  std::int64_t input = o.input_size;
  for (std::int64_t layer = 0; layer < o.num_layers; ++layer) {
    for (const char* direction : {"l", "r"}) {
      if (*direction == 'r' && !o.bidirectional) continue;
      const auto parameter = [&](const char* name, const Shape& shape, const Initializer& init) {
        return params().get(fmt::format("{}{}_{}", direction, layer, name), shape,
                            {.dtype = o.dtype, .init = init});
      };
      Weights& w = weights_.emplace_back();
      w.i2h = parameter("i2h_weight", {rows, input}, o.i2h_weight_initializer);
      w.h2h = parameter("h2h_weight", {rows, out}, o.h2h_weight_initializer);
      w.i2h_bias = parameter("i2h_bias", {rows}, o.i2h_bias_initializer);
      w.h2h_bias = parameter("h2h_bias", {rows}, o.h2h_bias_initializer);
      if (o.projection_size) w.h2r = parameter("h2r_weight", {out, hidden_size}, o.h2r_weight_initializer);
    }
    input = out * (o.bidirectional ? 2 : 1);
  }
} catch (const Error&) {
  rethrow_at_line(where);
}

std::string Layer::str() const {
  const Shape shape = weights_[0].i2h.shape();
  std::string s = fmt::format("{}({} -> {}, {}", class_name(), shape[1] ? std::to_string(shape[1]) : "None",
                              shape[0] / gates_, options_.layout);
  if (options_.num_layers != 1) s += fmt::format(", num_layers={}", options_.num_layers);
  if (options_.dropout != 0) s += ", dropout=" + ir::python_float(options_.dropout);
  if (options_.bidirectional) s += ", bidirectional";
  return s + ")";
}

std::vector<StateInfo> Layer::state_info(std::int64_t batch_size) const {
  const std::int64_t all = options_.num_layers * (options_.bidirectional ? 2 : 1);
  std::vector<StateInfo> info{{{all, batch_size, options_.projection_size.value_or(hidden_size_)}, "LNC"}};
  if (mode_ == "lstm") info.push_back({{all, batch_size, hidden_size_}, "LNC"});
  return info;
}

Tensors Layer::begin_state(const BeginStateOptions& o, Where where) const {
  const bool open = Trace::current() && !Trace::current()->shapes_known();
  if (o.batch_size < 0 || (o.batch_size == 0 && !open && !o.func))
    fail("{}begin_state() of {} {} needs the size of the batch, as in begin_state(16), not {}",
         line_prefix(where), class_name(), name(), o.batch_size);
  Tensors states;
  for (const StateInfo& info : state_info(o.batch_size)) {
    const std::string name = fmt::format("{}h0_{}", prefix(), states.size());
    if (o.func) {
      states.push_back(o.func(name, info));
      continue;
    }
    CallAttributes<2> given;
    given.set("shape", ir::AttrValue(o.batch_size == 0 ? kiln::detail::open_shape(info) : info.shape));
    given.set("dtype", o.dtype);
    states.push_back(kiln::call<"_zeros">({}, given, here(), name));
    if (const ir::NodePtr& node = TensorAccess::array(states.back())->value.node)
      node->attr_text["__layout__"] = info.layout;
  }
  return states;
}

/// The default initial states, for any batch.
Tensors Layer::zero_states(const Tensor& x) const {
  // MXNet creates them before it enters the layer's scope: their names have the enclosing prefix.
  const NameScope around(NameScope::outer_prefix());
  BeginStateOptions begin{.dtype = options_.dtype};
  if (TensorAccess::array(x)->shape_known) {
    begin.batch_size = x.shape()[options_.layout == "NTC" ? 0 : 1];
    begin.dtype = x.dtype();
  }
  const Tensors states = begin_state(begin);
  kiln::detail::mark_open_batch(states, state_info());
  return states;
}

Tensor Layer::parameters(F& F) const {
  Tensors flat;
  const auto add = [&](const Tensor& p) {
    // An eager call joins views; the operator, which MXNet's symbols have here, would copy all weights.
    if (!TensorAccess::array(p)->traced()) return flat.push_back(p.reshape({-1}));
    CallAttributes<1> given;
    given.set("shape", ir::AttrValue(std::int64_t{-1}));
    flat.push_back(kiln::call<"reshape">({&p}, given, here()));
  };
  for (const Weights& w : weights_) {
    add(w.i2h);
    add(w.h2h);
    if (options_.projection_size) add(w.h2r);
  }
  for (const Weights& w : weights_) {
    add(w.i2h_bias);
    add(w.h2h_bias);
  }
  CallAttributes<1> given;
  given.set("dim", ir::AttrValue(std::int64_t{0}));
  return kiln::call_list<"_rnn_param_concat">(flat, given, here());
}

Tensors Layer::hybrid_forward(F& F, const Tensors& inputs) {
  const std::size_t states = state_info().size(), lengths = options_.use_sequence_length;
  const bool begins = inputs.size() == 1 + lengths;
  if (!begins && inputs.size() != 1 + states + lengths)
    fail("{} {} takes its input{}{}, got {} tensors", class_name(), name(),
         states == 1 ? ", or input and state" : ", or input and two states",
         lengths ? ", and the lengths" : "", inputs.size());
  if (const Tensor& x = inputs[0]; TensorAccess::array(x)->shape_known) {
    if (x.ndim() != 3)
      fail("{} {} needs an input of 3 axes, {}, not {}", class_name(), name(), options_.layout,
           x.shape().str());
    const std::vector<StateInfo> info = state_info(x.shape()[options_.layout == "NTC" ? 0 : 1]);
    for (std::size_t i = 0; !begins && i < states; ++i)
      if (inputs[1 + i].shape() != info[i].shape)
        fail("Invalid recurrent state shape. Expecting {}, got {}.", info[i].shape.str(),
             inputs[1 + i].shape().str());
  }
  const bool batch_first = options_.layout == "NTC";
  Tensors in{batch_first ? swapped(inputs[0]) : inputs[0], parameters(F)};
  const Tensors zeros = begins ? zero_states(inputs[0]) : Tensors();
  in.insert(in.end(), zeros.begin(), zeros.end());
  in.insert(in.end(), inputs.begin() + 1, inputs.end());

  CallAttributes<11> given;
  given.set("use_sequence_length", ir::AttrValue(options_.use_sequence_length));
  given.set("state_size", ir::AttrValue(hidden_size_));
  given.set("projection_size", or_none(options_.projection_size));
  given.set("num_layers", ir::AttrValue(options_.num_layers));
  given.set("bidirectional", ir::AttrValue(options_.bidirectional));
  // A probability of zero is written as Python's integer 0.
  given.set("p", options_.dropout == 0 ? Number(0) : Number(options_.dropout));
  given.set("state_outputs", ir::AttrValue(true));
  given.set("mode", ir::AttrValue(mode_));
  given.set("lstm_state_clip_min", or_none(options_.state_clip_min));
  given.set("lstm_state_clip_max", or_none(options_.state_clip_max));
  given.set("lstm_state_clip_nan", ir::AttrValue(options_.state_clip_nan));
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : in) pointers.push_back(&t);
  Tensors out = invoke_all(
      {.op = find_op_or_throw("RNN"), .inputs = pointers, .given = given.items(), .where = here()});
  if (batch_first) out[0] = swapped(out[0]);
  if (begins) out.resize(1);
  return out;
}

StepOutput Layer::operator()(const Tensor& x, const Tensors& states, Where where) const {
  Tensors inputs{x};
  inputs.insert(inputs.end(), states.begin(), states.end());
  Tensors out = (*this)(inputs, where);
  return {out[0], {out.begin() + 1, out.end()}};
}

namespace {

std::string rnn_mode(const std::string& activation, std::source_location where) {
  if (activation != "relu" && activation != "tanh")
    fail("{}RNN has the activations relu and tanh, not '{}'; RNNCell takes others", line_prefix(where),
         activation);
  return "rnn_" + activation;
}

}  // namespace

RNN::RNN(std::int64_t hidden_size, const LayerOptions& options, const std::string& activation, Where where)
    : Layer("rnn", rnn_mode(activation, where), 1, hidden_size, options, where) {}
LSTM::LSTM(std::int64_t hidden_size, const LayerOptions& options, Where where)
    : Layer("lstm", "lstm", 4, hidden_size, options, where) {}
GRU::GRU(std::int64_t hidden_size, const LayerOptions& options, Where where)
    : Layer("gru", "gru", 3, hidden_size, options, where) {}

// The first virtual functions that are not inline: nn_conv.cpp says why.
std::string RNN::class_name() const { return Block::class_name(); }
std::string LSTM::class_name() const { return Block::class_name(); }
std::string GRU::class_name() const { return Block::class_name(); }

}  // namespace kiln::rnn

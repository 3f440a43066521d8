// The computing cells: dense contractions and gates. Nodes have MXNet's names, such as "t0_i2h".
#include "frontend/api/f_call.h"
#include "frontend/gluon/rnn/rnn_cell.h"
#include "runtime/fail.h"

#include <kiln/contrib.h>

namespace kiln {

using detail::CellAccess;

namespace {

std::source_location here() { return std::source_location::current(); }

Tensor dense(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t units,
             const std::string& name) {
  return F::FullyConnected(x, weight, bias, {.num_hidden = units, .name = name}, here());
}
Tensor add(const Tensor& a, const Tensor& b, const std::string& name) {
  return call<"elemwise_add">({&a, &b}, CallAttributes<1>(), here(), name);
}
Tensor sub(const Tensor& a, const Tensor& b, const std::string& name) {
  return call<"elemwise_sub">({&a, &b}, CallAttributes<1>(), here(), name);
}
Tensor mul(const Tensor& a, const Tensor& b, const std::string& name) {
  return call<"elemwise_mul">({&a, &b}, CallAttributes<1>(), here(), name);
}
Tensors slices(const Tensor& x, std::int64_t parts, const std::string& name) {
  return F::split(x, {.num_outputs = parts, .name = name}, here());
}

/// Activations that are operators are recorded as that operator.
Tensor activate(const Tensor& x, const std::string& activation, const std::string& name) {
  if (activation == "tanh") return call<"tanh">({&x}, CallAttributes<1>(), here(), name);
  if (activation == "relu") return call<"relu">({&x}, CallAttributes<1>(), here(), name);
  if (activation == "sigmoid") return call<"sigmoid">({&x}, CallAttributes<1>(), here(), name);
  if (activation == "softsign") return call<"softsign">({&x}, CallAttributes<1>(), here(), name);
  return F::Activation(x, {.act_type = activation, .name = name}, here());
}

std::string or_default(const std::string& activation, const char* otherwise) {
  const std::string name = activation.empty() ? otherwise : activation;
  find_op_or_throw("Activation")
      .complete({{"act_type", name}});  // rejects an unknown activation here, not at the first step
  return name;
}

/// The shape of a cell's weights as text: "3 -> 12".
std::string mapping(const Parameter& i2h_weight) {
  const Shape shape = i2h_weight.shape();
  return fmt::format("{} -> {}", shape[1] ? std::to_string(shape[1]) : "None", shape[0]);
}

}  // namespace

namespace rnn {

DenseCell::DenseCell(std::string_view kind, std::int64_t gates, std::int64_t hidden_size,
                     const CellOptions& o, Where where, std::int64_t recurrent_size) try
    : HybridRecurrentCell({.prefix = o.prefix, .params = o.params}, kind),
      hidden_size_(hidden_size),
      gates_(gates),
      activation_(or_default(o.activation, "tanh")),
      recurrent_activation_(or_default(o.recurrent_activation, "sigmoid")) {
  if (hidden_size < 1 || hidden_size > (std::int64_t{1} << 40))
    fail("A recurrent cell needs a positive hidden_size, not {}", hidden_size);
  if (o.input_size < 0) fail("input_size {} is negative; 0 leaves it to the first call", o.input_size);
  const std::int64_t rows = gates * hidden_size;
  const std::int64_t recurrent = recurrent_size ? recurrent_size : hidden_size;
  i2h_weight = params().get("i2h_weight", {rows, o.input_size}, {.init = o.i2h_weight_initializer});
  h2h_weight = params().get("h2h_weight", {rows, recurrent}, {.init = o.h2h_weight_initializer});
  i2h_bias = params().get("i2h_bias", {rows}, {.init = o.i2h_bias_initializer});
  h2h_bias = params().get("h2h_bias", {rows}, {.init = o.h2h_bias_initializer});
} catch (const Error&) {
  rethrow_at_line(where);
}

std::string DenseCell::str() const { return class_name() + "(" + mapping(i2h_weight) + ")"; }

void DenseCell::infer_shape(const Tensors& inputs) {
  const Shape& x = inputs.at(0).shape();
  if (x.rank() < 2) fail("{} {} needs an input (batch, channels), not {}", class_name(), name(), x.str());
  HybridRecurrentCell::infer_shape(inputs);
}

std::string DenseCell::step_prefix() const { return fmt::format("t{}_", CellAccess::memory(*this).step); }

DenseCell::Products DenseCell::products(const Tensor& x, const Tensor& h) const {
  const std::string prefix = step_prefix();
  const std::int64_t units = gates_ * hidden_size_;
  Tensor i2h = dense(x, i2h_weight, i2h_bias, units, prefix + "i2h");
  Tensor h2h = dense(h, h2h_weight, h2h_bias, units, prefix + "h2h");
  return {prefix, std::move(i2h), std::move(h2h)};
}

RNNCell::RNNCell(std::int64_t hidden_size, const CellOptions& o, Where where)
    : DenseCell("rnn", 1, hidden_size, o, where) {
  if (!o.recurrent_activation.empty())
    fail("{}RNNCell has no recurrent_activation; its activation is `activation`", line_prefix(where));
}
std::vector<StateInfo> RNNCell::state_info(std::int64_t batch_size) const {
  return {{.shape = {batch_size, hidden_size_}}};
}
std::string RNNCell::str() const {
  return class_name() + "(" + mapping(i2h_weight) + ", " + activation_ + ")";
}
StepOutput RNNCell::hybrid_forward(F&, const Tensor& x, const Tensors& states) {
  const auto [t, i2h, h2h] = products(x, states[0]);
  const Tensor output = activate(add(i2h, h2h, t + "plus0"), activation_, t + "out");
  return {output, {output}};
}

LSTMCell::LSTMCell(std::int64_t hidden_size, const CellOptions& o, Where where)
    : DenseCell("lstm", 4, hidden_size, o, where) {}
std::vector<StateInfo> LSTMCell::state_info(std::int64_t batch_size) const {
  return {{.shape = {batch_size, hidden_size_}}, {.shape = {batch_size, hidden_size_}}};
}
StepOutput LSTMCell::hybrid_forward(F& F, const Tensor& x, const Tensors& states) {
  const auto [t, i2h, h2h] = products(x, states[0]);
  const Tensors gates = slices(add(i2h, h2h, t + "plus0"), 4, t + "slice");
  const Tensor in_gate = activate(gates[0], recurrent_activation_, t + "i");
  const Tensor forget_gate = activate(gates[1], recurrent_activation_, t + "f");
  const Tensor in_transform = activate(gates[2], activation_, t + "c");
  const Tensor out_gate = activate(gates[3], recurrent_activation_, t + "o");
  const Tensor kept = mul(forget_gate, states[1], t + "mul0");
  const Tensor c = add(kept, mul(in_gate, in_transform, t + "mul1"), t + "state");
  const Tensor h =
      mul(out_gate, F.Activation(c, {.act_type = activation_, .name = t + "activation0"}), t + "out");
  return {h, {h, c}};
}

GRUCell::GRUCell(std::int64_t hidden_size, const CellOptions& o, Where where)
    : DenseCell("gru", 3, hidden_size, o, where) {
  if (!o.activation.empty() || !o.recurrent_activation.empty())
    fail("{}GRUCell has no activations to choose: they are tanh and sigmoid", line_prefix(where));
}
std::vector<StateInfo> GRUCell::state_info(std::int64_t batch_size) const {
  return {{.shape = {batch_size, hidden_size_}}};
}
StepOutput GRUCell::hybrid_forward(F& F, const Tensor& x, const Tensors& states) {
  const Tensor& h = states[0];
  const auto [t, i2h, h2h] = products(x, h);
  const Tensors from_input = slices(i2h, 3, t + "i2h_slice");
  const Tensors from_state = slices(h2h, 3, t + "h2h_slice");
  const auto gate = [&](std::size_t i, const std::string& sum, const std::string& name) {
    return F.Activation(add(from_input[i], from_state[i], t + sum),
                        {.act_type = "sigmoid", .name = t + name});
  };
  const Tensor reset = gate(0, "plus0", "r_act");
  const Tensor update = gate(1, "plus1", "z_act");
  const Tensor next = F.Activation(add(from_input[2], mul(reset, from_state[2], t + "mul0"), t + "plus2"),
                                   {.act_type = "tanh", .name = t + "h_act"});
  const Tensor ones = kiln::call<"ones_like">({&update}, CallAttributes<1>(), here(), t + "ones_like0");
  const Tensor fresh = mul(sub(ones, update, t + "minus0"), next, t + "mul1");
  const Tensor output = add(fresh, mul(update, h, t + "mul20"), t + "out");
  return {output, {output}};
}

}  // namespace rnn

namespace contrib::rnn {

LSTMPCell::LSTMPCell(std::int64_t hidden_size, std::int64_t projection_size, const LSTMPCellOptions& o,
                     Where where)
    : DenseCell("lstmp", 4, hidden_size,
                {.i2h_weight_initializer = o.i2h_weight_initializer,
                 .h2h_weight_initializer = o.h2h_weight_initializer,
                 .i2h_bias_initializer = o.i2h_bias_initializer,
                 .h2h_bias_initializer = o.h2h_bias_initializer,
                 .input_size = o.input_size,
                 .prefix = o.prefix,
                 .params = o.params},
                where, std::max<std::int64_t>(projection_size, 1)),
      projection_size_(projection_size) {
  if (projection_size < 1)
    fail("{}LSTMPCell needs a positive projection_size, not {}", line_prefix(where), projection_size);
  h2r_weight = params().get("h2r_weight", {projection_size, hidden_size}, {.init = o.h2r_weight_initializer});
}
std::vector<StateInfo> LSTMPCell::state_info(std::int64_t batch_size) const {
  return {{.shape = {batch_size, projection_size_}}, {.shape = {batch_size, hidden_size_}}};
}
std::string LSTMPCell::str() const {
  return fmt::format("{}({} -> {})", class_name(), mapping(i2h_weight), projection_size_);
}
StepOutput LSTMPCell::hybrid_forward(F& F, const Tensor& x, const Tensors& states) {
  const auto [t, i2h, h2h] = products(x, states[0]);
  const Tensors gates = slices(i2h + h2h, 4, t + "slice");
  const auto gate = [&](std::size_t i, const char* type, const char* name) {
    return F.Activation(gates[i], {.act_type = type, .name = t + name});
  };
  const Tensor in_gate = gate(0, "sigmoid", "i");
  const Tensor forget_gate = gate(1, "sigmoid", "f");
  const Tensor in_transform = gate(2, "tanh", "c");
  const Tensor out_gate = gate(3, "sigmoid", "o");
  const Tensor kept = forget_gate * states[1];
  const Tensor c = add(kept, in_gate * in_transform, t + "state");
  const Tensor hidden = mul(out_gate, F.Activation(c, {.act_type = "tanh"}), t + "hidden");
  const Tensor r = F.FullyConnected(hidden, h2r_weight,
                                    {.num_hidden = projection_size_, .no_bias = true, .name = t + "out"});
  return {r, {r, c}};
}

}  // namespace contrib::rnn
}  // namespace kiln

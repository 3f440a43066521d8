// Activations as layers.
#include "frontend/call/invoke.h"
#include "frontend/gluon/nn/nn_layer.h"

namespace kiln::nn {

using detail::layer_config;
using detail::word;

LeakyReLU::LeakyReLU(double alpha, const BlockOptions& options, Where where) try
    : Layer(options, "leakyrelu", layer_config("LeakyReLU", {{"act_type", word("leaky")}, {"slope", alpha}})),
      alpha_(alpha) {
  if (alpha < 0) throw Error("Slope coefficient for LeakyReLU must be no less than 0.");
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string LeakyReLU::str() const { return "LeakyReLU(" + ir::python_float(alpha_) + ")"; }
Tensor LeakyReLU::hybrid_forward(F&, const Tensor& x) { return apply_op({x}); }

PReLU::PReLU(const Initializer& alpha_initializer, std::int64_t in_channels, const BlockOptions& options)
    : Layer(options, "prelu", layer_config("LeakyReLU", {{"act_type", word("prelu")}})) {
  alpha = params().get("alpha", {in_channels}, {.init = alpha_initializer});
}
Tensor PReLU::hybrid_forward(F&, const Tensor& x) { return apply_op({x, alpha}); }

ELU::ELU(double alpha, const BlockOptions& options)
    : Layer(options, "elu", layer_config("LeakyReLU", {{"act_type", word("elu")}, {"slope", alpha}})) {}
Tensor ELU::hybrid_forward(F&, const Tensor& x) {
  const Tensor* input = &x;  // MXNet's layer gives the node no separate name
  return invoke_one({.op = *config_->op,
                     .inputs = {&input, 1},
                     .given = config_->attrs.items(),
                     .where = std::source_location::current()});
}

SELU::SELU(const BlockOptions& options)
    : Layer(options, "selu", layer_config("LeakyReLU", {{"act_type", word("selu")}})) {}
Tensor SELU::hybrid_forward(F&, const Tensor& x) { return apply_op({x}); }

GELU::GELU(const BlockOptions& options)
    : Layer(options, "gelu", layer_config("LeakyReLU", {{"act_type", word("gelu")}})) {}
Tensor GELU::hybrid_forward(F&, const Tensor& x) { return apply_op({x}); }

Tensor Swish::hybrid_forward(F&, const Tensor& x) {
  const Tensor scaled = x * beta_;
  const Tensor* input = &scaled;
  return x * invoke_one({.op = find_op_or_throw("sigmoid"),
                         .inputs = {&input, 1},
                         .given = {},
                         .where = std::source_location::current(),
                         .name = "fwd"});
}

}  // namespace kiln::nn

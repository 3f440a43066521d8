// Dense, Activation, Dropout, Embedding, Flatten.
#include "frontend/call/invoke.h"
#include "frontend/gluon/nn/nn_layer.h"
#include "runtime/fail.h"

namespace kiln::nn {

using detail::layer_config;
using detail::word;

Tensor Layer::apply_op(std::initializer_list<Tensor> inputs) const {
  const Tensor* pointers[8];
  std::size_t n = 0;
  for (const Tensor& t : inputs) pointers[n++] = &t;
  return invoke_one({.op = *config_->op,
                     .inputs = {pointers, n},
                     .given = config_->attrs.items(),
                     .where = std::source_location::current(),
                     .name = "fwd"});
}

Activation::Activation(const std::string& act_type, const BlockOptions& options, Where where) try
    : Layer(options, act_type, layer_config("Activation", {{"act_type", word(act_type)}})),
      act_type_(act_type) {
  config_->op->complete(config_->attrs);  // rejects an unknown activation here, not at the first call
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string Activation::str() const { return "Activation(" + act_type_ + ")"; }
Tensor Activation::hybrid_forward(F&, const Tensor& x) { return apply_op({x}); }

Dense::Dense(std::int64_t units, const DenseOptions& o, Where where) try
    : Layer({.prefix = o.prefix, .params = o.params}, "dense",
            layer_config("FullyConnected",
                         {{"no_bias", !o.use_bias}, {"num_hidden", units}, {"flatten", o.flatten}})) {
  if (units <= 0) fail("Dense needs a positive number of units, not {}", units);
  auto scope = name_scope();
  weight = params().get("weight", {units, o.in_units},
                        {.dtype = o.dtype, .init = o.weight_initializer, .dtype_by_name = true});
  if (o.use_bias)
    bias =
        params().get("bias", {units}, {.dtype = o.dtype, .init = o.bias_initializer, .dtype_by_name = true});
  if (!o.activation.empty()) {
    act_ = std::make_shared<Activation>(o.activation, BlockOptions{.prefix = o.activation + "_"}, where);
    register_child(act_, "act");
  }
} catch (const Error&) {
  rethrow_at_line(where);
}

std::string Dense::str() const {
  const Shape shape = weight.shape();
  return fmt::format("{}({} -> {}, {})", class_name(), shape[1] ? std::to_string(shape[1]) : "None", shape[0],
                     act_ ? act_->str() : "linear");
}

Tensor Dense::hybrid_forward(F&, const Tensor& x) {
  // Two statements: GCC 12 destroys a list of temporaries wrongly when making one throws inside of ?:.
  Tensor y;
  if (bias.defined())
    y = apply_op({x, weight, bias});
  else
    y = apply_op({x, weight});
  return act_ ? (*act_)(y) : y;
}

Flatten::Flatten(const BlockOptions& options) : Layer(options, "flatten", layer_config("Flatten", {})) {}
std::string Flatten::str() const { return "Flatten"; }
Tensor Flatten::hybrid_forward(F& F, const Tensor& x) { return F.flatten(x); }

Dropout::Dropout(double rate, const DropoutOptions& o, Where where) try
    : Layer({.prefix = o.prefix}, "dropout",
            layer_config("Dropout", {{"p", rate}, {"axes", o.axes}, {"cudnn_off", false}})),
      rate_(rate),
      axes_(o.axes) {
  if (!(rate >= 0 && rate < 1)) fail("Dropout needs a rate of at least 0 and less than 1, not {}", rate);
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string Dropout::str() const {
  return fmt::format("Dropout(p = {}, axes={})", ir::python_float(rate_), axes_.str());
}
Tensor Dropout::hybrid_forward(F& F, const Tensor& x) { return rate_ > 0 ? apply_op({x}) : F.identity(x); }

Embedding::Embedding(std::int64_t input_dim, std::int64_t output_dim, const EmbeddingOptions& o,
                     Where where) try
    : Layer({.prefix = o.prefix, .params = o.params}, "embedding",
            layer_config("Embedding", {{"input_dim", input_dim},
                                       {"output_dim", output_dim},
                                       {"dtype", word(name_of(o.dtype))},
                                       {"sparse_grad", o.sparse_grad}})),
      input_dim_(input_dim),
      output_dim_(output_dim) {
  weight = params().get("weight", {input_dim, output_dim},
                        {.dtype = o.dtype, .init = o.weight_initializer, .dtype_by_name = true});
} catch (const Error&) {
  rethrow_at_line(where);
}
std::string Embedding::str() const {
  return fmt::format("{}({} -> {}, {})", class_name(), input_dim_, output_dim_, name_of(weight.dtype()));
}
Tensor Embedding::hybrid_forward(F&, const Tensor& x) { return apply_op({x, weight}); }

}  // namespace kiln::nn

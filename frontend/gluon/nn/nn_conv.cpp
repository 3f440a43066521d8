// Convolutions and poolings.
#include "frontend/gluon/nn/nn_layer.h"
#include "runtime/fail.h"

namespace kiln::nn {

using detail::layer_config;
using detail::word;

Shape Extents::of_rank(int rank, const char* what) const {
  if (all_) return Shape::filled(rank, *all_);
  if (each_.rank() != rank) fail("{} must be one number or {}, not {}", what, rank, each_.str());
  return each_;
}

namespace {

const char* layout_of(int rank) { return rank == 1 ? "NCW" : rank == 2 ? "NCHW" : "NCDHW"; }

bool all_are(const Shape& shape, std::int64_t value) {
  for (const std::int64_t d : shape)
    if (d != value) return false;
  return true;
}

std::shared_ptr<const detail::LayerConfig> conv_config(int rank, std::int64_t channels, const ConvOptions& o,
                                                       bool transposed) {
  ir::Attrs attrs{{"kernel", o.kernel_size.of_rank(rank, "kernel_size")},
                  {"stride", o.strides.of_rank(rank, "strides")},
                  {"dilate", o.dilation.of_rank(rank, "dilation")},
                  {"pad", o.padding.of_rank(rank, "padding")},
                  {"num_filter", channels},
                  {"num_group", o.groups},
                  {"no_bias", !o.use_bias},
                  {"layout", word(layout_of(rank))}};
  const Shape more = o.output_padding.of_rank(rank, "output_padding");
  if (transposed)
    attrs.set("adj", more);
  else if (!all_are(more, 0))
    fail("output_padding is for transposed convolutions, here it is {}", more.str());
  return layer_config(transposed ? "Deconvolution" : "Convolution", attrs);
}

std::shared_ptr<const detail::LayerConfig> pool_config(int rank, const char* type, bool global,
                                                       const PoolOptions& o) {
  ir::Attrs attrs{{"kernel", o.pool_size.of_rank(rank, "pool_size")},
                  {"stride", o.strides.value_or(o.pool_size).of_rank(rank, "strides")},
                  {"pad", o.padding.of_rank(rank, "padding")},
                  {"global_pool", global},
                  {"pool_type", word(type)},
                  {"layout", word(layout_of(rank))},
                  {"pooling_convention", word(o.ceil_mode ? "full" : "valid")}};
  if (std::string_view(type) == "avg" && !global) attrs.set("count_include_pad", o.count_include_pad);
  return layer_config("Pooling", attrs);
}

}  // namespace

Conv::Conv(int rank, std::int64_t channels, const ConvOptions& o, bool transposed, Where where) try
    : Layer({.prefix = o.prefix, .params = o.params}, "conv", conv_config(rank, channels, o, transposed)),
      kernel_(o.kernel_size.of_rank(rank, "kernel_size")),
      stride_(o.strides.of_rank(rank, "strides")),
      pad_(o.padding.of_rank(rank, "padding")),
      dilate_(o.dilation.of_rank(rank, "dilation")),
      groups_(o.groups) {
  if (channels <= 0) fail("A convolution needs a positive number of channels, not {}", channels);
  if (groups_ <= 0 || channels % groups_ != 0 || o.in_channels % groups_ != 0)
    fail("{} groups do not divide {} channels and {} in_channels", groups_, channels, o.in_channels);
  auto scope = name_scope();
  Shape shape =
      transposed ? Shape{o.in_channels, channels / groups_} : Shape{channels, o.in_channels / groups_};
  for (const std::int64_t k : kernel_) shape.push_back(k);
  weight = params().get("weight", shape, {.init = o.weight_initializer});
  if (o.use_bias) bias = params().get("bias", {channels}, {.init = o.bias_initializer});
  if (!o.activation.empty()) {
    act_ = std::make_shared<Activation>(o.activation, BlockOptions{.prefix = o.activation + "_"}, where);
    register_child(act_, "act");
  }
} catch (const Error&) {
  rethrow_at_line(where);
}

std::string Conv::str() const {
  const Shape shape = weight.shape();
  std::string out =
      fmt::format("{}({} -> {}, kernel_size={}, stride={}", class_name(),
                  shape[1] ? std::to_string(shape[1]) : "None", shape[0], kernel_.str(), stride_.str());
  if (!all_are(pad_, 0)) out += ", padding=" + pad_.str();
  if (!all_are(dilate_, 1)) out += ", dilation=" + dilate_.str();
  if (groups_ != 1) out += ", groups=" + std::to_string(groups_);
  if (!bias.defined()) out += ", bias=False";
  if (act_) out += ", " + act_->str();
  return out + ")";
}

Tensor Conv::hybrid_forward(F&, const Tensor& x) {
  // Two statements: GCC 12 destroys a list of temporaries wrongly when making one throws inside of ?:.
  Tensor y;
  if (bias.defined())
    y = apply_op({x, weight, bias});
  else
    y = apply_op({x, weight});
  return act_ ? (*act_)(y) : y;
}

Pool::Pool(int rank, const char* type, bool global, const PoolOptions& o, Where where) try
    : Layer({.prefix = o.prefix}, "pool", pool_config(rank, type, global, o)),
      size_(o.pool_size.of_rank(rank, "pool_size")),
      stride_(o.strides.value_or(o.pool_size).of_rank(rank, "strides")),
      pad_(o.padding.of_rank(rank, "padding")),
      ceil_(o.ceil_mode),
      global_(global),
      type_(type) {
} catch (const Error&) {
  rethrow_at_line(where);
}

std::string Pool::str() const {
  const auto python = [](bool b) { return b ? "True" : "False"; };
  return fmt::format(
      "{}(size={}, stride={}, padding={}, ceil_mode={}, global_pool={}, pool_type={}, layout={})",
      class_name(), size_.str(), stride_.str(), pad_.str(), python(ceil_), python(global_), type_,
      layout_of(size_.rank()));
}

Tensor Pool::hybrid_forward(F&, const Tensor& x) { return apply_op({x}); }

// The first virtual function that is not inline: their tables of virtual functions, with the type, are here.
// A program that is compiled with -fno-rtti makes none then.
std::string Layer::class_name() const { return Block::class_name(); }
std::string Conv1D::class_name() const { return Block::class_name(); }
std::string Conv2D::class_name() const { return Block::class_name(); }
std::string Conv3D::class_name() const { return Block::class_name(); }
std::string Conv1DTranspose::class_name() const { return Block::class_name(); }
std::string Conv2DTranspose::class_name() const { return Block::class_name(); }
std::string Conv3DTranspose::class_name() const { return Block::class_name(); }
std::string MaxPool1D::class_name() const { return Block::class_name(); }
std::string MaxPool2D::class_name() const { return Block::class_name(); }
std::string MaxPool3D::class_name() const { return Block::class_name(); }
std::string AvgPool1D::class_name() const { return Block::class_name(); }
std::string AvgPool2D::class_name() const { return Block::class_name(); }
std::string AvgPool3D::class_name() const { return Block::class_name(); }
std::string GlobalMaxPool1D::class_name() const { return Block::class_name(); }
std::string GlobalMaxPool2D::class_name() const { return Block::class_name(); }
std::string GlobalMaxPool3D::class_name() const { return Block::class_name(); }
std::string GlobalAvgPool1D::class_name() const { return Block::class_name(); }
std::string GlobalAvgPool2D::class_name() const { return Block::class_name(); }
std::string GlobalAvgPool3D::class_name() const { return Block::class_name(); }

}  // namespace kiln::nn

// Image networks of inverted residual blocks with squeeze and excitation, batch 1: torchvision's
// EfficientNet-B0 and MobileNetV3.
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

using nn::HybridSequential;

enum class Act { none, relu, swish, hard_swish };

Tensor hard_gate(F& F, const Tensor& x) { return F.hard_sigmoid(x, {.alpha = 1.0 / 6, .beta = 0.5}); }

Tensor activate(F& F, const Tensor& x, Act act) {
  switch (act) {
    case Act::relu:
      return F.relu(x);
    case Act::swish:
      return x * F.sigmoid(x);
    case Act::hard_swish:
      return x * hard_gate(F, x);
    case Act::none:
      break;
  }
  return x;
}

/// Convolution, BatchNorm, activation.
void add_unit(HybridSequential& net, std::int64_t in, std::int64_t out, int kernel, int stride, Act act,
              std::int64_t groups = 1) {
  net.add(nn::Conv2D(out, {.kernel_size = kernel,
                           .strides = stride,
                           .padding = kernel / 2,
                           .groups = groups,
                           .use_bias = false,
                           .in_channels = in}),
          nn::BatchNorm({.in_channels = out}));
  if (act != Act::none) net.add(HybridLambda([act](F& F, const Tensor& x) { return activate(F, x, act); }));
}

/// Hu et al., "Squeeze-and-excitation networks" (2017): scales each channel by a function of the means of
/// all.
class Excitation : public HybridBlock {
 public:
  Excitation(std::int64_t channels, std::int64_t squeezed, Act act, bool hard) : act_(act), hard_(hard) {
    const auto scope = name_scope();
    down = nn::Conv2D(squeezed, {.in_channels = channels});
    up = nn::Conv2D(channels, {.in_channels = squeezed});
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor mean = F.mean(x, {.axis = {2, 3}, .keepdims = true});
    const Tensor gate = up(activate(F, down(mean), act_));
    return F.broadcast_mul(x, hard_ ? hard_gate(F, gate) : F.sigmoid(gate));
  }

 private:
  Child<nn::Conv2D> down{this, "down"}, up{this, "up"};
  Act act_;
  bool hard_;
};

struct Residual {
  int kernel;
  std::int64_t expanded, out, squeezed;  ///< squeezed: 0 for no excitation
  int stride;
  Act act;
  Act act_in_excitation;
  bool hard_gate;
};

class InvertedResidual : public HybridBlock {
 public:
  InvertedResidual(std::int64_t in, const Residual& r) : residual_(r.stride == 1 && in == r.out) {
    const auto scope = name_scope();
    HybridSequential parts;
    if (r.expanded != in) add_unit(parts, in, r.expanded, 1, 1, r.act);
    add_unit(parts, r.expanded, r.expanded, r.kernel, r.stride, r.act, r.expanded);
    if (r.squeezed > 0) parts.add(Excitation(r.expanded, r.squeezed, r.act_in_excitation, r.hard_gate));
    add_unit(parts, r.expanded, r.out, 1, 1, Act::none);
    body = parts;
  }

 protected:
  Tensor hybrid_forward(F&, const Tensor& x) override { return residual_ ? x + body(x) : body(x); }

 private:
  bool residual_;
  Child<HybridSequential> body{this, "body"};
};

/// Tan and Le, "EfficientNet" (2019), B0.
std::shared_ptr<HybridBlock> efficientnet_b0() {
  struct Stage {
    int factor, kernel, stride;
    std::int64_t out;
    int blocks;
  };
  auto net = std::make_shared<HybridSequential>();
  const auto scope = net->name_scope();
  add_unit(*net, 3, 32, 3, 2, Act::swish);
  std::int64_t in = 32;
  for (const auto& [factor, kernel, stride, out, blocks] :
       {Stage{1, 3, 1, 16, 1}, Stage{6, 3, 2, 24, 2}, Stage{6, 5, 2, 40, 2}, Stage{6, 3, 2, 80, 3},
        Stage{6, 5, 1, 112, 3}, Stage{6, 5, 2, 192, 4}, Stage{6, 3, 1, 320, 1}})
    for (int i = 0; i < blocks; ++i) {
      const Residual r{kernel, in * factor, out, in / 4, i == 0 ? stride : 1, Act::swish, Act::swish, false};
      net->add(InvertedResidual(in, r));
      in = out;
    }
  add_unit(*net, in, 1280, 1, 1, Act::swish);
  net->add(nn::GlobalAvgPool2D(), nn::Flatten(), nn::Dropout(0.2), nn::Dense(1000, {.in_units = 1280}));
  return net;
}

/// Howard et al., "Searching for MobileNetV3" (2019), large.
std::shared_ptr<HybridBlock> mobilenet_v3() {
  struct Row {
    int kernel;
    std::int64_t expanded, out, squeezed;
    bool hard;  ///< hard swish, else relu
    int stride;
  };
  auto net = std::make_shared<HybridSequential>();
  const auto scope = net->name_scope();
  add_unit(*net, 3, 16, 3, 2, Act::hard_swish);
  std::int64_t in = 16;
  for (const auto& [kernel, expanded, out, squeezed, hard, stride] :
       {Row{3, 16, 16, 0, false, 1}, Row{3, 64, 24, 0, false, 2}, Row{3, 72, 24, 0, false, 1},
        Row{5, 72, 40, 24, false, 2}, Row{5, 120, 40, 32, false, 1}, Row{5, 120, 40, 32, false, 1},
        Row{3, 240, 80, 0, true, 2}, Row{3, 200, 80, 0, true, 1}, Row{3, 184, 80, 0, true, 1},
        Row{3, 184, 80, 0, true, 1}, Row{3, 480, 112, 120, true, 1}, Row{3, 672, 112, 168, true, 1},
        Row{5, 672, 160, 168, true, 2}, Row{5, 960, 160, 240, true, 1}, Row{5, 960, 160, 240, true, 1}}) {
    const Act act = hard ? Act::hard_swish : Act::relu;
    net->add(InvertedResidual(in, {kernel, expanded, out, squeezed, stride, act, Act::relu, true}));
    in = out;
  }
  add_unit(*net, in, 960, 1, 1, Act::hard_swish);
  net->add(nn::GlobalAvgPool2D(), nn::Flatten(), nn::Dense(1280, {.in_units = 960}),
           HybridLambda([](F& F, const Tensor& x) { return activate(F, x, Act::hard_swish); }),
           nn::Dropout(0.2), nn::Dense(1000, {.in_units = 1280}));
  return net;
}

}  // namespace

void add_mobile() {
  const auto image = [] { return randn({1, 3, 224, 224}); };
  add("efficientnet_b0", [=] { return Workload{efficientnet_b0(), {image()}}; }, {1, 2});
  add("mobilenet_v3", [=] { return Workload{mobilenet_v3(), {image()}}; }, {1, 2});
}

}  // namespace bench

// Networks whose results are images: U-Net, and DCGAN's generator.
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

using nn::HybridSequential;

/// Twice a 3x3 convolution, BatchNorm and relu.
HybridSequential two_convolutions(std::int64_t in, std::int64_t out) {
  HybridSequential net;
  for (const std::int64_t channels : {in, out})
    net.add(nn::Conv2D(out, {.kernel_size = 3, .padding = 1, .use_bias = false, .in_channels = channels}),
            nn::BatchNorm({.in_channels = out}), nn::Activation("relu"));
  return net;
}

/// A level of U-Net: halves the map, applies a smaller level, doubles its result and joins it to the map.
class Level : public HybridBlock {
 public:
  Level(std::int64_t in, std::int64_t channels, std::int64_t deepest) : inner_(channels < deepest) {
    const auto scope = name_scope();
    before = two_convolutions(in, channels);
    if (!inner_) return;
    halve = nn::MaxPool2D(2);
    smaller = Level(channels, 2 * channels, deepest);
    twice = nn::Conv2DTranspose(channels, {.kernel_size = 2, .strides = 2, .in_channels = 2 * channels});
    after = two_convolutions(2 * channels, channels);
  }

 protected:
  Tensor hybrid_forward(F& F, const Tensor& x) override {
    const Tensor map = before(x);
    return inner_ ? after(F.concat({map, twice(smaller(halve(map)))}, 1)) : map;
  }

 private:
  bool inner_;
  Child<HybridSequential> before{this, "before"}, after{this, "after"};
  Child<nn::MaxPool2D> halve{this, "halve"};
  Child<HybridBlock> smaller{this, "smaller"};
  Child<nn::Conv2DTranspose> twice{this, "twice"};
};

/// Ronneberger et al., "U-Net" (2015), with padding and BatchNorm: (batch, 3, side, side) -> (batch, 2, side,
/// side).
std::shared_ptr<HybridBlock> unet() {
  auto net = std::make_shared<HybridSequential>();
  const auto scope = net->name_scope();
  net->add(Level(3, 64, 1024), nn::Conv2D(2, {.in_channels = 64}));
  return net;
}

/// Radford et al., "Unsupervised representation learning with DCGANs" (2015): noise (batch, 100, 1, 1) ->
/// images (batch, 3, 64, 64).
std::shared_ptr<HybridBlock> generator() {
  auto net = std::make_shared<HybridSequential>();
  const auto scope = net->name_scope();
  std::int64_t in = 100;
  for (const std::int64_t out : {512, 256, 128, 64}) {
    const bool first = in == 100;
    net->add(nn::Conv2DTranspose(out, {.kernel_size = 4,
                                       .strides = first ? 1 : 2,
                                       .padding = first ? 0 : 1,
                                       .use_bias = false,
                                       .in_channels = in}),
             nn::BatchNorm({.in_channels = out}), nn::Activation("relu"));
    in = out;
  }
  net->add(nn::Conv2DTranspose(
               3, {.kernel_size = 4, .strides = 2, .padding = 1, .use_bias = false, .in_channels = in}),
           nn::Activation("tanh"));
  return net;
}

}  // namespace

void add_images() {
  add("unet_224", [] { return Workload{unet(), {randn({1, 3, 224, 224})}}; }, {1, 2});
  for (const std::int64_t batch : {1, 16})
    add("dcgan_generator_b" + std::to_string(batch),
        [=] {
          return Workload{generator(), {randn({batch, 100, 1, 1})}};
        },
        {1, 2});
}

}  // namespace bench

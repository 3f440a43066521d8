// Normalizations of images by statistics of the images themselves.
#include "bench/kinds.h"

using namespace kiln;

namespace bench {
namespace {

Kind batch_norm() {
  return {"batch_norm_training", draw_images, [](const Sizes& sizes) {
            auto norm = std::make_shared<nn::BatchNorm>();
            norm->initialize();
            const Tensor x = randn(shape_of(sizes));
            return Workload{norm, {x}, false, [norm, x] {
                              const autograd::TrainMode scope;
                              return (*norm)(x);
                            }};
          }};
}

Kind instance_norm() {
  return {"instance_norm", draw_images, [](const Sizes& sizes) {
            const Shape shape = shape_of(sizes);
            return function([](F& f, const Tensors& in) { return f.InstanceNorm(in[0], in[1], in[2]); },
                            {randn(shape), randn({shape[1]}), randn({shape[1]})});
          }};
}

Kind group_norm() {
  const auto draw = [](Draw& d) -> Sizes {
    const std::int64_t groups = d.one_of({1, 4, 8, 32}), side = d.extent(7, 112);
    const std::int64_t in_group =
        d.extent(1, std::clamp<std::int64_t>((1 << 21) / (side * side * groups), 1, 16));
    const std::int64_t channels = groups * in_group;
    return {{"shape", {d.count(channels * side * side, 1 << 21), channels, side, side}}, {"groups", groups}};
  };
  return {
      "group_norm", draw, [](const Sizes& sizes) {
        const std::int64_t groups = sizes.at("groups");
        return function(
            [=](F& f, const Tensors& in) { return f.GroupNorm(in[0], in[1], in[2], {.num_groups = groups}); },
            {randn(shape_of(sizes)), randn({groups}), randn({groups})});
      }};
}

}  // namespace

std::vector<Kind> normalization_kinds() { return {batch_norm(), instance_norm(), group_norm()}; }

}  // namespace bench

// Row-wise workloads: softmax, layer normalisation, bias with GELU, sums.
#include "bench/workload.h"

#include <cmath>

using namespace kiln;

namespace bench {
namespace {

Tensor bias_gelu(F& F, const Tensors& in) {
  const Tensor y = in[0] + in[1];
  return 0.5 * y * (F.erf(y * std::sqrt(0.5)) + 1.0);
}

}  // namespace

void add_rows() {
  add("softmax_1024x1024", [] {
    return function([](F& F, const Tensors& in) { return F.softmax(in[0], {.axis = -1}); },
                    {randn({1024, 1024})});
  });
  add("layernorm_1024x1024", [] {
    return Workload{std::make_shared<nn::LayerNorm>(nn::NormOptions{.in_channels = 1024}),
                    {randn({1024, 1024})}};
  });
  add("broadcast_bias_gelu_1024x4096", [] {
    return function(bias_gelu, {randn({1024, 4096}), randn({4096})});
  });
  for (const int axis : {0, 1})
    add("reduce_sum_ax" + std::to_string(axis) + "_4096x4096", [axis] {
      return function([axis](F& F, const Tensors& in) { return F.sum(in[0], {.axis = axis}); },
                      {randn({4096, 4096})});
    });
}

}  // namespace bench

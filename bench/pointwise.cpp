// Elementwise work: one multiply-add at five sizes, and chains of ten operators with and without
// transcendental ones.
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

Tensor chain10(F& F, const Tensors& in) {
  const Tensor &a = in[0], &b = in[1], &c = in[2];
  const Tensor t2 = a * b + c;
  const Tensor t7 = F.sigmoid(F.exp(F.tanh(t2) - a) / b);
  return F.maximum(t7, c) * t2 + 1.0;
}

Tensor chain10p(F& F, const Tensors& in) {
  const Tensor &a = in[0], &b = in[1], &c = in[2];
  const Tensor t2 = a * b + c;
  const Tensor t7 = ((t2 * t2 - a) * 0.5 + b) * c;
  return F.maximum(t7, a) * t2 + 1.0;
}

void add_muladd(const std::string& suffix, std::int64_t n) {
  add("muladd_" + suffix, [n] {
    return function([](F&, const Tensors& in) { return in[0] * in[1] + 1.0; }, {uniform({n}), uniform({n})});
  });
}

}  // namespace

void add_pointwise() {
  constexpr std::int64_t million = 1'000'000;
  add_muladd("10", 10);
  add_muladd("1e3", 1000);
  add_muladd("1e6", million);
  add_muladd("4e6", 4 * million);
  add_muladd("1e7", 10 * million);
  const auto three = [] { return Tensors{uniform({million}), uniform({million}), uniform({million})}; };
  add("chain10_1e6", [=] { return function(chain10, three()); });
  add("chain10p_1e6", [=] { return function(chain10p, three()); });
}

}  // namespace bench

// Gradients of a function as a block: the same bits from eager and hybridized runs, and derivatives.
#pragma once
#include "function_net.h"

#include <cmath>
#include <fmt/format.h>
#include <vector>

/// Gradients of a function as a block: the same bits from eager and hybridized runs, and derivatives.
namespace block_gradients {

using namespace kiln;

/// Numbers in (-1, 1); except for f64 some are -0.
inline Tensor values(const Shape& shape, DType dtype, unsigned seed) {
  std::vector<double> list;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const double x = std::sin(1. + 12.9898 * static_cast<double>(i) + 78.233 * seed) * 43758.5453;
    list.push_back(dtype != DType::f64 && i % 4 == 3 ? -0. : 2 * (x - std::floor(x)) - 1);
  }
  return Tensor(list, shape).astype(dtype);
}

using Results = struct F::contrib::Results;

/// The outputs of a loop, then its states.
inline Tensors all_of(const Results& r) {
  Tensors all = r.outputs;
  all.insert(all.end(), r.states.begin(), r.states.end());
  return all;
}

/// Copies with gradients, except of integers.
inline Tensors with_gradients(const Tensors& in) {
  Tensors own;
  for (const Tensor& t : in) {
    own.push_back(t.copy());
    if (is_floating(t.dtype())) own.back().attach_grad();
  }
  return own;
}

/// The gradients of the inputs, and of `captured` arrays, for heads of the given seeds.
inline Tensors gradients(const Net::Body& body, const Tensors& in, bool hybrid) {
  Net net(body);
  if (hybrid) net.hybridize();
  random::seed(11);
  const Tensors own = with_gradients(in);
  for (const Tensor& t : own)
    if (is_floating(t.dtype())) t.grad() += 7;  // stays where there is no path
  Tensors out, heads, kept;
  {
    const autograd::Record record;
    out = net(own);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!is_floating(out[i].dtype())) continue;
    kept.push_back(out[i]);
    heads.push_back(values(out[i].shape(), out[i].dtype(), 90 + static_cast<unsigned>(i)));
  }
  autograd::backward(kept, heads);
  Tensors grads;
  for (const Tensor& t : own)
    if (is_floating(t.dtype())) grads.push_back(t.grad().copy());
  return grads;
}

/// The eager gradients, after a check that all other runs give their bits.
inline Tensors same_gradients(const Net::Body& body, const Tensors& in) {
  const Tensors eager = gradients(body, in, false);
  for (const bool hybrid : {false, true})
    for (const int threads : {1, 2}) {
      const ThreadLimit limit(threads);
      const Tensors other = gradients(body, in, hybrid);
      REQUIRE(other.size() == eager.size());
      for (std::size_t i = 0; i < eager.size(); ++i) {
        CAPTURE(hybrid, threads, i);
        if (!same_bits(other[i], eager[i])) {
          CAPTURE(eager[i].to_vector<double>(), other[i].to_vector<double>());
          CHECK(same_bits(other[i], eager[i]));
        }
      }
    }
  return eager;
}

/// Compares with differences of the sum of the heads times the outputs. For f64.
inline void check_derivative(const Net::Body& body, const Tensors& in) {
  const Tensors grads = same_gradients(body, in);
  const auto value = [&](const Tensors& given) {
    Net net(body);
    random::seed(11);
    const autograd::Pause pause(true);
    const Tensors out = net(given);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto a = out[i].to_vector<double>(),
                 h = values(out[i].shape(), out[i].dtype(), 90 + static_cast<unsigned>(i))
                         .to_vector<double>();
      for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * h[k];
    }
    return sum;
  };
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::vector<double> at = in[i].to_vector<double>(), grad = grads[i].to_vector<double>();
    for (std::size_t k = 0; k < at.size(); k += 1 + at.size() / 7) {
      const double step = 1e-5;
      double around[2];
      for (const int side : {0, 1}) {
        Tensors moved;
        for (const Tensor& t : in) moved.push_back(t.copy());
        std::vector<double> list = at;
        list[k] += side ? step : -step;
        moved[i] = Tensor(list, in[i].shape());
        around[side] = value(moved);
      }
      CAPTURE(i, k);
      CHECK(grad[k] == Approx((around[1] - around[0]) / (2 * step)).epsilon(1e-5).margin(1e-6));
    }
  }
}

inline void check(const Net::Body& body, const std::vector<Shape>& shapes) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16}) {
    CAPTURE(name_of(dtype));
    Tensors in;
    for (const Shape& s : shapes) in.push_back(values(s, dtype, static_cast<unsigned>(in.size()) + 1));
    if (dtype == DType::f64)
      check_derivative(body, in);
    else
      same_gradients(body, in);
  }
}

}  // namespace block_gradients

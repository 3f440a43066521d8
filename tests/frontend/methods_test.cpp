// Every method of MXNet's arrays: a Tensor has it, with the bits of F's function, or there is another
// spelling.
#include "function_net.h"
#include "golden_files.h"
#include "numpy_mode.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace kiln;

namespace {

Tensors all(const Tensor& t) { return {t}; }
Tensors all(const Tensors& t) { return t; }

/// A method on a tensor, on x[...], and F's function.
struct Method {
  std::string name;
  std::function<Tensors(const Tensor&)> method, of_indexed, function;
};
#define METHOD_AS(NAME, FUNCTION, ...)                                                    \
  Method {                                                                                \
#NAME, [](const Tensor& x) { return all(x.NAME(__VA_ARGS__)); },                        \
        [](const Tensor& x) { return all(Tensor(x)[slice()].NAME(__VA_ARGS__)); },          \
        [](const Tensor& x) { return all(F::FUNCTION(x __VA_OPT__(, ) __VA_ARGS__)); } \
  }
#define METHOD(NAME, ...) METHOD_AS(NAME, NAME, __VA_ARGS__)

/// Of arrays (2, 4, 2, 2).
std::vector<Method> operator_methods() {
  return {METHOD(abs),
          METHOD(arccos),
          METHOD(arccosh),
          METHOD(arcsin),
          METHOD(arcsinh),
          METHOD(arctan),
          METHOD(arctanh),
          METHOD(argmax, 1),
          METHOD_AS(argmax_channel, argmax_channel),
          METHOD(argmin, {.axis = 2}),
          METHOD(argsort, 1),
          METHOD_AS(astype, cast, DType::f64),
          METHOD_AS(broadcast_axes, broadcast_axis, {.axis = {}, .size = {}}),
          METHOD(broadcast_like, ones({2, 4, 2, 2})),
          METHOD(broadcast_to, Shape{2, 4, 2, 2}),
          METHOD(cbrt),
          METHOD(ceil),
          METHOD(clip, 0.2, 0.6),
          METHOD_AS(copy, identity),
          METHOD(cos),
          METHOD(cosh),
          METHOD(degrees),
          METHOD(depth_to_space, 2),
          METHOD_AS(detach, BlockGrad),
          METHOD(diag, {.k = 0, .axis1 = 2, .axis2 = 3}),
          METHOD(exp),
          METHOD(expand_dims, 1),
          METHOD(expm1),
          METHOD(fix),
          METHOD(flatten),
          METHOD(flip, 1),
          METHOD(floor),
          METHOD(log),
          METHOD(log10),
          METHOD(log1p),
          METHOD(log2),
          METHOD(log_softmax, 1),
          METHOD(max, 1),
          METHOD(mean, {.axis = {0, 2}}),
          METHOD(min, 1),
          METHOD(nanprod, 1),
          METHOD(nansum, {.axis = 1, .keepdims = true}),
          METHOD(norm, {.axis = 1}),
          METHOD(one_hot, 3),
          METHOD(ones_like),
          METHOD(pad, {.mode = "constant", .pad_width = {0, 0, 0, 0, 1, 2, 0, 1}, .constant_value = 3}),
          METHOD(pick, ones({2, 2, 2}), 1),
          METHOD(prod, 1),
          METHOD(radians),
          METHOD(rcbrt),
          METHOD(reciprocal),
          METHOD(relu),
          METHOD(repeat, 2, 1),
          METHOD(reshape, Shape{-1, 8}),
          METHOD(reshape_like, ones({8, 4})),
          METHOD(rint),
          METHOD(round),
          METHOD(rsqrt),
          METHOD(shape_array),
          METHOD(sigmoid),
          METHOD(sign),
          METHOD(sin),
          METHOD(sinh),
          METHOD(size_array),
          METHOD(slice, {.begin = {0, 1}, .end = {2, 3}}),
          METHOD(slice_axis, 1, 1, 3),
          METHOD(slice_like, ones({1, 2, 2, 2}), {0, 1}),
          METHOD(softmax, 1),
          METHOD(softmin, {.axis = 1}),
          METHOD(sort, 1),
          METHOD(space_to_depth, 2),
          METHOD(split, 2, 1),
          METHOD(split_v2, {.indices = {0, 1}, .axis = 1}),
          METHOD(sqrt),
          METHOD(square),
          METHOD(squeeze),
          METHOD(sum, 1),
          METHOD(swapaxes, 1, 2),
          METHOD(take, Tensor{3, 0}, 1),
          METHOD(tan),
          METHOD(tanh),
          METHOD(tile, Shape{2}),
          METHOD(topk, {.axis = 1, .k = 2}),
          METHOD(transpose, {0, 2, 1, 3}),
          METHOD(trunc),
          METHOD(zeros_like)};
}

/// Names of MXNet without an operator: the member of Tensor, or the reason why there is none.
const std::map<std::string, std::string> others = {
    {"T", "x.T()"},
    {"as_in_context", "x.as_in_context(device)"},
    {"as_nd_ndarray", "both modes have one type"},
    {"as_np_ndarray", "both modes have one type"},
    {"asnumpy", "x.to_vector<T>()"},
    {"asscalar", "x.item<T>()"},
    {"attach_grad", "x.attach_grad()"},
    {"backward", "x.backward()"},
    {"context", "x.device()"},
    {"copyto", "y[slice()] = x"},
    {"ctx", "x.device()"},
    {"dtype", "x.dtype()"},
    {"grad", "x.grad()"},
    {"handle", "of MXNet's C API"},
    {"ndim", "x.ndim()"},
    {"shape", "x.shape()"},
    {"size", "x.size()"},
    {"slice_assign", "x({slice(0, 1)}) = y"},
    {"slice_assign_scalar", "x({slice(0, 1)}) = 2"},
    {"stype", "arrays are dense"},
    {"to_dlpack_for_read", "x.data()"},
    {"to_dlpack_for_write", "x.mutable_data()"},
    {"tostype", "arrays are dense"},
    {"wait_to_read", "x.wait_to_read()"},
    {"writable", "every array is"},
};

}  // namespace

TEST_CASE("the methods are MXNet's", "[tensor][methods]") {
  std::set<std::string> known;
  for (const Method& m : operator_methods()) known.insert(m.name);
  for (const auto& [name, how] : others) {
    INFO(name);
    CHECK(known.insert(name).second);
  }
  std::set<std::string> of_mxnet;
  std::ifstream file(golden::path("ndarray_methods.txt"));
  for (std::string name; std::getline(file, name);) of_mxnet.insert(name);
  CHECK(of_mxnet.size() == 111);
  CHECK(known == of_mxnet);
}

TEST_CASE("a method is F's function, eagerly and compiled", "[tensor][methods]") {
  random::seed(5);
  const Tensor x = random::uniform(0.05, 0.95, {2, 4, 2, 2});
  for (const Method& m : operator_methods()) {
    INFO(m.name);
    const Net::Body body = [&](F&, const Tensors& in) {
      Tensors out = m.method(in[0]);
      for (const auto& other : {m.of_indexed, m.function})
        for (const Tensor& t : other(in[0])) out.push_back(t);
      return out;
    };
    const Tensors r = everywhere(body, {x});
    const std::size_t n = r.size() / 3;
    REQUIRE(r.size() == 3 * n);
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(same_bits(r[n + i], r[i]));
      CHECK(same_bits(r[2 * n + i], r[i]));
    }
  }
}

TEST_CASE("methods in numpy mode are numpy's", "[tensor][methods]") {
  const NumpyMode mode;
  const Tensor x = arange(6).reshape({2, 3});
  CHECK(x.take(Tensor{1, 4}).to_vector<int>() == std::vector<int>{1, 4});
  CHECK(x.take(Tensor{2, 0}, 1).to_vector<int>() == std::vector<int>{2, 0, 5, 3});
  CHECK(x.take(Tensor{7}, {.mode = "clip"}).to_vector<int>() == std::vector<int>{5});
  CHECK_THROWS_WITH(x.take(Tensor{7}).to_vector<int>(), Catch::Contains("out of range"));
  CHECK(x.repeat(2).shape() == Shape{12});
  CHECK(x.repeat(2, 1).shape() == Shape{2, 6});
  CHECK(same_bits(x.sin(), np::sin(x)));
}

TEST_CASE("functions of one array are methods, though MXNet has none", "[tensor][methods]") {
  const Tensor x{-0.5, 0, 0.25, 2};
  CHECK(same_bits(x.erf(), F::erf(x)));
  CHECK(same_bits(x.erfinv(), F::erfinv(x)));
  CHECK(same_bits(x.gamma(), F::gamma(x)));
  CHECK(same_bits(x.gammaln(), F::gammaln(x)));
  CHECK(same_bits(x.softsign(), F::softsign(x)));
  CHECK(same_bits(x.negative(), F::negative(x)));
  CHECK(same_bits(x.logical_not(), F::logical_not(x)));
  CHECK(same_bits(x[slice(1)].identity(), x[slice(1)]));
  Tensor y = x.copy();
  y.attach_grad();
  autograd::record([&] { return y * y.stop_gradient(); }).backward();
  CHECK(same_bits(y.grad(), x));
}

// Graphs of 20,000 nodes, compiled on a thread with a small stack: time and stack depth of no pass grow
// faster than the graph. A pass that is quadratic runs into ctest's limit, a recursion along the graph off
// the stack.
#include "function_net.h"

#include <pthread.h>

using namespace kiln;

namespace {

constexpr int nodes = 20000;
constexpr std::size_t stack_bytes = std::size_t{256} << 10;

void on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
  pthread_t thread{};
  const auto run = [](void* f) -> void* {
    (*static_cast<std::function<void()>*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

Tensors compiled(const Net::Body& body, const Tensors& in) {
  Tensors results;
  on_small_stack([&] {
    Net net(body);
    net.hybridize();
    results = net(in);
  });
  return results;
}

/// Whether a compiled call gives the bits of an eager one.
bool compiles_to_the_same(const Net::Body& body, const Tensors& in) {
  const Tensors results = compiled(body, in), eager = Net(body)(in);
  bool same = results.size() == eager.size();
  for (std::size_t i = 0; same && i < eager.size(); ++i) same = same_bits(results[i], eager[i]);
  return same;
}

Tensor drawn(const Shape& shape) { return random::uniform(-1, 1, shape); }

/// `step(x, i)` for as many nodes, where a step has `of_step`.
template <class Step>
Net::Body chain(int of_step, Step step) {
  return [=](F& f, const Tensors& in) {
    Tensor x = in[0];
    for (int i = 0; i < nodes / of_step; ++i) x = step(f, x, in, i);
    return Tensors{x};
  };
}

}  // namespace

TEST_CASE("large graphs: chains of pointwise operations", "[large]") {
  CHECK(compiles_to_the_same(
      chain(1, [](F& f, const Tensor& x, const Tensors&, int i) { return i % 2 ? f.tanh(x) : x * 1.5; }),
      {drawn({4, 4})}));
}

TEST_CASE("large graphs: chains of views", "[large]") {
  CHECK(compiles_to_the_same(
      chain(1, [](F& f, const Tensor& x, const Tensors&, int i) { return f.flip(x, {i % 2}); }),
      {drawn({4, 6})}));
  CHECK(compiles_to_the_same(
      chain(1,
            [](F& f, const Tensor& x, const Tensors&, int i) {
              if (i % 3 == 0) return f.transpose(x);
              return i % 3 == 1 ? f.reshape(x, i % 2 ? Shape{4, 6} : Shape{8, 3}) : f.flip(x, {0});
            }),
      {drawn({4, 6})}));
  // Each slice has another shape: one row less.
  const Tensors slices =
      compiled(chain(1, [](F& f, const Tensor& x, const Tensors&,
                           int) { return f.slice_axis(x, {.axis = 0, .begin = 1, .end = {}}); }),
               {arange(nodes + 2)});
  CHECK(slices.at(0).to_vector<float>() == std::vector<float>{nodes, nodes + 1});
}

TEST_CASE("large graphs: views that are used on their way", "[large]") {
  CHECK(compiles_to_the_same(
      [](F& f, const Tensors& in) {
        Tensor x = in[0], sum = in[0];
        for (int i = 0; i < nodes / 2; ++i) {
          x = f.flip(x, {i % 2});
          sum = sum + x;
        }
        return Tensors{sum};
      },
      {drawn({4, 6})}));
}

TEST_CASE("large graphs: reductions, transposes and residuals", "[large]") {
  CHECK(compiles_to_the_same(
      chain(2, [](F& f, const Tensor& x, const Tensors&, int) { return f.transpose(f.softmax(x)); }),
      {drawn({8, 8})}));
  CHECK(compiles_to_the_same(
      chain(2, [](F& f, const Tensor& x, const Tensors&, int) { return x + f.softmax(x); }),
      {drawn({8, 8})}));
  CHECK(compiles_to_the_same(chain(2, [](F& f, const Tensor& x, const Tensors& in,
                                         int) { return x + f.LayerNorm(x, in[1], in[2]); }),
                             {drawn({4, 16}), drawn({16}), drawn({16})}));
}

TEST_CASE("large graphs: contractions", "[large]") {
  CHECK(compiles_to_the_same(
      chain(1,
            [](F& f, const Tensor& x, const Tensors& in, int i) {
              const auto layer = static_cast<std::size_t>(i % 3);
              return f.FullyConnected(x, in[1 + layer], in[4 + layer], {.num_hidden = 8});
            }),
      {drawn({4, 8}), drawn({8, 8}), drawn({8, 8}), drawn({8, 8}), drawn({8}), drawn({8}), drawn({8})}));
  // Pairs that are merged; each makes the operand of the next one.
  CHECK(compiles_to_the_same(
      chain(7,
            [](F& f, const Tensor& x, const Tensors& in, int) {
              const Tensor top = f.slice_axis(x, {.axis = 0, .begin = 0, .end = 2}),
                           rest = f.slice_axis(x, {.axis = 0, .begin = 2, .end = 4});
              return f.concat({f.tanh(f.dot(top, in[1])), f.tanh(f.dot(rest, in[1]))}, {.dim = 0});
            }),
      {drawn({4, 8}), drawn({8, 8})}));
}

TEST_CASE("large graphs: a value with very many users", "[large]") {
  CHECK(compiles_to_the_same(
      [](F& f, const Tensors& in) {
        const Tensor y = f.dot(in[0], in[0]);
        Tensor sum = in[0];
        for (int i = 0; i < nodes / 4; ++i) sum = f.softmax(sum + f.tanh(y * sum));
        return Tensors{sum};
      },
      {drawn({4, 4})}));
}

TEST_CASE("large graphs: an operation with very many operands", "[large]") {
  CHECK(compiles_to_the_same(
      [](F& f, const Tensors& in) {
        Tensors parts;
        Tensor x = in[0];
        for (int i = 0; i < nodes / 2; ++i) {
          x = f.softmax(x);
          parts.push_back(x);
        }
        return Tensors{f.concat(parts, {.dim = 0}), f.add_n(parts)};
      },
      {drawn({2, 4})}));
}

TEST_CASE("large graphs: loops", "[large]") {
  CHECK(compiles_to_the_same(chain(8,
                                   [](F& f, const Tensor& x, const Tensors& in, int) {
                                     const auto body = [&](const Tensors&, const Tensors& states) {
                                       return F::contrib::Results{{}, {f.tanh(states[0]) + in[0]}};
                                     };
                                     return F::contrib::foreach (body, {in[1]}, {x}).states[0];
                                   }),
                             {drawn({4, 6}), drawn({3, 2})}));
}

TEST_CASE("large graphs: symbols", "[large]") {
  on_small_stack([] {
    Symbol x = sym::var("x");
    for (int i = 0; i < nodes; ++i) x = i % 2 ? F::tanh(x) : F::transpose(x);
    const Symbol read = Symbol::load_json(x.tojson());
    CHECK(read.list_arguments() == std::vector<std::string>{"x"});
    CHECK(read.infer_shape({{"x", {2, 3}}}).outputs.at(0) == Shape{2, 3});
  });
}

TEST_CASE("a chain of views is cut after 32, a strip after 64 kernels", "[large]") {
  const auto flips = [](int count) {
    return [=](F& f, const Tensors& in) {
      Tensor x = in[0];
      for (int i = 0; i < count; ++i) x = f.flip(x, {i % 2});
      return Tensors{x};
    };
  };
  CHECK(kernels_of(flips(32), {drawn({4, 6})}).size() == 1);
  CHECK(kernels_of(flips(33), {drawn({4, 6})}).size() == 2);
  const auto maxima = [](F& f, const Tensors& in) {
    Tensor x = in[0];
    for (int i = 0; i < 80; ++i) x = f.broadcast_sub(x, f.max(x, {.axis = 1, .keepdims = true}));
    return Tensors{x};
  };
  const std::size_t kernels = kernels_of(maxima, {drawn({301, 257})}).size();
  CHECK(kernels == 2);
}

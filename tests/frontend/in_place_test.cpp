// Calls that write their inputs: where the plan computes the new contents, and that the bits equal eager
// runs'.
#include "function_net.h"
#include "temporary_folder.h"

#include <fstream>
#include <regex>
#include <sstream>

using namespace kiln;
using Floats = std::vector<float>;

namespace {

/// An array of small positive integers.
Tensor values(const Shape& shape, DType dtype = DType::f32, int seed = 0) {
  const std::int64_t count = shape.elements();
  if (count == 0) return zeros(shape);
  return ((arange(static_cast<double>(count)) * 7 + seed * 5) % 23 + 1).reshape(shape).astype(dtype);
}

Tensors copies_of(const Tensors& in) {
  Tensors out;
  for (const Tensor& t : in) out.push_back(t.copy());
  return out;
}

/// How a plan writes its inputs.
struct Writes {
  int in_place = 0;
  std::int64_t copied_bytes = 0;
  bool operator==(const Writes&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Writes& w) {
  return out << w.in_place << " in place, " << w.copied_bytes << " bytes copied";
}

/// Checks that compiled calls give the results of eager ones and leave the same inputs. Returns how the plan
/// of the compiled call writes the inputs.
Writes writes_of(const Net::Body& body, const Tensors& in) {
  Net net(body);
  const auto run = [&] {
    const Tensors own = copies_of(in);
    Tensors out = copies_of(net(own));
    out.insert(out.end(), own.begin(), own.end());
    return out;
  };
  const Tensors eager = run();
  const TemporaryFolder folder;
  net.hybridize({.dump_dir = folder.path.string()});
  for (const int threads : {1, 2}) {
    const ThreadLimit limit(threads);
    const Tensors compiled = run();
    REQUIRE(compiled.size() == eager.size());
    for (std::size_t i = 0; i < eager.size(); ++i) {
      CAPTURE(i);
      CHECK(same_bits(compiled[i], eager[i]));
    }
  }
  CHECK(net.compiled_calls().at(0).compiled);
  Writes writes;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path)) {
    if (file.path().filename().string().find("plan") == std::string::npos) continue;
    std::ifstream text(file.path());
    const std::regex copied("write (\\d+) bytes of .* to input \\d+");
    for (std::string line; std::getline(text, line);) {
      if (line.ends_with("is written in place")) ++writes.in_place;
      if (std::smatch found; std::regex_search(line, found, copied))
        writes.copied_bytes += std::stoll(found[1]);
    }
  }
  return writes;
}

Tensors step(F&, const Tensors& in) {
  Tensor w = in[0];
  w -= in[1] * 2;
  return {w};
}

constexpr std::int64_t n = 4099;  // no multiple of a vector

}  // namespace

TEST_CASE("an update is computed in the memory of its input", "[in_place]") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::u8})
    for (const Shape& shape : {Shape{n}, Shape{3, 5}, Shape{1}, Shape{1, 1}}) {
      CAPTURE(name_of(dtype), shape.str());
      CHECK(writes_of(step, {values(shape, dtype), values(shape, dtype, 1)}) == Writes{1, 0});
    }
  writes_of(step, {values({0}), values({0})});
  writes_of(step, {values({2, 0}), values({2, 0})});
}

TEST_CASE("updates of several inputs in one kernel", "[in_place]") {
  const auto momentum = [](F&, const Tensors& in) {
    Tensor w = in[0], m = in[1];
    m *= 0.5;
    m += in[2];
    w -= m * 0.25;
    return Tensors{w};
  };
  CHECK(writes_of(momentum, {values({n}), values({n}, DType::f32, 1), values({n}, DType::f32, 2)}) ==
        Writes{2, 0});
}

TEST_CASE("two updates of one input", "[in_place]") {
  const auto chain = [](F&, const Tensors& in) {
    Tensor w = in[0];
    w -= in[1];
    w *= F::sum(w);  // a separate kernel, after the kernel of the first update
    return Tensors{w};
  };
  CHECK(writes_of(chain, {values({n}), values({n}, DType::f32, 1)}) == Writes{1, 0});
}

TEST_CASE("an input that is written and returned as a new array", "[in_place]") {
  const auto both = [](F&, const Tensors& in) {
    Tensor w = in[0];
    w -= in[1];
    return Tensors{w.copy(), in[1] * 3};
  };
  CHECK(writes_of(both, {values({n}), values({n}, DType::f32, 1)}) == Writes{1, 0});
}

TEST_CASE("contents that are read at other places are staged", "[in_place]") {
  const auto reversed = [](F& f, const Tensors& in) {
    Tensor w = in[0];
    w += f.reverse(w, 0);
    return Tensors{w};
  };
  CHECK(writes_of(reversed, {values({n})}) == Writes{0, 4 * n});
  const auto shifted = [](F&, const Tensors& in) {
    Tensor w = in[0];
    w[slice(1)] += w[slice(0, -1)];
    return Tensors{w};
  };
  CHECK(writes_of(shifted, {values({n})}).in_place == 0);
  const auto centred = [](F& f, const Tensors& in) {
    Tensor w = in[0];
    w -= f.mean(w);
    return Tensors{w};
  };
  CHECK(writes_of(centred, {values({n})}) == Writes{1, 0});  // the mean is an earlier kernel
}

TEST_CASE("inputs that change places: one is staged", "[in_place]") {
  const auto swap = [](F&, const Tensors& in) {
    Tensor a = in[0], b = in[1];
    const Tensor old = a.copy();
    a[slice()] = b;
    b[slice()] = old;
    return Tensors{a};
  };
  CHECK(writes_of(swap, {values({n}), values({n}, DType::f32, 1)}) == Writes{1, 4 * n});
}

TEST_CASE("overlapping views are written as eagerly", "[in_place]") {
  const auto run = [](bool hybridized, std::int64_t at) {
    Net net(step);
    net.hybridize(hybridized);
    net(Tensors{values({n}), values({n})});
    Tensor all = values({2 * n});
    net(Tensors{all[slice(at, at + n)], all[slice(100, 100 + n)]});
    return all;
  };
  for (const std::int64_t at : {0, 1, 99, 100, 101, 300}) CHECK(same_bits(run(true, at), run(false, at)));
  // Two arrays on one block of the program's memory.
  const auto wrapped = [](bool hybridized) {
    Floats memory = values({2 * n}).to_vector<float>();
    const Tensor g = Tensor::wrap(memory.data(), {n}, DType::f32);
    Tensor w = Tensor::wrap(memory.data() + 1, {n}, DType::f32);
    Net net([=](F&, const Tensors& in) {
      Tensor mine = w;
      mine += g * in[0];
      return Tensors{in[0] * 2};
    });
    net.hybridize(hybridized);
    for (int i = 0; i < 2; ++i) net(Tensors{values({1})});
    return memory;
  };
  CHECK(wrapped(true) == wrapped(false));
}

TEST_CASE("a call that throws leaves its inputs as they were", "[in_place]") {
  const auto take = [](F& f, const Tensors& in) {
    Tensor w = in[0];
    w -= in[1];
    return Tensors{f.take(in[1], in[2], {.axis = 0, .mode = "raise"})};
  };
  const Tensor w = values({n}), g = values({n}, DType::f32, 1), good{1, 2, 0}, bad{1, -1, 0};
  writes_of(take, {w, g, good});
  Net net(take);
  net.hybridize();
  net(Tensors{w.copy(), g, good});
  Tensor mine = w.copy();
  CHECK_THROWS(net(Tensors{mine, g, bad}));
  CHECK(same_bits(mine, w));
}

TEST_CASE("a loop after an update, and a loop that computes one", "[in_place]") {
  const auto body = [](F& f, const Tensors& in) {
    Tensor w = in[0];
    w -= in[1];
    const auto r = f.contrib().foreach (
        [](const Tensors& row, const Tensors& state) -> F::contrib::Results {
          return {{row[0] + state[0]}, {state[0] * 0.5 + row[0]}};
        },
        {in[2]}, {w});
    w[slice()] = r.states[0];
    return Tensors{r.outputs[0]};
  };
  writes_of(body, {values({8}), values({8}, DType::f32, 1), values({5, 8}, DType::f32, 2)});
}

TEST_CASE("weights that a call has written are packed anew", "[in_place]") {
  nn::Dense dense(16, {.in_units = 24});
  dense.initialize();
  dense.hybridize();
  const Tensor x = values({4, 24});
  dense(x);
  Tensor w = dense.weight.data();
  const Tensor g = values({16, 24}, DType::f32, 2);
  nn::Dense other(16, {.in_units = 24});
  other.initialize();
  other.weight.set_data(w - g * 2);
  Net update(step);
  update.hybridize();
  update(Tensors{w, g});
  CHECK(same_bits(dense(x), other(x)));
}

TEST_CASE("the tape keeps the contents before an update", "[in_place]") {
  for (const bool hybridized : {false, true}) {
    Tensor w = values({n});
    const Tensor old = w.copy(), g = values({n}, DType::f32, 1);
    w.attach_grad();
    Net update(step);
    update.hybridize(hybridized);
    Tensor y;
    {
      const autograd::Record record;
      y = w * w;
    }
    update(Tensors{w, g});
    y.backward();
    CHECK(same_bits(w.grad(), old * 2));
    CHECK(same_bits(w, old - g * 2));
  }
}

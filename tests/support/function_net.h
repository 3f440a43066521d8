// Networks of one function, and their runs on all instruction sets.
#pragma once
#include "same_bits.h"

#include <kiln/kiln.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// A network of one function, which counts how often it runs.
class Net : public kiln::HybridBlock {
 public:
  using Body = std::function<kiln::Tensors(kiln::F&, const kiln::Tensors&)>;
  explicit Net(Body body) : HybridBlock({.prefix = "net_"}), body_(std::move(body)) {}
  int runs() const { return *runs_; }

 protected:
  kiln::Tensors hybrid_forward(kiln::F& F, const kiln::Tensors& in) override {
    ++*runs_;
    return body_(F, in);
  }

 private:
  Body body_;
  std::shared_ptr<std::atomic<int>> runs_ = std::make_shared<std::atomic<int>>(0);
};

/// The results of an eager run. Checks that compiled runs on one and two threads give the same bits and leave
/// the random numbers in the same state.
inline kiln::Tensors everywhere(const Net::Body& body, const kiln::Tensors& in) {
  Net net(body);
  kiln::random::seed(3);
  const kiln::Tensors eager = net(in);
  const kiln::Tensor next = kiln::random::uniform(0, 1, {3});
  net.hybridize();
  for (const int threads : {1, 2}) {
    const kiln::ThreadLimit limit(threads);
    kiln::random::seed(3);
    const kiln::Tensors compiled = net(in);
    REQUIRE(compiled.size() == eager.size());
    for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(compiled[i], eager[i]));
    CHECK(same_bits(kiln::random::uniform(0, 1, {3}), next));
  }
  return eager;
}

/// Whether the first call of a hybridized network of `body` is compiled.
inline bool compiles(const Net::Body& body, const kiln::Tensors& in) {
  Net net(body);
  net.hybridize();
  net(in);
  return net.compiled_calls().at(0).compiled;
}

/// The names of the kernels of a compiled call, after a check of its bits.
inline std::vector<std::string> kernels_of(const Net::Body& body, const kiln::Tensors& in) {
  everywhere(body, in);
  Net net(body);
  net.hybridize();
  net(in);
  const kiln::Profile profile;
  net(in);
  std::vector<std::string> names;
  for (const kiln::Profile::Kernel& k : profile.kernels()) {
    CHECK(k.runs == 1);
    names.push_back(k.name);
  }
  return names;
}

/// 0, 1, 2, ... as far as the type goes.
inline kiln::Tensor numbered(const kiln::Shape& shape, kiln::DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(static_cast<double>(dtype == kiln::DType::boolean ? i % 3 == 0 : i % 251));
  return kiln::Tensor(values, shape).astype(dtype);
}

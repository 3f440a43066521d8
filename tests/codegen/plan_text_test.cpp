// The plans of kernels in the stage "plan": a plan's text and its kernel's key say the same.
#include "function_net.h"
#include "temporary_folder.h"

#include <fstream>
#include <map>
#include <regex>
#include <set>

using namespace kiln;
namespace fs = std::filesystem;

namespace {

/// The kernels of all compilations of a dump: the part of a key that copies of a kernel share, and the plan.
using Kernels = std::multimap<std::string, std::string>;

Kernels dumped(const Net::Body& body, const Tensors& in) {
  const TemporaryFolder folder;
  Net net(body);
  net.hybridize({.dump_dir = folder.path.string()});
  net(in);
  static const std::regex kernel("kernel [0-9a-f]{16}([0-9a-f]{16}): (.*)");
  Kernels kernels;
  for (const auto& of_compilation : fs::directory_iterator(folder.path)) {
    std::ifstream file(of_compilation.path() / "7_plan.txt");  // the index has none
    std::smatch found;
    for (std::string line; std::getline(file, line);)
      if (std::regex_match(line, found, kernel)) kernels.emplace(found[1], found[2]);
  }
  return kernels;
}

Tensor numbers(const Shape& shape) {
  return arange(0, static_cast<double>(shape.elements())).reshape(shape) / 100;
}

}  // namespace

TEST_CASE("kernels have one key where they have one plan, and the dump shows it") {
  const Net::Body product = [](F& F, const Tensors& in) {
    return Tensors{F.relu(F.dot(in[0], in[1]) + in[2])};
  };
  const Net::Body points = [](F& F, const Tensors& in) { return Tensors{F.exp(in[0]) + 1}; };
  const Net::Body row = [](F& F, const Tensors& in) { return Tensors{F.softmax(in[0])}; };
  const Net::Body order = [](F& F, const Tensors& in) { return Tensors{F.sort(in[0])}; };
  Kernels all;
  const auto add = [&](const Net::Body& body, const Tensors& in) {
    const Kernels some = dumped(body, in);
    CHECK(!some.empty());
    all.insert(some.begin(), some.end());
  };
  for (const std::int64_t rows : {1, 3, 40, 41})
    for (const std::int64_t columns : {5, 64, 200})
      add(product, {numbers({rows, 700}), numbers({700, columns}), numbers({columns})});
  for (const std::int64_t length : {7, 1000}) {
    add(points, {numbers({3, length})});
    add(row, {numbers({3, length})});
    add(order, {numbers({3, length})});
  }
  std::map<std::string, std::string> plan_of_key, key_of_plan;
  for (const auto& [key, plan] : all) {
    INFO(plan);
    CHECK(plan_of_key.try_emplace(key, plan).first->second == plan);
    CHECK(key_of_plan.try_emplace(plan, key).first->second == key);
  }
  // Some kernels are of several of these sizes.
  CHECK(plan_of_key.size() > 10);
  CHECK(plan_of_key.size() < all.size());
}

TEST_CASE("a plan's members are in the dump by name") {
  const Kernels kernels = dumped([](F& F, const Tensors& in) { return Tensors{F.dot(in[0], in[1])}; },
                                 {numbers({6, 64}), numbers({64, 32})});
  REQUIRE(kernels.size() == 1);
  const std::string& plan = kernels.begin()->second;
  INFO(plan);
  for (const char* member :
       {"dtype=float32", "lanes=", "one_chunk", "operands={lhs=1 rhs=0}", "expression={"})
    CHECK(plan.find(member) != std::string::npos);
}

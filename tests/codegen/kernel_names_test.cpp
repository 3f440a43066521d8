// The names of kernels: of one network each is another one, and says what the kernel computes.
#include "function_net.h"
#include "temporary_folder.h"

#include <fstream>
#include <regex>
#include <set>

using namespace kiln;
namespace fs = std::filesystem;

namespace {

Tensor drawn(const Shape& shape) { return random::uniform(-1, 1, shape); }

/// The names of the kernels that ran since the profile began, each once.
using Names = std::multiset<std::string>;

Names names_in(const Profile& profile) {
  Names names;
  for (const Profile::Kernel& k : profile.kernels()) names.insert(k.name);
  return names;
}

void check_unique(const Names& names) {
  for (const std::string& name : names) {
    INFO(name);
    CHECK(names.count(name) == 1);
  }
}

/// Fails with the names if none has this part.
bool is_in(const Names& names, const std::string& part) {
  std::string all;
  for (const std::string& name : names) all += name + "\n";
  UNSCOPED_INFO(all);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("the kernels of an operator have different names, which say what they compute") {
  // Rows of 16 elements are too few to be fused.
  const auto list =
      kernels_of([](F& F, const Tensors& in) { return Tensors{F.LayerNorm(in[0], in[1], in[2])}; },
                 {drawn({2, 6, 16}), drawn({16}), drawn({16})});
  const Names names(list.begin(), list.end());
  CHECK(names.size() == 3);
  check_unique(names);
  for (const char* words : {"_sum_div", "_sum_squares_div", "_mul_fma"}) CHECK(is_in(names, words));
}

TEST_CASE("kernels of one name and one computation are numbered") {
  rnn::LSTM lstm(4, {.num_layers = 2});
  lstm.initialize();
  lstm.hybridize();
  const Tensor x = drawn({5, 2, 3});
  lstm(x);
  const Profile profile;
  lstm(x);
  const auto names = names_in(profile);
  check_unique(names);
  CHECK(is_in(names, "#2"));
}

TEST_CASE("the kernels of gradients say so") {
  nn::HybridSequential net({.prefix = "net_"});
  net.add(nn::Dense(24, {.activation = "relu"}), nn::Dense(8));
  net.initialize();
  net.hybridize();
  const auto step = [&] {
    const Tensor y = autograd::record([&] { return net(drawn({6, 12})); });
    y.backward();
  };
  step();
  const Profile profile;
  step();
  const auto names = names_in(profile);
  CHECK(is_in(names, "dense1_fwd.dot_add"));
  CHECK(is_in(names, "_grad.dot"));
}

TEST_CASE("a dump has the names, and the symbols that follow from them") {
  const TemporaryFolder folder;
  Net net([](F& F, const Tensors& in) { return Tensors{F.softmax(F.relu(F.dot(in[0], in[1])))}; });
  net.hybridize({.dump_dir = folder.path.string()});
  net({drawn({4, 8}), drawn({8, 6})});
  const fs::path dump = folder.inner();
  std::ifstream plan(dump / "7_plan.txt"), kernels(dump / "4_kernels.mlir");
  const std::string code((std::istreambuf_iterator<char>(kernels)), {});
  static const std::regex step("  kernel [0-9]+: .*  # (.*)");
  Names names;
  std::smatch found;
  for (std::string line; std::getline(plan, line);)
    if (std::regex_match(line, found, step)) names.insert(found[1]);
  CHECK(names.size() > 1);
  check_unique(names);
  for (std::string symbol : names) {
    for (char& c : symbol)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    INFO(symbol);
    CHECK(code.find("@kiln_" + symbol + "_") != std::string::npos);
  }
}

TEST_CASE("a kernel that another network compiled has this network's name here") {
  const Tensors in{drawn({5, 7})};
  const auto named = [&](const std::string& prefix) {
    struct Scaled : HybridBlock {
      explicit Scaled(const std::string& p) : HybridBlock({.prefix = p}) {}
      Tensor hybrid_forward(F& F, const Tensor& x) override { return F.tanh(x) * 3; }
    } net(prefix);
    net.hybridize();
    net(in[0]);
    const Profile profile;
    net(in[0]);
    return names_in(profile);
  };
  const auto compiled = stats().kernels_compiled + stats().kernels_loaded;
  CHECK(is_in(named("first_"), "first_tanh0"));
  const auto after = stats().kernels_compiled + stats().kernels_loaded;
  CHECK(after > compiled);
  CHECK(is_in(named("second_"), "second_tanh0"));
  CHECK(stats().kernels_compiled + stats().kernels_loaded == after);  // a name is no part of a kernel's key
}

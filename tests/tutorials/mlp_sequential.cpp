// "A Hybrid of Imperative and Symbolic Programming": the MLP as a HybridSequential.
#include <kiln/kiln.h>

#include <cmath>
#include <iostream>

using namespace kiln;

// Values that look random and are the same everywhere: of parameter i, element k is ((k * (7 + i)) % 23 - 11)
// / 64.
void fix(const Block& net) {
  int i = 0;
  for (Parameter p : net.collect_params()) {
    std::vector<float> values;
    for (std::int64_t k = 0; k < p.shape().elements(); ++k)
      values.push_back(static_cast<float>((k * (7 + i)) % 23 - 11) / 64);
    p.set_data(Tensor(values, p.shape()));
    ++i;
  }
}

nn::HybridSequential get_net() {
  nn::HybridSequential net;
  auto scope = net.name_scope();
  net.add(nn::Dense(256, {.activation = "relu"}), nn::Dense(128, {.activation = "relu"}), nn::Dense(2));
  return net;
}

int main() {
  auto net = get_net();
  net.initialize();
  std::cout << net << "\n";

  auto x = nd::arange(512).reshape({1, 512}) / 256 - 1;
  std::cout << net(x).shape().str() << "\n";
  fix(net);
  auto eager = net(x);

  net.hybridize();
  auto compiled = net(x);
  std::cout << "the same after hybridize(): " << std::boolalpha
            << (eager.to_vector<float>() == compiled.to_vector<float>()) << "\n";
  for (float v : compiled.to_vector<float>()) std::cout << std::round(v * 1e4f) / 1e4f << "\n";

  auto y = net(sym::var("data"));
  std::cout << y << "\n";
  for (const auto& name : y.list_arguments()) std::cout << name << "\n";
  for (const auto& name : y.list_outputs()) std::cout << name << "\n";
  std::cout << y.tojson() << "\n";

  std::cout << net << "\n";
  std::cout << net.collect_params() << "\n";

  net.export_model("mlp");
  auto net2 = SymbolBlock::imports("mlp-symbol.json", {"data"}, "mlp-0000.params");
  std::cout << "the same after export and import: "
            << (net2(x).to_vector<float>() == compiled.to_vector<float>()) << "\n";
  std::cout << net2 << "\n";
}

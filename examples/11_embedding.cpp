// Lesson 11: a network inside of another program. Bound calls have a small fixed cost, and threads share one
// network.
#include <kiln/kiln.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>
#include <vector>

using namespace kiln;

/// Writes the file that this program serves. Another program trains and exports it, as in lesson 8.
void export_scorer() {
  random::seed(11);
  nn::HybridSequential net;
  net.add(nn::Dense(32, {.activation = "relu"}), nn::Dense(3));
  net.initialize(init::Xavier());
  net.hybridize();
  net(zeros({1, 4}));
  net.export_model("scorer");
}

/// A thread's own access to the network: its input, and a call that is bound to it. A bound call belongs to
/// one thread at a time; the network and its code are shared.
class Scorer {
 public:
  explicit Scorer(SymbolBlock& net)
      : input_(Tensor::wrap(features_.data(), {1, 4}, DType::f32)), call_(net.bind({input_})) {
    call_.warm_up();  // allocates everything that runs on this thread need
  }
  Scorer(const Scorer&) = delete;  // input_ is the memory of features_
  Scorer& operator=(const Scorer&) = delete;

  /// The class with the largest score. No look-up and no copy of arrays.
  int operator()(const std::array<float, 4>& features) {
    features_ = features;
    const float* scores = static_cast<const float*>(call_().data());  // valid until the next run
    return static_cast<int>(std::max_element(scores, scores + 3) - scores);
  }

 private:
  std::array<float, 4> features_{};
  Tensor input_;
  BoundCall call_;
};

int main() try {
  export_scorer();
  SymbolBlock net = SymbolBlock::imports("scorer-symbol.json", {"data"}, "scorer-0000.params");
  net.hybridize({.weights = Weights::release});  // keeps the packed weights alone

  // Four threads score 1000 requests. A ThreadLimit keeps each call on the thread that makes it.
  const Tensor requests = random::normal(0, 1, {1000, 4});
  const auto* rows = static_cast<const std::array<float, 4>*>(requests.data());
  std::array<int, 1000> classes{};
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker)
    workers.emplace_back([&, worker] {
      ThreadLimit own(1);
      Scorer scorer(net);
      for (std::size_t i = static_cast<std::size_t>(worker); i < 1000; i += 4) classes[i] = scorer(rows[i]);
    });
  for (std::thread& worker : workers) worker.join();

  // All threads found one recording, and each row has the class that it has in one batch.
  std::printf("recordings: %d\n", static_cast<int>(net.compiled_calls().size()));
  const auto expected = F::argmax(net(requests), {.axis = 1}).to_vector<int>();
  std::printf("%s\n",
              std::equal(expected.begin(), expected.end(), classes.begin()) ? "as in one batch" : "differ");
  for (int c = 0; c < 3; ++c)
    std::printf("class %d: %d requests\n", c,
                static_cast<int>(std::count(classes.begin(), classes.end(), c)));
  return 0;
} catch (const Error& e) {  // all that Kiln throws: of a missing file, a wrong shape, ...
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

// Lesson 12: a recurrent network processes sound in real time, block by block, on a thread of its own.
//
// An audio thread may not wait, so a run there allocates nothing: this program counts. --time: the longest
// run.
#include <kiln/kiln.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <thread>

using namespace kiln;

constexpr std::size_t block = 64, blocks = 750, rate = 48000, hidden = 16;  // 750 blocks are a second

// Replaces the operators of the whole program, the library included.
thread_local long allocations = 0;
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

/// A model of an amplifier. Trained weights would come from a file, as in lesson 8.
struct Amplifier : HybridBlock {
  Child<rnn::GRU> gru{this, "gru"};
  Child<nn::Dense> mix{this, "mix"};

  Amplifier() {
    gru = rnn::GRU(hidden, {.input_size = 1});
    mix = nn::Dense(1, {.flatten = false, .in_units = hidden});
  }
  /// Samples (time, 1, 1) and the state (1, 1, hidden) -> samples, and the state after them.
  Tensors hybrid_forward(F& F, const Tensors& inputs) override {
    auto [y, states] = gru(inputs[0], {inputs[1]});
    return {F.tanh(mix(y)) + inputs[0], states[0]};
  }
};

int main(int argc, char** argv) {
  random::seed(12);
  Amplifier net;
  net.initialize(init::Xavier());
  net.hybridize();
  Tensor sound = F::sin(arange(block * blocks) * (440 * 6.2831853 / rate)).reshape({-1, 1, 1});
  std::vector<float> in = sound.to_vector<float>(), out(in.size());
  long counted = -1;
  std::chrono::duration<double, std::micro> longest{0};
  std::thread audio([&] {
    ThreadLimit own(1);  // no run waits for another thread
    Tensor x = zeros({block, 1, 1}), state = zeros({1, 1, hidden});
    BoundCall call = net.bind({x, state});
    call.warm_up();  // allocates everything that runs on this thread need

    const long before = allocations;
    for (std::size_t i = 0; i < in.size(); i += block) {  // the callback of an audio driver has this body
      const auto begin = std::chrono::steady_clock::now();
      std::memcpy(x.mutable_data(), &in[i], block * sizeof(float));
      if (!call.try_run()) break;  // no exception here: its status says why, and the sound stops
      std::memcpy(&out[i], call.results()[0].data(), block * sizeof(float));
      std::memcpy(state.mutable_data(), call.results()[1].data(), hidden * sizeof(float));
      longest = std::max<decltype(longest)>(longest, std::chrono::steady_clock::now() - begin);
    }
    counted = allocations - before;
  });
  audio.join();

  // The joined blocks are the sound that one call computes, bit for bit.
  const auto whole = net({sound, zeros({1, 1, hidden})})[0].to_vector<float>();
  std::printf("%zu blocks of %zu samples: %ld allocations, %s as one call\n", blocks, block, counted,
              whole == out ? "the same bits" : "other bits");
  if (argc == 2 && std::string_view(argv[1]) == "--time")
    std::printf("longest run %.0f us, a block is %.0f us\n", longest.count(), 1e6 * block / rate);
}

// Any bytes are a file of a Trainer's states, after which it continues, or an error that changes nothing.
#include <kiln/kiln.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace kiln;

namespace {

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Training {
  ParameterDict params;
  Parameter a = params.get("a_weight", {2, 3}), b = params.get("b_bias", {3});
  Trainer trainer{params, "adam"};

  Training() { params.initialize(init::One()); }
  void step() {
    Tensor sum;
    {
      const autograd::Record record;
      sum = F::sum(a.data() * b.data());
    }
    sum.backward();
    trainer.step(1);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Training training;
  static const std::string file = "fuzz." + std::to_string(::getpid()) + ".states";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const std::int64_t before = training.trainer.num_update();
  try {
    training.trainer.load_states(file);
    training.step();
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::internal || std::string_view(e.what()).find(file) == std::string_view::npos)
      broken(e.what());
    if (training.trainer.num_update() != before) broken("an error has changed the trainer");
  }
  std::remove(file.c_str());
  return 0;
}

// Any bytes are a checkpoint, after which the run continues, or an error that changes nothing.
#include <kiln/kiln.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace kiln;

namespace {

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

const std::string folder = "fuzz." + std::to_string(::getpid()) + ".checkpoints";
const std::string file = folder + "/step-00000001.npz";  // the contents decide the format

struct Training {
  nn::Dense net{3, {.in_units = 2, .prefix = "net_"}};
  data::DataLoader batches{data::ArrayDataset(F::arange(0, 8).reshape({4, 2})),
                           {.batch_size = 2, .shuffle = true, .seed = 1}};
  Trainer trainer = (net.initialize(init::One()), Trainer(net.collect_params(), "adam"));
  CheckpointManager checkpoints{folder, net, trainer, batches};

  void step() {
    for (const data::Batch& batch : batches) {
      Tensor sum = autograd::record([&] { return F::sum(net(batch[0])); });
      sum.backward();
      trainer.step(2);
      return;
    }
  }
  std::vector<float> weight() const { return net.weight.data().to_vector<float>(); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Training training;
  std::filesystem::create_directories(folder);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const std::int64_t updates = training.trainer.num_update();
  const data::LoaderState place = training.batches.state();
  const random::State random = random::state();
  const std::vector<float> weight = training.weight();
  try {
    training.checkpoints.restore();
    training.step();
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::internal || std::string_view(e.what()).find(file) == std::string_view::npos)
      broken(e.what());
    const std::vector<float> now = training.weight();
    if (training.trainer.num_update() != updates || !(training.batches.state() == place) ||
        !(random::state() == random) || std::memcmp(now.data(), weight.data(), 4 * weight.size()) != 0)
      broken("an error has changed the run");
  }
  std::filesystem::remove_all(folder);
  return 0;
}

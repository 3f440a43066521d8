// Any bytes are an IDX file, one of CIFAR's, or an error.
#include <kiln/vision_data.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace kiln;

namespace {

/// Reads what `fn` returns; its errors are about this file, and of the user.
template <class Fn>
void read(const std::string& name, Fn fn) {
  try {
    fn();
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::user && std::string_view(e.what()).find(name) != std::string_view::npos)
      return;
    std::fprintf(stderr, "%s\n", e.what());
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string folder = "fuzz." + std::to_string(::getpid()) + ".images";
  static const bool made = std::filesystem::create_directories(folder);
  (void)made;
  const std::string file = folder + "/test_batch.bin";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  read(file, [&] {
    const Tensor array = data::vision::load_idx(file);
    // At most what gzip can pack into these bytes
    if (static_cast<std::uint64_t>(array.size()) * size_of(array.dtype()) > 2000 * (size + 1)) std::abort();
  });
  read(file, [&] {
    const data::vision::CIFAR10 images(folder, false);
    for (std::int64_t i = 0; i < images.size(); ++i) images[i].label().item<int>();
  });
  return 0;
}

// Loads the shared object given as its argument, calls it from this and from another thread, and unloads it;
// three times, since remains of one round may stop the next.
#include <cstdio>
#include <dlfcn.h>
#include <thread>

namespace {

int fail(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, ::dlerror());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int round = 1; round <= 3; ++round) {
    void* const plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return fail("dlopen");
    const auto five_times = reinterpret_cast<int (*)(int)>(::dlsym(plugin, "five_times"));
    if (five_times == nullptr) return fail("dlsym");
    int elsewhere = 0;
    std::thread([&] { elsewhere = five_times(round); }).join();
    const int here = five_times(round);
    if (here != 5 * round || elsewhere != 5 * round) {
      std::fprintf(stderr, "round %d: %d and %d\n", round, here, elsewhere);
      return 1;
    }
    if (::dlclose(plugin) != 0) return fail("dlclose");
  }
}

// Executes the AMX instructions of any program in software: a library for LD_PRELOAD.
#include "amx_emulator.h"
#include "codegen/target/matrix_unit.h"

#include <csignal>
#include <dlfcn.h>

// Kiln's, if the program has it.
namespace kiln::codegen::detail {
[[gnu::weak]] void assume_matrix_unit();
}

namespace {

int set_action(int signal, const struct sigaction* action, struct sigaction* before) {
  static const auto of_system = reinterpret_cast<decltype(&::sigaction)>(dlsym(RTLD_NEXT, "sigaction"));
  return of_system(signal, action, before);
}

const struct Preload {
  Preload() {
    // On a machine with AMX, Kiln has to ask Linux for it.
    if (kiln::amx::install_emulator(set_action) && kiln::codegen::detail::assume_matrix_unit != nullptr)
      kiln::codegen::detail::assume_matrix_unit();
  }
} preload;

}  // namespace

/// The program's handlers of SIGILL, Catch2's in each test case, do not replace the emulator's.
extern "C" __attribute__((visibility("default"))) int sigaction(int signal, const struct sigaction* action,
                                                                struct sigaction* before) noexcept {
  return set_action(signal, signal == SIGILL ? nullptr : action, before);
}

// Fills a folder with the kernels that many programs meet first: it calls operators and networks, and Kiln's
// disk cache keeps the compiled kernels. A kernel has sizes as parameters, so that programs with any sizes
// find it.
//
// A kernel's code also depends on the measured machine, whose bandwidths each user's first process measures
// anew. Of all choices that differ between two measurements, only prefetches of streams are in the code of
// most kernels. All kernels are therefore compiled twice: for machines that gain by these prefetches and for
// machines that do not.
#include "tools/precompile/calls.h"

#include <kiln/cache.h>
#include <kiln/error.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

/// Sets the environment for the library's first call. Only the builder's variables that choose instructions
/// and the machine stay: others may keep kernels from being stored.
void set_environment(const std::string& folder) {
  std::vector<std::string> names;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string_view name = std::string_view(*v).substr(0, std::string_view(*v).find('='));
    if (name.starts_with("KILN_") && name != "KILN_TARGET_CPU" && name != "KILN_MACHINE")
      names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
  ::setenv("KILN_CACHE_DIR", folder.c_str(), 1);
  ::setenv("KILN_PRECOMPILED", "off", 1);
}

/// The descriptions of machines to compile for: one that the builder describes stays as it is.
std::vector<std::string> machines() {
  if (const char* const described = std::getenv("KILN_MACHINE")) return {described};
  return {"host,prefetch=100", "host,prefetch=110"};
}

/// In a separate process, since a process has one machine. Whether it succeeded.
bool compile_for(const std::string& machine) {
  const pid_t child = ::fork();
  if (child != 0) {
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }
  int status = 0;
  try {
    ::setenv("KILN_MACHINE", machine.c_str(), 1);
    precompile::call_operators();
    precompile::call_layers();
    precompile::call_networks();
  } catch (const kiln::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    status = 1;
  }
  std::exit(status);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compiles the kernels that are installed with Kiln");
  std::string folder;
  app.add_option("FOLDER", folder, "It is replaced")->required();
  CLI11_PARSE(app, argc, argv);
  std::filesystem::remove_all(folder);
  set_environment(folder);
  for (const std::string& machine : machines())
    if (!compile_for(machine)) return 1;
  const kiln::cache::Check made = kiln::cache::verify();
  fmt::print("{} kernels in {}\n", made.entries, folder);
  return made.entries > 0 && made.problems.empty() ? 0 : 1;
}

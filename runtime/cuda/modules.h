// The modules of a GPU: kernels that are loaded.
#pragma once
#include "runtime/cuda/context.h"
#include "runtime/plan.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace kiln::nvidia {

/// A kernel on a GPU.
struct Module {
  std::string name;
  std::array<std::uint64_t, 2> key;
  GpuLaunch launch;
  void *module, *function;
};

/// The modules of a GPU. Each is loaded once for all executables that use it, and unloaded with the last of
/// them. Thread rule: any thread.
class Modules {
 public:
  /// `architecture` as in cubin.h.
  Modules(const Context& context, std::string architecture)
      : context_(context), architecture_(std::move(architecture)) {}

  /// The caller uses the context. Throws kiln::Error if the kernel cannot be compiled or loaded.
  std::shared_ptr<Module> load(const PlannedKernel& kernel);
  /// Unloads all modules, also the ones in use. The context is closed: no kernel is running.
  void close() noexcept;

 private:
  void unload(const Module& module) noexcept;

  const Context& context_;
  const std::string architecture_;
  Mutex mutex_;
  std::map<std::array<std::uint64_t, 2>, std::weak_ptr<Module>> known_;
  std::set<void*> loaded_;
};

}  // namespace kiln::nvidia

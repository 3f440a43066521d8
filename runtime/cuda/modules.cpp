// Loads and unloads the modules of a GPU.
#include "runtime/cuda/modules.h"

#include "runtime/cuda/cubin.h"
#include "runtime/cuda/driver.h"

namespace kiln::nvidia {

std::shared_ptr<Module> Modules::load(const PlannedKernel& kernel) {
  auto made = std::make_unique<Module>(kernel.name, kernel.key, kernel.gpu);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<Module>& known = known_[kernel.key];
  if (auto loaded = known.lock()) return loaded;
  made->module = load_module(kernel, architecture_);
  if (const int result = driver().function(&made->function, made->module, kernel.symbol.c_str())) {
    driver().unload_module(made->module);
    check(result, ("finding kernel " + kernel.name).c_str());
  }
  loaded_.insert(made->module);
  const std::shared_ptr<Module> shared(made.release(), [this](const Module* m) {
    unload(*m);
    delete m;
  });
  known = shared;
  return shared;
}

void Modules::unload(const Module& m) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(m.key); known != known_.end() && known->second.expired())
    known_.erase(known);
  if (loaded_.erase(m.module) == 0 || !context_.enter()) return;
  driver().synchronize();  // it may be running
  driver().unload_module(m.module);
}

void Modules::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (!context_.enter()) return;
  for (void* const module : loaded_) driver().unload_module(module);
  loaded_.clear();
}

}  // namespace kiln::nvidia

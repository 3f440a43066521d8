// Chooses the runner of a device.
#include "runtime/executable.h"

#include "runtime/cpu_runner.h"
#include "runtime/queue_runner.h"

namespace kiln {
namespace {

std::unique_ptr<const Runner> make_runner(ExecutablePlan plan, const LoadKernel& load, Device device) {
  if (Accelerator* const accelerator = accelerator_of(device))
    return std::make_unique<QueueRunner>(std::move(plan), device, *accelerator);
  return std::make_unique<CpuRunner>(std::move(plan), load);
}

}  // namespace

Executable::Executable(ExecutablePlan plan, const LoadKernel& load, Device device)
    : runner_(make_runner(std::move(plan), load, device)) {}

}  // namespace kiln

// Devices by name, and copies between them.
#include "runtime/accelerator.h"

#include <kiln/device.h>

#include <vector>

namespace kiln {

std::string Device::str() const {
  return std::string(kind == Kind::cpu ? "cpu(" : "cuda(") + std::to_string(id) + ")";
}

void copy_across(Device to_device, std::byte* to, Device from_device, const std::byte* from,
                 std::size_t bytes) {
  if (bytes == 0) return;
  Accelerator *const target = accelerator_of(to_device), *const source = accelerator_of(from_device);
  if (target == source) return copy_bytes(target, to, from, bytes);
  if (!source) return target->upload(to, from, bytes);
  if (!target) return source->download(to, from, bytes);
  std::vector<std::byte> staged(bytes);
  source->download(staged.data(), from, bytes);
  target->upload(to, staged.data(), bytes);
}

}  // namespace kiln

#include <kiln/device.h>

namespace kiln {

std::string Device::str() const {
  return std::string(kind == Kind::cpu ? "cpu(" : "cuda(") + std::to_string(id) + ")";
}

}  // namespace kiln

#include <kiln/device.h>

namespace kiln {

std::string Device::str() const { return "cpu(" + std::to_string(id) + ")"; }

}  // namespace kiln

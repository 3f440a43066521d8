#pragma once
#include <kiln/export.h>

#include <string>

namespace kiln {

/// The device of an array or call. All ids of the CPU are the same memory, as in MXNet. Saved models run on NVIDIA
/// GPUs (Model::prepare); tensors and networks of a program are on the CPU.
struct Device {
  enum class Kind { cpu, cuda } kind = Kind::cpu;
  int id = 0;
  bool operator==(const Device&) const = default;
  KILN_API std::string str() const;  ///< "cpu(0)"
};
inline Device cpu(int id = 0) { return {Device::Kind::cpu, id}; }
inline Device cuda(int id = 0) { return {Device::Kind::cuda, id}; }

}  // namespace kiln

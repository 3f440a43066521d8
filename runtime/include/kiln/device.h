#pragma once
#include <kiln/export.h>

#include <string>

namespace kiln {

/// The device of an array or call. Only the CPU is supported; all its ids are the same memory, as in MXNet.
struct Device {
  enum class Kind { cpu } kind = Kind::cpu;
  int id = 0;
  bool operator==(const Device&) const = default;
  KILN_API std::string str() const;  ///< "cpu(0)"
};
inline Device cpu(int id = 0) { return {Device::Kind::cpu, id}; }

}  // namespace kiln

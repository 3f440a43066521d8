// Devices: the CPU and NVIDIA GPUs.
#pragma once
#include <kiln/export.h>

#include <source_location>
#include <string>

namespace kiln {

/// The device of an array or call: the CPU, whose ids are all the same memory, as in MXNet, or an NVIDIA GPU.
struct Device {
  /// The kind of a device.
  enum class Kind {
    cpu,   ///< the memory of the host
    cuda,  ///< an NVIDIA GPU
  };
  Kind kind = Kind::cpu;  ///< whose memory it is
  int id = 0;             ///< the number of the GPU, in the order of the CUDA driver
  /// All numbers of the CPU are equal.
  bool operator==(const Device& o) const { return kind == o.kind && (kind == Kind::cpu || id == o.id); }
  bool is_cpu() const { return kind == Kind::cpu; }  ///< whether it is the CPU
  KILN_API std::string str() const;                  ///< "cpu(0)"
};
/// The CPU, which is the same device for every `id`.
inline Device cpu(int id = 0) { return {Device::Kind::cpu, id}; }
/// The GPU number `id`. Where a call uses one that does not exist, kiln::Error says so.
inline Device cuda(int id = 0) { return {Device::Kind::cuda, id}; }
inline Device gpu(int id = 0) { return cuda(id); }  ///< MXNet's name

/// How many GPUs the CUDA driver finds; 0 without a driver.
KILN_API int num_gpus();
/// Waits until the devices have done all work. Throws the error of work that failed.
KILN_API void waitall();

/// During its lifetime, arrays that this thread makes from nothing (factories, random numbers, lists of
/// numbers) and parameters that it initializes are on `device`. By default they are on the CPU; within a call
/// of a block, where its inputs are. Throws kiln::Error if this machine does not have the device.
class KILN_API DeviceScope {
 public:
  /// Begins the scope. `where` is the line that an error names.
  [[nodiscard]] explicit DeviceScope(Device device,
                                     std::source_location where = std::source_location::current());
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  /// The device of this thread's innermost scope or call; the CPU outside of both.
  static Device current();

 private:
  Device outer_;
};

}  // namespace kiln

// The limits of this machine from the model that kernels are tuned for, and a measurement.
#include "codegen/driver/limits.h"

#include "codegen/driver/compile.h"
#include "codegen/target/cpu_target.h"
#include "codegen/target/measure_peak.h"
#include "runtime/once.h"

#include <algorithm>

namespace kiln {

double MachineLimits::rate_of(std::int64_t bytes) const {
  if (bytes <= l1_bytes) return l1_rate;
  if (bytes <= l2_bytes) return l2_rate;
  return bytes <= l3_bytes ? l3_rate : memory_rate;
}

double MachineLimits::multiply_adds_of(DType dtype) const {
  if (size_of(dtype) == 1) return byte_multiply_adds;
  if (dtype == DType::bf16) return pair_multiply_adds;
  return size_of(dtype) > 4 ? f32_multiply_adds / 2 : f32_multiply_adds;
}

double MachineLimits::seconds_of(std::int64_t bytes, double multiply_adds, DType dtype, int cores) const {
  const double moves = static_cast<double>(bytes) / rate_of(bytes / std::max(cores, 1));
  return std::max(moves, multiply_adds / multiply_adds_of(dtype)) / std::max(cores, 1);
}

const MachineLimits& machine_limits() {
  return once<[] {
    const codegen::CpuTarget target = codegen::select_cpu(default_options().isa);
    const codegen::Streams& streams = target.machine->streams();
    const auto rate = [](std::int64_t gigabytes) { return static_cast<double>(gigabytes) * 1e9; };
    return MachineLimits{.instructions = target.cpu,
                         .f32_multiply_adds = codegen::measure_multiply_adds(target),
                         .pair_multiply_adds = codegen::measure_pair_multiply_adds(target),
                         .byte_multiply_adds = codegen::measure_byte_multiply_adds(target),
                         .l1_bytes = target.machine->l1.bytes,
                         .l2_bytes = target.machine->l2.bytes,
                         .l3_bytes = streams.l3_bytes,
                         .l1_rate = rate(streams.l1_read),
                         .l2_rate = rate(streams.l2_read),
                         .l3_rate = rate(streams.l3_read),
                         .memory_rate = rate(streams.memory_read)};
  }>();
}

}  // namespace kiln

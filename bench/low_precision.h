// Low precision: workloads of float32 in int8 and in bfloat16.
#pragma once
#include "bench/workload.h"

namespace bench {

/// The network by quantize(), calibrated with the workload's inputs. Inputs and results stay float32.
Workload in_int8(Workload w);
/// The network by cast(DType::bf16), and its inputs of at least `min_axes` axes: results are bfloat16.
Workload in_bf16(Workload w, int min_axes = 1);
/// The network under Precision::bf16: all arrays stay float32.
Workload with_bf16_operands(Workload w);

}  // namespace bench

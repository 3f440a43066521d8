// Which kernel computes a matrix product.
#include "codegen/cpu/contraction/chunk_columns.h"
#include "codegen/cpu/contraction/chunk_lanes.h"
#include "codegen/cpu/contraction/contraction.h"
#include "codegen/cpu/contraction/unpacked_product.h"
#include "codegen/cpu/kernels.h"

namespace kiln::codegen {

Launch launch_dot(ir::FusionOp fusion, ir::PackedDotOp root, const CpuTarget& target) {
  const Contraction contraction = contraction_of(root);
  if (contraction.values_of_word == 1) {
    if (auto launch = launch_chunk_columns(fusion, root.getResult(), contraction, target)) return *launch;
    if (auto launch = launch_chunk_lanes(fusion, root.getResult(), contraction, target)) return *launch;
    if (auto launch = launch_unpacked_product(fusion, root.getResult(), contraction, target)) return *launch;
  }
  return launch_contraction(fusion, root.getResult(), contraction, "dot", target);
}

}  // namespace kiln::codegen

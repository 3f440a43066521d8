// The names of stages.
#pragma once
#include <string_view>
#include <utility>

namespace kiln::codegen {

/// The stages of a compilation, in their order, and the file that a dump gives each. "asm" is of CPUs, "ptx"
/// and, on request, "sass" of GPUs; "joint" is of calls with gradients.
inline constexpr std::pair<std::string_view, std::string_view> stage_files[] = {
    {"trace", "0_trace.txt"},   {"joint", "0_joint.mlir"},     {"kiln", "1_kiln.mlir"},
    {"fused", "2_fused.mlir"},  {"buffers", "3_buffers.mlir"}, {"mlir", "4_kernels.mlir"},
    {"llvm", "5_kernels.ll"},   {"asm", "6_kernels.s"},        {"ptx", "6_kernels.ptx"},
    {"sass", "6_kernels.sass"}, {"plan", "7_plan.txt"}};

}  // namespace kiln::codegen

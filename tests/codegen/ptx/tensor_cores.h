// Products of matrices by a warp.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::ptx {

/// mma.sync.aligned with a row-major A, a column-major B and sums of f32: of m16n8k16 with f16 or bf16, of
/// m16n8k8 with tf32.
enum class Mma : std::uint32_t { f16, bf16, tf32 };
/// That of an opcode; nothing for others.
std::optional<Mma> mma_of(std::string_view opcode);

/// A lane's registers: the PTX manual's fragments of A, B and C, in this order.
struct MmaFragments {
  std::array<std::uint32_t, 4> a;
  std::array<std::uint32_t, 2> b;
  std::array<std::uint32_t, 4> c;
};
constexpr std::uint32_t mma_words = sizeof(MmaFragments) / sizeof(std::uint32_t);

/// The fragments of D of the 32 lanes of a warp. NVIDIA does not specify the order of the sum. Here it
/// ascends in k, in f64 and rounded once: right for sums that are exact in f32 in any order.
std::array<std::array<std::uint32_t, 4>, 32> multiply_add(Mma, const std::array<MmaFragments, 32>& lanes);

}  // namespace kiln::ptx

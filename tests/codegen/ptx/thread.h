// The interface between translated code and the device.
#pragma once
#include "tensor_cores.h"

#include <cstddef>
#include <cstdint>

/// The state of a thread that translated code reads, and the functions that it calls.
namespace kiln::ptx {

class Launch;

struct Thread {
  const void* parameters = nullptr;
  std::byte* local = nullptr;  ///< memory of the thread
  std::uint64_t shared = 0;    ///< shared memory's first byte, as a generic address
  std::uint64_t loops = 0;     ///< branches backward that the thread may still take
  std::uint32_t tid[3] = {}, ntid[3] = {}, ctaid[3] = {}, nctaid[3] = {};
  std::uint32_t lane = 0, warp = 0;
  // Of the device.
  std::uint32_t me = 0;      ///< the thread's mark in shadow memory, between two barriers
  std::uint32_t number = 0;  ///< in the block
  Launch* launch = nullptr;
};

enum class Space : std::uint32_t { generic, global, global_nc, shared, local };
enum class Shuffle : std::uint32_t { up, down, bfly, idx };
enum class Vote : std::uint32_t { all, any, uni, ballot };

}  // namespace kiln::ptx

extern "C" {
// `line` is the instruction's place in the entry's lines.

/// An access's address in this process. One that is not allowed ends the launch.
void* kiln_ptx_access(kiln::ptx::Thread*, std::uint64_t address, std::uint32_t bytes, bool writes,
                      kiln::ptx::Space, std::uint32_t line);
/// Returns when all threads of the block have called it. Aligned: all of a warp at the same line.
void kiln_ptx_barrier(kiln::ptx::Thread*, std::uint32_t id, bool is_aligned, std::uint32_t line);
/// The bits, and above them the predicate.
std::uint64_t kiln_ptx_shuffle(kiln::ptx::Thread*, std::uint32_t value, std::uint32_t by, std::uint32_t clamp,
                               std::uint32_t mask, kiln::ptx::Shuffle, std::uint32_t line);
std::uint32_t kiln_ptx_vote(kiln::ptx::Thread*, bool value, std::uint32_t mask, kiln::ptx::Vote,
                            std::uint32_t line);
/// Returns when all lanes of the warp have called it, at the same line. `registers`: MmaFragments, whose C
/// becomes D.
void kiln_ptx_mma(kiln::ptx::Thread*, kiln::ptx::MmaFragments* registers, kiln::ptx::Mma, std::uint32_t line);
/// x + y and a * b + c, in one rounding, with operands and results that are subnormal flushed to zeros.
float kiln_ptx_add_flushed(kiln::ptx::Thread*, float x, float y, std::uint32_t line);
float kiln_ptx_fma_flushed(kiln::ptx::Thread*, float a, float b, float c, std::uint32_t line);
/// Too many branches backward, or a division by zero: ends the launch.
void kiln_ptx_endless(kiln::ptx::Thread*, std::uint32_t line);
void kiln_ptx_divides_by_zero(kiln::ptx::Thread*, std::uint32_t line);
}

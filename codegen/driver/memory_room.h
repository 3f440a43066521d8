// Memory that LLVM and MLIR need before they are called.
#pragma once
#include <cstddef>
#include <string_view>

/// LLVM and MLIR do not survive without memory: they end the process, write to a null pointer, or throw
/// std::bad_alloc through code that does not release its locks. They are only called when there is memory for
/// their next step. It is not reserved, so another thread may take it; LLVM then throws, if it can.
namespace kiln::codegen {

/// For one kernel, or one step of linking: ten times the largest that was measured.
inline constexpr std::size_t kernel_room = std::size_t{32} << 20;

/// Throws kiln::Error, naming `graph`, if the process may not map `bytes` more, or a few more mappings of
/// memory. A kernel takes two or three mappings; without any left malloc() fails too. Before it throws, it
/// releases the pool's blocks and unused kernels and tries again.
void require_room(std::size_t bytes, std::string_view graph);

/// Throws kiln::Error, naming `graph`, when the process has about as many mappings as Linux gives one.
void require_mappings(std::string_view graph);

/// From the first call on LLVM throws std::bad_alloc where it would end the process.
void throw_from_llvm();

}  // namespace kiln::codegen

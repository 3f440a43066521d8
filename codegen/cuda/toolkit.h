// Programs of NVIDIA's toolkit.
#pragma once
#include <kiln/export.h>

#include <optional>
#include <string>
#include <string_view>

namespace kiln::codegen {

/// The path of a program of NVIDIA's toolkit: on PATH, in $CUDA_HOME/bin, $CUDA_PATH/bin or
/// /usr/local/cuda/bin, the first that has it. Nothing if none has.
KILN_API std::optional<std::string> find_cuda_tool(std::string_view name);

/// The machine code of PTX for an architecture, as text: ptxas' report on the kernel's registers and memory,
/// as comments, then the code by nvdisasm or, without that, cuobjdump. `kernel` is named in errors. Throws
/// kiln::Error if the tools are not installed, which says how to get them, or if one fails. Removes its
/// files.
std::string sass_of(std::string_view ptx, const std::string& arch, const std::string& kernel);

}  // namespace kiln::codegen

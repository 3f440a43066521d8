// The back ends: a row for each target.
#pragma once
#include "codegen/backend/backend.h"
#include "codegen/backend/kernel_table.h"
#include "codegen/target/isa.h"

#include <memory>
#include <string>

namespace kiln::codegen {

/// Which target a compilation is for.
struct TargetRequest {
  std::string backend;  ///< the name of a row; empty: the GPU's if there is an architecture, else the CPU's
  Isa isa = Isa::host;  ///< of CPUs
  std::string gpu;      ///< the architecture
};

/// A target.
struct BackendRow {
  std::string name;
  const KernelTable& (*kernels)();
  /// The row that has the kernels which this table leaves to another; empty: none.
  std::string falls_back_to;
  /// `other`: the kernels of that row, or null. Throws kiln::Error for a request that the target cannot meet.
  std::unique_ptr<const Backend> (*make)(const TargetRequest& request, const KernelTable* other);
};

/// The back end for a request. Throws kiln::Error for a name or an architecture that is not known. Any
/// thread.
std::unique_ptr<const Backend> select_backend(const TargetRequest& request);

/// One more target, before any thread compiles for it.
void register_backend(BackendRow row);

}  // namespace kiln::codegen

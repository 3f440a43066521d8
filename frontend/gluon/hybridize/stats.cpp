#include "codegen/driver/compile.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "runtime/storage.h"

#include <kiln/stats.h>

namespace kiln {

Stats stats() {
  const CompileStats compiled = compile_stats();
  const SnapshotCount snapshots = count_snapshots();
  return {.kernels = compiled.kernels_mapped,
          .kernels_compiled = compiled.kernels_compiled,
          .kernels_loaded = compiled.kernels_loaded,
          .kernels_dropped = compiled.kernels_dropped,
          .recordings = detail::recording_counts.alive,
          .recordings_made = detail::recording_counts.made,
          .recordings_dropped = detail::recording_counts.dropped,
          .snapshots = snapshots.alive,
          .snapshot_bytes = snapshots.bytes};
}

}  // namespace kiln

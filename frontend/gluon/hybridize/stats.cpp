// kiln::stats().
#include "codegen/driver/compile.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "runtime/storage.h"

#include <kiln/stats.h>

namespace kiln {

Stats stats() {
  const CompileStats compiled = compile_stats();
  const PrepackedCount prepacked = count_prepacked();
  return {.kernels = compiled.kernels_mapped,
          .kernels_compiled = compiled.kernels_compiled,
          .kernels_loaded = compiled.kernels_loaded,
          .kernels_dropped = compiled.kernels_dropped,
          .graphs_compiled = compiled.graphs,
          .recordings = detail::recording_counts.alive,
          .recordings_made = detail::recording_counts.made,
          .recordings_dropped = detail::recording_counts.dropped,
          .prepacked = prepacked.alive,
          .prepacked_bytes = prepacked.bytes};
}

}  // namespace kiln

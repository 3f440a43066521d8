#include "codegen/driver/memory_room.h"

#include "runtime/fail.h"
#include "runtime/memory_system.h"

#include <kiln/memory.h>

#include <llvm/Support/ErrorHandling.h>

#include <new>

namespace kiln::codegen {

void require_room(std::size_t bytes, std::string_view graph) {
  if (memory::can_map(bytes)) return;
  release_pooled_memory();
  if (!memory::can_map(bytes))
    fail("{}: out of memory: compiling it may take {} bytes more than the system has. Live arrays hold {} bytes.",
         graph, bytes, memory_report().live_bytes);
}

void throw_from_llvm() {
  [[maybe_unused]] static const bool installed = [] {
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    return true;
  }();
}

}  // namespace kiln::codegen

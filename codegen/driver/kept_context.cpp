// The idle contexts of MLIR.
#include "codegen/driver/kept_context.h"

#include "ir/dialect.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"

#include <exception>
#include <vector>

namespace kiln::codegen {
namespace {

// A node leaves about a KiB in its context, kernels some more.
constexpr std::size_t max_nodes = 4096, nodes_of_kernels = 32;
constexpr std::size_t max_constants = 1 << 20;  // bytes
constexpr std::size_t max_idle = 4;             // contexts, of 1 to 2 MiB each

struct Idle {
  Mutex mutex;
  std::vector<std::unique_ptr<KeptContext::Entry>> entries;

  Idle() { entries.reserve(max_idle); }  // so that a destructor that adds one throws nothing
};

Idle& idle() {
  return once<[] { return Idle(); }>();
}

std::unique_ptr<KeptContext::Entry> take_idle() {
  const std::lock_guard lock(idle().mutex);
  if (idle().entries.empty()) return nullptr;
  auto entry = std::move(idle().entries.back());
  idle().entries.pop_back();
  return entry;
}

}  // namespace

KeptContext::KeptContext(std::size_t nodes, bool own) : own_(own), exceptions_(std::uncaught_exceptions()) {
  if (!own) entry_ = take_idle();
  if (!entry_) {
    entry_ = std::make_unique<Entry>();
    entry_->context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    ir::load_dialects(*entry_->context);
  }
  entry_->nodes += nodes + nodes_of_kernels;
}

KeptContext::~KeptContext() {
  if (own_ || std::uncaught_exceptions() > exceptions_) return;
  if (entry_->nodes > max_nodes || entry_->constants > max_constants) return;
  const std::lock_guard lock(idle().mutex);
  if (idle().entries.size() < max_idle) idle().entries.push_back(std::move(entry_));
}

}  // namespace kiln::codegen

// Counts and reports the passes that change their operation.
#include "passes/pass_observer.h"

#include <kiln/pass_counts.h>

#include <mlir/IR/OperationSupport.h>
#include <mlir/Pass/PassInstrumentation.h>

#include <atomic>
#include <mutex>

namespace kiln {
namespace {

std::atomic<bool> counting = false;

/// Shared by all threads.
struct Counts {
  std::mutex mutex;
  std::vector<PassCount> passes;  // in the order in which they ran first: the pipeline's

  PassCount& of(llvm::StringRef pass) {
    for (PassCount& count : passes)
      if (count.pass == pass) return count;
    return passes.emplace_back(PassCount{.pass = pass.str()});
  }
};
Counts& counts() {
  static auto& c = *new Counts;
  return c;
}

/// Passes nest where constants are folded: each pipeline has a separate observer. Used by one thread at a
/// time, as its pass manager is.
class PassObserver : public mlir::PassInstrumentation {
 public:
  explicit PassObserver(passes::AfterPass after_pass) : after_pass_(std::move(after_pass)) {}

  void runBeforePass(mlir::Pass* pass, mlir::Operation* op) override {
    if (is_adaptor(pass)) return;
    before_.emplace_back(op);
    count(pass, &PassCount::runs);
  }
  void runAfterPass(mlir::Pass* pass, mlir::Operation* op) override {
    if (is_adaptor(pass)) return;
    const bool changed = before_.pop_back_val() != mlir::OperationFingerPrint(op);
    if (changed) count(pass, &PassCount::changes);
    if (after_pass_) after_pass_(pass->getArgument(), op, changed);
  }
  void runAfterPassFailed(mlir::Pass* pass, mlir::Operation*) override {
    if (!is_adaptor(pass)) before_.pop_back();
  }

 private:
  template <class Count>
  static void count(mlir::Pass* pass, Count PassCount::*what) {
    if (!counting.load(std::memory_order_relaxed)) return;
    std::lock_guard lock(counts().mutex);
    ++(counts().of(pass->getArgument()).*what);
  }
  /// A nested list of passes appears as a pass without a name.
  static bool is_adaptor(mlir::Pass* pass) { return pass->getArgument().empty(); }

  passes::AfterPass after_pass_;
  llvm::SmallVector<mlir::OperationFingerPrint, 1> before_;
};

}  // namespace

namespace passes {

void observe_passes(mlir::PassManager& manager, AfterPass after_pass) {
  if (after_pass || counting.load(std::memory_order_relaxed))
    manager.addInstrumentation(std::make_unique<PassObserver>(std::move(after_pass)));
}

}  // namespace passes

void count_passes(bool on) { counting = on; }

std::vector<PassCount> pass_counts() {
  std::lock_guard lock(counts().mutex);
  return counts().passes;
}

}  // namespace kiln

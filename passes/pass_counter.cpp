#include "passes/pass_counter.h"

#include <kiln/pass_counts.h>

#include <mlir/IR/OperationSupport.h>
#include <mlir/Pass/PassInstrumentation.h>

#include <atomic>
#include <mutex>

namespace kiln {
namespace {

std::atomic<bool> counting = false;

/// Of all threads.
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

/// Compares the fingerprint of what a pass runs on before and after it. Passes nest where constants are
/// folded, each pipeline with a counter of its own. One thread at a time, as its pass manager.
class PassCounter : public mlir::PassInstrumentation {
 public:
  void runBeforePass(mlir::Pass* pass, mlir::Operation* op) override {
    if (is_adaptor(pass)) return;
    before_.emplace_back(op);
    std::lock_guard lock(counts().mutex);
    counts().of(pass->getArgument()).runs++;
  }
  void runAfterPass(mlir::Pass* pass, mlir::Operation* op) override {
    if (is_adaptor(pass)) return;
    if (before_.pop_back_val() == mlir::OperationFingerPrint(op)) return;
    std::lock_guard lock(counts().mutex);
    counts().of(pass->getArgument()).changes++;
  }
  void runAfterPassFailed(mlir::Pass* pass, mlir::Operation*) override {
    if (!is_adaptor(pass)) before_.pop_back();
  }

 private:
  /// What runs a nested list of passes is a pass too, without a name.
  static bool is_adaptor(mlir::Pass* pass) { return pass->getArgument().empty(); }

  llvm::SmallVector<mlir::OperationFingerPrint, 1> before_;
};

}  // namespace

namespace passes {

void add_pass_counter(mlir::PassManager& manager) {
  if (counting.load(std::memory_order_relaxed)) manager.addInstrumentation(std::make_unique<PassCounter>());
}

}  // namespace passes

void count_passes(bool on) { counting = on; }

std::vector<PassCount> pass_counts() {
  std::lock_guard lock(counts().mutex);
  return counts().passes;
}

}  // namespace kiln

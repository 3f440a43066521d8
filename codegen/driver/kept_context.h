// The MLIR contexts of compilations.
#pragma once
#include <mlir/IR/MLIRContext.h>

#include <cstddef>
#include <memory>

namespace kiln::codegen {

/// The MLIR context of a compilation. Idle contexts are kept for later ones. Making one, with the dialects of
/// graphs, takes half as long as the passes of a small graph. Loading the dialects of kernels takes as long
/// as lowering a small kernel to LLVM's dialect. Types, attributes and locations of a compilation live as
/// long as its context, which ends when they have become many. An object belongs to one thread.
class KeptContext {
 public:
  /// A context for about `nodes` nodes: an idle one, or a new one. `own`: a new one that is not kept, so that
  /// printed texts do not depend on earlier compilations.
  KeptContext(std::size_t nodes, bool own);
  ~KeptContext();
  KeptContext(const KeptContext&) = delete;
  KeptContext& operator=(const KeptContext&) = delete;

  mlir::MLIRContext& operator*() const { return *entry_->context; }
  /// The context holds `bytes` more of constants.
  void add_constants(std::size_t bytes) { entry_->constants += bytes; }

  struct Entry {
    std::unique_ptr<mlir::MLIRContext> context;
    std::size_t nodes = 0;
    std::size_t constants = 0;  ///< bytes
  };

 private:
  std::unique_ptr<Entry> entry_;
  bool own_;
  int exceptions_;  ///< in flight at the constructor: with more at its end, the compilation has failed
};

}  // namespace kiln::codegen

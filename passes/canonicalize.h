#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Applies the dialect's folders (the written list of identities in ir/dialect.cpp, nothing else), moves the
/// constant of a sum or product to the right, and erases what nobody uses.
///
/// Why not MLIR's canonicalizer: it would also run the folders of other dialects and constant folding in C++
/// arithmetic, and bits are only what generated kernels compute. Why here: operators are written by composing
/// primitives, which leaves reshapes to the same shape and broadcasts of splats behind; everything after is
/// easier to read and match without them. Needs: kiln operations in one block. Guarantees: no folder applies
/// any more; every operation has a use.
std::unique_ptr<mlir::Pass> create_canonicalize_pass();

}  // namespace kiln::passes

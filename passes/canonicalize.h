// The pass kiln-canonicalize: exact identities.
#pragma once
#include <mlir/Pass/Pass.h>

#include <memory>

namespace kiln::passes {

/// Applies the dialect's folders (the written list of identities in ir/dialect.cpp, nothing else), moves the
/// constant of a sum or product to the right, and erases dead operations. A sort whose users read only its
/// first elements sorts only these.
///
/// Why not MLIR's canonicalizer: it also runs the folders of other dialects and folds constants in C++
/// arithmetic, and only generated kernels compute bits. Why here: operators compose primitives, which leaves
/// reshapes to the same shape and broadcasts of splats; later passes match more easily without them. Needs:
/// kiln operations in one block. Guarantees: no folder applies any more; every operation has a use.
std::unique_ptr<mlir::Pass> create_canonicalize_pass();

}  // namespace kiln::passes

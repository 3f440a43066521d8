// The table of a back end: which of its kernels computes an operation, and for which it takes another's.
#pragma once
#include "codegen/backend/backend.h"
#include "ir/dialect.h"

#include <functional>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln::codegen {

/// A row: the kernels of one kind of operation, or of the fusions whose root is one.
struct KernelRow {
  mlir::TypeID operation;
  bool is_root;  ///< of a fusion, not alone
  /// Whether the row applies to this operation or root; null: to all of the kind.
  std::function<bool(mlir::Operation* root)> applies = {};
  /// Launches the kernels. `op`: the operation, or the fusion of `root`. Null: the table that this one falls
  /// back to has the kernels.
  std::function<Launches(mlir::Operation* op, mlir::Operation* root, const CpuTarget& code)> launch = {};
};

/// Stands in a row in place of a function: another back end has the kernels.
struct Fallback {};
inline constexpr Fallback fallback;

namespace detail {

inline Launches launches_of(Launches launches) { return launches; }
inline Launches launches_of(Launch launch) {
  Launches launches;
  launches.push_back(std::move(launch));
  return launches;
}

/// Calls `launch` with the arguments that it takes.
template <class F, class Op, class Root>
Launches call(F launch, Op op, Root root, const CpuTarget& code) {
  if constexpr (std::is_invocable_v<F, Op, Root, const CpuTarget&>)
    return launches_of(launch(op, root, code));
  else if constexpr (std::is_invocable_v<F, Op, Root>)
    return launches_of(launch(op, root));
  else if constexpr (std::is_invocable_v<F, Op, const CpuTarget&>)
    return launches_of(launch(op, code));
  else
    return launches_of(launch(op));
}

template <class Op, class Root, class F>
KernelRow row_of(bool is_root, F launch) {
  KernelRow row{mlir::TypeID::get<Root>(), is_root};
  if constexpr (!std::is_same_v<F, Fallback>)
    row.launch = [launch](mlir::Operation* op, mlir::Operation* root, const CpuTarget& code) {
      return call(launch, llvm::cast<Op>(op), llvm::cast<Root>(root), code);
    };
  return row;
}

}  // namespace detail

/// The row of an operation that stands alone. `launch` is `fallback`, or a function of the operation and, if
/// it wants that, the target.
template <class Op, class F>
KernelRow alone(F launch) {
  return detail::row_of<Op, Op>(/*is_root=*/false, launch);
}
/// The row of fusions with such a root. `launch` is `fallback`, or a function of the fusion and, if it wants
/// them, the root and the target.
template <class Root, class F>
KernelRow root(F launch) {
  return detail::row_of<ir::FusionOp, Root>(/*is_root=*/true, launch);
}
/// The same, of the roots for which `applies` is true.
template <class Root, class F>
KernelRow root(bool (*applies)(Root), F launch) {
  KernelRow row = root<Root>(launch);
  row.applies = [applies](mlir::Operation* root) { return applies(llvm::cast<Root>(root)); };
  return row;
}

/// A table of kernels. The first row that applies to an operation has its kernels. The root of a fusion is
/// the first operation in its body that a root row applies to. A fusion without a root has the row of
/// ir::FusionOp.
class KernelTable {
 public:
  KernelTable(std::initializer_list<KernelRow> rows) : rows_(rows) {}

  /// The kernels of an operation for `code`. `other` has the kernels of the rows that fall back, and must not
  /// fall back itself. Throws an internal error for an operation without a row.
  Launches launch(mlir::Operation* op, const CpuTarget& code, const KernelTable* other = nullptr) const;

 private:
  const KernelRow* row_of(mlir::Operation* op, bool is_root) const;

  std::vector<KernelRow> rows_;
};

}  // namespace kiln::codegen

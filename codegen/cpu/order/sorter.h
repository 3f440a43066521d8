// Sorting of rows.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/math/num.h"

/// Sorting the elements of a row by key and then by index: no two are equal, so that every algorithm gives
/// the stable order.
namespace kiln::codegen {

/// An integer whose order is the order of the result. No number, in either direction, has the greatest key.
Num key_of(Num x, DType dtype, bool descending);

/// Everything that the code of a sort depends on: equal plans, equal code.
struct SortPlan {
  DType dtype;
  bool descending;
  bool packed;    // an element's key and index are one i64
  bool in_order;  // of a part of the row: kept in order, else collected and sorted
  int lanes;
  static constexpr auto fields() {
    return std::tuple(PlanField{"dtype", &SortPlan::dtype}, PlanField{"descending", &SortPlan::descending},
                      PlanField{"packed", &SortPlan::packed}, PlanField{"in_order", &SortPlan::in_order},
                      PlanField{"lanes", &SortPlan::lanes});
  }
};

/// An element in registers: one i64 with the key in its upper half and the index in the lower one, or key and
/// index. An array of elements is a pointer for each part.
using Parts = llvm::SmallVector<mlir::Value, 2>;

/// Emits sorts of `extent` elements: a sorting network for runs of 8, then bottom-up merges between two
/// arrays.
class Sorter {
 public:
  Sorter(KernelBuilder& e, bool packed, mlir::Value extent)
      : e_(e), packed_(packed), extent_(extent), last_(e.sub(extent, e.index(1))) {}

  /// The passes that merge all runs.
  static std::int64_t merge_passes(std::int64_t extent);

  Parts load(const Parts& array, mlir::Value i);
  void store(const Parts& x, const Parts& array, mlir::Value i);
  /// An element with this key and index, both i64.
  Parts element(Num key, Num index) const;
  /// The key of an element, as i64; of an index packed with it.
  mlir::Value key(const Parts& x) const;
  mlir::Value index(const Parts& x) const;
  /// Greater than all elements.
  Parts greatest() const { return Parts(packed_ ? 1 : 2, e_.index(INT64_MAX)); }

  /// The two arrays by their roles in sort(). The first one returned holds the elements at the beginning, so
  /// that the result of `passes` merges is in `first`.
  std::pair<Parts, Parts> arrays(const Parts& first, const Parts& second, mlir::Value passes);
  /// Sorts the elements of `from`. Results of merges alternate between the arrays.
  void sort(const Parts& from, const Parts& to, mlir::Value passes);
  /// Inserts an element into `count` sorted elements and drops the last of these, which must be greater. The
  /// memory after them may be written, up to a whole register.
  void insert(const Parts& x, const Parts& sorted, mlir::Value count);

 private:
  void sort_runs(const Parts& array);
  void merge_runs(const Parts& from, const Parts& to, mlir::Value width);
  void network(llvm::SmallVector<Parts>& run);
  mlir::Value both(mlir::Value a, mlir::Value b) { return mlir::arith::AndIOp::create(e_.b, e_.loc, a, b); }
  mlir::Value either(mlir::Value a, mlir::Value b) { return mlir::arith::OrIOp::create(e_.b, e_.loc, a, b); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(e_.b, e_.loc, predicate, a, b);
  }
  mlir::Value before(const Parts& x, const Parts& y);
  Parts choose(mlir::Value condition, const Parts& x, const Parts& y);

  KernelBuilder& e_;
  bool packed_;
  mlir::Value extent_, last_;
};

}  // namespace kiln::codegen

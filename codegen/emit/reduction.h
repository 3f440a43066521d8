// Everything that a kernel of reductions depends on, whatever loops compute it.
#pragma once
#include "codegen/emit/kernel_params.h"
#include "codegen/emit/loop_nest.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/scalar_expr.h"
#include "ir/dialect.h"

#include <optional>

namespace kiln::codegen {

inline constexpr std::int64_t block_length = 1024;  ///< interleaved64: elements of a block
inline constexpr std::int64_t chain_length = 32;    ///< pairwise32: elements of a chain
inline constexpr int partials = 64;                 ///< interleaved64: partial results of a block
inline constexpr int block_bits = 10, chain_bits = 5;
static_assert(block_length == 1 << block_bits && chain_length == 1 << chain_bits);

/// Results that are computed together, since they share elements: of consecutive rows and columns of the kept
/// axes.
struct ResultTile {
  int rows = 1, columns = 1;
  bool covers_rows = true;  // no columns of a row remain, whatever thread has it
  int points() const { return rows * columns; }
  static constexpr auto fields() {
    return std::tuple(PlanField{"rows", &ResultTile::rows}, PlanField{"columns", &ResultTile::columns},
                      PlanField{"covers_rows", &ResultTile::covers_rows});
  }
};

/// A leaf of the reduced expression, as far as its access along the reduced axis is built into the code.
struct ReducedLeaf {
  std::optional<std::int64_t> step;  // its stride, where that is built in
  std::optional<int> step_class;     // stride_class() of it, where that is
  bool adjoins;                      // Reduction::adjoins()
  static constexpr auto fields() {
    return std::tuple(PlanField{"step", &ReducedLeaf::step},
                      PlanField{"step_class", &ReducedLeaf::step_class},
                      PlanField{"adjoins", &ReducedLeaf::adjoins});
  }
};

/// A column of a leaf that is read as columns (Reduction::has_columns()), which access `access` reads too.
struct ReadColumn {
  std::size_t access, leaf;
  std::int64_t number;
  static constexpr auto fields() {
    return std::tuple(PlanField{"access", &ReadColumn::access}, PlanField{"leaf", &ReadColumn::leaf},
                      PlanField{"number", &ReadColumn::number});
  }
};

/// The loops over the reduced axis.
struct ReducedLoops {
  bool interleaved64, along_reduced;
  int levels, lanes;
  std::optional<std::int64_t> tree_extent;  // of a register tree: of the reduced axis
  bool short_rows;
  std::int64_t prefetch_bytes;
  std::vector<ReducedLeaf> leaves;
  std::vector<ReadColumn> columns;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"interleaved64", &ReducedLoops::interleaved64},
        PlanField{"along_reduced", &ReducedLoops::along_reduced}, PlanField{"levels", &ReducedLoops::levels},
        PlanField{"lanes", &ReducedLoops::lanes}, PlanField{"tree_extent", &ReducedLoops::tree_extent},
        PlanField{"short_rows", &ReducedLoops::short_rows},
        PlanField{"prefetch_bytes", &ReducedLoops::prefetch_bytes},
        PlanField{"leaves", &ReducedLoops::leaves}, PlanField{"columns", &ReducedLoops::columns});
  }
};

/// The built-in part of a reduction kernel's code: equal plans, equal code.
struct ReductionPlan {
  std::vector<ir::Reduce> kinds;
  DType dtype;
  ResultTile tile;
  ReducedLoops loops;
  NestPlan nest;
  std::string before, after;  // the expressions
  static constexpr auto fields() {
    return std::tuple(PlanField{"kinds", &ReductionPlan::kinds}, PlanField{"dtype", &ReductionPlan::dtype},
                      PlanField{"tile", &ReductionPlan::tile}, PlanField{"loops", &ReductionPlan::loops},
                      PlanField{"nest", &ReductionPlan::nest}, PlanField{"before", &ReductionPlan::before},
                      PlanField{"after", &ReductionPlan::after});
  }
};

/// The description of a kernel of reductions, for its code and its parameters. It has one reduction, or
/// several over the same axes of arrays of one type, whose elements are computed together.
struct Reduction {
  llvm::SmallVector<ir::Reduce> kinds;
  DType dtype;
  ScalarExpr before, after;  // a result of `before` for each kind, which is reduced to the root of `after`
  LoopNest nest;             // over the kept axes
  std::int64_t extent;       // of the reduced axis
  Dims steps;                // strides of the leaves of `before` along it
  int lanes;
  bool interleaved64;
  int levels;          // of blocks of 1024 elements, of blocks of their results, and so on
  bool along_reduced;  // lanes (pairwise32: one) run along the reduced axis; else along the last kept axis
  bool register_tree;  // few elements: code without a loop
  bool short_rows;     // whose elements are next to each other: squares of them are transposed in registers
  ResultTile tile;     // along_reduced; one point: no tile
  std::int64_t prefetch_bytes;  // distance of software prefetch, of operands that stream; 0: none

  std::vector<std::size_t> after_access;  // per leaf of `after`
  std::size_t first_output;               // access

  ReductionPlan plan() const;
  /// Whether the elements of leaf i that lanes read are a few apart, a built-in distance. Loading all
  /// elements between them takes less than a load for each lane.
  bool loads_between(std::size_t i) const {
    return along_reduced && is_small_step(steps[i]) && steps[i] <= lanes / 2;
  }
  /// Whether leaf i has the elements of the columns of a tile next to each other: squares are transposed in
  /// registers.
  bool reads_squares(std::size_t i) const {
    return stride_class(steps[i]) == 2 && nest.accesses()[i].strides.back() == 1 && !loads_between(i) &&
           size_of(nest.accesses()[i].dtype) >= 4;
  }
  /// Whether the short rows of leaf i follow each other in memory, so that their distance is built in.
  bool adjoins(std::size_t i) const {
    return short_rows && steps[i] == 1 && nest.accesses()[i].strides.back() == extent;
  }
  /// Whether leaf i has a short row for each lane: its elements become columns by transposing.
  bool has_columns(std::size_t i) const {
    return short_rows && steps[i] == 1 && stride_class(nest.accesses()[i].strides.back()) == 2;
  }
  /// A column of a leaf that has_columns().
  struct Column {
    std::size_t leaf;
    std::int64_t number;
  };
  /// The column that an access reads which stays at one element of the same rows, such as the origin that a
  /// mean is computed from. Its number is built in.
  std::optional<Column> column_of(std::size_t access) const;
  /// pairwise32: how often the number of results of chains can be halved.
  int halvings() const { return levels * block_bits - chain_bits; }
  /// Whether leaf i is an iota: 1 or 0 apart along the reduced axis, which is built in.
  bool is_index(std::size_t i) const { return before.leaves()[i].kind == Leaf::Kind::iota; }
  bool has(ir::Reduce kind) const { return llvm::is_contained(kinds, kind); }
  std::int64_t first_own_param() const { return static_cast<std::int64_t>(nest.param_count()); }
};

/// Whether the expression is short enough to be unrolled: a few operations and no function.
bool is_light(const ScalarExpr& expr);

/// After the parameters of the nest: the first, then the other for each leaf of `before`.
inline constexpr ParamNames reduce_names{"reduced_extent"};
inline constexpr ParamNames reduce_leaf_names{"reduced_stride"};
using ReduceParams = KernelParams<reduce_names>;
using ReduceLeafParams = KernelParams<reduce_leaf_names>;

Reduction plan_reduction(ir::FusionOp fusion, const CpuTarget& target);
/// The parameters of a kernel.
void append_params(std::vector<std::int64_t>& params, const Reduction& reduction);

}  // namespace kiln::codegen

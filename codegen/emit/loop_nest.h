// Loop nests over boxes of points.
#pragma once
#include "codegen/emit/kernel_builder.h"
#include "codegen/emit/plan_fields.h"
#include "codegen/emit/strided_access.h"

#include <llvm/ADT/SmallVector.h>

namespace kiln::codegen {

class LoopNest;

/// An access as far as it is built into the code of a nest.
struct AccessPlan {
  DType dtype;
  int operand;
  int step_class;                          // stride_class() of the innermost stride
  std::optional<std::int64_t> small_step;  // that stride, if it is small
  int repeats, cycle, arrays;              // of StridedAccess
  bool is_shared_by_rows, reads_squares;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"dtype", &AccessPlan::dtype}, PlanField{"operand", &AccessPlan::operand},
        PlanField{"step_class", &AccessPlan::step_class}, PlanField{"small_step", &AccessPlan::small_step},
        PlanField{"repeats", &AccessPlan::repeats}, PlanField{"cycle", &AccessPlan::cycle},
        PlanField{"arrays", &AccessPlan::arrays}, PlanField{"shared_by_rows", &AccessPlan::is_shared_by_rows},
        PlanField{"squares", &AccessPlan::reads_squares});
  }
};

/// The built-in part of a nest's code: equal plans, equal loops.
struct NestPlan {
  std::size_t rank;
  int registers, lanes, rows, groups;
  std::size_t joined_axes;                 // LoopNest::join_outermost()
  std::optional<std::int64_t> row_length;  // of rows shorter than a register
  bool overlaps, stores_whole;
  std::vector<AccessPlan> accesses;
  static constexpr auto fields() {
    return std::tuple(
        PlanField{"rank", &NestPlan::rank}, PlanField{"registers", &NestPlan::registers},
        PlanField{"lanes", &NestPlan::lanes}, PlanField{"rows", &NestPlan::rows},
        PlanField{"groups", &NestPlan::groups}, PlanField{"joined_axes", &NestPlan::joined_axes},
        PlanField{"row_length", &NestPlan::row_length}, PlanField{"overlaps", &NestPlan::overlaps},
        PlanField{"stores_whole", &NestPlan::stores_whole}, PlanField{"accesses", &NestPlan::accesses});
  }
};

/// An iteration of the innermost loop: `lanes` consecutive points of a row.
class LoopPoint {
 public:
  mlir::Value mask() const { return mask_; }
  int lanes() const { return lanes_; }
  mlir::Value load(std::size_t access);
  void store(std::size_t access, mlir::Value value);
  /// A non-temporal store, unless the point is masked; for accesses with an innermost stride of 1.
  void store_nontemporal(std::size_t access, mlir::Value value);
  /// Prefetches for a later iteration: the same bytes of the next row block if the operand has one
  /// (KernelBuilder::next_block_distance). Otherwise, if `streaming`, the bytes a fixed distance ahead.
  void prefetch_next(std::size_t access, bool streaming);
  /// The integers of an access without an operand, for each lane, as i64.
  mlir::Value number(std::size_t access);
  /// The index of the first lane along the innermost axis.
  mlir::Value position() const { return j_; }
  /// The address of the first lane's element.
  mlir::Value address(std::size_t access);
  /// Element indices of the lanes, relative to address().
  mlir::Value lane_offsets(std::size_t access);
  /// The innermost stride of an access, in elements.
  mlir::Value inner_stride(std::size_t access) const { return inner_[access]; }
  /// The stride_class() of the innermost stride.
  int inner_stride_class(std::size_t access) const;
  /// Whether all lanes access the same element.
  bool is_shared_by_lanes(std::size_t access) const;

 private:
  friend class LoopNest;
  mlir::Value load_small_step(std::size_t access);
  mlir::Value load_group(std::size_t access);
  mlir::Value load_of_arrays(std::size_t access);
  /// The register from lane `first` on, where groups are as long as a register or longer.
  mlir::Value load_of_two_groups(std::size_t access, int first);
  /// Sets the lanes and the phase, and loads the elements that all points of a row share.
  void load_invariants(int lanes, int phase = 0);
  KernelBuilder* e_;
  const LoopNest* nest_;
  llvm::SmallVector<mlir::Value> bases_;       // address, or integer, at j = 0 of the innermost loop
  llvm::SmallVector<mlir::Value> inner_;       // innermost strides
  llvm::SmallVector<mlir::Value> hoisted_;     // loads with an innermost stride of 0
  llvm::SmallVector<mlir::Value> transposed_;  // loads of a square block, transposed in registers
  mlir::Value j_, mask_, left_;                // with a mask: the points from the step's first on
  int lanes_ = 1, phase_ = 0;                  // points of the step before this one
  bool is_one_group_ = false;                  // all lanes that are not masked
  bool stores_past_row_ = false;  // the next row's store overwrites the lanes after this row's end
};

/// Loops over a box. Extents and strides are parameters of the generated code, so that one kernel serves all
/// sizes. Built into the code are only the rank, the class of each innermost stride, and the length of rows
/// shorter than a register.
///
/// A *row* is the innermost axis at one index of the other axes.
class LoopNest {
 public:
  /// The body gets `registers` * `lanes` points at a time; in the remainder of a row, `lanes`. In
  /// emit_blocks() it gets `rows` rows at a time while that many are left. If an operand reads transposed and
  /// `rows` is a multiple of `lanes`, it gets `lanes` rows at a time; fewer `rows` are all of their axis.
  LoopNest(Dims extents, std::vector<StridedAccess> accesses, int lanes, int registers = 1, int rows = 1);

  /// Lets the body of emit_blocks() get `groups` consecutive groups of `registers` * `lanes` points of a row
  /// at a time, while that many are left.
  void take_groups(int groups) { groups_ = groups; }

  /// If no result can overwrite an operand, lets the last register of a row and the last square of rows
  /// overlap their predecessors. Narrow rows may then be stored as whole registers that the next row
  /// overwrites in part (some processors take a dozen cycles for a masked store).
  void allow_overlaps();

  /// Joins the `count` outermost axes into one for the division of the outermost loop: its index counts the
  /// points of their box. Not all axes; not for emit_point().
  void join_outermost(std::size_t count);

  /// The kernel's parameters: extents, then the offset and the strides of each access.
  void append_params(std::vector<std::int64_t>& params) const;
  std::size_t param_count() const { return rank() + (rank() + 1) * accesses_.size(); }
  NestPlan plan() const;
  std::size_t rank() const { return extents_.size(); }
  llvm::ArrayRef<std::int64_t> extents() const { return extents_; }
  std::int64_t outer_extent() const;
  std::int64_t elements() const;
  const std::vector<StridedAccess>& accesses() const { return accesses_; }
  int lanes() const { return lanes_; }
  int rows() const { return rows_; }
  /// The StridedAccess::group() of the accesses that have one. Threads divide a single axis at multiples of
  /// it.
  int group() const;
  /// Registers until a group begins at a lane 0 again.
  int period() const;

  using PointBody = std::function<void(LoopPoint&)>;
  /// A row, or the part [from, to) of it where the innermost axis is the outermost too.
  struct Row {
    mlir::Value from, to;
    /// Emits a loop over a part of the row; may be called several times.
    std::function<void(mlir::Value from, mlir::Value to, const PointBody&)> each;
    /// One point of it, without a loop.
    std::function<LoopPoint(mlir::Value position)> at;
  };
  /// Emits the loops over [args.begin, args.end) of the outermost axis, or of the joined ones. The nest's
  /// parameters are the first ones.
  void emit(KernelBuilder& e, const KernelArgs& args, const PointBody& body) const;
  /// Gets the same position of consecutive rows. Accesses with is_shared_by_rows() have one address in all.
  using RowsBody = std::function<void(llvm::MutableArrayRef<LoopPoint>)>;
  /// Like emit(), with rows() rows at a time, and the remaining rows one by one.
  void emit_blocks(KernelBuilder& e, const KernelArgs& args, const RowsBody& body) const;
  /// Like emit(), row by row, for bodies with several loops over a row.
  void emit_rows(KernelBuilder& e, const KernelArgs& args, const std::function<void(const Row&)>& body) const;
  /// Like emit_rows(), with rows() rows at a time, and the remaining rows one by one.
  void emit_row_blocks(KernelBuilder& e, const KernelArgs& args,
                       const std::function<void(llvm::ArrayRef<Row>)>& body) const;
  /// Emits the body at a point of the box, without a loop: for threads that have separate points. Points are
  /// counted in C order: `number` counts the points at index `outer` of the outermost axis or, if `outer` is
  /// null, all points. `lanes` is 1.
  void emit_point(KernelBuilder& e, const KernelArgs& args, mlir::Value outer, mlir::Value number,
                  const PointBody& body) const;
  /// Whether emit_point() counts in 32 bits, which divides faster. It is built into the code.
  bool has_short_numbers() const;

 private:
  mlir::Value extent_param(KernelBuilder& e, const KernelArgs& args, std::size_t axis) const;
  mlir::Value offset_param(KernelBuilder& e, const KernelArgs& args, std::size_t access) const;
  mlir::Value stride_param(KernelBuilder& e, const KernelArgs& args, std::size_t access,
                           std::size_t axis) const;
  /// Whether each of many rows is a single register with unused lanes, or of a square: no loop is needed
  /// then.
  bool has_narrow_rows() const;
  /// Whether code relies on allow_overlaps().
  bool overlaps() const { return overlaps_ && (extents_.back() > lanes_ || has_narrow_rows()); }
  /// Whether all rows of the axis outside of them are one block, of fewer than `lanes` rows and more than
  /// half of `lanes`. A square then has masks.
  bool has_few_rows() const;
  /// How many rows of a square may be stored as whole registers, although they are narrow.
  int rows_stored_whole() const;
  using Rows = llvm::SmallVector<LoopPoint, 2>;
  class OuterLoops;
  /// Emits the loops around rows, `rows` of them at a time while that many are left.
  void emit_outer_loops(KernelBuilder& e, const KernelArgs& args, int rows,
                        llvm::function_ref<void(const Rows&, mlir::Value from, mlir::Value to)> body) const;
  Row row_of(KernelBuilder& e, const LoopPoint& begin, mlir::Value from, mlir::Value to) const;
  void emit_inner_loop(KernelBuilder& e, Rows rows, mlir::Value from, mlir::Value to,
                       const RowsBody& body) const;
  /// The inner loop where period() is several registers: a step is a period, and the phase of each register
  /// is built in.
  void emit_periods(KernelBuilder& e, Rows rows, mlir::Value from, mlir::Value to,
                    const RowsBody& body) const;
  /// Whether an access reads transposed and row blocks are tall enough for `lanes` by `lanes` squares.
  bool uses_square_blocks() const;
  /// Loads a square block of each transposed access: `lanes` points of `lanes` rows.
  void load_transposed(KernelBuilder& e, llvm::MutableArrayRef<LoopPoint> rows) const;

  Dims extents_;
  std::vector<StridedAccess> accesses_;
  int lanes_, registers_, rows_, groups_ = 1;
  std::size_t outermost_ = 1;  // axes
  bool overlaps_ = false;
};

}  // namespace kiln::codegen

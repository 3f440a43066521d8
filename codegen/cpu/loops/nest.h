#pragma once
#include "codegen/cpu/loops/emit.h"

#include <llvm/ADT/SmallVector.h>

namespace kiln::codegen {

using Dims = llvm::SmallVector<std::int64_t, 6>;

/// Something that a loop nest walks with a stride per axis: an operand's elements, or a number (the index
/// along an axis).
struct Stream {
  DType dtype = DType::f32;
  int operand = -1;         ///< of the step; -1: the stream is the number itself
  Dims strides;             ///< in elements, one per axis of the nest
  std::int64_t offset = 0;  ///< elements from the operand's beginning to the first one
  bool read = true;         ///< loaded at every point: with an innermost stride of 0, once before the loop
  int repeats = 1;          ///< of each element along the innermost axis, which then has a stride of 1
};

/// Loops over a box. Extents and strides are parameters of the generated code, so that one kernel serves all
/// sizes; only the rank, whether the innermost stride is 0, 1 or another, and how long rows are that do not
/// fill a register, is built in.
class Nest {
 public:
  /// The body is given `registers` times `lanes` points at once, and at the end of a row `lanes`; by
  /// emit_together of `rows` rows, while there are as many. Where an operand lies across and `rows`
  /// is a multiple of `lanes`, it is given `lanes` of those after the other.
  Nest(Dims extents, std::vector<Stream> streams, int lanes, int registers = 1, int rows = 1);

  /// The step's parameters: extents, then each stream's offset and strides.
  void append_params(std::vector<std::int64_t>& params) const;
  std::size_t param_count() const { return rank() + (rank() + 1) * streams_.size(); }
  /// What the code depends on.
  std::string key() const;
  std::size_t rank() const { return extents_.size(); }
  std::int64_t outer_extent() const { return extents_[0]; }
  std::int64_t elements() const;
  const std::vector<Stream>& streams() const { return streams_; }
  int lanes() const { return lanes_; }
  int rows() const { return rows_; }

  /// One position of the innermost loop: `lanes` neighbouring points of the box.
  class At {
   public:
    mlir::Value mask() const { return mask_; }
    int lanes() const { return lanes_; }
    mlir::Value load(std::size_t stream);
    void store(std::size_t stream, mlir::Value value);
    /// Past the caches where that goes: for neighbours in memory.
    void stream(std::size_t stream, mlir::Value value);
    /// Asks for what load() will be asked for some time later: in the operand's next rows, or if it has none
    /// and `streams`, further on.
    void ask_ahead(std::size_t stream, bool streams);
    /// The number that stream is, for each lane, as i64.
    mlir::Value number(std::size_t stream);
    /// The first lane's point of the innermost axis.
    mlir::Value position() const { return j_; }
    /// The address of the first lane's element.
    mlir::Value address(std::size_t stream);
    /// Element indices, relative to address(), of the lanes.
    mlir::Value lane_offsets(std::size_t stream);
    /// 0, 1, or 2 for a stride that is only known at run time.
    int inner_class(std::size_t stream) const;

   private:
    friend class Nest;
    mlir::Value load_picked(std::size_t stream);
    Emit* e_;
    const Nest* nest_;
    llvm::SmallVector<mlir::Value> bases_;    // address, or number, at j = 0 of the innermost loop
    llvm::SmallVector<mlir::Value> inner_;    // innermost strides
    llvm::SmallVector<mlir::Value> hoisted_;  // loads with stride 0
    llvm::SmallVector<mlir::Value> crossed_;  // what was read across the rows and turned
    mlir::Value j_, mask_;
    int lanes_ = 1;
  };
  using Body = std::function<void(At&)>;
  /// The innermost axis at one point of the others, [from, to) of it where that is cut.
  struct Row {
    mlir::Value from, to;
    /// Emits a loop over a part of it; may be called again and again.
    std::function<void(mlir::Value from, mlir::Value to, const Body&)> each;
  };
  /// Emits the loops; [begin, end) is a part of the outermost axis. Parameters begin at params[first_param].
  void emit(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param, mlir::Value begin,
            mlir::Value end, const Body& body) const;
  /// Given the same position of neighbouring rows. What they read from one place has one address.
  using RowsBody = std::function<void(llvm::MutableArrayRef<At>)>;
  /// The same with several rows at once, and those that are left at the end one by one.
  void emit_together(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
                     mlir::Value begin, mlir::Value end, const RowsBody& body) const;
  /// The same row by row, where what is done to a row is more than one loop over it.
  void emit_rows(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
                 mlir::Value begin, mlir::Value end, const std::function<void(const Row&)>& body) const;

 private:
  /// A row is one register with lanes that are not used, in a box with many of them.
  bool has_narrow_rows() const;
  using Rows = llvm::SmallVector<At, 2>;
  /// Emits the loops around rows, of which `rows` are taken at once while there are as many.
  void around_rows(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
                   mlir::Value begin, mlir::Value end, int rows,
                   llvm::function_ref<void(const Rows&, mlir::Value from, mlir::Value to)> body) const;
  void along_rows(Emit& e, Rows rows, mlir::Value from, mlir::Value to, const RowsBody& body) const;
  /// Whether something lies across, and there are rows for squares of it.
  bool takes_squares() const;
  /// Reads a square of each stream that lies across, as many lanes of as many rows.
  void cross(Emit& e, llvm::MutableArrayRef<At> rows) const;

  Dims extents_;
  std::vector<Stream> streams_;
  int lanes_, registers_, rows_;
};

/// 0, 1 or 2 for a stride.
int stride_class(std::int64_t stride);
/// Whether elements that far apart are read with those between them.
bool is_small_step(std::int64_t stride);
/// Whether the rows of a box, neighbours along the last axis but one, have it in common.
bool is_shared_by_rows(const Stream& stream);
/// Whether its neighbours in memory are in neighbouring rows, at the same place of each.
bool lies_across(const Stream& stream);
/// Joins an innermost axis of a few points, by which `lanes` can be divided, with the one before where some
/// streams have one element for all of the few (Stream::repeats) and the others go on.
void join_repeats(Dims& extents, std::vector<Stream>& streams, int lanes);
/// Moves an axis that a stream lies along to the last place but one, so that it lies across, where squares of
/// `lanes` by `lanes` points fit in the box. Whether there is one. `keep_outermost`: the outer loop stays
/// what it is.
bool bring_across(Dims& extents, std::vector<Stream>& streams, int lanes, bool keep_outermost);

}  // namespace kiln::codegen

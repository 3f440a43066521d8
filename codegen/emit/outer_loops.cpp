// The loops of a nest around its rows, from the outermost axis on.
#include "codegen/emit/loop_nest.h"

#include <utility>

namespace kiln::codegen {

class LoopNest::OuterLoops {
 public:
  using Body = llvm::function_ref<void(const Rows&, mlir::Value from, mlir::Value to)>;

  OuterLoops(const LoopNest& nest, KernelBuilder& e, const KernelArgs& args, int rows, Body body)
      : nest_(nest), e_(e), args_(args), rows_(rows), body_(body) {
    for (const StridedAccess& s : nest.accesses_)
      operands_.push_back(s.operand < 0 ? mlir::Value() : e.buffer(args.buffers, s.operand));
    const bool is_row = nest.rank() == 1;
    zero_ = e.index(0);
    extent_ = is_row ? args.end : nest.extent_param(e, args, nest.rank() - 1);
    first_ = is_row ? args.begin : zero_;
    last_ = extent_;
  }

  void emit() {
    Offsets offsets;
    for (std::size_t s = 0; s < nest_.accesses_.size(); ++s)
      offsets.push_back(nest_.offset_param(e_, args_, s));
    emit_from(0, offsets, {args_.begin, args_.end});
  }

 private:
  using Offsets = llvm::SmallVector<mlir::Value>;  // per access

  /// A range of the points of an axis and of the axes inside that are joined with it.
  struct Part {
    mlir::Value begin, end;
  };
  /// The loop over one axis.
  struct AxisLoop {
    std::size_t axis;
    const Offsets& offsets;
    Part part;
    mlir::Value from, to;
    mlir::Value points;  // of one index, where axes inside are joined with this one; else null
    Offsets strides;
  };

  LoopPoint row_at(llvm::ArrayRef<mlir::Value> offsets) const {
    LoopPoint at;
    at.e_ = &e_;
    at.nest_ = &nest_;
    for (std::size_t s = 0; s < nest_.accesses_.size(); ++s) {
      const StridedAccess& access = nest_.accesses_[s];
      at.bases_.push_back(access.operand < 0 ? offsets[s]
                                             : e_.element(operands_[s], offsets[s], access.dtype));
      at.inner_.push_back(nest_.stride_param(e_, args_, s, nest_.rank() - 1));
    }
    return at;
  }

  /// Emits the loops from `axis` on around the rows at `offsets`.
  void emit_from(std::size_t axis, llvm::ArrayRef<Offsets> offsets, Part part) {
    if (axis + 1 == nest_.rank()) {
      const auto row = [&](llvm::ArrayRef<mlir::Value> at) { return row_at(at); };
      return body_(Rows(llvm::map_range(offsets, row)), first_, last_);
    }
    const AxisLoop loop = loop_over(axis, offsets.front(), part);
    if (axis + 2 < nest_.rank() || rows_ == 1) return emit_turns(loop, 1, loop.from, loop.to);
    emit_blocks(loop);
  }

  AxisLoop loop_over(std::size_t axis, const Offsets& offsets, Part part) {
    if (axis >= nest_.outermost_) part = {zero_, nest_.extent_param(e_, args_, axis)};
    AxisLoop loop{axis, offsets, part, part.begin, part.end, {}, {}};
    for (std::size_t inner = axis + 1; inner < nest_.outermost_; ++inner) {
      const mlir::Value count = nest_.extent_param(e_, args_, inner);
      loop.points = loop.points ? e_.mul(loop.points, count) : count;
    }
    if (loop.points) {
      loop.from = e_.div(loop.from, loop.points);
      loop.to = e_.div(e_.add(loop.to, e_.sub(loop.points, e_.index(1))), loop.points);
    }
    for (std::size_t s = 0; s < nest_.accesses_.size(); ++s)
      loop.strides.push_back(nest_.stride_param(e_, args_, s, axis));
    return loop;
  }

  /// The part of the axes inside at index i.
  Part part_inside(const AxisLoop& loop, mlir::Value i) {
    if (!loop.points) return {};
    const mlir::Value before = e_.mul(i, loop.points);
    return {e_.max(e_.sub(loop.part.begin, before), zero_),
            e_.min(e_.sub(loop.part.end, before), loop.points)};
  }

  /// Turns of `count` rows; the rows of the turn at i begin at begin_at(i).
  void emit_turns(
      const AxisLoop& loop, int count, mlir::Value from, mlir::Value to,
      llvm::function_ref<mlir::Value(mlir::Value)> begin_at = [](mlir::Value i) { return i; }) {
    e_.loop(from, to, e_.index(count), [&](mlir::Value i) {
      i = begin_at(i);
      llvm::SmallVector<Offsets, 2> inner(static_cast<std::size_t>(count));
      for (int r = 0; r < count; ++r) {
        const mlir::Value number = e_.add(i, e_.index(r));
        for (auto [s, access] : llvm::enumerate(nest_.accesses_))
          inner[static_cast<std::size_t>(r)].push_back(
              r > 0 && is_shared_by_rows(access) ? inner[0][s]
                                                 : e_.add(loop.offsets[s], e_.mul(number, loop.strides[s])));
      }
      emit_from(loop.axis + 1, inner, part_inside(loop, i));
    });
  }

  /// The last of the outer axes: rows in blocks, then the remaining ones.
  void emit_blocks(const AxisLoop& loop) {
    const mlir::Value side = e_.index(nest_.lanes_);
    const mlir::Value done = e_.whole_steps(loop.from, loop.to, e_.index(rows_));
    if (nest_.uses_square_blocks() && !nest_.overlaps()) return emit_squares(loop, side, done);
    emit_turns(loop, rows_, loop.from, done);
    if (!nest_.uses_square_blocks()) return emit_turns(loop, 1, done, loop.to);
    if (nest_.has_few_rows()) return;
    // The last square of rows overlaps the preceding ones.
    const auto last_square = [&](mlir::Value i) { return e_.min(i, e_.sub(loop.to, side)); };
    e_.when(
        e_.less(e_.sub(loop.to, loop.from), side), [&] { emit_turns(loop, 1, done, loop.to); },
        [&] { emit_turns(loop, nest_.lanes_, done, loop.to, last_square); });
  }

  /// Square blocks in as many rows as possible; then, row by row, the remainders of these rows, and the
  /// remaining rows.
  void emit_squares(const AxisLoop& loop, mlir::Value side, mlir::Value done) {
    if (!nest_.has_narrow_rows()) last_ = e_.whole_steps(zero_, extent_, side);
    emit_turns(loop, rows_, loop.from, done);
    if (rows_ > nest_.lanes_) {
      const mlir::Value next = e_.whole_steps(done, loop.to, side);
      emit_turns(loop, nest_.lanes_, done, next);
      done = next;
    }
    if (nest_.has_narrow_rows()) return emit_turns(loop, 1, done, loop.to);
    const mlir::Value squares = std::exchange(last_, extent_);
    emit_turns(loop, 1, loop.from, loop.to, [&](mlir::Value i) {
      first_ = e_.select(e_.less(i, done), squares, zero_);
      return i;
    });
    first_ = zero_;
  }

  const LoopNest& nest_;
  KernelBuilder& e_;
  const KernelArgs& args_;
  int rows_;
  Body body_;
  llvm::SmallVector<mlir::Value> operands_;
  mlir::Value zero_, extent_;  // of the innermost axis
  mlir::Value first_, last_;   // of a row
};

void LoopNest::emit_outer_loops(
    KernelBuilder& e, const KernelArgs& args, int rows,
    llvm::function_ref<void(const Rows&, mlir::Value from, mlir::Value to)> body) const {
  OuterLoops(*this, e, args, rows, body).emit();
}

}  // namespace kiln::codegen

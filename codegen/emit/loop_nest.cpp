// Emits the loops of a nest.
#include "codegen/emit/loop_nest.h"

#include "codegen/target/tuning.h"
#include "runtime/fail.h"

#include <llvm/Support/MathExtras.h>

#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace kiln::codegen {

LoopNest::LoopNest(Dims extents, std::vector<StridedAccess> accesses, int lanes, int registers, int rows)
    : extents_(std::move(extents)),
      accesses_(std::move(accesses)),
      lanes_(lanes),
      registers_(lanes == 1 ? 1 : registers),
      rows_(rows) {
  if (!extents_.empty()) return;
  extents_.push_back(1);
  for (StridedAccess& s : accesses_) s.strides.push_back(0);
}

void LoopNest::allow_overlaps() {
  const auto go_together = [&](const StridedAccess& read, const StridedAccess& result) {
    for (std::size_t axis = 0; axis < rank(); ++axis)
      if (extents_[axis] > 1 && read.strides[axis] != result.strides[axis]) return false;
    return true;
  };
  // Plans let a result overwrite an operand only where both go through memory together.
  const auto may_be_overwritten = [&](const StridedAccess& read) {
    return read.operand >= 0 && read.read && llvm::any_of(accesses_, [&](const StridedAccess& result) {
             return !result.read && go_together(read, result);
           });
  };
  overlaps_ = lanes_ > 1 && rank() > 1 && llvm::none_of(accesses_, may_be_overwritten) && group() == 1;
}

int LoopNest::group() const {
  int group = 1;
  for (const StridedAccess& s : accesses_) group = std::max(group, s.group());
  return group;
}

int LoopNest::period() const { return group() < lanes_ ? std::lcm(group(), lanes_) / lanes_ : 1; }

void LoopNest::append_params(std::vector<std::int64_t>& params) const {
  params.insert(params.end(), extents_.begin(), extents_.end());
  for (const StridedAccess& s : accesses_) {
    params.push_back(s.offset);
    params.insert(params.end(), s.strides.begin(), s.strides.end());
  }
}

void LoopNest::join_outermost(std::size_t count) {
  if (count >= rank()) fail_internal("all axes of a loop nest are outermost");
  outermost_ = count;
}

std::int64_t LoopNest::outer_extent() const {
  return mlir::ShapedType::getNumElements(llvm::ArrayRef(extents_).take_front(outermost_));
}

std::int64_t LoopNest::elements() const { return mlir::ShapedType::getNumElements(extents_); }

bool LoopNest::has_narrow_rows() const {
  const std::int64_t columns = extents_.back();
  return rank() > 1 && (columns < lanes_ || (columns == lanes_ && uses_square_blocks())) &&
         elements() >= tuning::min_narrow_elements;
}

bool LoopNest::uses_square_blocks() const {
  return lanes_ > 1 && (rows_ % lanes_ == 0 || has_few_rows()) && llvm::any_of(accesses_, reads_transposed);
}

bool LoopNest::has_few_rows() const {
  return rows_ > lanes_ / 2 && rows_ < lanes_ && rank() > outermost_ + 1 && extents_[rank() - 2] == rows_;
}

int LoopNest::rows_stored_whole() const {
  if (!overlaps() || !has_narrow_rows() || !uses_square_blocks()) return 0;
  const std::int64_t columns = extents_.back();
  const auto goes_on = [&](const StridedAccess& s) {
    return s.read || (s.strides.back() == 1 && s.strides[rank() - 2] == columns);
  };
  // Rows that end within the square's elements.
  return llvm::all_of(accesses_, goes_on)
             ? lanes_ - static_cast<int>(llvm::divideCeilSigned(lanes_, columns)) + 1
             : 0;
}

NestPlan LoopNest::plan() const {
  NestPlan plan{.rank = rank(),
                .registers = registers_,
                .lanes = lanes_,
                .rows = rows_,
                .groups = groups_,
                .joined_axes = outermost_,
                .row_length = {},
                .overlaps = overlaps(),
                .stores_whole = rows_stored_whole() > 0,
                .accesses = {}};
  if (has_narrow_rows()) plan.row_length = extents_.back();
  for (const StridedAccess& s : accesses_) {
    const std::int64_t step = s.strides.back();
    const bool is_shared = rows_ > 1 && is_shared_by_rows(s);
    plan.accesses.push_back({.dtype = s.dtype,
                             .operand = s.operand,
                             .step_class = stride_class(step),
                             .small_step = is_small_step(step) ? std::optional(step) : std::nullopt,
                             .repeats = s.repeats,
                             .cycle = s.cycle,
                             .arrays = s.arrays,
                             .is_shared_by_rows = is_shared,
                             .reads_squares = !is_shared && uses_square_blocks() && reads_transposed(s)});
  }
  return plan;
}

void LoopNest::emit(KernelBuilder& e, const KernelArgs& args, const PointBody& body) const {
  emit_rows(e, args, [&](const Row& row) { row.each(row.from, row.to, body); });
}

void LoopNest::emit_blocks(KernelBuilder& e, const KernelArgs& args, const RowsBody& body) const {
  emit_outer_loops(e, args, rows_, [&](const Rows& rows, mlir::Value from, mlir::Value to) {
    emit_inner_loop(e, rows, from, to, body);
  });
}

void LoopNest::emit_rows(KernelBuilder& e, const KernelArgs& args,
                         const std::function<void(const Row&)>& body) const {
  emit_outer_loops(e, args, 1, [&](const Rows& rows, mlir::Value from, mlir::Value to) {
    body(row_of(e, rows.front(), from, to));
  });
}

void LoopNest::emit_row_blocks(KernelBuilder& e, const KernelArgs& args,
                               const std::function<void(llvm::ArrayRef<Row>)>& body) const {
  emit_outer_loops(e, args, rows_, [&](const Rows& rows, mlir::Value from, mlir::Value to) {
    body(llvm::map_to_vector(rows, [&](const LoopPoint& row) { return row_of(e, row, from, to); }));
  });
}

LoopNest::Row LoopNest::row_of(KernelBuilder& e, const LoopPoint& begin, mlir::Value from,
                               mlir::Value to) const {
  const auto each = [&e, this, begin](mlir::Value from, mlir::Value to, const PointBody& body) {
    emit_inner_loop(e, {begin}, from, to, [&](llvm::MutableArrayRef<LoopPoint> at) { body(at.front()); });
  };
  const auto at = [&e, this, begin](mlir::Value position) {
    LoopPoint point = begin;
    point.j_ = position;
    point.load_invariants(1);
    return point;
  };
  return {from, to, each, at};
}

void LoopNest::emit_inner_loop(KernelBuilder& e, Rows rows, mlir::Value from, mlir::Value to,
                               const RowsBody& body) const {
  if (period() > 1) return emit_periods(e, rows, from, to, body);
  const auto take = [&](int lanes) {
    for (LoopPoint& at : rows) at.load_invariants(lanes);
  };
  const auto body_at = [&](mlir::Value j, mlir::Value mask, mlir::Value left = {}) {
    for (LoopPoint& at : rows) {
      at.j_ = j;
      at.mask_ = mask;
      at.left_ = left;
    }
    body(rows);
  };
  const auto square_blocks_at = [&](mlir::Value j, mlir::Value mask) {
    const auto side = std::min(static_cast<std::size_t>(lanes_), rows.size());
    for (llvm::MutableArrayRef<LoopPoint> left = rows; !left.empty(); left = left.drop_front(side)) {
      const auto square = left.take_front(side);
      for (auto [row, at] : llvm::enumerate(square)) {
        at.j_ = j;
        at.mask_ = mask;
        at.stores_past_row_ = mask && static_cast<int>(row) < rows_stored_whole();
      }
      load_transposed(e, square);
      body(square);
      for (LoopPoint& at : square) at.transposed_.clear();
    }
  };
  const bool squares = rows.size() > 1 && uses_square_blocks();
  if (has_narrow_rows()) {
    take(lanes_);
    const mlir::Value mask = e.mask_below(static_cast<int>(extents_.back()), lanes_);
    return squares ? square_blocks_at(from, mask) : body_at(from, mask, e.index(extents_.back()));
  }
  // Emits steps of `width` points, and returns where they end.
  const auto whole_steps = [&](mlir::Value from, int width, const std::function<void(mlir::Value)>& at) {
    const mlir::Value step = e.index(width), whole = e.whole_steps(from, to, step);
    e.loop(from, whole, step, at);
    return whole;
  };
  const int wide = squares ? lanes_ : lanes_ * registers_;
  const std::function<void(mlir::Value)> whole_at = [&](mlir::Value j) {
    squares ? square_blocks_at(j, {}) : body_at(j, {});
  };
  take(wide);
  if (groups_ > 1 && rows.size() == 1) {
    Rows groups(static_cast<std::size_t>(groups_), rows.front());
    from = whole_steps(from, wide * groups_, [&](mlir::Value j) {
      for (auto [number, at] : llvm::enumerate(groups))
        at.j_ = e.add(j, e.index(static_cast<std::int64_t>(number) * wide));
      body(groups);
    });
  }
  mlir::Value done = whole_steps(from, wide, whole_at);
  if (lanes_ == 1 || (squares && !overlaps())) return;  // nothing remains
  if (wide > lanes_) take(lanes_);
  if (overlaps()) {
    if (wide > lanes_) done = whole_steps(done, lanes_, whole_at);
    return e.when(e.less(done, to), [&] { whole_at(e.sub(to, e.index(lanes_))); });
  }
  const auto masked_at = [&](mlir::Value j) {
    const mlir::Value left = e.sub(to, j);
    body_at(j, e.mask_below(left, lanes_), left);
  };
  if (registers_ == 1) return e.when(e.less(done, to), [&] { masked_at(done); });
  e.loop(done, to, e.index(lanes_), masked_at);
}

void LoopNest::emit_periods(KernelBuilder& e, Rows rows, mlir::Value from, mlir::Value to,
                            const RowsBody& body) const {
  // Registers that the body interleaves, as many as it wants at most.
  const int parts = static_cast<int>(llvm::divideCeil(period(), registers_));
  std::vector<Rows> parts_of_period;
  for (int part = 0; part < parts; ++part) {
    const int first = period() * part / parts, end = period() * (part + 1) / parts;
    for (LoopPoint& at : parts_of_period.emplace_back(rows))
      at.load_invariants((end - first) * lanes_, first * lanes_);
  }
  const mlir::Value step = e.index(static_cast<std::int64_t>(period()) * lanes_),
                    whole = e.whole_steps(from, to, step);
  e.loop(from, whole, step, [&](mlir::Value j) {
    for (Rows& part : parts_of_period) {
      for (LoopPoint& at : part) at.j_ = e.add(j, e.index(at.phase_));
      body(part);
    }
  });
  // The remaining groups one by one, as a second copy of the whole period would be long.
  for (LoopPoint& at : rows) {
    at.load_invariants(lanes_);
    at.mask_ = e.mask_below(group(), lanes_);
    at.is_one_group_ = true;
  }
  e.loop(whole, to, e.index(group()), [&](mlir::Value j) {
    for (LoopPoint& at : rows) at.j_ = j;
    body(rows);
  });
}

void LoopNest::load_transposed(KernelBuilder& e, llvm::MutableArrayRef<LoopPoint> rows) const {
  for (LoopPoint& at : rows) at.transposed_.assign(accesses_.size(), {});
  for (auto [s, access] : llvm::enumerate(accesses_)) {
    if (!reads_transposed(access)) continue;
    llvm::SmallVector<mlir::Value> columns{rows.front().address(s)};
    const std::int64_t count = has_narrow_rows() ? extents_.back() : lanes_;
    for (std::int64_t column = 1; column < count; ++column)
      columns.push_back(e.element(columns.back(), rows.front().inner_[s], access.dtype));
    columns.resize(static_cast<std::size_t>(lanes_));
    const mlir::Value mask = has_few_rows() ? e.mask_below(rows_, lanes_) : mlir::Value();
    for (auto [at, row] : llvm::zip_first(rows, e.load_transposed(columns, access.dtype, mask)))
      at.transposed_[s] = row;
  }
}

mlir::Value LoopNest::extent_param(KernelBuilder& e, const KernelArgs& args, std::size_t axis) const {
  return e.param(args.params, static_cast<std::int64_t>(axis), fmt::format("extent{}", axis));
}
mlir::Value LoopNest::offset_param(KernelBuilder& e, const KernelArgs& args, std::size_t access) const {
  return e.param(args.params, static_cast<std::int64_t>(rank() + (rank() + 1) * access),
                 fmt::format("offset{}", access));
}
mlir::Value LoopNest::stride_param(KernelBuilder& e, const KernelArgs& args, std::size_t access,
                                   std::size_t axis) const {
  return e.param(args.params, static_cast<std::int64_t>(rank() + (rank() + 1) * access + 1 + axis),
                 fmt::format("stride{}_{}", access, axis));
}

bool LoopNest::has_short_numbers() const {
  return elements() <= std::int64_t{std::numeric_limits<std::int32_t>::max()};
}

void LoopNest::emit_point(KernelBuilder& e, const KernelArgs& args, mlir::Value outer, mlir::Value number,
                          const PointBody& body) const {
  const auto narrow = [&](mlir::Value v) -> mlir::Value {
    return has_short_numbers() ? mlir::arith::TruncIOp::create(e.b, e.loc, e.b.getI32Type(), v) : v;
  };
  const auto widen = [&](mlir::Value v) -> mlir::Value {
    return has_short_numbers() ? mlir::arith::ExtUIOp::create(e.b, e.loc, e.i64(), v) : v;
  };
  llvm::SmallVector<mlir::Value> index(rank());
  // The first axis that the number counts along has the remaining quotient.
  const std::size_t first = outer ? 1 : 0;
  if (outer) index[0] = outer;
  if (first + 1 == rank()) {
    index[first] = number;
  } else {
    mlir::Value rest = narrow(number);
    for (std::size_t axis = rank(); axis-- > first + 1;) {
      const mlir::Value extent = narrow(extent_param(e, args, axis)), quotient = e.div(rest, extent);
      index[axis] = widen(e.sub(rest, e.mul(quotient, extent)));
      rest = quotient;
    }
    index[first] = widen(rest);
  }

  LoopPoint at;
  at.e_ = &e;
  at.nest_ = this;
  at.j_ = index.back();
  for (std::size_t s = 0; s < accesses_.size(); ++s) {
    mlir::Value offset = offset_param(e, args, s);
    for (std::size_t axis = 0; axis + 1 < rank(); ++axis)
      offset = e.add(offset, e.mul(index[axis], stride_param(e, args, s, axis)));
    const int operand = accesses_[s].operand;
    at.bases_.push_back(operand < 0 ? offset
                                    : e.element(e.buffer(args.buffers, operand), offset, accesses_[s].dtype));
    at.inner_.push_back(stride_param(e, args, s, rank() - 1));
  }
  at.load_invariants(1);
  body(at);
}

}  // namespace kiln::codegen

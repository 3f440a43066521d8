// A point of a loop nest: the loads and stores of its lanes.
#include "codegen/emit/loop_nest.h"
#include "codegen/target/tuning.h"

namespace kiln::codegen {
namespace {

/// Loads an access with an innermost stride of 0 at `lanes` consecutive points from `phase` on.
mlir::Value load_hoisted(KernelBuilder& e, const StridedAccess& access, mlir::Value address, int lanes,
                         int phase) {
  if (access.cycle == 1) return e.splat(e.load_scalar(address, access.dtype), lanes);
  return e.select_lanes(e.load(address, access.dtype, access.cycle), lanes,
                        [&](int lane) { return (phase + lane) % access.cycle; });
}

}  // namespace

void LoopPoint::load_invariants(int lanes, int phase) {
  lanes_ = lanes;
  phase_ = phase;
  hoisted_.assign(bases_.size(), {});
  for (auto [s, access] : llvm::enumerate(nest_->accesses()))
    if (access.operand >= 0 && inner_stride_class(s) == 0 && access.read &&
        (access.cycle == 1 || access.cycle < nest_->lanes()))
      hoisted_[s] = load_hoisted(*e_, access, bases_[s], lanes, phase);
}

int LoopPoint::inner_stride_class(std::size_t access) const {
  return stride_class(nest_->accesses()[access].strides.back());
}

bool LoopPoint::is_shared_by_lanes(std::size_t access) const {
  return inner_stride_class(access) == 0 && nest_->accesses()[access].cycle == 1;
}

mlir::Value LoopPoint::address(std::size_t access) {
  const StridedAccess& s = nest_->accesses()[access];
  switch (inner_stride_class(access)) {
    case 0:
      return bases_[access];
    case 1:
      return e_->element(bases_[access], s.repeats > 1 ? e_->div(j_, e_->index(s.repeats)) : j_, s.dtype);
    default:
      return e_->element(bases_[access], e_->mul(j_, inner_[access]), s.dtype);
  }
}

mlir::Value LoopPoint::lane_offsets(std::size_t access) {
  switch (inner_stride_class(access)) {
    case 0:
      return e_->splat(e_->index(0), lanes_);
    case 1:
      return e_->lane_numbers(lanes_);
    default:
      return e_->lane_offsets(inner_[access], lanes_);
  }
}

mlir::Value LoopPoint::load(std::size_t access) {
  const StridedAccess& s = nest_->accesses()[access];
  if (!transposed_.empty() && transposed_[access]) return transposed_[access];
  if (s.arrays > 1) return load_of_arrays(access);
  if (s.group() > 1) return load_group(access);
  switch (inner_stride_class(access)) {
    case 0:
      return hoisted_[access];
    case 1:
      return e_->load(address(access), s.dtype, lanes_, mask_);
    default:
      if (lanes_ > 1 && is_small_step(s.strides.back())) return load_small_step(access);
      return e_->gather(address(access), lane_offsets(access), s.dtype, lanes_, mask_);
  }
}

mlir::Value LoopPoint::load_group(std::size_t access) {
  const StridedAccess& s = nest_->accesses()[access];
  const int lanes = nest_->lanes(), group = s.group();
  if (group >= lanes) {
    llvm::SmallVector<mlir::Value> registers;
    for (int first = 0; first < lanes_; first += lanes)
      registers.push_back(load_of_two_groups(access, first));
    return e_->join(registers);
  }
  if (s.cycle > 1) return hoisted_[access];
  if (is_one_group_) return e_->splat(e_->load_scalar(address(access), s.dtype), lanes_);
  const int elements = (nest_->period() > 1 ? nest_->period() * lanes : lanes_) / group;
  const mlir::Value mask = mask_ ? e_->mask_below(e_->div(left_, e_->index(group)), elements) : mask_;
  const mlir::Value first = e_->div(e_->sub(j_, e_->index(phase_)), e_->index(group));
  return e_->select_lanes(e_->load(e_->element(bases_[access], first, s.dtype), s.dtype, elements, mask),
                          lanes_, [&](int lane) { return (phase_ + lane) / group; });
}

mlir::Value LoopPoint::load_of_arrays(std::size_t access) {
  const StridedAccess& s = nest_->accesses()[access];
  const int arrays = s.arrays, lanes = lanes_ / arrays;
  const mlir::Value first = e_->element(bases_[access], e_->div(j_, e_->index(arrays)), s.dtype);
  llvm::SmallVector<mlir::Value> parts;
  for (int i = 0; i < arrays; ++i) {
    const mlir::Value mask =
        mask_ ? e_->mask_below(e_->div(e_->add(left_, e_->index(arrays - 1 - i)), e_->index(arrays)), lanes)
              : mlir::Value();
    parts.push_back(
        e_->load(e_->element(first, e_->mul(inner_[access], e_->index(i)), s.dtype), s.dtype, lanes, mask));
  }
  return e_->select_lanes(e_->join(parts), lanes_,
                          [&](int lane) { return lane % arrays * lanes + lane / arrays; });
}

mlir::Value LoopPoint::load_of_two_groups(std::size_t access, int first) {
  const StridedAccess& s = nest_->accesses()[access];
  const int lanes = nest_->lanes();
  const mlir::Value group = e_->index(s.group()), width = e_->index(lanes),
                    at = e_->add(j_, e_->index(first)), number = e_->div(at, group),
                    position = e_->sub(at, e_->mul(number, group)),
                    rest = e_->sub(group, position);  // points of the first group
  const bool is_one = s.group() % lanes == 0;
  const mlir::Value in_first = is_one ? mask_ : e_->mask_below(rest, lanes);
  const auto part = [&](mlir::Value number, mlir::Value from, mlir::Value mask) {
    return s.cycle > 1
               ? e_->load(e_->element(bases_[access], from, s.dtype), s.dtype, lanes, mask)
               : e_->splat(e_->load_scalar(e_->element(bases_[access], number, s.dtype), s.dtype), lanes);
  };
  const mlir::Value of_first = part(number, position, in_first);
  if (is_one) return of_first;
  // There may be no next group.
  const mlir::Value end = mask_ ? e_->min(e_->sub(left_, e_->index(first)), width) : width;
  const mlir::Value goes_on = mlir::arith::ExtUIOp::create(e_->b, e_->loc, e_->i64(), e_->less(rest, end));
  const mlir::Value in_next =
      e_->less(e_->splat(e_->sub(rest, e_->index(1)), lanes), e_->lane_numbers(lanes));
  return e_->select(in_first, of_first, part(e_->add(number, goes_on), e_->sub(position, group), in_next));
}

mlir::Value LoopPoint::load_small_step(std::size_t access) {
  const StridedAccess& s = nest_->accesses()[access];
  const std::int64_t step = s.strides.back();
  llvm::SmallVector<mlir::Value> registers;
  for (std::int64_t lane = 0; lane < lanes_; lane += nest_->lanes()) {
    const mlir::Value first = e_->element(address(access), e_->index(lane * step), s.dtype);
    registers.push_back(e_->load_every(first, step, s.dtype, nest_->lanes(), mask_));
  }
  return e_->join(registers);
}

void LoopPoint::prefetch_next(std::size_t access, bool streaming) {
  const StridedAccess& s = nest_->accesses()[access];
  if (inner_stride_class(access) != 1 || mask_ || lanes_ == 1) return;
  e_->prefetch_next(s.operand, address(access),
                    lanes_ / s.repeats * static_cast<std::int64_t>(size_of(s.dtype)),
                    streaming ? tuning::nest_prefetch_bytes : 0);
}

void LoopPoint::store(std::size_t access, mlir::Value value) {
  const StridedAccess& s = nest_->accesses()[access];
  if (inner_stride_class(access) == 1 || lanes_ == 1)
    e_->store(value, address(access), s.dtype, lanes_, stores_past_row_ ? mlir::Value() : mask_);
  else
    e_->scatter(value, address(access), lane_offsets(access), s.dtype, lanes_, mask_);
}

void LoopPoint::store_nontemporal(std::size_t access, mlir::Value value) {
  if (mask_) return store(access, value);
  e_->store_nontemporal(value, address(access), nest_->accesses()[access].dtype, lanes_);
}

mlir::Value LoopPoint::number(std::size_t access) {
  mlir::Value at = bases_[access];
  if (inner_stride_class(access) == 0) return e_->splat(at, lanes_);
  at = e_->add(at, e_->mul(j_, inner_[access]));
  return e_->add(e_->splat(at, lanes_), e_->lane_offsets(inner_[access], lanes_));
}

}  // namespace kiln::codegen

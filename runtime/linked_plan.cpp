// Checks the indices of a plan and resolves them to bases and offsets.
#include "runtime/linked_plan.h"

#include "runtime/fail.h"

#include <algorithm>

namespace kiln {

LinkedPlan::LinkedPlan(ExecutablePlan plan, const MakeControl& make_control) : plan_(std::move(plan)) {
  const auto count = [](const auto& v) { return static_cast<std::uint32_t>(v.size()); };
  first_constant_ = count(plan_.inputs) + count(plan_.outputs);
  first_prepacked_ = first_constant_ + count(plan_.constants);
  saved_base_ = first_prepacked_ + count(plan_.prepacked);
  arena_base_ = saved_base_ + (plan_.saved_bytes > 0 ? 1 : 0);
  for (const Step& s : plan_.steps) launches_.push_back(link(s, make_control));
  takes_scratch_ = std::ranges::any_of(launches_, [](const Launch& l) {
    return l.control ? l.control->scratch_bytes(1) > 0 : l.scratch_bytes > 0;
  });
  step_operands_ = operands_.size();
  for (std::size_t i = 0; i < plan_.prepacked.size(); ++i)
    prepacked_launches_.push_back(link_prepacked(i, make_control));
  for (const auto& w : plan_.write_backs) {
    if (w.input >= plan_.inputs.size()) fail_internal("write to input {} in {}", w.input, plan_.name);
    if (w.in_place() && w.bytes != plan_.inputs[w.input].bytes())
      fail_internal("write of {} bytes to input {} in {}", w.bytes, w.input, plan_.name);
    write_back_values_.push_back(resolve(w.value));
    writes_in_place_ = writes_in_place_ || w.in_place();
  }
}

std::vector<LinkedPlan::Operand> LinkedPlan::operands_of_calls() const {
  std::vector<Operand> all(operands_.begin(),
                           operands_.begin() + static_cast<std::ptrdiff_t>(step_operands_));
  all.insert(all.end(), write_back_values_.begin(), write_back_values_.end());
  return all;
}

LinkedPlan::Operand LinkedPlan::resolve(const BufferRef& ref, bool on_host) const {
  using Space = BufferRef::Space;
  const auto check = [&](std::size_t n) {
    if (ref.index >= n)
      fail_internal("operand {} of {} in space {} of {}", ref.index, n, static_cast<int>(ref.space),
                    plan_.name);
    return ref.index;
  };
  switch (ref.space) {
    case Space::input:
      return {check(plan_.inputs.size()), ref.offset};
    case Space::output:
      return {static_cast<std::uint32_t>(plan_.inputs.size()) + check(plan_.outputs.size()), ref.offset};
    case Space::constant:
      return {first_constant_ + check(plan_.constants.size()), ref.offset};
    case Space::prepacked:
      return {first_prepacked_ + check(plan_.prepacked.size()), ref.offset};
    case Space::arena:
      if (ref.offset < 0 || ref.offset > plan_.saved_bytes + plan_.arena_bytes)
        fail_internal("offset beyond the arena of {}", plan_.name);
      if (ref.offset < plan_.saved_bytes) return {saved_base_, ref.offset};
      return {arena_base_, ref.offset - plan_.saved_bytes};
    case Space::rng:
      return {arena_base_ + (on_host ? 2 : 1), ref.offset};
  }
  fail_internal("unknown space in {}", plan_.name);
}

Launch LinkedPlan::link(const Step& step, const MakeControl& make_control) {
  Launch l{.step = &step,
           .control = nullptr,
           .kernel = step.kernel,
           .first = static_cast<std::uint32_t>(operands_.size()),
           .count = static_cast<std::uint32_t>(step.operands.size()),
           .param_count = static_cast<std::uint32_t>(step.params.size()),
           .params = step.params.data(),
           .extent = step.extent,
           .grain = std::max<std::int64_t>(step.grain, 1),
           .scratch_bytes = (step.scratch_bytes + 63) / 64 * 64};
  if (!step.launches_kernel())
    l.control = controls_.emplace_back(make_control(step)).get();
  else if (step.kernel >= plan_.kernels.size())
    fail_internal("kernel {} of {} in {}", step.kernel, plan_.kernels.size(), plan_.name);
  for (const BufferRef& r : step.operands) {
    operands_.push_back(resolve(r, l.control != nullptr));
    kernels_read_random_ = kernels_read_random_ || (r.space == BufferRef::Space::rng && !l.control);
  }
  max_operands_ = std::max(max_operands_, l.count + (l.scratch_bytes > 0));
  if (l.control) table_slots_ = std::max(table_slots_, l.control->table_slots());
  return l;
}

std::vector<Launch> LinkedPlan::link_prepacked(std::size_t index, const MakeControl& make_control) {
  using Space = BufferRef::Space;
  const PrepackedPlan& p = plan_.prepacked[index];
  if (p.inputs.empty()) fail_internal("prepacked constant {} of nothing in {}", index, plan_.name);
  for (std::size_t i : p.inputs)
    if (i >= plan_.inputs.size()) fail_internal("prepacked constant of input {} in {}", i, plan_.name);
  std::vector<Launch> list;
  for (const Step& s : p.steps) {
    for (const BufferRef& r : s.operands)
      if (r.space != Space::input && r.space != Space::constant &&
          (r.space != Space::prepacked || r.index > index))
        fail_internal("prepacked constant {} of {} reads space {}", index, plan_.name,
                      static_cast<int>(r.space));
    list.push_back(link(s, make_control));
  }
  return list;
}

}  // namespace kiln

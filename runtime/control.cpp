// The loop over the steps of a scan or while, and the choice of a branch.
#include "runtime/control.h"

#include "runtime/accelerator.h"
#include "runtime/check.h"
#include "runtime/fail.h"

#include <algorithm>

namespace kiln {
namespace {

std::byte* bytes(void* p) { return static_cast<std::byte*>(p); }

template <class Memory>
class Loop final : public Control {
 public:
  Loop(const LoopPlan& plan, std::shared_ptr<const Runner> runner, Memory& memory)
      : plan_(plan), body_(std::move(runner)), memory_(memory) {
    const ExecutablePlan& body = body_->linked().plan();
    if (body.inputs.size() != plan_.carries + plan_.rows + plan_.invariants ||
        body.outputs.size() != plan_.carries + plan_.outputs + plan_.conditional)
      fail_internal("the body {} does not fit its loop", body.name);
    for (std::size_t i = 0; i < plan_.carries; ++i) carry_bytes_.push_back(body.inputs[i].bytes());
    for (std::size_t i = 0; i < plan_.rows; ++i) row_bytes_.push_back(body.inputs[plan_.carries + i].bytes());
    for (std::size_t i = 0; i < plan_.outputs; ++i)
      output_bytes_.push_back(body.outputs[plan_.carries + i].bytes());
  }

  std::size_t table_slots() const override {
    const ExecutablePlan& body = body_->linked().plan();
    return plan_.carries + body.inputs.size() + body.outputs.size() + body_->linked().body_slots();
  }
  std::int64_t scratch_bytes(int threads) const override { return body_->scratch_bytes(threads); }
  std::vector<const LinkedPlan*> bodies() const override { return {&body_->linked()}; }

  FailedCheck run(void* const* operands, StepMemory memory) const override {
    void* const* const initial = operands;
    void* const* const rows = initial + plan_.carries;
    void* const* const invariants = rows + plan_.rows;
    void* const* const condition = invariants + plan_.invariants;
    void* const* const results = condition + plan_.conditional;
    void* const* const outputs = results + plan_.carries;
    std::byte* scratch = bytes(outputs[plan_.outputs]);
    RandomState random = *static_cast<const RandomState*>(outputs[plan_.outputs + 1]);

    if (plan_.draws < 0)
      random.counter += static_cast<std::uint64_t>(1 - plan_.steps) * static_cast<std::uint64_t>(plan_.draws);

    std::byte** const others = memory.take<std::byte*>(plan_.carries);
    for (std::size_t i = 0; i < plan_.carries; ++i) {
      others[i] = scratch;
      scratch += aligned_bytes(carry_bytes_[i]);
    }
    std::byte* continues = nullptr;
    if (plan_.conditional) {
      continues = scratch;
      copy_bytes(memory_, continues, bytes(condition[0]), 1);
      scratch += aligned_bytes(1);
    }

    // Operands of the body: its inputs, then its outputs.
    const ExecutablePlan& plan = body_->linked().plan();
    std::byte** const in = memory.take<std::byte*>(plan.inputs.size() + plan.outputs.size());
    std::byte** const out = in + plan.inputs.size();
    for (std::size_t i = 0; i < plan_.carries; ++i) in[i] = bytes(initial[i]);
    for (std::size_t i = 0; i < plan_.rows; ++i) in[plan_.carries + i] = bytes(rows[i]);
    for (std::size_t i = 0; i < plan_.invariants; ++i)
      in[plan_.carries + plan_.rows + i] = bytes(invariants[i]);
    for (std::size_t i = 0; i < plan_.outputs; ++i) out[plan_.carries + i] = bytes(outputs[i]);
    if (plan_.conditional) out[plan_.carries + plan_.outputs] = continues;

    std::int64_t step = 0;
    for (; step < plan_.steps && (!continues || read_bool(memory_, continues)); ++step) {
      // States alternate between two buffers; the parity makes the last of `steps` steps write to the
      // results.
      const bool to_result = (plan_.steps - step) % 2 == 1;
      for (std::size_t i = 0; i < plan_.carries; ++i) out[i] = to_result ? bytes(results[i]) : others[i];
      if (const FailedCheck failed = body_->run_body(in, scratch, random, memory)) return failed;
      for (std::size_t i = 0; i < plan_.carries; ++i) in[i] = out[i];
      for (std::size_t i = 0; i < plan_.rows; ++i) in[plan_.carries + i] += row_bytes_[i];
      for (std::size_t i = 0; i < plan_.outputs; ++i) out[plan_.carries + i] += output_bytes_[i];
      random.counter += static_cast<std::uint64_t>(plan_.draws);
    }
    for (std::size_t i = 0; i < plan_.carries; ++i)
      copy_bytes(memory_, bytes(results[i]), in[i], static_cast<std::size_t>(carry_bytes_[i]));
    for (std::size_t i = 0; i < plan_.outputs; ++i)
      clear_bytes(memory_, out[plan_.carries + i],
                  static_cast<std::size_t>((plan_.steps - step) * output_bytes_[i]));
    return {};
  }

 private:
  LoopPlan plan_;
  std::shared_ptr<const Runner> body_;
  Memory& memory_;
  std::vector<std::int64_t> carry_bytes_, row_bytes_, output_bytes_;
};

template <class Memory>
class Branch final : public Control {
 public:
  Branch(std::shared_ptr<const Runner> then, std::shared_ptr<const Runner> otherwise, Memory& memory)
      : then_(std::move(then)), otherwise_(std::move(otherwise)), memory_(memory) {
    const ExecutablePlan &a = then_->linked().plan(), &b = otherwise_->linked().plan();
    if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size())
      fail_internal("the bodies {} and {} of a branch differ in signature", a.name, b.name);
  }

  std::size_t table_slots() const override {
    const ExecutablePlan& plan = then_->linked().plan();
    return plan.inputs.size() + plan.outputs.size() +
           std::max(then_->linked().body_slots(), otherwise_->linked().body_slots());
  }
  std::int64_t scratch_bytes(int threads) const override {
    return std::max(then_->scratch_bytes(threads), otherwise_->scratch_bytes(threads));
  }
  std::vector<const LinkedPlan*> bodies() const override { return {&then_->linked(), &otherwise_->linked()}; }

  FailedCheck run(void* const* operands, StepMemory memory) const override {
    const ExecutablePlan& plan = then_->linked().plan();
    const std::size_t arguments = plan.inputs.size(), results = plan.outputs.size();
    void* const* const condition = operands + arguments;
    std::byte** const body = memory.take<std::byte*>(arguments + results);
    for (std::size_t i = 0; i < arguments; ++i) body[i] = bytes(operands[i]);
    for (std::size_t i = 0; i < results; ++i) body[arguments + i] = bytes(condition[1 + i]);
    const Runner& taken = read_bool(memory_, bytes(condition[0])) ? *then_ : *otherwise_;
    return taken.run_body(body, bytes(condition[1 + results]),
                          *static_cast<const RandomState*>(condition[2 + results]), memory);
  }

 private:
  std::shared_ptr<const Runner> then_, otherwise_;
  Memory& memory_;
};

}  // namespace

template <class Memory>
std::unique_ptr<const Control> make_control(const Step& step, const Bodies& bodies, Memory& memory,
                                            const std::string& owner) {
  const auto body = [&](std::uint32_t i) {
    if (i >= bodies.size()) fail_internal("body {} of {} in {}", i, bodies.size(), owner);
    return bodies[i];
  };
  if (const auto* loop = std::get_if<LoopPlan>(&step.control))
    return std::make_unique<Loop<Memory>>(*loop, body(loop->body), memory);
  if (const auto* branch = std::get_if<BranchPlan>(&step.control))
    return std::make_unique<Branch<Memory>>(body(branch->then), body(branch->otherwise), memory);
  return make_bounds_check(std::get<BoundsCheck>(step.control), memory);
}

template std::unique_ptr<const Control> make_control(const Step&, const Bodies&, HostMemory&,
                                                     const std::string&);
template std::unique_ptr<const Control> make_control(const Step&, const Bodies&, Accelerator&,
                                                     const std::string&);

}  // namespace kiln

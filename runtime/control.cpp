#include "runtime/control.h"

#include "runtime/accelerator.h"
#include "runtime/fail.h"
#include "runtime/small_array.h"

namespace kiln {
namespace {

std::byte* bytes(void* p) { return static_cast<std::byte*>(p); }

class Loop final : public Control {
 public:
  Loop(const LoopPlan& plan, const Executable& executable)
      : plan_(plan), body_(executable), accelerator_(accelerator_of(executable.device())) {
    const ExecutablePlan& body = body_.plan();
    if (body.inputs.size() != plan_.carries + plan_.rows + plan_.invariants ||
        body.outputs.size() != plan_.carries + plan_.outputs + plan_.conditional)
      fail_internal("the body {} does not fit its loop", body.name);
    for (std::size_t i = 0; i < plan_.carries; ++i) carry_bytes_.push_back(body.inputs[i].bytes());
    for (std::size_t i = 0; i < plan_.rows; ++i) row_bytes_.push_back(body.inputs[plan_.carries + i].bytes());
    for (std::size_t i = 0; i < plan_.outputs; ++i)
      output_bytes_.push_back(body.outputs[plan_.carries + i].bytes());
  }

  void run(void* const* operands) const override {
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

    SmallArray<std::byte*, 16> others(plan_.carries);
    for (std::size_t i = 0; i < plan_.carries; ++i) {
      others[i] = scratch;
      scratch += aligned_bytes(carry_bytes_[i]);
    }
    std::byte* continues = nullptr;
    if (plan_.conditional) {
      continues = scratch;
      copy_bytes(accelerator_, continues, bytes(condition[0]), 1);
      scratch += aligned_bytes(1);
    }

    // Operands of the body: its inputs, then its outputs.
    SmallArray<std::byte*, 32> body(body_.plan().inputs.size() + body_.plan().outputs.size());
    std::byte** const in = body.data();
    std::byte** const out = in + body_.plan().inputs.size();
    for (std::size_t i = 0; i < plan_.carries; ++i) in[i] = bytes(initial[i]);
    for (std::size_t i = 0; i < plan_.rows; ++i) in[plan_.carries + i] = bytes(rows[i]);
    for (std::size_t i = 0; i < plan_.invariants; ++i)
      in[plan_.carries + plan_.rows + i] = bytes(invariants[i]);
    for (std::size_t i = 0; i < plan_.outputs; ++i) out[plan_.carries + i] = bytes(outputs[i]);
    if (plan_.conditional) out[plan_.carries + plan_.outputs] = continues;

    std::int64_t step = 0;
    for (; step < plan_.steps && (!continues || read_bool(accelerator_, continues)); ++step) {
      // States alternate between two buffers; the parity makes the last of `steps` steps write to the
      // results.
      const bool to_result = (plan_.steps - step) % 2 == 1;
      for (std::size_t i = 0; i < plan_.carries; ++i) out[i] = to_result ? bytes(results[i]) : others[i];
      body_.run_body(body.data(), scratch, random);
      for (std::size_t i = 0; i < plan_.carries; ++i) in[i] = out[i];
      for (std::size_t i = 0; i < plan_.rows; ++i) in[plan_.carries + i] += row_bytes_[i];
      for (std::size_t i = 0; i < plan_.outputs; ++i) out[plan_.carries + i] += output_bytes_[i];
      random.counter += static_cast<std::uint64_t>(plan_.draws);
    }
    for (std::size_t i = 0; i < plan_.carries; ++i)
      copy_bytes(accelerator_, bytes(results[i]), in[i], static_cast<std::size_t>(carry_bytes_[i]));
    for (std::size_t i = 0; i < plan_.outputs; ++i)
      clear_bytes(accelerator_, out[plan_.carries + i],
                  static_cast<std::size_t>((plan_.steps - step) * output_bytes_[i]));
  }

 private:
  LoopPlan plan_;
  const Executable& body_;
  Accelerator* accelerator_;
  std::vector<std::int64_t> carry_bytes_, row_bytes_, output_bytes_;
};

class Branch final : public Control {
 public:
  Branch(const Executable& then, const Executable& otherwise) : then_(then), otherwise_(otherwise) {
    const ExecutablePlan &a = then_.plan(), &b = otherwise_.plan();
    if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size())
      fail_internal("the bodies {} and {} of a branch differ in signature", a.name, b.name);
  }

  void run(void* const* operands) const override {
    const std::size_t arguments = then_.plan().inputs.size(), results = then_.plan().outputs.size();
    void* const* const condition = operands + arguments;
    SmallArray<std::byte*, 32> body(arguments + results);
    for (std::size_t i = 0; i < arguments; ++i) body[i] = bytes(operands[i]);
    for (std::size_t i = 0; i < results; ++i) body[arguments + i] = bytes(condition[1 + i]);
    const bool holds = read_bool(accelerator_of(then_.device()), bytes(condition[0]));
    const Executable& taken = holds ? then_ : otherwise_;
    taken.run_body(body.data(), bytes(condition[1 + results]),
                   *static_cast<const RandomState*>(condition[2 + results]));
  }

 private:
  const Executable &then_, &otherwise_;
};

}  // namespace

std::unique_ptr<const Control> make_loop(const LoopPlan& plan, const Executable& body) {
  return std::make_unique<Loop>(plan, body);
}
std::unique_ptr<const Control> make_branch(const Executable& then, const Executable& otherwise) {
  return std::make_unique<Branch>(then, otherwise);
}

}  // namespace kiln

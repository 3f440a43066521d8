// Plans as text.
#include "runtime/fail.h"
#include "runtime/plan_io.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln {
namespace {

std::string text(const BufferRef& ref) {
  using Space = BufferRef::Space;
  static constexpr const char* names[] = {"input", "output", "arena", "constant", "prepacked", "random"};
  const char* name = names[static_cast<std::size_t>(ref.space)];
  if (ref.space == Space::rng) return name;
  if (ref.space == Space::arena) return fmt::format("{} {}", name, ref.offset);
  return ref.offset == 0 ? fmt::format("{} {}", name, ref.index)
                         : fmt::format("{} {} + {}", name, ref.index, ref.offset);
}

struct ActionText {
  const Step& step;
  std::string operator()(std::monostate) const {
    std::string out = fmt::format("kernel {}", step.kernel);
    if (!step.params.empty()) out += fmt::format(" params {}", fmt::join(step.params, " "));
    out += fmt::format(" extent {} grain {}", step.extent, step.grain);
    if (step.scratch_bytes > 0) out += fmt::format(" scratch {}", step.scratch_bytes);
    return out;
  }
  std::string operator()(const LoopPlan& l) const {
    return fmt::format(
        "loop of body {}: {}{} steps, {} carried, {} scanned, {} invariant, {} stacked, {} random", l.body,
        l.conditional ? "at most " : "", l.steps, l.carries, l.rows, l.invariants, l.outputs, l.draws);
  }
  std::string operator()(const BranchPlan& b) const {
    return fmt::format("branch to body {} else {}", b.then, b.otherwise);
  }
  std::string operator()(const BoundsCheck& c) const {
    return fmt::format("check of {} indices below {} for {}", c.shape.elements(), c.extent, c.node);
  }
};

void add_step(std::string& out, std::string_view indent, std::size_t number, const Step& step) {
  std::vector<std::string> operands;
  for (const BufferRef& r : step.operands) operands.push_back(text(r));
  out += fmt::format("{}{}: {} ({})", indent, number, std::visit(ActionText{step}, step.control),
                     fmt::join(operands, ", "));
  if (!step.name.empty()) out += "  # " + step.name;
  if (!step.locations.empty()) out += fmt::format(" at {}", fmt::join(step.locations, ", "));
  out += '\n';
}

void add_plan(std::string& out, std::string indent, const ExecutablePlan& plan) {
  const auto line = [&]<class... T>(fmt::format_string<T...> format, T&&... arguments) {
    out += indent + fmt::format(format, std::forward<T>(arguments)...) + "\n";
  };
  line("plan {}", plan.name);
  indent += "  ";
  line("arena of {} bytes (at least {})", plan.arena_bytes, plan.arena_lower_bound);
  if (plan.saved_bytes > 0) line("{} bytes saved in front of it", plan.saved_bytes);
  if (plan.random_draws > 0) line("{} random counters", plan.random_draws);
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) line("input {}: {}", i, plan.inputs[i].str());
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) line("output {}: {}", i, plan.outputs[i].str());
  for (std::size_t i = 0; i < plan.constants.size(); ++i)
    line("constant {}: {} bytes", i, plan.constants[i]->bytes());
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlannedKernel& k = plan.kernels[i];
    line("kernel {}: {:016x}{:016x}, {} bytes{}{}  # {}", i, k.key[0], k.key[1],
         k.object ? k.object->size() : 0, k.gpu.schedule.empty() ? "" : ", ", k.gpu.schedule, k.name);
  }
  for (std::size_t i = 0; i < plan.prepacked.size(); ++i) {
    const PrepackedPlan& s = plan.prepacked[i];
    line("prepacked {} of inputs {}: {} bytes{}", i, fmt::join(s.inputs, ", "), s.bytes,
         s.packing ? fmt::format(", all elements in panels of {}", s.packing->panel) : "");
    for (std::size_t k = 0; k < s.steps.size(); ++k) add_step(out, indent + "  ", k, s.steps[k]);
  }
  line("steps");
  for (std::size_t i = 0; i < plan.steps.size(); ++i) add_step(out, indent + "  ", i, plan.steps[i]);
  for (const auto& w : plan.write_backs)
    if (w.in_place())
      line("input {} is written in place", w.input);
    else
      line("write {} bytes of {} to input {}", w.bytes, text(w.value), w.input);
  for (std::size_t i = 0; i < plan.bodies.size(); ++i) {
    line("body {}", i);
    add_plan(out, indent + "  ", plan.bodies[i]);
  }
}

}  // namespace

std::string to_string(const ExecutablePlan& plan) {
  std::string out;
  add_plan(out, "", plan);
  return out;
}

std::size_t kernel_count(const ExecutablePlan& plan) {
  std::size_t count = 0;
  for (const Step& s : plan.steps) count += s.launches_kernel();
  for (const ExecutablePlan& body : plan.bodies) count += kernel_count(body);
  return count;
}

}  // namespace kiln

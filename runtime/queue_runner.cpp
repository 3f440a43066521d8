// The loop over the steps of a call on a device with a queue.
#include "runtime/queue_runner.h"

#include "runtime/control.h"
#include "runtime/profile.h"
#include "runtime/queue_graphs.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

LinkedPlan link(ExecutablePlan plan, Device device, Accelerator& accelerator) {
  Bodies bodies;
  for (const ExecutablePlan& body : plan.bodies)
    bodies.push_back(std::make_shared<const QueueRunner>(body, device, accelerator));
  const std::string name = plan.name;
  return {std::move(plan), [&](const Step& step) { return make_control(step, bodies, accelerator, name); }};
}

std::shared_ptr<const Buffer> copy_of(const Buffer& constant, Accelerator& accelerator, Device device) {
  const std::size_t bytes = constant.bytes();
  std::byte* const data = accelerator.allocate(bytes, memory::Use::constant);
  auto copy = std::make_shared<const Buffer>(
      data, bytes, [=, &accelerator] { accelerator.deallocate(data, bytes, memory::Use::constant); }, device);
  accelerator.upload(data, constant.data(), bytes);
  return copy;
}

}  // namespace

QueueRunner::QueueRunner(ExecutablePlan given, Device device, Accelerator& accelerator)
    : Runner(link(std::move(given), device, accelerator), device), accelerator_(accelerator) {
  for (auto& constant : constants_) constant = copy_of(*constant, accelerator_, device);
  for (const PlannedKernel& k : plan().kernels) kernels_.push_back(accelerator_.load(k));
}

/// Each iteration has separate scratch memory.
Arena<Accelerator> QueueRunner::make_scratch(std::span<const Launch> launches) const {
  std::int64_t bytes = 0;
  for (const Launch& l : launches) bytes = std::max(bytes, l.scratch_bytes * l.extent);
  return {accelerator_, bytes, plan().name};
}

FailedCheck QueueRunner::launch(const Launch& l, std::byte* const* bases, void** operands, TableSlot* tables,
                                std::byte* scratch, WorkQueue& queue) const {
  linked_.set_operands(l, bases, operands);
  if (l.control) return l.control->run(operands, {.tables = tables, .scratch = nullptr, .threads = 1});
  if (l.scratch_bytes > 0) operands[l.count] = scratch;
  queue.launch(kernels_[l.kernel], {{operands, l.count + (l.scratch_bytes > 0)},
                                    {l.params, l.param_count},
                                    l.extent,
                                    l.scratch_bytes,
                                    *l.step});
  return {};
}

void QueueRunner::run_launches(std::span<const Launch> launches, std::byte* const* bases) const {
  SmallArray<void*, 32> operands(linked_.max_operands());
  SmallArray<TableSlot, 1> tables(linked_.table_slots());
  const Arena<Accelerator> scratch = make_scratch(launches);
  for (const Launch& l : launches)
    if (const FailedCheck failed =
            launch(l, bases, operands.data(), tables.data(), scratch.data(), accelerator_))
      failed.fail();
}

FailedCheck QueueRunner::run_steps(std::byte* const* bases, void** operands, TableSlot* tables) const {
  const Arena<Accelerator> scratch = make_scratch(linked_.launches());
  if (Profile::Record* profile = Profile::Record::active())
    return run_timed(*profile, bases, operands, tables, scratch.data());
  for (const Launch& l : linked_.launches())
    if (const FailedCheck failed = launch(l, bases, operands, tables, scratch.data(), accelerator_))
      return failed;
  return {};
}

FailedCheck QueueRunner::run_timed(Profile::Record& profile, std::byte* const* bases, void** operands,
                                   TableSlot* tables, std::byte* scratch) const {
  const Profile::Record::Suspended suspended(profile.measures_bodies ? &profile : nullptr);
  // Times are read after the last step: a wait between two steps would leave the device idle.
  std::vector<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>> moments;
  const auto first = Profile::Record::Clock::now();
  for (const Launch& l : linked_.launches()) {
    auto begin = accelerator_.record_moment();
    if (const FailedCheck failed = launch(l, bases, operands, tables, scratch, accelerator_)) return failed;
    moments.emplace_back(std::move(begin), accelerator_.record_moment());
  }
  // In a trace the first kernel begins when it was launched, the others by the device's clock.
  using Duration = Profile::Record::Clock::duration;
  const auto since_first = [&](const std::shared_ptr<void>& moment) {
    return accelerator_.seconds_between(moments.front().first, moment);
  };
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const Launch& l = linked_.launches()[i];
    const std::chrono::duration<double> begin(since_first(moments[i].first));
    profile.add(*l.step, first + std::chrono::duration_cast<Duration>(begin),
                accelerator_.seconds_between(moments[i].first, moments[i].second),
                l.control ? std::string() : plan().kernels[l.kernel].gpu.schedule);
  }
  if (!moments.empty()) profile.add_call(plan().name, first, since_first(moments.back().second));
  return {};
}

FailedCheck QueueRunner::run(std::span<const Argument> inputs, std::span<void* const> outputs,
                             const RandomState& random, CallAddresses& addresses) const {
  PrepackedConstants::References prepacked;
  return run_with(inputs, set_arguments(inputs, outputs, addresses, prepacked), random, addresses);
}

Buffer QueueRunner::random_on_device(const RandomState& random) const {
  if (!linked_.kernels_read_random()) return {};
  Buffer copy(sizeof(RandomState), device());
  accelerator_.upload(copy.data(), &random, sizeof(RandomState));
  return copy;
}

FailedCheck QueueRunner::run_with(std::span<const Argument> inputs, std::byte** base,
                                  const RandomState& random, CallAddresses& addresses) const {
  const Arena arena(accelerator_, plan().arena_bytes, plan().name);
  RandomState state = random;
  const Buffer copy = random_on_device(state);
  base[0] = arena.data();
  base[1] = copy.data();
  base[2] = reinterpret_cast<std::byte*>(&state);

  std::vector<Buffer> staged;
  WorkQueue& queue = accelerator_;
  if (overlap_.may_stage()) staged = overlap_.stage(addresses, queue);
  TableSlot* const tables = addresses.tables.data();
  if (const FailedCheck failed = run_steps(addresses.bases.data(), reinterpret_cast<void**>(tables),
                                           tables + linked_.max_operands()))
    return failed;
  if (!overlap_.writes()) return {};
  overlap_.write_back(inputs, addresses.bases.data(), queue);
  overlap_.count_writes(inputs);
  return {};
}

FailedCheck QueueRunner::run_body(std::byte* const* operands, std::byte* arena, const RandomState& random,
                                  StepMemory memory) const {
  std::byte** const bases = memory.take<std::byte*>(linked_.base_count());
  void** const step_operands = memory.take<void*>(linked_.max_operands());
  std::byte** const base = set_body_arguments(operands, bases);
  RandomState state = random;
  const Buffer copy = random_on_device(state);
  base[0] = arena;
  base[1] = copy.data();
  base[2] = reinterpret_cast<std::byte*>(&state);
  return run_steps(bases, step_operands, memory.tables);
}

std::unique_ptr<RepeatedRun> QueueRunner::repeat() const { return std::make_unique<QueueGraphs>(*this); }

}  // namespace kiln

#include "runtime/executable.h"

#include "runtime/accelerator.h"
#include "runtime/check.h"
#include "runtime/control.h"
#include "runtime/fail.h"
#include "runtime/float_env.h"
#include "runtime/fork_gate.h"
#include "runtime/hash.h"
#include "runtime/log.h"
#include "runtime/memory_pool.h"
#include "runtime/profile.h"
#include "runtime/small_array.h"
#include "runtime/threads.h"
#include "runtime/workspace.h"

#include <kiln/memory.h>
#include <kiln/threads.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

namespace kiln {
namespace {

struct KernelCall {
  KernelFn entry;
  void* const* operands;
  const std::int64_t* params;
  std::uint32_t count;
  std::byte* scratch;  // of all workers; null: the kernel takes none
  std::int64_t scratch_bytes;
};

void run_piece(void* context, int worker, std::int64_t begin, std::int64_t end) {
  const KernelCall& c = *static_cast<const KernelCall*>(context);
  if (c.scratch == nullptr) return c.entry(c.operands, c.params, begin, end);
  SmallArray<void*, 32> operands(c.count + 1);
  std::copy_n(c.operands, c.count, operands.data());
  operands[c.count] = c.scratch + worker * c.scratch_bytes;
  c.entry(operands.data(), c.params, begin, end);
}

/// A constant on an accelerator.
std::shared_ptr<const Buffer> copy_of(const Buffer& constant, Accelerator& accelerator, Device device) {
  const std::size_t bytes = constant.bytes();
  std::byte* const data = accelerator.allocate(bytes, memory::Use::constant);
  auto copy = std::make_shared<const Buffer>(
      data, bytes, [=, &accelerator] { accelerator.deallocate(data, bytes, memory::Use::constant); }, device);
  accelerator.upload(data, constant.data(), bytes);
  return copy;
}

}  // namespace

struct Executable::Refinement {
  Refine make;
  std::atomic<std::int64_t> calls_before;
  Mutex mutex;  // of `made`
  std::shared_ptr<const Executable> made;
  std::atomic<const Executable*> ready = nullptr;

  Refinement(Refine refine, std::int64_t calls) : make(std::move(refine)), calls_before(calls) {}
};

Executable::~Executable() = default;

void Executable::refine_after(std::int64_t calls, Refine refine) {
  refinement_ = std::make_unique<Refinement>(std::move(refine), calls);
}

const Executable& Executable::next_of(Refinement& r) const {
  if (const Executable* const ready = r.ready.load(std::memory_order_acquire)) return *ready;
  // While one thread makes it, the calls of others run as before.
  return r.calls_before.fetch_sub(1, std::memory_order_relaxed) == 0 ? make(r) : *this;
}

const Executable& Executable::make(Refinement& r) const {
  const ForkGuard guard;
  const std::lock_guard lock(r.mutex);
  try {
    if (!r.made) r.made = r.make();
  } catch (const Error& e) {  // calls run as before
    log_line(LogCategory::compile, "{} is not compiled for its own sizes: {}", plan_.name, e.what());
    return *this;
  }
  r.ready.store(r.made.get(), std::memory_order_release);
  return *r.made;
}

Executable::Executable(ExecutablePlan plan, const LoadKernel& load, Device device)
    : plan_(std::move(plan)), device_(device), accelerator_(accelerator_of(device)) {
  for (const auto& c : plan_.constants) {
    constants_.push_back(c);
    if (!accelerator_) continue;
    constants_.back() = copy_of(*c, *accelerator_, device);
  }
  for (const PlannedKernel& k : plan_.kernels) {
    if (accelerator_) {
      accelerator_kernels_.push_back(accelerator_->load(k));
      continue;
    }
    kernels_.push_back(load(k));
    if (!kernels_.back() || kernels_.back()->entry == nullptr)
      fail_internal("kernel {} of {} has no code", k.name, plan_.name);
  }
  for (const ExecutablePlan& body : plan_.bodies)
    bodies_.push_back(std::make_unique<const Executable>(body, load, device));
  const auto count = [](const auto& v) { return static_cast<std::uint32_t>(v.size()); };
  first_constant_ = count(plan_.inputs) + count(plan_.outputs);
  first_prepacked_ = first_constant_ + count(plan_.constants);
  saved_base_ = first_prepacked_ + count(plan_.prepacked);
  arena_base_ = saved_base_ + (plan_.saved_bytes > 0 ? 1 : 0);
  bases_ = arena_base_ + 3;
  for (const Step& s : plan_.steps) launches_.push_back(add_launch(s));
  const std::size_t step_operands = operands_.size();
  for (std::size_t i = 0; i < plan_.prepacked.size(); ++i) add_prepacked(i);
  for (const auto& w : plan_.write_backs) {
    if (w.input >= plan_.inputs.size()) fail_internal("write to input {} in {}", w.input, plan_.name);
    write_back_values_.push_back(resolve(w.value));
    if (w.in_place()) {
      if (w.bytes != plan_.inputs[w.input].bytes())
        fail_internal("write of {} bytes to input {} in {}", w.bytes, w.input, plan_.name);
      in_place_.resize(plan_.inputs.size());
      in_place_[w.input] = true;
    } else {
      write_backs_overlap_ = write_backs_overlap_ || w.value.space == BufferRef::Space::input;
    }
  }
  find_releases(std::span(operands_).first(step_operands));
  if (!in_place_.empty())
    for (std::size_t i = 0; i < plan_.inputs.size(); ++i)
      input_bytes_.push_back(packed_only_[i] ? 0 : static_cast<std::size_t>(plan_.inputs[i].bytes()));
}

Executable::Addresses::Addresses(const Executable& e)
    : bases(e.bases_), operands(e.widest_), inputs_in_order(e.in_place_.size()) {}

Executable::Operand Executable::resolve(const BufferRef& ref, bool on_host) const {
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

std::unique_ptr<const Control> Executable::make_control(const Step& step) const {
  const auto body = [&](std::uint32_t i) -> const Executable& {
    if (i >= bodies_.size()) fail_internal("body {} of {} in {}", i, bodies_.size(), plan_.name);
    return *bodies_[i];
  };
  if (const auto* loop = std::get_if<LoopPlan>(&step.control)) return make_loop(*loop, body(loop->body));
  if (const auto* branch = std::get_if<BranchPlan>(&step.control))
    return make_branch(body(branch->then), body(branch->otherwise));
  return make_bounds_check(std::get<BoundsCheck>(step.control), accelerator_);
}

Executable::Launch Executable::add_launch(const Step& step) {
  Launch l{.step = &step,
           .control = nullptr,
           .entry = nullptr,
           .kernel = step.kernel,
           .params = step.params.data(),
           .first = static_cast<std::uint32_t>(operands_.size()),
           .count = static_cast<std::uint32_t>(step.operands.size()),
           .param_count = static_cast<std::uint32_t>(step.params.size()),
           .extent = step.extent,
           .grain = std::max<std::int64_t>(step.grain, 1),
           .scratch_bytes = (step.scratch_bytes + 63) / 64 * 64};
  if (!step.launches_kernel()) {
    l.control = controls_.emplace_back(make_control(step)).get();
  } else {
    if (step.kernel >= plan_.kernels.size())
      fail_internal("kernel {} of {} in {}", step.kernel, plan_.kernels.size(), plan_.name);
    if (!accelerator_) l.entry = kernels_[step.kernel]->entry;
  }
  for (const BufferRef& r : step.operands) {
    operands_.push_back(resolve(r, l.control != nullptr));
    reads_random_ = reads_random_ || (r.space == BufferRef::Space::rng && !l.control);
  }
  widest_ = std::max(widest_, l.count + (l.scratch_bytes > 0));
  return l;
}

void Executable::add_prepacked(std::size_t index) {
  using Space = BufferRef::Space;
  const PrepackedPlan& p = plan_.prepacked[index];
  if (p.inputs.empty()) fail_internal("prepacked constant {} of nothing in {}", index, plan_.name);
  for (std::size_t i : p.inputs)
    if (i >= plan_.inputs.size()) fail_internal("prepacked constant of input {} in {}", i, plan_.name);
  auto& list = prepacked_launches_.emplace_back();
  for (const Step& s : p.steps) {
    for (const BufferRef& r : s.operands)
      if (r.space != Space::input && r.space != Space::constant &&
          (r.space != Space::prepacked || r.index > index))
        fail_internal("prepacked constant {} of {} reads space {}", index, plan_.name,
                      static_cast<int>(r.space));
    list.push_back(add_launch(s));
  }
}

/// `read`: the operands of all steps of a call.
void Executable::find_releases(std::span<const Operand> read) {
  packed_only_.resize(plan_.inputs.size());
  releases_.resize(plan_.prepacked.size());
  std::vector<std::size_t> packed(plan_.inputs.size()), last(plan_.inputs.size());
  for (std::size_t i = plan_.prepacked.size(); i-- > 0;) {
    const PrepackedPlan& p = plan_.prepacked[i];
    for (const std::size_t input : p.inputs) last[input] = std::max(last[input], i);
    if (!p.packing) continue;
    const std::size_t input = p.inputs.front();
    if (p.inputs.size() != 1 || !p.packing->fits(plan_.inputs[input].bytes(), p.bytes))
      fail_internal("prepacked constant {} of {} does not have the elements of input {}", i, plan_.name,
                    input);
    packed[input] = i;
    packed_only_[input] = 1;
  }
  const auto reads = [&](const Operand& o) {
    if (o.base < packed_only_.size()) packed_only_[o.base] = 0;
  };
  std::ranges::for_each(read, reads);
  for (std::size_t i = 0; i < plan_.write_backs.size(); ++i) {
    reads(write_back_values_[i]);
    packed_only_[plan_.write_backs[i].input] = 0;
  }
  for (std::size_t input = 0; input < packed.size(); ++input)
    if (packed_only_[input]) releases_[last[input]] = ReleasePlan{input, packed[input]};
}

std::int64_t Executable::scratch_bytes(std::span<const Launch> launches, int threads) const {
  std::int64_t bytes = 0;
  for (const Launch& l : launches) {
    // On an accelerator each iteration has scratch memory of its own.
    const std::int64_t parts = accelerator_ ? l.extent : workers_for(l.extent, l.grain, threads);
    bytes = std::max(bytes, l.scratch_bytes * parts);
  }
  return bytes;
}

Workspace Executable::make_workspace(std::span<const Launch> launches) const {
  const bool any =
      std::any_of(launches.begin(), launches.end(), [](const Launch& l) { return l.scratch_bytes > 0; });
  const int threads = any ? num_threads() : 0;
  return {threads, Arena(any ? scratch_bytes(launches, threads) : 0, plan_.name, accelerator_)};
}

void Executable::launch(const Launch& l, std::byte* const* bases, void** operands, const Workspace& workspace,
                        WorkQueue* queue) const {
  const Operand* refs = operands_.data() + l.first;
  for (std::uint32_t i = 0; i < l.count; ++i) operands[i] = bases[refs[i].base] + refs[i].offset;
  if (l.control) return l.control->run(operands);
  if (queue) {
    if (l.scratch_bytes > 0) operands[l.count] = workspace.scratch.data();
    return queue->launch(accelerator_kernels_[l.kernel], {{operands, l.count + (l.scratch_bytes > 0)},
                                                          {l.params, l.param_count},
                                                          l.extent,
                                                          l.scratch_bytes,
                                                          *l.step});
  }
  const int threads = l.extent <= l.grain ? 1 : workspace.threads > 0 ? workspace.threads : num_threads();
  const int workers = l.scratch_bytes == 0 ? 0 : workers_for(l.extent, l.grain, threads);
  std::byte* const scratch = workers == 0 ? nullptr : workspace.scratch.data();
  for (int w = 0; w < workers; ++w) std::memset(scratch + w * l.scratch_bytes, 0, sizeof(std::int64_t));
  KernelCall call{l.entry, operands, l.params, l.count, scratch, l.scratch_bytes};
  if (threads > 1) return parallel_pieces(l.extent, l.grain, threads, run_piece, &call);
  if (l.extent > 0) run_piece(&call, 0, 0, l.extent);
}

namespace {

/// The storage that keeps a prepacked constant, and its keys there.
struct PrepackedPlace {
  std::uint64_t key;
  std::uint64_t sources = 0;
  Storage* keeper;
  bool external = false;

  PrepackedPlace(const PrepackedPlan& p, std::span<const Argument> inputs)
      : key(p.key), keeper(inputs[p.inputs.front()].storage) {
    // Offsets are part of the key: views of the same storages at other offsets have prepacked constants of
    // their own.
    for (std::size_t i : p.inputs) {
      const Argument& a = inputs[i];
      key = mixed(key, a.offset);
      sources = mixed(mixed(sources, a.storage->id()), a.storage->version());
      external = external || a.storage->external();
    }
  }
};

}  // namespace

/// Null if it has to be made. The caller is inside a section of Domain::prepacked.
const Buffer* Executable::find_prepacked(std::size_t index, std::span<const Argument> inputs) const {
  const PrepackedPlace place(plan_.prepacked[index], inputs);
  return place.external ? nullptr : place.keeper->find_prepacked(place.key, place.sources);
}

/// Requires the `bases` of all operands and of the prepacked constants before `index`; sets that of `index`.
std::shared_ptr<const Buffer> Executable::get_prepacked(std::size_t index, std::span<const Argument> inputs,
                                                        std::byte** bases) const {
  const PrepackedPlan& p = plan_.prepacked[index];
  const PrepackedPlace place(p, inputs);
  const auto make = [&] { return make_prepacked(index, inputs, bases); };
  std::shared_ptr<const Buffer> prepacked = place.external
                                                ? std::make_shared<const Buffer>(make())
                                                : place.keeper->prepacked(place.key, place.sources, make);
  bases[first_prepacked_ + index] = prepacked->data();
  return prepacked;
}

Buffer Executable::make_prepacked(std::size_t index, std::span<const Argument> inputs,
                                  std::byte** bases) const {
  const PrepackedPlan& p = plan_.prepacked[index];
  std::vector<Storage::Reading> contents;
  for (const std::size_t i : p.inputs) {
    if (!packed_only_[i]) continue;
    contents.emplace_back(*inputs[i].storage);
    bases[i] = contents.back().data() + inputs[i].offset;
  }
  Buffer made(static_cast<std::size_t>(p.bytes), device_);
  bases[first_prepacked_ + index] = made.data();
  SmallArray<void*, 32> operands(widest_);
  const Workspace workspace = make_workspace(prepacked_launches_[index]);
  for (const Launch& l : prepacked_launches_[index])
    launch(l, bases, operands.data(), workspace, accelerator_);
  for (const std::size_t i : p.inputs)
    if (packed_only_[i]) bases[i] = nullptr;
  return made;
}

Storage* Executable::releasable_after(std::size_t index, std::span<const Argument> inputs) const {
  const auto& plan = releases_[index];
  if (!plan) return nullptr;
  const Argument& a = inputs[plan->input];
  const bool whole = a.storage->bytes() == static_cast<std::size_t>(plan_.inputs[plan->input].bytes());
  return whole && a.storage->may_release() ? a.storage : nullptr;
}

/// Returns the first base after those of the prepacked constants. A call that finds all of them relies on its
/// section alone. A call that makes one, or releases contents, holds a reference to each instead: an open
/// section would keep the replaced ones from being freed.
std::byte** Executable::gather_prepacked(std::span<const Argument> inputs, std::byte** bases,
                                         PrepackedReferences& references) const {
  auto& section = references.section.emplace();
  const std::size_t count = plan_.prepacked.size();
  std::size_t found = 0;
  for (; found < count; ++found) {
    const Buffer* const prepacked = find_prepacked(found, inputs);
    if (prepacked == nullptr || releasable_after(found, inputs) != nullptr) break;
    bases[first_prepacked_ + found] = prepacked->data();
  }
  if (found < count) {
    section.leave();
    bool released = false;
    for (std::size_t i = 0; i < count; ++i) {
      references.held.push_back(get_prepacked(i, inputs, bases));
      // At once: the next prepacked constant may take the memory.
      if (Storage* const contents = releasable_after(i, inputs)) {
        const std::size_t packed = releases_[i]->packed;
        contents->release(references.held[packed], *plan_.prepacked[packed].packing);
        released = true;
      }
    }
    // The pool would keep the last released block of each size, which fit no array of later calls.
    if (released) release_pooled_memory(device_);
  }
  return bases + first_prepacked_ + count;
}

/// Inputs that steps write while other inputs may overlap them. Each such input is copied and its base set to
/// the copy, so that the steps leave the old contents of all inputs intact; write_back() copies the new
/// contents. Returns the copies.
///
/// Intervals in the order of their beginnings: one that overlaps any earlier interval overlaps the one with
/// the greatest end.
std::vector<Buffer> Executable::stage_overlapping(Addresses& addresses, WorkQueue* queue) const {
  std::byte** const bases = addresses.bases.data();
  std::vector<Buffer> copies;
  const std::size_t count = plan_.inputs.size();
  if (count < 2) return copies;
  const auto bytes = [&](std::uint32_t i) { return input_bytes_[i]; };
  std::uint32_t* const order = addresses.inputs_in_order.data();
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    if (bytes(i) > 0) order[used++] = i;
  const std::span sorted(order, used);
  const std::less<const std::byte*> before;
  std::sort(sorted.begin(), sorted.end(),
            [&](std::uint32_t a, std::uint32_t b) { return before(bases[a], bases[b]); });
  const auto stage = [&](std::uint32_t i, const std::byte* from) {
    if (!in_place_[i] || bases[i] != from) return;  // not written by steps, or staged already
    std::byte* const copy = copies.emplace_back(bytes(i), device_).data();
    copy_bytes(queue, copy, from, bytes(i));
    bases[i] = copy;
  };
  std::uint32_t last = 0;  // the interval with the greatest end
  const std::byte *last_begin = nullptr, *last_end = nullptr;
  for (const std::uint32_t i : sorted) {
    const std::byte *const begin = bases[i], *const end = begin + bytes(i);
    if (last_end != nullptr && before(begin, last_end)) {
      stage(i, begin);
      stage(last, last_begin);
      if (!before(last_end, end)) continue;
    }
    last = i, last_begin = begin, last_end = end;
  }
  return copies;
}

/// Copies the values that are not in the memory of their inputs. If one is in the memory of another input,
/// all are staged before the first write. Returns the staged values.
std::vector<Buffer> Executable::write_back(std::span<const Argument> inputs, std::byte* const* bases,
                                           WorkQueue* queue) const {
  const auto value = [&](std::size_t i) {
    return bases[write_back_values_[i].base] + write_back_values_[i].offset;
  };
  const auto& list = plan_.write_backs;
  std::vector<Buffer> copies;
  if (write_backs_overlap_ && list.size() > 1) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      copies.emplace_back(static_cast<std::size_t>(list[i].bytes), device_);
      copy_bytes(queue, copies[i].data(), value(i), static_cast<std::size_t>(list[i].bytes));
    }
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Argument& input = inputs[list[i].input];
    const std::byte* const from = copies.empty() ? value(i) : copies[i].data();
    copy_bytes(queue, input.storage->data() + input.offset, from, static_cast<std::size_t>(list[i].bytes));
  }
  return copies;
}

void Executable::count_writes(std::span<const Argument> inputs) const {
  for (const auto& w : plan_.write_backs) inputs[w.input].storage->bump_version();
}

void Executable::run_steps(Addresses& addresses) const {
  std::byte* const* const bases = addresses.bases.data();
  void** const operands = addresses.operands.data();
  const Workspace workspace = make_workspace(launches_);
  if (Profile::Record* profile = Profile::Record::active())
    return run_timed(*profile, bases, operands, workspace);
  for (const Launch& l : launches_) launch(l, bases, operands, workspace, accelerator_);
}

void Executable::run_timed(Profile::Record& profile, std::byte* const* bases, void** operands,
                           const Workspace& workspace) const {
  using Clock = std::chrono::steady_clock;
  // The time of a loop includes its body. A step may throw.
  struct Suspended {
    Profile::Record* profile = std::exchange(Profile::Record::current(), nullptr);
    ~Suspended() { Profile::Record::current() = profile; }
  } suspended;
  if (!accelerator_) {
    auto start = Clock::now();
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      launch(launches_[i], bases, operands, workspace, nullptr);
      const auto end = Clock::now();
      profile.add(plan_.steps[i], std::chrono::duration<double>(end - start).count(), {});
      start = end;
    }
    return;
  }
  // Times are read after the last step: a wait between two steps would leave the device idle.
  std::vector<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>> moments;
  for (const Launch& l : launches_) {
    auto begin = accelerator_->record_moment();
    launch(l, bases, operands, workspace, accelerator_);
    moments.emplace_back(std::move(begin), accelerator_->record_moment());
  }
  for (std::size_t i = 0; i < moments.size(); ++i)
    profile.add(plan_.steps[i], accelerator_->seconds_between(moments[i].first, moments[i].second),
                launches_[i].control ? std::string() : plan_.kernels[launches_[i].kernel].gpu.schedule);
}

void Executable::run_body(std::byte* const* operands, std::byte* arena, const RandomState& random) const {
  Addresses addresses(*this);
  std::byte** base = std::copy_n(operands, first_constant_, addresses.bases.data());
  for (const auto& c : constants_) *base++ = c->data();
  RandomState state = random;
  Buffer device_state;
  *base++ = arena;
  base[1] = reinterpret_cast<std::byte*>(&state);
  base[0] = kernels_random(base, device_state);
  run_steps(addresses);
}

std::byte* Executable::kernels_random(std::byte** bases, Buffer& copy) const {
  if (!accelerator_ || !reads_random_) return bases[1];
  copy = Buffer(sizeof(RandomState), device_);
  accelerator_->upload(copy.data(), bases[1], sizeof(RandomState));
  return copy.data();
}

std::byte** Executable::set_arguments(std::span<const Argument> inputs, std::span<void* const> outputs,
                                      Addresses& addresses, PrepackedReferences& prepacked) const {
  if (inputs.size() != plan_.inputs.size() || outputs.size() != plan_.outputs.size())
    fail_internal("{} takes {} inputs and {} outputs, got {} and {}", plan_.name, plan_.inputs.size(),
                  plan_.outputs.size(), inputs.size(), outputs.size());
  std::byte** const bases = addresses.bases.data();
  std::byte** base = bases;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    *base++ = packed_only_[i] ? nullptr : inputs[i].storage->data() + inputs[i].offset;
  for (void* o : outputs) *base++ = static_cast<std::byte*>(o);
  for (const auto& c : constants_) *base++ = c->data();
  if (!plan_.prepacked.empty()) base = gather_prepacked(inputs, bases, prepacked);
  if (plan_.saved_bytes > 0) *base++ = addresses.saved;
  return base;
}

/// Flattened: of the 35 ns of a call of one small kernel, calls of these functions would take a third.
[[gnu::flatten]] void Executable::run(std::span<const Argument> inputs, std::span<void* const> outputs,
                                      const RandomState& random, Addresses& addresses) const {
  const FloatEnv env;
  PrepackedReferences prepacked;
  run_with(inputs, set_arguments(inputs, outputs, addresses, prepacked), random, addresses);
}

void Executable::run_with(std::span<const Argument> inputs, std::byte** base, const RandomState& random,
                          Addresses& addresses) const {
  const Arena arena(plan_.arena_bytes, plan_.name, accelerator_);
  RandomState state = random;
  Buffer device_state;
  base[0] = arena.data();
  base[2] = reinterpret_cast<std::byte*>(&state);
  base[1] = kernels_random(base + 1, device_state);

  std::vector<Buffer> staged;
  if (!in_place_.empty()) staged = stage_overlapping(addresses, accelerator_);
  run_steps(addresses);
  if (plan_.write_backs.empty()) return;
  write_back(inputs, addresses.bases.data(), accelerator_);
  count_writes(inputs);
}

}  // namespace kiln

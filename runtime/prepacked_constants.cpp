// Finds, makes and releases around the prepacked constants of a call.
#include "runtime/prepacked_constants.h"

#include "runtime/fail.h"
#include "runtime/hash.h"

#include <kiln/memory.h>

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

/// The storage that keeps a prepacked constant, and its keys there.
struct PrepackedPlace {
  std::uint64_t key;
  std::uint64_t sources = 0;
  Storage* keeper;
  bool external = false;

  PrepackedPlace(const PrepackedPlan& p, std::span<const Argument> inputs)
      : key(p.key), keeper(inputs[p.inputs.front()].storage) {
    // Offsets are part of the key: views of the same storages at other offsets have other prepacked
    // constants.
    for (std::size_t i : p.inputs) {
      const Argument& a = inputs[i];
      key = mixed(key, a.offset);
      sources = mixed(mixed(sources, a.storage->id()), a.storage->version());
      external = external || a.storage->external();
    }
  }
  std::uint64_t hash() const { return mixed(key, sources); }
};

}  // namespace

PrepackedConstants::PrepackedConstants(const LinkedPlan& plan, Device device, Run run)
    : plan_(plan),
      device_(device),
      run_(std::move(run)),
      packed_only_(plan.plan().inputs.size()),
      releases_(plan.plan().prepacked.size()) {
  const ExecutablePlan& p = plan_.plan();
  std::vector<std::size_t> packed(p.inputs.size()), last(p.inputs.size());
  find_packed_inputs(packed, last);
  for (const LinkedPlan::Operand& o : plan_.operands_of_calls())
    if (o.base < packed_only_.size()) packed_only_[o.base] = 0;
  for (const auto& w : p.write_backs) packed_only_[w.input] = 0;
  for (std::size_t input = 0; input < packed.size(); ++input)
    if (packed_only_[input]) releases_[last[input]] = ReleasePlan{input, packed[input]};
}

/// Finds, by input, the first prepacked constant with all its elements, and the last one that is made from
/// it.
void PrepackedConstants::find_packed_inputs(std::vector<std::size_t>& packed,
                                            std::vector<std::size_t>& last) {
  const ExecutablePlan& plan = plan_.plan();
  for (std::size_t i = plan.prepacked.size(); i-- > 0;) {
    const PrepackedPlan& p = plan.prepacked[i];
    for (const std::size_t input : p.inputs) last[input] = std::max(last[input], i);
    if (!p.packing) continue;
    const std::size_t input = p.inputs.front();
    if (p.inputs.size() != 1 || !p.packing->fits(plan.inputs[input].bytes(), p.bytes))
      fail_internal("prepacked constant {} of {} does not have the elements of input {}", i, plan.name,
                    input);
    packed[input] = i;
    packed_only_[input] = 1;
  }
}

/// Null if it has to be made. The caller is inside a section of Domain::prepacked.
const Buffer* PrepackedConstants::find(std::size_t index, std::span<const Argument> inputs) const {
  const PrepackedPlace place(plan_.plan().prepacked[index], inputs);
  return place.external ? nullptr : place.keeper->find_prepacked(place.key, place.sources);
}

/// Requires the `bases` of all operands and of the prepacked constants before `index`; sets the base of
/// `index`.
std::shared_ptr<const Buffer> PrepackedConstants::get(std::size_t index, std::span<const Argument> inputs,
                                                      std::byte** bases) const {
  const PrepackedPlace place(plan_.plan().prepacked[index], inputs);
  const auto made = [&] { return make(index, inputs, bases); };
  std::shared_ptr<const Buffer> prepacked = place.external
                                                ? std::make_shared<const Buffer>(made())
                                                : place.keeper->prepacked(place.key, place.sources, made);
  bases[plan_.first_prepacked() + index] = prepacked->data();
  return prepacked;
}

Buffer PrepackedConstants::make(std::size_t index, std::span<const Argument> inputs,
                                std::byte** bases) const {
  const PrepackedPlan& p = plan_.plan().prepacked[index];
  std::vector<Storage::Reading> contents;
  for (const std::size_t i : p.inputs) {
    if (!packed_only_[i]) continue;
    contents.emplace_back(*inputs[i].storage);
    bases[i] = contents.back().data() + inputs[i].offset;
  }
  Buffer made(static_cast<std::size_t>(p.bytes), device_);
  bases[plan_.first_prepacked() + index] = made.data();
  run_(plan_.prepacked_launches(index), bases);
  for (const std::size_t i : p.inputs)
    if (packed_only_[i]) bases[i] = nullptr;
  return made;
}

/// The storage whose contents may be released when the prepacked constants up to `index` exist, or null.
Storage* PrepackedConstants::releasable_after(std::size_t index, std::span<const Argument> inputs) const {
  const auto& release = releases_[index];
  if (!release) return nullptr;
  const Argument& a = inputs[release->input];
  const auto bytes = static_cast<std::size_t>(plan_.plan().inputs[release->input].bytes());
  return a.storage->bytes() == bytes && a.storage->may_release() ? a.storage : nullptr;
}

/// A call that finds all of them relies on its section alone. A call that makes one, or releases contents,
/// holds a reference to each instead: an open section would keep the replaced ones from being freed.
std::byte** PrepackedConstants::gather(std::span<const Argument> inputs, std::byte** bases,
                                       References& references) const {
  auto& section = references.section.emplace();
  const std::size_t count = releases_.size();
  std::byte** const prepacked_bases = bases + plan_.first_prepacked();
  for (std::size_t i = 0; i < count; ++i) {
    const Buffer* const prepacked = find(i, inputs);
    if (prepacked == nullptr || releasable_after(i, inputs) != nullptr) {
      section.leave();
      references.held = make_all(inputs, bases);
      break;
    }
    prepacked_bases[i] = prepacked->data();
  }
  return prepacked_bases + count;
}

/// Sets the bases of the held constants. False: they are of other parameters, or contents can be released.
bool PrepackedConstants::is_current(std::span<const Argument> inputs, std::byte** bases,
                                    const Held& held) const {
  if (held.buffers.empty()) return false;
  std::byte** const prepacked_bases = bases + plan_.first_prepacked();
  for (std::size_t i = 0; i < releases_.size(); ++i) {
    const PrepackedPlace place(plan_.plan().prepacked[i], inputs);
    if (place.external || place.hash() != held.sources[i] || releasable_after(i, inputs) != nullptr)
      return false;
    prepacked_bases[i] = held.buffers[i]->data();
  }
  return true;
}

std::byte** PrepackedConstants::gather(std::span<const Argument> inputs, std::byte** bases,
                                       Held& held) const {
  const std::size_t count = releases_.size();
  if (!is_current(inputs, bases, held)) [[unlikely]] {
    // Versions are read before contents.
    std::vector<std::uint64_t> sources;
    for (const PrepackedPlan& p : plan_.plan().prepacked) sources.push_back(PrepackedPlace(p, inputs).hash());
    held.buffers.clear();  // the pool may give their memory to the new ones
    held.buffers = make_all(inputs, bases);
    held.sources = std::move(sources);
  }
  return bases + plan_.first_prepacked() + count;
}

/// Makes the missing ones, and sets the bases of all.
std::vector<std::shared_ptr<const Buffer>> PrepackedConstants::make_all(std::span<const Argument> inputs,
                                                                        std::byte** bases) const {
  std::vector<std::shared_ptr<const Buffer>> all;
  bool released = false;
  for (std::size_t i = 0; i < releases_.size(); ++i) {
    all.push_back(get(i, inputs, bases));
    // Released at once: the next prepacked constant may take the memory.
    if (Storage* const contents = releasable_after(i, inputs)) {
      const std::size_t packed = releases_[i]->packed;
      contents->release(all[packed], *plan_.plan().prepacked[packed].packing);
      released = true;
    }
  }
  // The pool would keep the last released block of each size, which fit no array of later calls.
  if (released) release_pooled_memory(device_);
  return all;
}

}  // namespace kiln

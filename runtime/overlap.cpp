// Staging of inputs that overlap, and the write-backs of a call.
#include "runtime/overlap.h"

#include "runtime/accelerator.h"

#include <algorithm>
#include <functional>

namespace kiln {

Overlap::Overlap(const LinkedPlan& plan, const PrepackedConstants& prepacked, Device device)
    : plan_(plan), device_(device) {
  const ExecutablePlan& p = plan_.plan();
  for (const auto& w : p.write_backs) {
    if (w.in_place()) {
      in_place_.resize(p.inputs.size());
      in_place_[w.input] = true;
    } else {
      values_overlap_ = values_overlap_ || w.value.space == BufferRef::Space::input;
    }
  }
  if (in_place_.empty()) return;
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    input_bytes_.push_back(prepacked.packed_only(i) ? 0 : static_cast<std::size_t>(p.inputs[i].bytes()));
}

/// The inputs that have bytes, in the order of their addresses.
std::span<const std::uint32_t> Overlap::sort_inputs(CallAddresses& addresses) const {
  std::uint32_t* const order = addresses.inputs_in_order.data();
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < input_bytes_.size(); ++i)
    if (input_bytes_[i] > 0) order[used++] = i;
  const std::span sorted(order, used);
  std::ranges::sort(sorted, std::less<const std::byte*>(),
                    [&](std::uint32_t i) -> const std::byte* { return addresses.bases[i]; });
  return sorted;
}

/// Intervals in the order of their beginnings: one that overlaps any earlier interval overlaps the one with
/// the greatest end.
template <class Queue>
std::vector<Buffer> Overlap::stage(CallAddresses& addresses, Queue& queue) const {
  std::byte** const bases = addresses.bases.data();
  std::vector<Buffer> copies;
  if (input_bytes_.size() < 2) return copies;
  const auto stage = [&](std::uint32_t i, const std::byte* from) {
    if (!in_place_[i] || bases[i] != from) return;  // not written by steps, or staged already
    std::byte* const copy = copies.emplace_back(input_bytes_[i], device_).data();
    copy_bytes(queue, copy, from, input_bytes_[i]);
    bases[i] = copy;
  };
  const std::less<const std::byte*> before;
  std::uint32_t last = 0;  // the interval with the greatest end
  const std::byte *last_begin = nullptr, *last_end = nullptr;
  for (const std::uint32_t i : sort_inputs(addresses)) {
    const std::byte *const begin = bases[i], *const end = begin + input_bytes_[i];
    if (last_end != nullptr && before(begin, last_end)) {
      stage(i, begin);
      stage(last, last_begin);
      if (!before(last_end, end)) continue;
    }
    last = i, last_begin = begin, last_end = end;
  }
  return copies;
}

template <class Queue>
std::vector<Buffer> Overlap::write_back(std::span<const Argument> inputs, std::byte* const* bases,
                                        Queue& queue) const {
  const auto values = plan_.write_back_values();
  const auto& list = plan_.plan().write_backs;
  const auto value = [&](std::size_t i) { return bases[values[i].base] + values[i].offset; };
  std::vector<Buffer> copies;
  if (values_overlap_ && list.size() > 1) {
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

void Overlap::count_writes(std::span<const Argument> inputs) const {
  for (const auto& w : plan_.plan().write_backs) inputs[w.input].storage->bump_version();
}

template std::vector<Buffer> Overlap::stage(CallAddresses&, HostMemory&) const;
template std::vector<Buffer> Overlap::stage(CallAddresses&, WorkQueue&) const;
template std::vector<Buffer> Overlap::write_back(std::span<const Argument>, std::byte* const*,
                                                 HostMemory&) const;
template std::vector<Buffer> Overlap::write_back(std::span<const Argument>, std::byte* const*,
                                                 WorkQueue&) const;

}  // namespace kiln

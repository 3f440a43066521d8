// Inputs that a plan writes and that overlap others.
#pragma once
#include "runtime/call_arguments.h"
#include "runtime/prepacked_constants.h"

#include <kiln/device.h>

#include <cstddef>
#include <span>
#include <vector>

namespace kiln {

/// The inputs that a plan writes, which may overlap other inputs of a call: each step reads the old contents
/// of all inputs. Immutable; any thread. `queue` makes the copies: HostMemory, an Accelerator, or a graph of
/// one.
class Overlap {
 public:
  /// `plan` outlives it.
  Overlap(const LinkedPlan& plan, const PrepackedConstants& prepacked, Device device);

  /// Whether steps write inputs.
  bool may_stage() const { return !in_place_.empty(); }
  /// Copies each input that steps write and another input overlaps, and sets its base to the copy. The steps
  /// thus leave the old contents of all inputs intact; write_back() copies the new contents. Returns the
  /// copies.
  template <class Queue>
  std::vector<Buffer> stage(CallAddresses& addresses, Queue& queue) const;

  bool writes() const { return !plan_.plan().write_backs.empty(); }
  /// Copies the new contents of inputs that are not in the memory of their inputs. If one is in the memory of
  /// another input, all are staged before the first write. Returns the staged values.
  template <class Queue>
  std::vector<Buffer> write_back(std::span<const Argument> inputs, std::byte* const* bases,
                                 Queue& queue) const;
  /// Increments the versions of the inputs that a call has written.
  void count_writes(std::span<const Argument> inputs) const;

 private:
  std::span<const std::uint32_t> sort_inputs(CallAddresses& addresses) const;

  const LinkedPlan& plan_;
  Device device_;
  bool values_overlap_ = false;           // whether a new value is in the memory of another input
  std::vector<bool> in_place_;            // by input: whether steps write it; empty if they write none
  std::vector<std::size_t> input_bytes_;  // by input, if in_place_ is not empty
};

}  // namespace kiln

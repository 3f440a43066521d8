// The prepacked constants of a plan.
#pragma once
#include "runtime/call_arguments.h"
#include "runtime/reclaim.h"

#include <kiln/device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace kiln {

/// The prepacked constants of a plan: finds or makes them for the parameters of a call. Releases the contents
/// of parameters that a prepacked constant has, too (Storage::allow_release). Immutable; any thread.
class PrepackedConstants {
 public:
  /// Runs the launches that make a prepacked constant.
  using Run = std::function<void(std::span<const Launch> launches, std::byte* const* bases)>;

  /// `plan` outlives it. Throws an internal error for a packing that does not fit its parameter.
  PrepackedConstants(const LinkedPlan& plan, Device device, Run run);

  bool empty() const { return plan_.plan().prepacked.empty(); }
  /// Whether the steps of a call read an input through prepacked constants only, and one of these has all its
  /// elements. Its base is null then.
  bool packed_only(std::size_t input) const { return packed_only_[input] != 0; }

  /// Keeps the prepacked constants of a call alive.
  struct References {
    std::optional<ReadSection<Domain::prepacked>> section;
    std::vector<std::shared_ptr<const Buffer>> held;
  };
  /// The prepacked constants of a call that is repeated. It holds them from run to run, and a run whose
  /// parameters are unchanged finds them without a section. The end of a section may free constants that
  /// another thread has replaced.
  struct Held {
    std::vector<std::uint64_t> sources;  ///< a hash of what each was made from
    std::vector<std::shared_ptr<const Buffer>> buffers;
  };
  /// Sets the bases of the prepacked constants, and returns the place of the next. Those before are set.
  std::byte** gather(std::span<const Argument> inputs, std::byte** bases, References& references) const;
  std::byte** gather(std::span<const Argument> inputs, std::byte** bases, Held& held) const;

 private:
  void find_packed_inputs(std::vector<std::size_t>& packed, std::vector<std::size_t>& last);
  const Buffer* find(std::size_t index, std::span<const Argument> inputs) const;
  std::shared_ptr<const Buffer> get(std::size_t index, std::span<const Argument> inputs,
                                    std::byte** bases) const;
  Buffer make(std::size_t index, std::span<const Argument> inputs, std::byte** bases) const;
  std::vector<std::shared_ptr<const Buffer>> make_all(std::span<const Argument> inputs,
                                                      std::byte** bases) const;
  bool is_current(std::span<const Argument> inputs, std::byte** bases, const Held& held) const;
  Storage* releasable_after(std::size_t index, std::span<const Argument> inputs) const;

  /// For the last prepacked constant that is made from a packed-only input: that input, and the first
  /// prepacked constant with all its elements.
  struct ReleasePlan {
    std::size_t input, packed;
  };

  const LinkedPlan& plan_;
  Device device_;
  Run run_;
  std::vector<std::uint8_t> packed_only_;             // by input
  std::vector<std::optional<ReleasePlan>> releases_;  // by prepacked constant
};

}  // namespace kiln

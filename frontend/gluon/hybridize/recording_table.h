// The recordings of a block object.
#pragma once
#include "frontend/gluon/hybridize/cached_call.h"
#include "runtime/reclaim.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kiln::detail {

/// The recordings of one block object at one moment, oldest first. Immutable: a new recording means a new
/// table, and the old one is retired (runtime/reclaim.h). A hit thus takes no lock, and a recording that is
/// not in a newer table stays alive while a call runs it. Few signatures are compared one by one, newest
/// first; many are found by a hash.
class RecordingTable final : public Retirable {
 public:
  using Calls = std::vector<std::shared_ptr<const TracedCall>>;

  /// `number`: the number of the replaced table plus one.
  RecordingTable(Calls calls, std::uint64_t number);

  const Calls& calls() const { return calls_; }
  std::uint64_t number() const { return number_; }
  /// The recording for the inputs, valid or stale; null if there is none. Marks it as used in this table, by
  /// a store unless it is marked already.
  const TracedCall* find(std::span<const Tensor> inputs, CallMode mode) const {
    for (const TracedCall* const* c = few_; *c != nullptr; ++c)
      if ((*c)->matches(inputs, mode)) return mark(*c);
    return slots_.empty() ? nullptr : find_by_hash(inputs, mode);
  }

 private:
  struct Slot {
    std::uint64_t hash;
    const TracedCall* call;  // null: empty
  };
  const TracedCall* find_by_hash(std::span<const Tensor> inputs, CallMode mode) const;
  const TracedCall* mark(const TracedCall* call) const {
    if (call->used_in.load(std::memory_order_relaxed) != number_)
      call->used_in.store(number_, std::memory_order_relaxed);
    return call;
  }

  /// The number of signatures whose comparison takes about as long as hashing one.
  static constexpr std::size_t few = 8;
  std::uint64_t number_;
  const TracedCall* few_[few + 1] = {};  // newest first, null-terminated; empty if there are more
  std::vector<Slot> slots_;              // open addressing, half full; empty for few calls
  Calls calls_;
};

/// At most `limit` of the calls: drops the least recently used, the oldest first among equals.
RecordingTable::Calls recently_used(RecordingTable::Calls calls, std::size_t limit);

}  // namespace kiln::detail

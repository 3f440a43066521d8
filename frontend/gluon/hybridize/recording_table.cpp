// Looks up recordings by signature.
#include "frontend/gluon/hybridize/recording_table.h"

#include "runtime/hash.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace kiln::detail {
namespace {

/// Hash of shapes, dtypes and mode. The comparison covers aliasing of inputs.
class SignatureHash {
 public:
  explicit SignatureHash(bool train) : hash_(train) {}
  void add(DType dtype, const Shape& shape) {
    hash_ = mixed(hash_, static_cast<std::uint64_t>(dtype) << 8 | shape.size());
    for (const std::int64_t extent : shape) hash_ = mixed(hash_, static_cast<std::uint64_t>(extent));
  }
  std::uint64_t get() const { return hash_; }

 private:
  std::uint64_t hash_;
};

std::uint64_t hash_of(const CallSignature& signature) {
  SignatureHash hash(signature.train);
  for (const CallSignature::Input& in : signature.inputs) hash.add(in.dtype, in.shape);
  return hash.get();
}

}  // namespace

RecordingTable::RecordingTable(Calls calls, std::uint64_t number)
    : number_(number), calls_(std::move(calls)) {
  if (calls_.size() <= few) {
    std::transform(calls_.rbegin(), calls_.rend(), few_, [](const auto& call) { return call.get(); });
    return;
  }
  slots_.resize(std::bit_ceil(2 * calls_.size()));
  for (const auto& call : calls_) {
    const std::uint64_t hash = hash_of(call->signature);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].call != nullptr) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {hash, call.get()};
  }
}

const TracedCall* RecordingTable::find_by_hash(std::span<const Tensor> inputs, CallMode mode) const {
  SignatureHash hash(mode.train);
  for (const Tensor& t : inputs) hash.add(TensorAccess::dtype(t), TensorAccess::shape(t));
  for (std::size_t at = hash.get() & (slots_.size() - 1); slots_[at].call != nullptr;
       at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].hash == hash.get() && slots_[at].call->matches(inputs, mode)) return mark(slots_[at].call);
  return nullptr;
}

RecordingTable::Calls recently_used(RecordingTable::Calls calls, std::size_t limit) {
  if (calls.size() <= limit) return calls;
  // Read once: other threads may change them during the sort.
  std::vector<std::pair<std::uint64_t, std::size_t>> by_use;
  for (std::size_t i = 0; i < calls.size(); ++i)
    by_use.emplace_back(calls[i]->used_in.load(std::memory_order_relaxed), i);
  const auto first_kept = by_use.end() - static_cast<std::ptrdiff_t>(limit);
  std::nth_element(by_use.begin(), first_kept, by_use.end());
  for (auto it = by_use.begin(); it != first_kept; ++it) calls[it->second] = nullptr;
  std::erase(calls, nullptr);
  return calls;
}

}  // namespace kiln::detail

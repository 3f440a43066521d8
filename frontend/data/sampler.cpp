// Orders of samples, and batches of them.
#include "frontend/call/line.h"
#include "frontend/call/random_state.h"
#include "frontend/data/keys.h"
#include "runtime/fail.h"

#include <kiln/dataset.h>
#include <kiln/sampler.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace kiln::data {

std::uint64_t drawn_seed() {
  const RandomState drawn = reserve_random(1);
  return key_of(Purpose::seed, {drawn.seed, drawn.counter});
}

namespace {

Indices counted(std::int64_t length, std::int64_t start = 0) {
  Indices out(static_cast<std::size_t>(length));
  std::iota(out.begin(), out.end(), start);
  return out;
}

Indices shuffled(std::int64_t length, std::uint64_t seed) {
  Indices out = counted(length);
  Uniform uniform(seed);
  for (std::size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[uniform.below(i)]);
  return out;
}

std::int64_t checked_length(std::int64_t length, std::source_location where) {
  if (length < 0) fail("{}the length of a sampler is {}: it must be 0 or more", line_prefix(where), length);
  return length;
}

Indices passing(const std::function<bool(const Sample&)>& fn, const Dataset& dataset) {
  Indices out;
  for (std::int64_t i = 0; i < dataset.size(); ++i)
    if (fn(dataset.at(i, {}))) out.push_back(i);
  return out;
}

Indices in_steps(std::int64_t length, std::int64_t interval, bool rollover) {
  Indices out;
  for (std::int64_t first = 0; first < std::min(rollover ? interval : 1, length); ++first)
    for (std::int64_t i = first; i < length; i += std::min(interval, length - i)) out.push_back(i);
  return out;
}

Sampler fixed(Indices indices) {
  const auto size = static_cast<std::int64_t>(indices.size());
  return {size, [indices = std::move(indices)](std::uint64_t) { return indices; }};
}

/// The batches of one sampler. The batches of any epoch are computed without the epochs before it.
struct Division {
  Sampler sampler;
  std::int64_t batch_size;
  LastBatch last_batch;

  std::uint64_t seed(std::uint64_t seed, std::int64_t epoch) const {
    return key_of(Purpose::order, {seed, static_cast<std::uint64_t>(epoch)});
  }
  /// How many samples the epochs before this one have left over.
  std::int64_t carried(std::int64_t epoch) const {
    if (last_batch != LastBatch::rollover) return 0;
    return static_cast<std::int64_t>(static_cast<__int128>(sampler.size()) * epoch % batch_size);
  }
  std::int64_t count(std::int64_t epoch) const {
    const std::int64_t whole = (carried(epoch) + sampler.size()) / batch_size;
    return whole + (last_batch == LastBatch::keep && sampler.size() % batch_size != 0);
  }
  /// The samples that the preceding epoch left over, and earlier ones where an epoch is smaller than a batch.
  Indices left_over(std::uint64_t of, std::int64_t epoch) const {
    Indices out;
    for (std::size_t left = static_cast<std::size_t>(carried(epoch)); left > 0;) {
      const Indices order = sampler.indices(seed(of, --epoch));
      const std::size_t n = std::min(left, order.size());
      out.insert(out.begin(), order.end() - static_cast<std::ptrdiff_t>(n), order.end());
      left -= n;
    }
    return out;
  }
  std::vector<Indices> batches(std::uint64_t of, std::int64_t epoch) const {
    Indices order = left_over(of, epoch);
    const Indices own = sampler.indices(seed(of, epoch));
    order.insert(order.end(), own.begin(), own.end());
    std::vector<Indices> out;
    for (std::int64_t b = 0; b < count(epoch); ++b) {
      const auto begin = order.begin() + b * batch_size;
      out.emplace_back(begin, begin + std::min<std::ptrdiff_t>(batch_size, order.end() - begin));
    }
    return out;
  }
};

}  // namespace

Sampler::Sampler(std::int64_t size, std::function<Indices(std::uint64_t)> order, Where where)
    : size_(checked_length(size, where)), order_(std::move(order)) {
  if (!order_) fail("{}the order of a sampler is an empty function", line_prefix(where));
}

Indices Sampler::indices(std::uint64_t seed) const {
  Indices out = order_(seed);
  if (static_cast<std::int64_t>(out.size()) != size_)
    fail("a sampler of size {} gives {} indices", size_, out.size());
  return out;
}

SequentialSampler::SequentialSampler(std::int64_t length, std::int64_t start, Where where)
    : Sampler(
          length, [length, start](std::uint64_t) { return counted(length, start); }, where) {}

RandomSampler::RandomSampler(std::int64_t length, Where where)
    : Sampler(
          length, [length](std::uint64_t seed) { return shuffled(length, seed); }, where) {}

FilterSampler::FilterSampler(const std::function<bool(const Sample&)>& fn, const Dataset& dataset,
                             Where where)
    : Sampler(at_line(where, [&] {
        if (!fn) fail("the function of a FilterSampler is empty");
        return fixed(passing(fn, dataset));
      })) {}

IntervalSampler::IntervalSampler(std::int64_t length, std::int64_t interval, bool rollover, Where where)
    : Sampler(at_line(where, [&] {
        if (interval < 1 || interval > length)
          fail("the interval of a sampler is {}: it must be between 1 and the length {}", interval, length);
        return fixed(in_steps(length, interval, rollover));
      })) {}

BatchSampler::BatchSampler(Sampler sampler, std::int64_t batch_size, LastBatch last_batch, Where where) {
  if (batch_size < 1) fail("{}the batch size is {}: it must be 1 or more", line_prefix(where), batch_size);
  const Division division{std::move(sampler), batch_size, last_batch};
  batches_ = [division](std::uint64_t seed, std::int64_t epoch) { return division.batches(seed, epoch); };
  count_ = [division](std::int64_t epoch) { return division.count(epoch); };
}

BatchSampler::BatchSampler(std::function<std::vector<Indices>(std::uint64_t, std::int64_t)> batches,
                           Where where)
    : batches_(std::move(batches)) {
  if (!batches_) fail("{}the batches of a sampler are an empty function", line_prefix(where));
}

std::vector<Indices> BatchSampler::batches(std::uint64_t seed, std::int64_t epoch) const {
  return batches_(seed, epoch);
}

std::int64_t BatchSampler::size(std::uint64_t seed, std::int64_t epoch) const {
  return count_ ? count_(epoch) : static_cast<std::int64_t>(batches_(seed, epoch).size());
}

}  // namespace kiln::data

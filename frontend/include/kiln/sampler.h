// Orders of samples and their division in batches.
#pragma once
#include <kiln/export.h>

#include <cstdint>
#include <functional>
#include <source_location>
#include <vector>

/// Orders of samples and their division in batches. They are functions of a seed and have no state, so that
/// any epoch of a run can be repeated by itself.
namespace kiln::data {

class Dataset;
class Sample;

using Indices = std::vector<std::int64_t>;  ///< numbers of samples, from 0

/// An order of indices. Any thread.
class KILN_API Sampler {
 public:
  using Where = std::source_location;

  /// A program's own: `order(seed)` gives `size` indices. Each epoch of a DataLoader has another seed.
  Sampler(std::int64_t size, std::function<Indices(std::uint64_t seed)> order,
          Where where = Where::current());

  std::int64_t size() const { return size_; }  ///< the number of indices of a loop
  /// Throws if the program's own order gives another number of indices than size().
  Indices indices(std::uint64_t seed = 0) const;

 private:
  std::int64_t size_;
  std::function<Indices(std::uint64_t)> order_;
};

/// start, start + 1, ...
class KILN_API SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(std::int64_t length, std::int64_t start = 0, Where where = Where::current());
};

/// A permutation of 0 to length - 1.
class KILN_API RandomSampler : public Sampler {
 public:
  explicit RandomSampler(std::int64_t length, Where where = Where::current());
};

/// The indices of the samples for which `fn` returns true. It is called now.
class KILN_API FilterSampler : public Sampler {
 public:
  FilterSampler(const std::function<bool(const Sample&)>& fn, const Dataset& dataset,
                Where where = Where::current());
};

/// 0, interval, 2 * interval, ... below `length`; with `rollover` then 1, interval + 1, ... until each index
/// was there once.
class KILN_API IntervalSampler : public Sampler {
 public:
  IntervalSampler(std::int64_t length, std::int64_t interval, bool rollover = true,
                  Where where = Where::current());
};

/// Treatment of the samples of an epoch that do not fill a batch.
enum class LastBatch {
  keep,      ///< a smaller batch
  discard,   ///< no batch
  rollover,  ///< the first samples of the next epoch
};

/// The batches of an epoch. Any thread.
class KILN_API BatchSampler {
 public:
  using Where = std::source_location;

  /// Throws for a batch size below 1.
  BatchSampler(Sampler sampler, std::int64_t batch_size, LastBatch last_batch = LastBatch::keep,
               Where where = Where::current());
  /// A program's own.
  explicit BatchSampler(std::function<std::vector<Indices>(std::uint64_t seed, std::int64_t epoch)> batches,
                        Where where = Where::current());

  /// The indices of each batch of this epoch, counted from 0. The sampler's seed is made of both numbers.
  std::vector<Indices> batches(std::uint64_t seed = 0, std::int64_t epoch = 0) const;
  /// The number of batches of this epoch.
  std::int64_t size(std::uint64_t seed = 0, std::int64_t epoch = 0) const;

 private:
  std::function<std::vector<Indices>(std::uint64_t, std::int64_t)> batches_;
  std::function<std::int64_t(std::int64_t)> count_;  // without the indices; may be empty
};

}  // namespace kiln::data

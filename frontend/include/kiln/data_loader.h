// DataLoader: loops over the batches of a dataset.
#pragma once
#include <kiln/batchify.h>
#include <kiln/dataset.h>
#include <kiln/export.h>
#include <kiln/sampler.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <source_location>

namespace kiln::data {

/// Options of DataLoader, with MXNet's names.
struct DataLoaderOptions {
  std::int64_t batch_size = 0;          ///< samples of a batch; at least 1, unless `batch_sampler` is given
  bool shuffle = false;                 ///< whether each loop takes the samples in another random order
  std::optional<Sampler> sampler = {};  ///< instead of `shuffle`
  LastBatch last_batch = LastBatch::keep;          ///< the last samples, where they are fewer than a batch
  std::optional<BatchSampler> batch_sampler = {};  ///< instead of all of the above
  BatchifyFn batchify_fn = {};                     ///< default: batchify::Stack
  /// The threads that make batches ahead of the loop; 0: the loop's own thread makes each when it takes it.
  int num_workers = 0;
  /// The batches that workers make ahead; default: twice their number.
  std::optional<int> prefetch = {};
  /// Seed of the order and of random transforms; default: drawn from the program's stream of random numbers.
  std::optional<std::uint64_t> seed = {};
};

/// The place of a loop over a DataLoader. Together with the loader's dataset and options it determines all
/// batches that follow.
struct LoaderState {
  std::uint64_t seed = 0;     ///< of the loader; with the epoch's number it gives the order of the samples
  std::int64_t epoch = 0;     ///< counted from 0
  std::int64_t position = 0;  ///< the batches of this epoch that the loop has taken, the current one included
  bool operator==(const LoaderState&) const = default;
};

namespace detail {
class LoaderEpoch;
struct LoaderShared;
}  // namespace detail

/// Batches of a dataset:
///
/// ```
/// data::DataLoader batches(dataset, {.batch_size = 32, .shuffle = true, .num_workers = 2});
/// for (int epoch = 0; epoch < 10; ++epoch)
///   for (const auto& [x, y] : batches) ...
/// ```
///
/// Each loop is one epoch. The batches are on the CPU, and no operation that makes them is recorded. They
/// come in the sampler's order, with the same bits for any number of workers. The loader's seed, the epoch
/// and the sample's index determine the random numbers that a dataset's functions draw by kiln::random. An
/// error in the making of a sample is thrown where the loop takes its batch. It is a kiln::Error that names
/// the loop and the index, and has the program's exception nested in it. A loop that is left early, in any
/// way, waits for the samples in work and ends its threads.
///
/// A program that catches the error may continue with the same iterator: the next batch follows.
///
/// In a child of fork() the loops of the parent continue, with the same batches and without workers.
///
/// A handle: copies are the same loader. Thread rule: one thread at a time.
class KILN_API DataLoader {
 public:
  using Where = std::source_location;

  /// Throws for options that exclude each other: needed is a `batch_size` or a `batch_sampler`.
  DataLoader(const Dataset& dataset, const DataLoaderOptions& options, Where where = Where::current());

  /// The number of batches of the epoch that state() tells.
  std::int64_t size(Where where = Where::current()) const;

  class Iterator;
  /// Begins the next epoch, or the rest of one after restore(), and takes its first batch; the first use of
  /// the iterator throws an error of its making. Throws while tracing, and the errors of the sampler: the
  /// next loop is the next epoch.
  Iterator begin(Where where = Where::current()) const;
  std::default_sentinel_t end() const { return {}; }  ///< the end of every loop

  /// The place after the batch that the loop has taken last. In the loop's body it means that this batch is
  /// done; after a loop that ran to its end, the next epoch. A batch that failed does not move it until the
  /// loop continues: a run that continues there makes it again.
  LoaderState state() const;
  /// The next loop continues at this place, with the batches that would have followed. Throws for numbers
  /// below 0; for a position after the epoch's end the next loop throws.
  void restore(const LoaderState& state, Where where = Where::current());

 private:
  std::shared_ptr<detail::LoaderShared> shared_;
};

/// An input iterator over the batches of an epoch. Copies are the same iteration.
class KILN_API DataLoader::Iterator {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  /// Throws at the end. After a batch that failed it takes the next one.
  const Batch& operator*() const;
  const Batch* operator->() const { return &**this; }  ///< the batch's members
  /// Takes the next batch. Throws the error of its making, and has then passed it.
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& a, std::default_sentinel_t) { return a.done(); }

 private:
  friend class DataLoader;
  explicit Iterator(std::shared_ptr<detail::LoaderEpoch> epoch) : epoch_(std::move(epoch)) {}
  bool done() const;

  std::shared_ptr<detail::LoaderEpoch> epoch_;
};

}  // namespace kiln::data

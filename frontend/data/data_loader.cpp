// DataLoader: epochs, their batches and where a loop is in them.
#include "frontend/call/call_context.h"
#include "frontend/call/line.h"
#include "frontend/call/moved_from.h"
#include "frontend/call/random_state.h"
#include "frontend/call/trace.h"
#include "frontend/data/keys.h"
#include "frontend/data/prefetcher.h"
#include "runtime/fail.h"

#include <kiln/autograd.h>
#include <kiln/data_loader.h>

#include <exception>
#include <optional>
#include <utility>

namespace kiln::data {

namespace detail {

struct LoaderShared {
  Dataset dataset;
  BatchSampler sampler;
  BatchifyFn batchify;
  int workers, ahead;

  LoaderState state;
  /// The next loop begins at `state`: no loop has begun there.
  bool fresh = true;
  /// The last loop's number: only this one moves `state`.
  std::uint64_t loops = 0;

  /// The number of batches of an epoch, which a program's own sampler tells only by making them.
  struct Count {
    std::uint64_t seed;
    std::int64_t epoch;
    std::int64_t batches;
  };
  std::optional<Count> count = {};

  std::int64_t counted() {
    if (!count || count->seed != state.seed || count->epoch != state.epoch)
      count = {state.seed, state.epoch, sampler.size(state.seed, state.epoch)};
    return count->batches;
  }
};

}  // namespace detail

namespace {

using detail::LoaderShared;

/// The thread-local state that a sample depends on: the same for a worker and the loop's own thread.
class SampleScope {
 public:
  SampleScope(Device device, std::uint64_t key) : device_(device), numbers_(RandomState{key, 0}) {}

 private:
  autograd::Pause pause_;
  DeviceScope device_;
  RandomBlock numbers_;
};

/// An epoch: together with the loader, it determines its batches.
struct Epoch {
  std::uint64_t seed;
  std::uint64_t number;
  Device device;               ///< DeviceScope's, of the loop's thread
  std::source_location where;  ///< the loop

  SampleScope scope(Purpose purpose, std::int64_t index) const {
    return {device, key_of(purpose, {seed, number, static_cast<std::uint64_t>(index)})};
  }
};

/// Throws an Error of this text, with the loop's line and the exception that is being handled nested in it.
[[noreturn]] void rethrow_as(const Epoch& epoch, const std::string& of) {
  const std::string what = line_prefix(epoch.where) + of;
  Error error(what);
  try {
    throw;
  } catch (const Error& e) {
    error = Error(fmt::format("{}: {}", what, e.what()), e.kind());
  } catch (const std::exception& e) {
    error = Error(fmt::format("{}: {}", what, e.what()));
  } catch (...) {
  }
  std::throw_with_nested(error);
}

Sample make_sample(const LoaderShared& loader, const Epoch& epoch, std::int64_t index) {
  const SampleScope scope = epoch.scope(Purpose::sample, index);
  try {
    return loader.dataset.at(index, {});
  } catch (...) {
    rethrow_as(epoch, fmt::format("DataLoader: sample {}", index));
  }
}

Batch make_batch(const LoaderShared& loader, const Epoch& epoch, std::int64_t number,
                 const Indices& indices) {
  std::vector<Sample> samples;
  for (const std::int64_t i : indices) samples.push_back(make_sample(loader, epoch, i));
  const SampleScope scope = epoch.scope(Purpose::batch, number);
  try {
    return loader.batchify(samples);
  } catch (...) {
    rethrow_as(epoch, fmt::format("DataLoader: batch {}, of {} samples beginning with sample {}", number,
                                  indices.size(), indices.empty() ? 0 : indices[0]));
  }
}

BatchSampler sampler_of(const Dataset& dataset, const DataLoaderOptions& o) {
  if (o.batch_sampler) {
    if (o.batch_size != 0 || o.shuffle || o.sampler || o.last_batch != LastBatch::keep)
      fail("a DataLoader takes a batch_sampler, or batch_size with shuffle, sampler and last_batch");
    return *o.batch_sampler;
  }
  if (o.batch_size < 1)
    fail("the batch_size of a DataLoader is {}: it must be 1 or more, or there must be a batch_sampler",
         o.batch_size);
  if (o.sampler && o.shuffle) fail("a DataLoader takes a sampler or shuffle, not both");
  const Sampler order = o.sampler   ? *o.sampler
                        : o.shuffle ? Sampler(RandomSampler(dataset.size()))
                                    : Sampler(SequentialSampler(dataset.size()));
  return {order, o.batch_size, o.last_batch};
}

}  // namespace

/// One loop over the batches. Its position is a batch, a batch that failed, or the end. After a failure, the
/// next use of the iterator, whichever it is, takes the next batch: a loop that catches the error continues.
class detail::LoaderEpoch {
 public:
  LoaderEpoch(std::shared_ptr<LoaderShared> loader, std::source_location where)
      : loader_(std::move(loader)),
        state_(loader_->state),
        loop_(loader_->loops),
        epoch_{state_.seed, static_cast<std::uint64_t>(state_.epoch), CallContext::current().device, where},
        batches_(loader_->sampler.batches(state_.seed, state_.epoch)),
        count_(static_cast<std::int64_t>(batches_.size())),
        prefetcher_(checked_position(), count_, loader_->workers, loader_->ahead, [this](std::int64_t b) {
          return make_batch(*loader_, epoch_, b, batches_[static_cast<std::size_t>(b)]);
        }) {
    loader_->count = {state_.seed, state_.epoch, count_};
    try {
      take();
    } catch (...) {
      first_error_ = std::current_exception();
    }
  }

  /// Takes the next batch, or ends the loop.
  void take() {
    if (first_error_) std::rethrow_exception(std::exchange(first_error_, nullptr));
    batch_.reset();
    if (prefetcher_.next() == count_) return end();
    batch_ = prefetcher_.take();
    move({state_.seed, state_.epoch, prefetcher_.next()}, false);
  }
  bool ended() {
    if (batch_ || first_error_ || prefetcher_.next() != count_) return false;
    end();  // the last batch may have failed
    return true;
  }
  const Batch& batch() {
    if (!batch_) take();
    if (!batch_)
      fail("{}the loop over the DataLoader has ended, and has no batch: compare its iterator with end()",
           line_prefix(epoch_.where));
    return *batch_;
  }

 private:
  std::int64_t checked_position() const {
    if (state_.position > count_)
      fail(
          "the restored position is {}, and epoch {} of the DataLoader has {} batches: it is of another "
          "dataset "
          "or batch size",
          state_.position, state_.epoch, count_);
    return state_.position;
  }
  void end() const { move({state_.seed, state_.epoch + 1, 0}, true); }
  void move(const LoaderState& to, bool fresh) const {
    if (loader_->loops != loop_) return;
    loader_->state = to;
    loader_->fresh = fresh;
  }

  const std::shared_ptr<LoaderShared> loader_;
  const LoaderState state_;  // at the beginning
  const std::uint64_t loop_;
  const Epoch epoch_;
  const std::vector<Indices> batches_;
  const std::int64_t count_;
  std::optional<Batch> batch_;
  /// The error of the first batch, until the program has seen it.
  std::exception_ptr first_error_;
  Prefetcher prefetcher_;
};

DataLoader::DataLoader(const Dataset& dataset, const DataLoaderOptions& o, Where where)
    : shared_(at_line(where, [&] {
        if (o.num_workers < 0 || o.prefetch.value_or(0) < 0)
          fail("num_workers and prefetch of a DataLoader must be 0 or more, got {} and {}", o.num_workers,
               o.prefetch.value_or(0));
        auto shared = std::make_shared<LoaderShared>(LoaderShared{dataset,
                                                                  sampler_of(dataset, o),
                                                                  o.batchify_fn,
                                                                  o.num_workers,
                                                                  o.prefetch.value_or(2 * o.num_workers),
                                                                  {}});
        if (!shared->batchify) shared->batchify = batchify::Stack();
        shared->state.seed = o.seed ? *o.seed : drawn_seed();
        return shared;
      })) {}

std::int64_t DataLoader::size(Where where) const {
  return at_line(where, [&] { return kiln::detail::live_state(shared_, "DataLoader").counted(); });
}

DataLoader::Iterator DataLoader::begin(Where where) const {
  return at_line(where, [&] {
    if (Trace::current())
      fail(
          "a DataLoader has batches of values, and a network is being traced: loop over it outside of "
          "hybrid_forward");
    LoaderShared& loader = kiln::detail::live_state(shared_, "DataLoader");
    if (!loader.fresh) loader.state = {loader.state.seed, loader.state.epoch + 1, 0};
    loader.fresh = false;
    ++loader.loops;
    return Iterator(std::make_shared<detail::LoaderEpoch>(shared_, where));
  });
}

LoaderState DataLoader::state() const { return kiln::detail::live_state(shared_, "DataLoader").state; }

void DataLoader::restore(const LoaderState& state, Where where) {
  if (state.epoch < 0 || state.position < 0)
    fail("{}a DataLoader's state of epoch {}, position {}: both are 0 or more", line_prefix(where),
         state.epoch, state.position);
  LoaderShared& loader = kiln::detail::live_state(shared_, "DataLoader", where);
  loader.state = state;
  loader.fresh = true;
  ++loader.loops;  // a loop that continues no longer moves it
}

const Batch& DataLoader::Iterator::operator*() const {
  return kiln::detail::live_state(epoch_, "iterator of a DataLoader").batch();
}

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  kiln::detail::live_state(epoch_, "iterator of a DataLoader").take();
  return *this;
}

bool DataLoader::Iterator::done() const {
  return kiln::detail::live_state(epoch_, "iterator of a DataLoader").ended();
}

}  // namespace kiln::data

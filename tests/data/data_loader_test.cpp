// DataLoader: order, workers, random numbers, errors, loops that end early, states, fork.
#include <kiln/data.h>
#include <kiln/kiln.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kiln;
using Catch::Matchers::Contains;
using data::DataLoader;
using data::LastBatch;
using data::LoaderState;

namespace {

data::ArrayDataset numbers(std::int64_t n) { return data::ArrayDataset(arange(static_cast<double>(n))); }

using Floats = std::vector<float>;

/// All elements of all batches of the next epoch.
Floats epoch_of(const DataLoader& loader) {
  Floats out;
  for (const data::Batch& b : loader)
    for (const float x : b.data().to_vector<float>()) out.push_back(x);
  return out;
}

std::size_t threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// Whether there are as many threads as before: the system may list one for a moment after it was joined.
bool only(std::size_t before) {
  for (int i = 0; i < 5000 && threads_now() != before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return threads_now() == before;
}

}  // namespace

TEST_CASE("batches come in the order of the samples, whatever the number of workers", "[data_loader]") {
  for (const int workers : {0, 1, 3})
    for (const int prefetch : {0, 1, 7}) {
      DataLoader loader(numbers(10), {.batch_size = 4, .num_workers = workers, .prefetch = prefetch});
      CHECK(loader.size() == 3);
      CHECK(epoch_of(loader) == Floats{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
      CHECK(epoch_of(loader) == Floats{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    }
  const Tensor x = arange(12).reshape({6, 2}), y = arange(6);
  std::vector<Shape> shapes;
  for (const auto& [data, label] : DataLoader(data::ArrayDataset(x, y), {.batch_size = 4})) {
    shapes.push_back(data.shape());
    shapes.push_back(label.shape());
  }
  CHECK(shapes == std::vector<Shape>{{4, 2}, {4}, {2, 2}, {2}});
  CHECK(epoch_of(DataLoader(numbers(0), {.batch_size = 4, .num_workers = 2})).empty());
}

TEST_CASE("a shuffled loader has each sample once, in another order each epoch", "[data_loader]") {
  DataLoader loader(numbers(50), {.batch_size = 8, .shuffle = true, .seed = 1});
  const Floats first = epoch_of(loader), second = epoch_of(loader);
  CHECK(first != second);
  CHECK(std::set<float>(first.begin(), first.end()).size() == 50);
  CHECK(std::set<float>(second.begin(), second.end()).size() == 50);
  CHECK(epoch_of(DataLoader(numbers(50), {.batch_size = 8, .shuffle = true, .num_workers = 2, .seed = 1})) ==
        first);
  CHECK(epoch_of(DataLoader(numbers(50), {.batch_size = 8, .shuffle = true, .seed = 2})) != first);

  const auto program = [] {
    random::seed(5);
    return epoch_of(DataLoader(numbers(50), {.batch_size = 8, .shuffle = true}));
  };
  CHECK(program() == program());
}

TEST_CASE("random numbers of a sample depend on seed, epoch and index alone", "[data_loader]") {
  const auto noisy = numbers(24).transform([](const Tensor& x) {
    if (x.item<int>() % 3 == 0) random::normal(0, 1, {5});  // as many draws as it likes
    return x + random::uniform(0, 0.5, {1});
  });
  const auto run = [&](int workers, bool shuffle, const LoaderState& from = {.seed = 9}) {
    DataLoader loader(noisy, {.batch_size = 5, .shuffle = shuffle, .num_workers = workers});
    loader.restore(from);
    Floats out = epoch_of(loader);
    if (shuffle) std::sort(out.begin(), out.end());
    return out;
  };
  const Floats alone = run(0, false);
  CHECK(std::set<float>(alone.begin(), alone.end()).size() == 24);
  CHECK(run(1, false) == alone);
  CHECK(run(4, false) == alone);
  CHECK(run(3, true) == alone);
  CHECK(run(0, false, {.seed = 9, .epoch = 1}) != alone);
  CHECK(run(0, false, {.seed = 8}) != alone);

  // The program's own stream does not notice.
  random::seed(3);
  const Floats next = random::uniform(0, 1, {4}).to_vector<float>();
  random::seed(3);
  run(0, false);
  random::seed(3);
  DataLoader loader(noisy, {.batch_size = 5, .num_workers = 2, .seed = 1});
  epoch_of(loader);
  CHECK(random::uniform(0, 1, {4}).to_vector<float>() == next);
}

TEST_CASE("what fails in a sample is thrown where the loop takes its batch", "[data_loader]") {
  struct Damage : std::runtime_error {
    using runtime_error::runtime_error;
  };
  const data::Dataset damaged(20, [](std::int64_t i) -> data::Sample {
    if (i == 13) throw Damage("no such picture");
    if (i == 17) throw 1;
    return data::scalar(static_cast<double>(i));
  });
  for (const int workers : {0, 1, 4}) {
    DataLoader loader(damaged, {.batch_size = 4, .num_workers = workers});
    int taken = 0;
    try {
      for (const data::Batch& b : loader) {
        CHECK(b.data().size() == 4);
        ++taken;
      }
      FAIL("nothing was thrown");
    } catch (const Error& e) {
      CHECK_THAT(e.what(), Contains("data_loader_test.cpp:") &&
                               Catch::Matchers::EndsWith(": DataLoader: sample 13: no such picture"));
      CHECK(e.kind() == Error::Kind::user);
      CHECK_THROWS_AS(std::rethrow_if_nested(e), Damage);
    }
    CHECK(taken == 3);
    CHECK(loader.state() == LoaderState{loader.state().seed, 0, 3});
    loader.restore({.epoch = 0, .position = 4});
    CHECK_THROWS_WITH(*loader.begin(), Contains("DataLoader: sample 17"));
  }
  const data::Dataset ragged(4, [](std::int64_t i) { return ones({i + 1}); });
  CHECK_THROWS_WITH(*DataLoader(ragged, {.batch_size = 2, .num_workers = 1}).begin(),
                    Contains("DataLoader: batch 0, of 2 samples beginning with sample 0") && Contains("Pad"));
  CHECK_THROWS_WITH(
      *DataLoader(numbers(3), {.batch_sampler = data::BatchSampler([](std::uint64_t, std::int64_t) {
                                 return std::vector<data::Indices>{{2, 3}};
                               })})
           .begin(),
      Contains("DataLoader: sample 3: there is no sample 3"));
}

TEST_CASE("a loop that ends early leaves no thread", "[data_loader]") {
  const auto slow = numbers(1000).transform([](const Tensor& x) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return x;
  });
  const std::size_t before = threads_now();
  for (const int prefetch : {0, 1, 50}) {
    DataLoader loader(slow, {.batch_size = 2, .num_workers = 4, .prefetch = prefetch});
    for (const data::Batch& b : loader)
      if (b.data().to_vector<float>()[0] >= 8) break;
    CHECK(only(before));
    CHECK_THROWS_WITH(
        [&] {
          for (const data::Batch& b : loader)
            if (b.size() == 1) throw std::runtime_error("of the body");
        }(),
        "of the body");
    CHECK(only(before));
    { const auto unused = loader.begin(); }
    CHECK(only(before));
  }
}

TEST_CASE("workers make no more batches ahead than prefetch says", "[data_loader]") {
  std::atomic<int> made{0};
  const auto counted = numbers(40).transform([&](const Tensor& x) { return ++made, x; });
  for (const int prefetch : {0, 2, 5}) {
    made = 0;
    DataLoader loader(counted, {.batch_size = 1, .num_workers = 8, .prefetch = prefetch});
    int taken = 0;
    for ([[maybe_unused]] const data::Batch& b : loader) {
      if (++taken % 10 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CHECK(made <= taken + prefetch);
    }
    CHECK(made == 40);
  }
}

TEST_CASE("a loop goes on where a state says", "[data_loader]") {
  for (const LastBatch last : {LastBatch::keep, LastBatch::rollover})
    for (const int workers : {0, 2}) {
      const data::DataLoaderOptions options{
          .batch_size = 4, .shuffle = true, .last_batch = last, .num_workers = workers, .seed = 11};
      // The batches of three epochs, and the state in the loop's body at each
      std::vector<Floats> batches;
      std::vector<LoaderState> states;
      DataLoader loader(numbers(18), options);
      CHECK(loader.state() == LoaderState{11, 0, 0});
      for (int epoch = 0; epoch < 3; ++epoch) {
        for (const data::Batch& b : loader) {
          batches.push_back(b.data().to_vector<float>());
          states.push_back(loader.state());
        }
        CHECK(loader.state() == LoaderState{11, epoch + 1, 0});
      }
      for (std::size_t i = 0; i < states.size(); ++i) {
        DataLoader other(numbers(18), {.batch_size = 4, .shuffle = true, .last_batch = last});
        other.restore(states[i]);
        CHECK(other.state() == states[i]);
        std::size_t at = i + 1;
        for (auto epoch = other.state().epoch; epoch < 3; ++epoch)
          for (const data::Batch& b : other) {
            REQUIRE(at < batches.size());
            CHECK(b.data().to_vector<float>() == batches[at++]);
          }
        CHECK(at == batches.size());
      }
    }
}

TEST_CASE("a loop after one that was left begins an epoch; only the last loop moves the state",
          "[data_loader]") {
  DataLoader loader(numbers(10), {.batch_size = 2, .seed = 1});
  for ([[maybe_unused]] const data::Batch& b : loader) break;
  CHECK(loader.state() == LoaderState{1, 0, 1});
  auto outer = loader.begin();
  CHECK(loader.state() == LoaderState{1, 1, 1});
  CHECK(epoch_of(loader).size() == 10);
  CHECK(loader.state() == LoaderState{1, 3, 0});
  ++outer;
  CHECK(loader.state() == LoaderState{1, 3, 0});

  loader.restore({.seed = 1, .epoch = 0, .position = 5});
  CHECK(epoch_of(loader).empty());
  CHECK(loader.state() == LoaderState{1, 1, 0});
  loader.restore({.seed = 1, .epoch = 0, .position = 6});
  CHECK_THROWS_WITH(loader.begin(), Contains("the restored position is 6") && Contains("5 batches"));
  CHECK_THROWS_WITH(loader.restore({.epoch = -1}), Contains("epoch -1"));
}

TEST_CASE("batches are made on the CPU, and nothing of them is recorded", "[data_loader]") {
  std::mutex mutex;
  std::vector<bool> recorded;
  const auto watched = numbers(4).transform([&](const Tensor& x) {
    const std::lock_guard lock(mutex);
    recorded.push_back(autograd::is_recording() || autograd::is_training());
    return x * 2;
  });
  const autograd::Record record;
  for (const int workers : {0, 2})
    for (const data::Batch& b : DataLoader(watched, {.batch_size = 2, .num_workers = workers})) {
      CHECK(b.data().device() == cpu());
      CHECK(!autograd::is_recorded(b.data()));
    }
  CHECK(recorded == std::vector<bool>(8, false));
}

TEST_CASE("a program's own batches and ways to make them", "[data_loader]") {
  const data::BatchSampler by_length([](std::uint64_t, std::int64_t epoch) {
    return std::vector<data::Indices>{{epoch, 2}, {1}};
  });
  DataLoader loader(numbers(3), {.batch_sampler = by_length, .num_workers = 1});
  CHECK(loader.size() == 2);
  CHECK(epoch_of(loader) == Floats{0, 2, 1});
  CHECK(epoch_of(loader) == Floats{1, 2, 1});
  const auto sums = [](std::span<const data::Sample> samples) -> data::Batch {
    Tensor sum = data::scalar(0);
    for (const data::Sample& s : samples) sum = sum + s.data();
    return sum.reshape({1});
  };
  CHECK(epoch_of(DataLoader(numbers(5), {.batch_size = 2, .batchify_fn = sums})) == Floats{1, 5, 4});

  CHECK_THROWS_WITH(DataLoader(numbers(3), {}),
                    Contains("batch_size of a DataLoader is 0") && Contains("data_loader_test.cpp"));
  CHECK_THROWS_WITH(DataLoader(numbers(3), {.batch_size = 1, .batch_sampler = by_length}),
                    Contains("takes a batch_sampler, or batch_size"));
  CHECK_THROWS_WITH(
      DataLoader(numbers(3), {.batch_size = 1, .shuffle = true, .sampler = data::SequentialSampler(3)}),
      Contains("a sampler or shuffle, not both"));
  CHECK_THROWS_WITH(DataLoader(numbers(3), {.batch_size = 1, .num_workers = -1}), Contains("got -1"));

  struct Loops : HybridBlock {
    DataLoader loader{numbers(2), {.batch_size = 1}};
    Tensor hybrid_forward(F&, const Tensor& x) override { return x + epoch_of(loader)[1]; }
  };
  Loops net;
  net.hybridize();
  CHECK_THROWS_WITH(net(ones({1})), Contains("loop over it outside of hybrid_forward"));
}

namespace {

/// The numbers that `body` writes to a file in a child, which an alarm ends if it hangs.
Floats in_child(const std::function<Floats()>& body) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const Floats got = body();
    const bool good = std::fwrite(got.data(), sizeof(float), got.size(), file) == got.size();
    ::_exit(good && std::fflush(file) == 0 ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = 1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  std::rewind(file);
  Floats got(1000);
  got.resize(std::fread(got.data(), sizeof(float), got.size(), file));
  std::fclose(file);
  return got;
}

data::Dataset slow_and_noisy() {
  return numbers(40).transform([](const Tensor& x) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    return x + random::uniform(0, 0.5, {1});
  });
}

}  // namespace

TEST_CASE("a child of fork() goes on with its parent's loop", "[data_loader]") {
  const DeviceScope host(cpu());  // a child has none of its parent's GPU
  const auto rest = [](DataLoader::Iterator& it) {
    Floats out;
    for (; it != std::default_sentinel; ++it)
      for (const float x : it->data().to_vector<float>()) out.push_back(x);
    return out;
  };
  for (int run = 0; run < 10; ++run) {
    DataLoader loader(slow_and_noisy(), {.batch_size = 2, .shuffle = true, .num_workers = 3, .seed = 4});
    auto it = loader.begin();
    ++it;
    const Floats got = in_child([&] { return rest(it); });
    CHECK(got.size() == 38);
    CHECK(got == rest(it));
  }
}

TEST_CASE("a child of fork() has workers of its own in its own loops", "[data_loader]") {
  const DeviceScope host(cpu());
  const data::DataLoaderOptions options{.batch_size = 4, .num_workers = 2, .seed = 4};
  DataLoader loader(slow_and_noisy(), options);
  const Floats expected = epoch_of(DataLoader(slow_and_noisy(), options));
  CHECK(in_child([&] { return epoch_of(loader); }) == expected);
  CHECK(epoch_of(loader) == expected);
}

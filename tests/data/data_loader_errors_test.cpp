// Loops over a DataLoader that catch an error and continue: the next batch follows.
#include <kiln/data.h>
#include <kiln/kiln.h>

#include <catch2/catch.hpp>
#include <functional>
#include <set>

using namespace kiln;
using Catch::Matchers::Contains;
using data::DataLoader;
using data::LoaderState;

namespace {

using Floats = std::vector<float>;

/// The samples 0 to n - 1; the `bad` ones cannot be made.
data::Dataset damaged(std::int64_t n, std::set<std::int64_t> bad) {
  return {n, [bad = std::move(bad)](std::int64_t i) -> data::Sample {
            if (bad.contains(i)) throw std::runtime_error("damaged");
            return data::scalar(static_cast<double>(i));
          }};
}

/// The observations of a loop: the first sample of each batch, and -1 for an error.
using Loop = std::function<Floats(const DataLoader&)>;

float first(const data::Batch& b) { return b.data().to_vector<float>().at(0); }

/// Programs that continue, each in a different way.
const std::pair<const char*, Loop> loops[] = {
    {"reads and advances in one try",
     [](const DataLoader& loader) {
       Floats seen;
       for (auto it = loader.begin(); it != loader.end();) try {
           seen.push_back(first(*it));
           ++it;
         } catch (const Error&) {
           seen.push_back(-1);
         }
       return seen;
     }},
    {"advances until that succeeds",
     [](const DataLoader& loader) {
       Floats seen;
       auto it = loader.begin();
       const auto guarded = [&](auto&& step) {
         for (;;) try {
             return step();
           } catch (const Error&) {
             seen.push_back(-1);
           }
       };
       while (guarded([&] { return it != loader.end(); })) {
         if (!guarded([&] {
               if (it == loader.end()) return false;
               seen.push_back(first(*it));
               return true;
             }))
           break;
         guarded([&] { ++it; });
       }
       return seen;
     }},
    {"advances again without a look at the end",
     [](const DataLoader& loader) {
       Floats seen;
       auto it = loader.begin();
       try {
         seen.push_back(first(*it));
       } catch (const Error&) {
         seen.push_back(-1);
       }
       for (;;) {
         try {
           ++it;
         } catch (const Error&) {
           seen.push_back(-1);
           continue;
         }
         if (it == loader.end()) return seen;
         seen.push_back(first(*it));
       }
     }},
};

}  // namespace

TEST_CASE("a loop that catches an error goes on with the next batch", "[data_loader_errors]") {
  const std::pair<std::set<std::int64_t>, Floats> cases[] = {
      {{5}, {0, 2, -1, 6, 8}},
      {{0}, {-1, 2, 4, 6, 8}},
      {{9}, {0, 2, 4, 6, -1}},
      {{3, 4, 5, 7}, {0, -1, -1, -1, 8}},
      {{0, 2, 4, 6, 8}, {-1, -1, -1, -1, -1}},
      {{}, {0, 2, 4, 6, 8}},
  };
  for (const auto& [name, loop] : loops)
    for (const int workers : {0, 1, 4})
      for (const int prefetch : {0, 1, 9})
        for (const auto& [bad, expected] : cases) {
          INFO(name << ", " << workers << " workers, prefetch " << prefetch);
          DataLoader loader(damaged(10, bad),
                            {.batch_size = 2, .num_workers = workers, .prefetch = prefetch, .seed = 1});
          CHECK(loop(loader) == expected);
          CHECK(loader.state() == LoaderState{1, 1, 0});
          CHECK(loop(loader) == expected);
          CHECK(loader.state() == LoaderState{1, 2, 0});
        }
}

TEST_CASE("the state of a loop with errors is the place behind its last batch", "[data_loader_errors]") {
  for (const int workers : {0, 2}) {
    const auto dataset = damaged(10, {4, 6});
    const data::DataLoaderOptions options{.batch_size = 2, .num_workers = workers, .seed = 7};
    DataLoader loader(dataset, options);
    auto it = loader.begin();
    ++it;
    CHECK(loader.state() == LoaderState{7, 0, 2});
    CHECK_THROWS_WITH(++it, Contains("sample 4"));
    CHECK(loader.state() == LoaderState{7, 0, 2});  // a run that continues here makes the batch again
    CHECK_THROWS_WITH(*it, Contains("sample 6"));
    CHECK(loader.state() == LoaderState{7, 0, 2});
    CHECK(first(*it) == 8);
    CHECK(first(*it) == 8);
    CHECK(loader.state() == LoaderState{7, 0, 5});
    DataLoader other(dataset, options);
    other.restore(loader.state());
    CHECK(other.begin() == other.end());
    ++it;
    CHECK(it == loader.end());
    CHECK(loader.state() == LoaderState{7, 1, 0});
    CHECK_THROWS_WITH(*it, Contains("has ended") && Contains("data_loader_errors_test.cpp"));
    ++it;
    CHECK(loader.state() == LoaderState{7, 1, 0});
  }
}

TEST_CASE("the batches after an error have the bits of a loop without one", "[data_loader_errors]") {
  const auto noisy = [](std::set<std::int64_t> bad) {
    return data::Dataset(24, [bad = std::move(bad)](std::int64_t i) -> data::Sample {
      const Tensor x = random::uniform(0, 1, {2});
      if (bad.contains(i)) throw std::runtime_error("damaged");
      return x;
    });
  };
  const auto run = [&](int workers, std::set<std::int64_t> bad) {
    DataLoader loader(noisy(std::move(bad)),
                      {.batch_size = 3, .shuffle = true, .num_workers = workers, .seed = 3});
    std::vector<Floats> out;
    for (auto it = loader.begin(); it != loader.end();) try {
        out.push_back(it->data().to_vector<float>());
        ++it;
      } catch (const Error&) {
        out.emplace_back();
      }
    return out;
  };
  const auto whole = run(0, {}), alone = run(0, {3, 11});
  REQUIRE(whole.size() == 8);
  REQUIRE(alone.size() == 8);
  int missing = 0;
  for (std::size_t b = 0; b < 8; ++b) {
    missing += alone[b].empty();
    if (!alone[b].empty()) CHECK(alone[b] == whole[b]);
  }
  CHECK(missing >= 1);
  for (const int workers : {1, 3}) CHECK(run(workers, {3, 11}) == alone);
}

TEST_CASE("errors where batches are made, and where their order is", "[data_loader_errors]") {
  const data::ArrayDataset numbers(arange(6));
  for (const int workers : {0, 2}) {
    const auto uneven = [](std::span<const data::Sample> samples) -> data::Batch {
      if (samples[0].data().item<int>() == 2) throw std::runtime_error("no way");
      return samples[0].data().reshape({1});
    };
    DataLoader made(numbers, {.batch_size = 2, .batchify_fn = uneven, .num_workers = workers});
    for (const auto& [name, loop] : loops) CHECK(loop(made) == Floats{0, -1, 4});

    // A sampler that fails gives no batch: the next loop is the next epoch.
    const data::BatchSampler order([](std::uint64_t, std::int64_t epoch) {
      if (epoch == 1) throw std::runtime_error("no order");
      return std::vector<data::Indices>{{epoch}, {-1}, {5}};
    });
    DataLoader ordered(numbers, {.batch_sampler = order, .num_workers = workers, .seed = 2});
    for (const auto& [name, loop] : loops) {
      ordered.restore({.seed = 2});
      CHECK(loop(ordered) == Floats{0, -1, 5});
      CHECK_THROWS_WITH(loop(ordered), "no order");
      CHECK(ordered.state() == LoaderState{2, 1, 0});
      CHECK(loop(ordered) == Floats{2, -1, 5});
    }
  }
}

TEST_CASE("a loop that is left after an error, or copied, ends as others do", "[data_loader_errors]") {
  for (const int workers : {0, 3}) {
    DataLoader loader(damaged(10, {2, 8}), {.batch_size = 2, .num_workers = workers, .seed = 1});
    {
      auto it = loader.begin();
      const auto copy = it;  // the same iteration
      CHECK_THROWS(++it);
      CHECK(first(*copy) == 4);
      CHECK(first(*it) == 4);
    }
    {
      const auto unused = loader.begin();
      CHECK(loader.state() == LoaderState{1, 1, 1});
    }
    // A range-based loop cannot continue: the next one is the next epoch, as after any loop that was left.
    CHECK_THROWS([&] {
      for ([[maybe_unused]] const data::Batch& b : loader) {
      }
    }());
    CHECK(loader.state() == LoaderState{1, 2, 1});
    auto outer = loader.begin();
    CHECK(loader.state() == LoaderState{1, 3, 1});
    CHECK_THROWS(++outer);
    const auto inner = loader.begin();
    CHECK(first(*outer) == 4);
    CHECK(loader.state() == LoaderState{1, 4, 1});
  }
}

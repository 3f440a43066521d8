// Errors in loops over a DataLoader, with the loop's line.
#include "expect.h"

#include <kiln/data.h>

using data::DataLoader;

TEST_CASE("what fails in a loop over a DataLoader has the loop's line", "[error]") {
  const data::Dataset damaged(4,
                              [](std::int64_t) -> data::Sample { throw std::runtime_error("no picture"); });
  const data::Dataset ragged(4, [](std::int64_t i) { return ones({i + 1}); });
  const data::ArrayDataset three(ones({3}));
  const data::BatchSampler behind([](std::uint64_t, std::int64_t) {
    return std::vector<data::Indices>{{2}, {3}};
  });
  const auto loop = [](const DataLoader& batches) {
    for ([[maybe_unused]] const data::Batch& b : batches) {
    }
  };
  const std::string line = line_below(-3u);
  for (const int workers : {0, 2}) {
    CHECK_THAT(message_of([&] {
                 loop({damaged, {.batch_size = 2, .num_workers = workers}});
               }),
               Contains(line + "DataLoader: sample 0: no picture"));
    CHECK_THAT(message_of([&] {
                 loop({ragged, {.batch_size = 2, .num_workers = workers}});
               }),
               Contains(line + "DataLoader: batch 0, of 2 samples") && Contains("cannot be stacked"));
    CHECK_THAT(message_of([&] {
                 loop({three, {.batch_sampler = behind, .num_workers = workers}});
               }),
               Contains(line + "DataLoader: sample 3: there is no sample 3"));
  }
  DataLoader restored(three, {.batch_size = 1});
  restored.restore({.epoch = 0, .position = 9});
  CHECK_THAT(message_of([&] { loop(restored); }), Contains(line + "the restored position is 9"));
  const data::Sampler lies(3, [](std::uint64_t) { return data::Indices{0}; });
  const DataLoader lying(three, {.batch_size = 1, .sampler = lies});
  CHECK_THAT(message_of([&] { loop(lying); }), Contains(line + "a sampler of size 3 gives 1 indices"));
  const std::string begun = line_below();
  auto it = DataLoader(three, {.batch_size = 3}).begin();
  ++it;
  CHECK_THAT(message_of([&] { *it; }), Contains(begun + "the loop over the DataLoader has ended"));
}

TEST_CASE("datasets and samplers that a program uses wrongly", "[error]") {
  const data::ArrayDataset three(ones({3}));
  std::string line = line_below();
  CHECK_THAT(message_of([&] { three[3]; }), Contains(line + "there is no sample 3"));
  line = line_below();
  CHECK_THAT(message_of([&] { three[0][1]; }), Contains(line + "the label of a sample of 1 array"));
  const auto two = [](const Tensor& x, const Tensor&) { return x; };
  line = line_below();
  CHECK_THAT(message_of([&] { three.transform(two)[0]; }), Contains(line + "the sample has 1 array"));
  line = line_below();
  CHECK_THAT(message_of([&] { three.transform(two, false); }), Contains(line + "the sample has 1 array"));
  line = line_below();
  CHECK_THAT(message_of([&] { three.filter([](const Tensor&, const Tensor&) { return true; }); }),
             Contains(line + "the sample has 1 array"));
  line = line_below();
  CHECK_THAT(message_of([&] { three.transform_first(nullptr); }), Contains(line) && Contains("empty"));
  line = line_below();
  CHECK_THAT(message_of([&] { data::FilterSampler(nullptr, three); }), Contains(line) && Contains("empty"));
  line = line_below();
  CHECK_THAT(message_of([&] { data::BatchSampler(nullptr); }), Contains(line) && Contains("empty"));
  line = line_below();
  CHECK_THAT(
      message_of([&] { three.sample(data::Sampler(3, [](std::uint64_t) { return data::Indices{}; })); }),
      Contains(line + "a sampler of size 3 gives 0 indices"));
}

// Datasets, samplers and ways to make a batch.
#include <kiln/data.h>
#include <kiln/random.h>

#include <catch2/catch.hpp>
#include <set>

using namespace kiln;
using Catch::Matchers::Contains;
using data::Indices;
using data::LastBatch;
using data::Sample;

namespace {

Tensor ramp(std::int64_t n) { return arange(static_cast<double>(n)); }

/// The first element of each sample.
std::vector<float> firsts(const data::Dataset& d) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < d.size(); ++i) out.push_back(d[i].data().to_vector<float>().at(0));
  return out;
}

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("an ArrayDataset has the rows of arrays", "[dataset]") {
  const Tensor x = ramp(6).reshape({3, 2}), y = ramp(3) * 10;
  const data::ArrayDataset d(x, y);
  REQUIRE(d.size() == 3);
  const auto& [row, label] = d[1];
  CHECK(row.shape() == Shape{2});
  CHECK(row.to_vector<float>() == Floats{2, 3});
  CHECK(label.shape() == Shape{});
  CHECK(label.item<float>() == 10);
  CHECK(data::ArrayDataset(x)[2].size() == 1);

  CHECK_THROWS_WITH(d.at(3),
                    Contains("there is no sample 3: the dataset has 3") && Contains("dataset_test.cpp"));
  CHECK_THROWS_WITH(d.at(-1), Contains("there is no sample -1"));
  CHECK_THROWS_WITH(data::ArrayDataset(x, ramp(4)), Contains("array 0 has 3, array 1 has 4"));
  CHECK_THROWS_WITH(data::ArrayDataset(std::vector<Tensor>{}), Contains("needs an array"));
  CHECK_THROWS_WITH(data::ArrayDataset(data::scalar(1)), Contains("shape ()"));
  CHECK_THROWS_WITH(data::ArrayDataset(x)[0].label(), Contains("the label of a sample of 1 array"));
  CHECK_THROWS_WITH(data::ArrayDataset(x)[0].get<1>(), Contains("takes two"));
}

TEST_CASE("datasets of functions, and of other datasets", "[dataset]") {
  const data::Dataset squares(10, [](std::int64_t i) { return data::scalar(static_cast<double>(i * i)); });
  CHECK(firsts(squares) == Floats{0, 1, 4, 9, 16, 25, 36, 49, 64, 81});
  CHECK(firsts(squares.take(3)) == Floats{0, 1, 4});
  CHECK(squares.take(100).size() == 10);
  CHECK(firsts(squares.shard(3, 0)) == Floats{0, 1, 4, 9});
  CHECK(firsts(squares.shard(3, 1)) == Floats{16, 25, 36});
  CHECK(firsts(squares.shard(3, 2)) == Floats{49, 64, 81});
  CHECK(firsts(squares.filter([](const Tensor& x) { return x.item<int>() % 2 == 1; })) ==
        Floats{1, 9, 25, 49, 81});
  CHECK(firsts(squares.sample(data::IntervalSampler(10, 4))) == Floats{0, 16, 64, 1, 25, 81, 4, 36, 9, 49});
  CHECK(firsts(squares.transform([](const Tensor& x) { return x + 1; }).take(2)) == Floats{1, 2});
  CHECK(firsts(data::SimpleDataset({Sample(ones({2})), Sample(zeros({2}))})) == Floats{1, 0});

  CHECK_THROWS_WITH(squares.shard(3, 3), Contains("shard 3 of 3"));
  CHECK_THROWS_WITH(squares.take(-1), Contains("size of a dataset is -1"));
  CHECK_THROWS_WITH(squares.sample(data::SequentialSampler(2, 9)), Contains("gives index 10"));
  CHECK_THROWS_WITH(squares.transform([](const Tensor& x, const Tensor&) { return x; })[0],
                    Contains("the sample has 1 array"));
}

TEST_CASE("transforms take what a sample has, now or when it is read", "[dataset]") {
  const data::ArrayDataset d(ramp(3), ramp(3) * 10);
  const auto both = d.transform([](const Tensor& x, const Tensor& y) { return std::pair{x + y, y}; });
  CHECK(firsts(both) == Floats{0, 11, 22});
  const auto whole = d.transform([](const Sample& s) { return s.label(); });
  CHECK(whole[2].size() == 1);
  CHECK(firsts(whole) == Floats{0, 10, 20});

  int calls = 0;
  const auto count = [&calls](const Tensor& x) { return ++calls, x + 100; };
  const auto lazy = d.transform_first(count);
  CHECK(calls == 0);
  CHECK(lazy[1].data().item<float>() == 101);
  CHECK(lazy[1].label().item<float>() == 10);
  CHECK(calls == 2);
  const auto now = d.transform_first(count, false);
  CHECK(calls == 5);
  CHECK(firsts(now) == Floats{100, 101, 102});
  CHECK(calls == 5);
}

TEST_CASE("samplers are functions of a seed", "[sampler]") {
  CHECK(data::SequentialSampler(3, 5).indices() == Indices{5, 6, 7});
  CHECK(data::IntervalSampler(7, 3, false).indices() == Indices{0, 3, 6});
  const data::RandomSampler random(100);
  CHECK(random.indices(7) == random.indices(7));
  CHECK(random.indices(7) != random.indices(8));
  const Indices order = random.indices(7);
  CHECK(std::set<std::int64_t>(order.begin(), order.end()).size() == 100);
  CHECK(data::RandomSampler(0).indices().empty());
  const data::ArrayDataset d(ramp(6));
  CHECK(data::FilterSampler([](const Sample& s) { return s.data().item<float>() > 3; }, d).indices() ==
        Indices{4, 5});

  CHECK_THROWS_WITH(data::SequentialSampler(-1), Contains("the length of a sampler is -1"));
  CHECK_THROWS_WITH(data::IntervalSampler(3, 0), Contains("interval of a sampler is 0"));
  CHECK_THROWS_WITH(data::Sampler(2, [](std::uint64_t) { return Indices{0}; }).indices(),
                    Contains("a sampler of size 2 gives 1 indices"));
  CHECK_THROWS_WITH(data::BatchSampler(random, 0), Contains("the batch size is 0"));
}

TEST_CASE("each place of a random order has each index with the same probability", "[sampler]") {
  constexpr int n = 5, draws = 20000;
  const data::RandomSampler random(n);
  int counts[n][n] = {};
  for (int seed = 0; seed < draws; ++seed) {
    const Indices order = random.indices(static_cast<std::uint64_t>(seed));
    for (std::size_t i = 0; i < n; ++i) ++counts[i][order[i]];
  }
  for (const auto& row : counts)
    for (const int c : row) CHECK(std::abs(c - draws / n) < 300);  // more than 5 standard deviations
}

TEST_CASE("the last samples make a smaller batch, none, or begin the next epoch", "[sampler]") {
  const data::SequentialSampler seven(7);
  const auto of = [&](LastBatch last, std::int64_t epoch, std::int64_t size = 3) {
    const data::BatchSampler sampler(seven, size, last);
    const auto batches = sampler.batches(1, epoch);
    CHECK(sampler.size(1, epoch) == static_cast<std::int64_t>(batches.size()));
    return batches;
  };
  using Batches = std::vector<Indices>;
  CHECK(of(LastBatch::keep, 4) == Batches{{0, 1, 2}, {3, 4, 5}, {6}});
  CHECK(of(LastBatch::discard, 4) == Batches{{0, 1, 2}, {3, 4, 5}});
  CHECK(of(LastBatch::rollover, 0) == Batches{{0, 1, 2}, {3, 4, 5}});
  CHECK(of(LastBatch::rollover, 1) == Batches{{6, 0, 1}, {2, 3, 4}});
  CHECK(of(LastBatch::rollover, 2) == Batches{{5, 6, 0}, {1, 2, 3}, {4, 5, 6}});
  CHECK(of(LastBatch::rollover, 3) == of(LastBatch::rollover, 0));
  // A batch of more than an epoch
  CHECK(of(LastBatch::rollover, 0, 16).empty());
  CHECK(of(LastBatch::rollover, 1, 16).empty());
  CHECK(of(LastBatch::rollover, 2, 16) == Batches{{0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1}});
  CHECK(of(LastBatch::keep, 0, 7).size() == 1);
  CHECK(data::BatchSampler(data::SequentialSampler(0), 4, LastBatch::rollover).batches(0, 3).empty());
}

TEST_CASE("random samples that are left over are those of the epoch before", "[sampler]") {
  const data::BatchSampler sampler(data::RandomSampler(10), 4, LastBatch::rollover);
  std::multiset<std::int64_t> seen;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch)
    for (const Indices& batch : sampler.batches(3, epoch)) seen.insert(batch.begin(), batch.end());
  CHECK(seen.size() == 20);
  for (std::int64_t i = 0; i < 10; ++i) CHECK(seen.count(i) == 2);
}

TEST_CASE("batches of arrays", "[batchify]") {
  const std::vector<Sample> two = {Sample(Tensor{1, 2}, data::scalar(3, DType::i32)),
                                   Sample(Tensor{4, 5}, data::scalar(6, DType::i32))};
  const auto [x, y] = data::batchify::Stack()(two);
  CHECK(x.shape() == Shape{2, 2});
  CHECK(x.to_vector<float>() == Floats{1, 2, 4, 5});
  CHECK(y.shape() == Shape{2});
  CHECK(y.dtype() == DType::i32);
  CHECK(y.to_vector<int>() == std::vector<int>{3, 6});

  const std::vector<Sample> lengths = {Sample(Tensor{1, 2}), Sample(Tensor{3}), Sample(zeros({0}))};
  CHECK_THROWS_WITH(data::batchify::Stack()(lengths), Contains("sample 1 of the batch has shape (1,)") &&
                                                          Contains("sample 0 (2,)") && Contains("Pad"));
  const data::Batch padded = data::batchify::Pad({.val = -1})(lengths);
  CHECK(padded.data().shape() == Shape{3, 2});
  CHECK(padded.data().to_vector<float>() == Floats{1, 2, 3, -1, -1, -1});
  const data::Batch rounded = data::batchify::Pad({.dtype = DType::i64, .round_to = 4})(lengths);
  CHECK(rounded.data().shape() == Shape{3, 4});
  CHECK(rounded.data().dtype() == DType::i64);
  CHECK(rounded.data().to_vector<int>() == std::vector<int>{1, 2, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0});
  const std::vector<Sample> images = {Sample(Tensor{{1, 2}}), Sample(Tensor{{3}, {4}})};
  CHECK(data::batchify::Pad()(images).data().to_vector<float>() == Floats{1, 2, 0, 0, 3, 0, 4, 0});
  CHECK_THROWS_WITH(data::batchify::Pad()(std::vector<Sample>{Sample(Tensor{1}), Sample(zeros({1, 1}))}),
                    Contains("Pad needs equal ranks"));
  CHECK_THROWS_WITH(data::batchify::Pad({.round_to = 0}), Contains("round_to is 0"));

  const data::Batch list = data::batchify::Append()(lengths);
  REQUIRE(list.size() == 3);
  CHECK(list[0].shape() == Shape{1, 2});
  CHECK(data::batchify::Append(false)(lengths)[1].shape() == Shape{1});

  const data::batchify::Group group({data::batchify::Pad(), data::batchify::Stack()});
  const std::vector<Sample> labelled = {Sample(Tensor{1, 2}, data::scalar(1)),
                                        Sample(Tensor{3}, data::scalar(2))};
  const auto [px, py] = group(labelled);
  CHECK(px.to_vector<float>() == Floats{1, 2, 3, 0});
  CHECK(py.to_vector<float>() == Floats{1, 2});
  CHECK_THROWS_WITH(group(lengths), Contains("Group has 2 ways"));

  CHECK_THROWS_WITH(data::batchify::Stack()(std::vector<Sample>{two[0], Sample(Tensor{1})}),
                    Contains("sample 0 of the batch has 2 arrays, sample 1 has 1"));
  CHECK_THROWS_WITH(
      data::batchify::Stack()(std::vector<Sample>{Sample(ones({1})), Sample(ones({1}, DType::i32))}),
      Contains("is int32, that of sample 0 is float32"));
}

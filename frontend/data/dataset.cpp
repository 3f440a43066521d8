// Datasets are functions of an index: each operation on one makes a function of it.
#include "frontend/call/call_context.h"
#include "frontend/call/line.h"
#include "frontend/call/readable.h"
#include "frontend/data/keys.h"
#include "frontend/tensor/elements.h"
#include "runtime/fail.h"

#include <kiln/dataset.h>

#include <algorithm>

namespace kiln::data {

using kiln::detail::TensorAccess;

struct Dataset::Source {
  std::int64_t size;
  std::function<Sample(std::int64_t)> sample;
};

namespace {

/// Row `i`, as a view: also where it is one number, which x[i] would give shape (1,).
Tensor row(const Tensor& x, std::int64_t i) {
  const Shape& all = TensorAccess::shape(x);
  const Shape shape(all.dims().subspan(1));
  return TensorAccess::make(TensorAccess::array(x), TensorAccess::offset(x) + i * shape.elements(), shape,
                            x.dtype());
}

std::int64_t rows_of(const std::vector<Tensor>& arrays) {
  if (arrays.empty()) fail("an ArrayDataset needs an array");
  std::vector<std::int64_t> rows;
  for (const Tensor& a : arrays) {
    check_readable(a, "ArrayDataset", {});
    if (a.shape().rank() == 0)
      fail("array {} of an ArrayDataset has shape (): samples are the rows of arrays", rows.size());
    rows.push_back(a.shape()[0]);
    if (rows.back() != rows[0])
      fail("the arrays of an ArrayDataset have the same number of rows: array 0 has {}, array {} has {}",
           rows[0], rows.size() - 1, rows.back());
  }
  return rows[0];
}

}  // namespace

const Tensor& Sample::at(std::size_t i, Where where) const {
  if (i >= arrays_.size())
    fail("{}{} of a sample of {} array{}", line_prefix(where),
         i == 1 ? "the label" : fmt::format("array {}", i), arrays_.size(), arrays_.size() == 1 ? "" : "s");
  return arrays_[i];
}

void Sample::check_pair() const {
  if (arrays_.size() != 2)
    fail("the sample has {} array{} where a function or [data, label] takes two", arrays_.size(),
         arrays_.size() == 1 ? "" : "s");
}

Dataset::Dataset(std::int64_t size, std::function<Sample(std::int64_t)> sample, Where where) {
  if (size < 0) fail("{}the size of a dataset is {}: it must be 0 or more", line_prefix(where), size);
  if (!sample) fail("{}the samples of a dataset are an empty function", line_prefix(where));
  source_ = std::make_shared<const Source>(Source{size, std::move(sample)});
}

std::int64_t Dataset::size() const { return source_->size; }

Sample Dataset::at(std::int64_t i, Where where) const {
  if (i < 0 || i >= size())
    fail("{}there is no sample {}: the dataset has {}", line_prefix(where), i, size());
  return at_line(where, [&] { return source_->sample(i); });
}

const Tensor& Dataset::only(const Sample& s) {
  if (s.size() != 1)
    fail("the sample has {} arrays, and the function takes one: transform_first() is for the data alone",
         s.size());
  return s.data();
}

Dataset Dataset::transformed(std::function<Sample(const Sample&)> fn, bool lazy, Where where) const {
  Dataset out(size(), [from = *this, fn = std::move(fn)](std::int64_t i) { return fn(from.at(i, {})); });
  if (lazy) return out;
  std::vector<Sample> samples;
  for (std::int64_t i = 0; i < size(); ++i) samples.push_back(out.at(i, where));
  return SimpleDataset(std::move(samples));
}

Dataset Dataset::transform_first(std::function<Tensor(const Tensor&)> fn, bool lazy, Where where) const {
  if (!fn) fail("{}the function of transform_first() is empty", line_prefix(where));
  const auto first = [fn = std::move(fn)](const Sample& s) {
    std::vector<Tensor> arrays = s.arrays();
    if (!arrays.empty()) arrays[0] = fn(arrays[0]);
    return Sample(std::move(arrays));
  };
  return transformed(first, lazy, where);
}

Dataset Dataset::filtered(const std::function<bool(const Sample&)>& fn, Where where) const {
  return chosen(FilterSampler(fn, *this, where).indices());
}

Dataset Dataset::chosen(Indices indices) const {
  const auto size = static_cast<std::int64_t>(indices.size());
  return {size, [from = *this, indices = std::move(indices)](std::int64_t i) {
            return from.at(indices[static_cast<std::size_t>(i)], {});
          }};
}

Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index, Where where) const {
  if (num_shards < 1 || index < 0 || index >= num_shards)
    fail("{}shard {} of {}: the index is between 0 and the number of shards, exclusive", line_prefix(where),
         index, num_shards);
  const std::int64_t each = size() / num_shards, rest = size() % num_shards;
  const std::int64_t begin = each * index + std::min(index, rest);
  return {each + (index < rest), [from = *this, begin](std::int64_t i) { return from.at(begin + i, {}); }};
}

Dataset Dataset::take(std::int64_t count, Where where) const {
  return {std::min(count, size()), source_->sample, where};
}

Dataset Dataset::sample(const Sampler& sampler, Where where) const {
  Indices indices = at_line(where, [&] { return sampler.indices(drawn_seed()); });
  for (const std::int64_t i : indices)
    if (i < 0 || i >= size())
      fail("{}the sampler gives index {}, and the dataset has {} samples", line_prefix(where), i, size());
  return chosen(std::move(indices));
}

ArrayDataset::ArrayDataset(std::vector<Tensor> arrays, Where where)
    : Dataset(at_line(where, [&]() -> Dataset {
        const std::int64_t rows = rows_of(arrays);
        return {rows, [arrays = std::move(arrays)](std::int64_t i) {
                  std::vector<Tensor> sample;
                  for (const Tensor& a : arrays) sample.push_back(row(a, i));
                  return Sample(std::move(sample));
                }};
      })) {}

SimpleDataset::SimpleDataset(std::vector<Sample> samples)
    : Dataset(static_cast<std::int64_t>(samples.size()),
              [samples](std::int64_t i) { return samples[static_cast<std::size_t>(i)]; }) {}

Tensor scalar(double value, DType dtype) { return filled({dtype, {}}, value, CallContext::current().device); }

}  // namespace kiln::data

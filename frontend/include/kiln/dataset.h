// Datasets: samples by index, and functions over them.
#pragma once
#include <kiln/export.h>
#include <kiln/index_at.h>
#include <kiln/sampler.h>
#include <kiln/tensor.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln::data {

using kiln::IndexAt;

/// The arrays of a sample: the data, then the label, if it has one. `const auto& [data, label] = sample`
/// takes both. Copies share the arrays.
class KILN_API Sample {
 public:
  using Where = std::source_location;

  Sample() = default;
  /// A sample of these arrays: data, then the label.
  /// @{
  Sample(Tensor data) : arrays_{std::move(data)} {}
  Sample(Tensor data, Tensor label) : arrays_{std::move(data), std::move(label)} {}
  Sample(std::pair<Tensor, Tensor> both) : Sample(std::move(both.first), std::move(both.second)) {}
  Sample(std::vector<Tensor> arrays) : arrays_(std::move(arrays)) {}
  /// @}

  std::size_t size() const { return arrays_.size(); }  ///< the number of arrays
  /// Throws for a sample without that array.
  const Tensor& operator[](IndexAt i) const { return at(static_cast<std::size_t>(i.index), i.where); }
  /// The first array, and the second. Throws for a sample without it.
  /// @{
  const Tensor& data(Where where = Where::current()) const { return at(0, where); }
  const Tensor& label(Where where = Where::current()) const { return at(1, where); }
  /// @}
  /// All arrays, in order.
  /// @{
  const std::vector<Tensor>& arrays() const { return arrays_; }
  auto begin() const { return arrays_.begin(); }
  auto end() const { return arrays_.end(); }
  /// @}

  /// Of a structured binding: throws for a sample that has not exactly two arrays.
  template <std::size_t I>
  const Tensor& get() const {
    check_pair();
    return arrays_[I];
  }

 private:
  const Tensor& at(std::size_t i, Where where) const;
  void check_pair() const;

  std::vector<Tensor> arrays_;
};

/// Samples of a known number, by index. A handle: copies are the same dataset. Any number of threads may read
/// samples at once if the dataset's functions allow it, as they must for a DataLoader with workers.
class KILN_API Dataset {
 public:
  using Where = std::source_location;

  /// Sample i is `sample(i)`, for 0 <= i < size. Throws for a size below 0.
  Dataset(std::int64_t size, std::function<Sample(std::int64_t)> sample, Where where = Where::current());

  std::int64_t size() const;  ///< the number of samples
  /// Throws for an index that is not in the dataset. Samples are made each time, and need not be on the CPU.
  Sample at(std::int64_t i, Where where = Where::current()) const;
  /// As at().
  Sample operator[](IndexAt i) const { return at(i.index, i.where); }

  /// `fn` of each sample. It takes a Sample or its arrays, one or two Tensors, and returns a Sample or its
  /// arrays. `lazy`: when the sample is read, each time; else now, once. With random transforms only a lazy
  /// dataset differs from epoch to epoch.
  template <class Fn>
  Dataset transform(Fn fn, bool lazy = true, Where where = Where::current()) const {
    return transformed(of_sample(std::move(fn)), lazy, where);
  }
  /// `fn` of the first array of each sample, which it replaces.
  Dataset transform_first(std::function<Tensor(const Tensor&)> fn, bool lazy = true,
                          Where where = Where::current()) const;
  /// The samples for which `fn` returns true. It is called now, with the same arguments as transform()'s.
  template <class Fn>
  Dataset filter(Fn fn, Where where = Where::current()) const {
    if constexpr (std::invocable<Fn&, const Sample&>)
      return filtered(std::move(fn), where);
    else
      return filtered([fn = std::move(fn)](const Sample& s) mutable { return call(fn, s); }, where);
  }
  /// Part `index` of `num_shards` parts of consecutive samples, whose sizes differ by at most one.
  Dataset shard(std::int64_t num_shards, std::int64_t index, Where where = Where::current()) const;
  /// The first `count` samples, or all if there are fewer.
  Dataset take(std::int64_t count, Where where = Where::current()) const;
  /// The samples in the order of the sampler, which is evaluated once, now. A random order is drawn from the
  /// program's stream of random numbers.
  Dataset sample(const Sampler& sampler, Where where = Where::current()) const;

 private:
  struct Source;

  template <class Fn>
  static auto call(Fn& fn, const Sample& s) {
    if constexpr (std::invocable<Fn&, const Tensor&, const Tensor&>) {
      return fn(s.template get<0>(), s.template get<1>());
    } else {
      static_assert(std::invocable<Fn&, const Tensor&>, "the function takes a Sample, or one or two Tensors");
      return fn(only(s));
    }
  }
  template <class Fn>
  static std::function<Sample(const Sample&)> of_sample(Fn fn) {
    if constexpr (std::invocable<Fn&, const Sample&>)
      return fn;
    else
      return [fn = std::move(fn)](const Sample& s) mutable -> Sample { return call(fn, s); };
  }
  static const Tensor& only(const Sample& s);
  Dataset transformed(std::function<Sample(const Sample&)> fn, bool lazy, Where where) const;
  Dataset filtered(const std::function<bool(const Sample&)>& fn, Where where) const;
  Dataset chosen(std::vector<std::int64_t> indices) const;

  std::shared_ptr<const Source> source_;
};

/// Rows of arrays: sample i has row i of each. The rows are views; an element of a one-dimensional array has
/// shape (). Throws for no arrays, and for arrays of different lengths.
class KILN_API ArrayDataset : public Dataset {
 public:
  /// Sample i is row i of each array. Throws for arrays of different lengths.
  /// @{
  explicit ArrayDataset(std::vector<Tensor> arrays, Where where = Where::current());
  explicit ArrayDataset(const Tensor& data, Where where = Where::current())
      : ArrayDataset(std::vector{data}, where) {}
  ArrayDataset(const Tensor& data, const Tensor& label, Where where = Where::current())
      : ArrayDataset(std::vector{data, label}, where) {}
  /// @}
};

/// Samples that are already there.
class KILN_API SimpleDataset : public Dataset {
 public:
  explicit SimpleDataset(std::vector<Sample> samples);
};

/// The records of a RecordIO file with its index, the file of the same name with the extension .idx. Each is
/// one u8 array of shape (bytes,), in the order of the index. `recordio::unpack` takes it apart. Throws
/// kiln::Error as recordio::IndexedReader does.
class KILN_API RecordFileDataset : public Dataset {
 public:
  explicit RecordFileDataset(const std::string& path, Where where = Where::current());
};

/// One number, of shape (): a label of a sample.
KILN_API Tensor scalar(double value, DType dtype = DType::f32);

}  // namespace kiln::data

/// `auto [data, label] = sample`.
template <>
struct std::tuple_size<kiln::data::Sample> : std::integral_constant<std::size_t, 2> {};
/// The type of both.
template <std::size_t I>
struct std::tuple_element<I, kiln::data::Sample> {
  using type = const kiln::Tensor;  ///< that of get<I>()
};

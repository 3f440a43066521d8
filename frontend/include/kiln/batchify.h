// Functions that make a batch of samples.
#pragma once
#include <kiln/dataset.h>
#include <kiln/export.h>

#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

namespace kiln::data {

/// The arrays of several samples as one: by default each with a new first axis, the samples.
using Batch = Sample;
/// Makes a batch of samples. With workers it is called by several threads at once.
using BatchifyFn = std::function<Batch(std::span<const Sample>)>;

/// Ways to make a batch, as Gluon's batchify. Results are on the CPU.
namespace batchify {

using Where = std::source_location;

/// Each array of the samples along a new first axis. Throws for samples with arrays of different numbers,
/// shapes or dtypes, naming both.
class KILN_API Stack {
 public:
  Batch operator()(std::span<const Sample> samples, Where where = Where::current()) const;
};

/// Options of Pad.
struct PadOptions {
  double val = 0;                             ///< the padding
  std::optional<DType> dtype = {};            ///< default: the samples' dtype
  std::optional<std::int64_t> round_to = {};  ///< each extent becomes a multiple of it
};
/// As Stack, after each array is padded at the end of each axis to the largest extents among the samples.
/// Throws for arrays of different ranks or dtypes.
class KILN_API Pad {
 public:
  explicit Pad(const PadOptions& options = {}, Where where = Where::current());
  Batch operator()(std::span<const Sample> samples, Where where = Where::current()) const;

 private:
  PadOptions options_;
};

/// The arrays one after another, each with a first axis of extent 1, for samples that fit no common shape.
/// The batch has as many arrays as all samples together, sample by sample.
class KILN_API Append {
 public:
  explicit Append(bool expand = true) : expand_(expand) {}
  Batch operator()(std::span<const Sample> samples, Where where = Where::current()) const;

 private:
  bool expand_;
};

/// A way for each array of a sample: `Group({Pad(), Stack()})`. Throws for samples with another number of
/// arrays.
class KILN_API Group {
 public:
  explicit Group(std::vector<BatchifyFn> parts, Where where = Where::current());
  Batch operator()(std::span<const Sample> samples, Where where = Where::current()) const;

 private:
  std::vector<BatchifyFn> parts_;
};

}  // namespace batchify

}  // namespace kiln::data

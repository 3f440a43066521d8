// Samples: calls of every operator.
#pragma once
#include "graphs/graph.h"
#include "graphs/values.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Calls of each operator, from which the sweep over all operators and the graph fuzzer build. An operator
/// that stands in no row fails the sweep, so that a new one gets its samples.
namespace graphs {

struct Input {
  kiln::Shape shape;
  Values values = {};
  std::optional<kiln::DType> dtype = {};  ///< if it differs from the sample's
  Input(kiln::Shape s) : shape(s) {}
  Input(std::initializer_list<std::int64_t> s) : shape(s) {}
  Input(kiln::Shape s, Values v, std::optional<kiln::DType> d = {}) : shape(s), values(v), dtype(d) {}
};

/// One call: its inputs and attributes.
struct Sample {
  std::vector<Input> inputs = {};
  Attributes attrs = {};
  bool large = false;          ///< for work on several threads; float32 only
  std::string subgraphs = {};  ///< as of a Node
};

struct Row {
  std::vector<std::string> operators;
  std::vector<Sample> samples;
  /// The dtypes that every sample must be accepted with; others may be refused, with an error.
  std::vector<kiln::DType> dtypes;
  std::size_t states = 0;  ///< the last inputs are auxiliary states
  bool train = false;      ///< differs in training

  /// f32 if samples are accepted with it, else the first of their dtypes.
  kiln::DType own_dtype() const;
};

/// All rows.
const std::vector<Row>& sample_rows();

// Helpers for the families' lists.

using Rows = std::vector<Row>;
using Samples = std::vector<Sample>;
/// Indices below `limit`.
Input indices(kiln::Shape shape, std::int64_t limit, std::optional<kiln::DType> dtype = {});
/// For operators that throw for others.
Input checked_indices(kiln::Shape shape, std::int64_t limit, std::optional<kiln::DType> dtype = {});
/// One sample with one input for each shape.
Samples of_shapes(const std::vector<kiln::Shape>& shapes, const Attributes& attrs = {});
/// The same inputs with several settings.
Samples with_settings(const std::vector<Input>& inputs, const std::vector<Attributes>& settings);
/// A sample for each choice of extents that are replaced by 1. Extents of 1 leave loops out, so that code
/// that counts on an axis fails there and nowhere else.
Samples with_ones(const kiln::Shape& extents, const std::function<Sample(const kiln::Shape&)>& sample);
/// The same of (batch, m, k) times (batch, k, n), with the last two axes of a `transposed` operand exchanged.
/// Results are few and many, k is one chunk and two.
Samples products_with_ones(const Attributes& attrs, bool lhs_transposed = false, bool rhs_transposed = false);
/// The same of three axes; `attribute` names one or two of them.
Samples reductions_with_ones(const std::string& attribute);
/// Several lists as one.
Samples join(std::initializer_list<Samples> lists);
/// Shapes around the widths of vectors, of one to five axes, primes and ones among the extents, and empty.
const std::vector<kiln::Shape>& odd_shapes();
extern const std::vector<kiln::DType> float_dtypes, number_dtypes, all_dtypes;

Rows pointwise_rows();
Rows shape_rows();
Rows layer_rows();
Rows reduce_rows();
Rows index_rows();
Rows creation_rows();
Rows recurrent_rows();
Rows fused_rows();
Rows order_rows();
Rows numpy_rows();
Rows quantized_rows();

}  // namespace graphs

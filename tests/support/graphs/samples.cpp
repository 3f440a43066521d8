// The list of all samples, and its helpers.
#include "graphs/samples.h"

namespace graphs {

using namespace kiln;

const std::vector<DType> float_dtypes{DType::f32, DType::f64, DType::f16, DType::bf16};
const std::vector<DType> number_dtypes{DType::f32, DType::f64, DType::f16, DType::bf16,
                                       DType::u8,  DType::i8,  DType::i32, DType::i64};
const std::vector<DType> all_dtypes{DType::f32, DType::f64, DType::f16, DType::bf16,   DType::u8,
                                    DType::i8,  DType::i32, DType::i64, DType::boolean};

const std::vector<Shape>& odd_shapes() {
  static const std::vector<Shape> shapes{
      {1}, {15},      {16},   {17}, {31}, {33}, {3, 5}, {2, 3, 5}, {7, 1}, {2, 1, 7, 3}, {1, 2, 3, 2, 5},
      {0}, {2, 0, 3}, {2, 67}};
  return shapes;
}

DType Row::own_dtype() const {
  return dtypes.empty() || std::find(dtypes.begin(), dtypes.end(), DType::f32) != dtypes.end()
             ? DType::f32
             : dtypes.front();
}

Input indices(Shape shape, std::int64_t limit, std::optional<DType> dtype) {
  return Input(shape, {Values::Kind::indices, limit}, dtype);
}

Input checked_indices(Shape shape, std::int64_t limit, std::optional<DType> dtype) {
  return Input(shape, {Values::Kind::indices, limit, true}, dtype);
}

Samples of_shapes(const std::vector<Shape>& shapes, const Attributes& attrs) {
  Samples samples;
  for (const Shape& s : shapes) samples.push_back({{s}, attrs});
  return samples;
}

Samples with_settings(const std::vector<Input>& inputs, const std::vector<Attributes>& settings) {
  Samples samples;
  for (const Attributes& attrs : settings) samples.push_back({inputs, attrs});
  return samples;
}

Samples with_ones(const Shape& extents, const std::function<Sample(const Shape&)>& sample) {
  Samples samples;
  for (std::size_t ones = 0; ones < std::size_t{1} << extents.size(); ++ones) {
    Shape s = extents;
    for (std::size_t i = 0; i < s.size(); ++i)
      if (ones >> i & 1) s[i] = 1;
    samples.push_back(sample(s));
  }
  return samples;
}

Samples products_with_ones(const Attributes& attrs, bool lhs_transposed, bool rhs_transposed) {
  const auto product = [&](const Shape& s) -> Sample {
    const auto matrix = [&](std::size_t rows, std::size_t columns, bool transposed) {
      return transposed ? Shape{s[0], s[columns], s[rows]} : Shape{s[0], s[rows], s[columns]};
    };
    return {{matrix(1, 3, lhs_transposed), matrix(3, 2, rhs_transposed)}, attrs};
  };
  return join({with_ones({2, 3, 17, 5}, product), with_ones({3, 1, 33, 520}, product)});
}

Samples reductions_with_ones(const std::string& attribute) {
  Samples samples;
  for (const char* axes : {"0", "1", "2", "(0, 1)", "(0, 2)", "(1, 2)"})
    samples = join({samples, with_ones({3, 5, 70}, [&](const Shape& s) -> Sample {
                      return {{s}, {{attribute, axes}}};
                    })});
  return samples;
}

Samples join(std::initializer_list<Samples> lists) {
  Samples all;
  for (const Samples& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

const std::vector<Row>& sample_rows() {
  static const std::vector<Row> rows = [] {
    Rows all;
    for (auto family : {pointwise_rows, shape_rows, layer_rows, reduce_rows, index_rows, creation_rows,
                        recurrent_rows, fused_rows, order_rows, numpy_rows, quantized_rows})
      for (Row& row : family()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

}  // namespace graphs

// Samples of quantised operators.
#include "graphs/samples.h"

#include <fmt/format.h>

namespace graphs {

namespace {

using kiln::DType;
using kiln::Shape;

Input bytes(Shape shape) { return Input(shape, {}, DType::i8); }
Input numbers(Shape shape) { return Input(shape, {}, DType::f32); }
Input end() { return numbers({1}); }

/// The arrays, then both ends of a range for each.
std::vector<Input> with_ranges(std::vector<Input> arrays) {
  for (std::size_t i = 0, n = arrays.size(); i < 2 * n; ++i) arrays.push_back(end());
  return arrays;
}

Samples each_shape(const std::function<Sample(const Shape&)>& sample) {
  Samples samples;
  for (const Shape& s : odd_shapes()) samples.push_back(sample(s));
  return samples;
}

Attributes calibrated(const std::string& min, const std::string& max, Attributes more = {}) {
  more.insert({{"min_calib_range", min}, {"max_calib_range", max}});
  return more;
}

Samples dense_layers() {
  return join(
      {with_ones({3, 17, 5},
                 [](const Shape& s) -> Sample {
                   return {with_ranges({{s[0], s[1]}, bytes({s[2], s[1]}), bytes({s[2]})}),
                           {{"num_hidden", fmt::to_string(s[2])}}};
                 }),
       with_ones({2, 3, 17, 5},
                 [](const Shape& s) -> Sample {
                   return {with_ranges({{s[0], s[1], s[2]}, bytes({s[3], s[2]})}),
                           {{"num_hidden", fmt::to_string(s[3])}, {"no_bias", "True"}, {"flatten", "False"}}};
                 }),
       {{with_ranges({{3, 1031}, bytes({4, 1031}), bytes({4})}), {{"num_hidden", "4"}}},
        {with_ranges({{2, 0}, bytes({4, 0}), bytes({4})}), {{"num_hidden", "4"}}}}});
}

Samples convolutions() {
  return join(
      {with_ones({2, 5, 6, 3},
                 [](const Shape& s) -> Sample {
                   return {with_ranges({{s[0], s[1], 7, 6}, bytes({s[2], s[1], s[3], s[3]}), bytes({s[2]})}),
                           {{"kernel", Shape{s[3], s[3]}.str()},
                            {"num_filter", fmt::to_string(s[2])},
                            {"pad", "(1, 1)"}}};
                 }),
       {{with_ranges({{2, 4, 9, 8}, bytes({6, 2, 3, 2})}),
         {{"kernel", "(3, 2)"},
          {"num_filter", "6"},
          {"num_group", "2"},
          {"stride", "(2, 1)"},
          {"no_bias", "True"}}},
        {with_ranges({{2, 4, 9, 9}, bytes({4, 1, 3, 3})}),
         {{"kernel", "(3, 3)"}, {"num_filter", "4"}, {"num_group", "4"}, {"no_bias", "True"}}},
        {with_ranges({{1, 20, 9, 9}, bytes({17, 20, 3, 3}), bytes({17})}),
         {{"kernel", "(3, 3)"}, {"num_filter", "17"}, {"dilate", "(2, 2)"}}},
        {with_ranges({{2, 3, 17}, bytes({5, 3, 4}), bytes({5})}), {{"kernel", "(4,)"}, {"num_filter", "5"}}},
        {with_ranges({{1, 2, 4, 5, 6}, bytes({3, 2, 2, 2, 2})}),
         {{"kernel", "(2, 2, 2)"}, {"num_filter", "3"}, {"no_bias", "True"}}}}});
}

Samples poolings() {
  const std::vector<Attributes> settings{
      {{"kernel", "(2, 2)"}},
      {{"kernel", "(3, 3)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}, {"pooling_convention", "full"}},
      {{"kernel", "(2, 2)"}, {"pool_type", "avg"}},
      {{"kernel", "(3, 2)"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}, {"pool_type", "avg"}},
      {{"kernel", "(3, 2)"}, {"pad", "(1, 1)"}, {"pool_type", "avg"}, {"count_include_pad", "False"}},
      {{"kernel", "(1, 1)"}, {"global_pool", "True"}},
      {{"kernel", "(1, 1)"}, {"global_pool", "True"}, {"pool_type", "avg"}}};
  return join({with_settings({{2, 3, 7, 9}, end(), end()}, settings),
               with_settings({{1, 17, 5, 20}, end(), end()}, settings),
               {{{{2, 3, 9}, end(), end()}, {{"kernel", "(2,)"}, {"pool_type", "avg"}}},
                {{{1, 2, 4, 5, 6}, end(), end()}, {{"kernel", "(2, 2, 2)"}}}}});
}

Samples normalisations() {
  Samples samples;
  for (const char* fixed : {"True", "False"})
    samples = join(
        {samples, with_ones({3, 5, 20}, [&](const Shape& s) -> Sample {
           const Input each = numbers({s[1]});
           return {{s, each, each, each, each, end(), end()}, calibrated("-3", "2", {{"fix_gamma", fixed}})};
         })});
  const Input each = numbers({5});
  samples.push_back({{{2, 3, 5}, each, each, each, each, end(), end()},
                     calibrated("0", "0", {{"axis", "-1"}, {"eps", "0.01"}})});
  return samples;
}

Samples pairs(bool product) {
  Samples samples;
  std::vector<Attributes> settings{{}, calibrated("-2", "1.5"), calibrated("0", "3")};
  if (product) settings.push_back({{"enable_float_output", "True"}});
  for (const Attributes& attrs : settings) {
    samples = join({samples, each_shape([&](const Shape& s) -> Sample {
                      return {with_ranges({s, s}), attrs};
                    })});
    if (!product) samples.push_back({with_ranges({{3, 17}, bytes({3, 17})}), attrs});
  }
  return samples;
}

}  // namespace

Rows quantized_rows() {
  const std::vector<DType> of_bytes{DType::u8, DType::i8};
  const auto with_range = [](const Attributes& attrs) {
    return each_shape([&](const Shape& s) -> Sample { return {with_ranges({s}), attrs}; });
  };
  const auto without_range = [](const Attributes& attrs) { return of_shapes(odd_shapes(), attrs); };
  return {
      {{"_contrib_quantize"}, join({with_range({}), with_range({{"out_type", "int8"}})}), {DType::f32}},
      {{"_contrib_quantize_v2"},
       join({without_range({}), without_range({{"out_type", "uint8"}}),
             without_range(calibrated("-1.5", "2", {{"out_type", "auto"}})),
             without_range(calibrated("0", "2", {{"out_type", "auto"}})),
             without_range(calibrated("0", "0"))}),
       {DType::f32}},
      {{"_contrib_dequantize"}, with_range({}), of_bytes},
      {{"_contrib_requantize"},
       join({with_range({}), with_range({{"out_type", "uint8"}}), with_range(calibrated("-2", "1.5")),
             with_range(calibrated("0", "3", {{"out_type", "auto"}}))}),
       {DType::i32}},
      {{"_contrib_calibrate_entropy"},
       {{{indices({31}, 9), numbers({32})}, {{"num_quantized_bins", "7"}}},
        {{indices({61}, 3), numbers({62})}, {{"num_quantized_bins", "15"}}},
        {{indices({17}, 2), numbers({18})}, {{"num_quantized_bins", "17"}}},
        {{indices({5}, 9), numbers({6})}, {{"num_quantized_bins", "2"}}},
        {{indices({1}, 9), numbers({2})}, {{"num_quantized_bins", "1"}}}},
       number_dtypes},
      {{"_contrib_quantized_fully_connected"}, dense_layers(), of_bytes},
      {{"_contrib_quantized_conv"}, convolutions(), of_bytes},
      {{"_contrib_quantized_pooling"}, poolings(), of_bytes},
      {{"_contrib_quantized_batch_norm"}, normalisations(), of_bytes},
      {{"_contrib_quantized_embedding"},
       {{{indices({7}, 5), bytes({5, 3}), end(), end()}, {{"input_dim", "5"}, {"output_dim", "3"}}},
        {{indices({2, 3}, 17), Input({17, 4}, {}, DType::u8), end(), end()},
         {{"input_dim", "17"}, {"output_dim", "4"}}}},
       number_dtypes},
      {{"_contrib_quantized_act"}, with_range({{"act_type", "relu"}}), of_bytes},
      {{"_contrib_quantized_flatten"}, with_range({}), all_dtypes},
      {{"_contrib_quantized_concat"},
       {{with_ranges({{3, 4}, {3, 17}}), {{"num_args", "2"}}},
        {with_ranges({{3, 4}, bytes({2, 4}), {1, 4}}), {{"num_args", "3"}, {"dim", "0"}}},
        {with_ranges({{2, 3, 5}, bytes({2, 0, 5})}), {{"num_args", "2"}, {"dim", "-2"}}},
        {with_ranges({{Shape{17}}}), {{"num_args", "1"}, {"dim", "0"}}}},
       of_bytes},
      {{"_contrib_quantized_elemwise_add"}, pairs(false), of_bytes},
      {{"_contrib_quantized_elemwise_mul"}, pairs(true), {DType::i8}},
  };
}

}  // namespace graphs

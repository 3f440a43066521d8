// Samples of layers.
#include "graphs/samples.h"

#include <fmt/format.h>

namespace graphs {

namespace {

using kiln::Shape;

/// Windows over a picture, kernels in groups of channels: extents of 1 in each place.
Samples convolutions_with_ones() {
  struct Sizes {
    std::int64_t n, groups, in, out;  // channels of a group
    Shape picture, kernel;
  };
  const auto convolution = [](const Sizes& c, Attributes attrs) -> Sample {
    attrs.insert({{"kernel", c.kernel.str()},
                  {"num_filter", fmt::to_string(c.groups * c.out)},
                  {"num_group", fmt::to_string(c.groups)},
                  {"no_bias", "True"}});
    return {{{c.n, c.groups * c.in, c.picture[0], c.picture[1]},
             {c.groups * c.out, c.in, c.kernel[0], c.kernel[1]}},
            attrs};
  };
  return join(
      {with_ones({2, 3, 3, 17},
                 [&](const Shape& s) {
                   return convolution({s[0], s[1], s[2], s[3], {5, 20}, {3, 3}}, {});
                 }),
       with_ones({2, 3, 17},
                 [&](const Shape& s) {
                   return convolution({s[0], 1, s[1], s[2], {5, 20}, {1, 1}}, {});
                 }),
       with_ones({2, 17, 3, 5},  // the result's lines and columns, then the kernel's
                 [&](const Shape& s) {
                   return convolution({2, 1, 3, 20, {s[0] + s[2] - 1, s[1] + s[3] - 1}, {s[2], s[3]}}, {});
                 }),
       with_ones({2, 20, 3, 3},  // with a border
                 [&](const Shape& s) {
                   return convolution({1, 1, 2, 5, {s[0], s[1]}, {s[2], s[3]}},
                                      {{"pad", Shape{s[2] / 2, s[3] / 2}.str()}});
                 }),
       with_ones({2, 7, 7},  // by Winograd's algorithm, where there are 7x7 results
                 [&](const Shape& s) {
                   return convolution({s[0], 1, 16, 17, {s[1], s[2]}, {3, 3}}, {{"pad", "(1, 1)"}});
                 })});
}

/// Layers with int8 weights: data, int8 weight, step of each unit or channel, bias.
Input int8_weight(const Shape& shape) { return {shape, {}, kiln::DType::i8}; }
Input weight_steps(std::int64_t units) { return {{units}, {}, kiln::DType::f32}; }

Samples int8_dense() {
  return join(
      {{{{{3, 5}, int8_weight({7, 5}), weight_steps(7), {7}}, {{"num_hidden", "7"}, {"data_step", "0.03"}}},
        {{{1, 17}, int8_weight({31, 17}), weight_steps(31)},
         {{"num_hidden", "31"}, {"no_bias", "True"}, {"data_step", "0.01"}, {"data_dtype", "uint8"}}},
        {{{2, 3, 5}, int8_weight({4, 15}), weight_steps(4), {4}}, {{"num_hidden", "4"}, {"data_step", "1"}}},
        {{{67, 129}, int8_weight({65, 129}), weight_steps(65), {65}},
         {{"num_hidden", "65"}, {"data_step", "0.02"}},
         true}},
       with_ones({2, 3, 5, 17}, [](const Shape& s) -> Sample {
         return {{{s[0], s[1], s[2]}, int8_weight({s[3], s[2]}), weight_steps(s[3]), {s[3]}},
                 {{"num_hidden", fmt::to_string(s[3])}, {"flatten", "False"}, {"data_step", "0.05"}}};
       })});
}

/// The same layers with data in floating point.
Samples int8_weight_dense() {
  Samples samples = int8_dense();
  for (Sample& sample : samples)
    for (const char* name : {"data_step", "data_dtype"}) sample.attrs.erase(name);
  return samples;
}

Samples int8_convolutions() {
  return join({{{{{2, 3, 7}, int8_weight({4, 3, 3}), weight_steps(4), {4}},
                 {{"kernel", "(3,)"}, {"num_filter", "4"}, {"data_step", "0.03"}}},
                {{{2, 4, 5, 5}, int8_weight({6, 2, 3, 3}), weight_steps(6)},
                 {{"kernel", "(3, 3)"},
                  {"num_filter", "6"},
                  {"num_group", "2"},
                  {"no_bias", "True"},
                  {"pad", "(1, 1)"},
                  {"stride", "(2, 2)"},
                  {"data_step", "0.01"},
                  {"data_dtype", "uint8"}}},
                {{{1, 3, 9, 9}, int8_weight({3, 1, 3, 3}), weight_steps(3), {3}},
                 {{"kernel", "(3, 3)"},
                  {"num_filter", "3"},
                  {"num_group", "3"},
                  {"dilate", "(2, 2)"},
                  {"data_step", "0.5"}}},
                {{{1, 2, 3, 4, 5}, int8_weight({3, 2, 2, 2, 2}), weight_steps(3), {3}},
                 {{"kernel", "(2, 2, 2)"}, {"num_filter", "3"}, {"data_step", "1"}}},
                {{{1, 33, 14, 15}, int8_weight({34, 33, 3, 3}), weight_steps(34), {34}},
                 {{"kernel", "(3, 3)"}, {"num_filter", "34"}, {"pad", "(1, 1)"}, {"data_step", "0.02"}},
                 true}},
               with_ones({2, 17, 3, 5}, [](const Shape& s) -> Sample {
                 return {
                     {{s[0], s[1], s[2] + 2, s[3] + 2}, int8_weight({s[1], s[1], 3, 3}), weight_steps(s[1])},
                     {{"kernel", "(3, 3)"},
                      {"num_filter", fmt::to_string(s[1])},
                      {"no_bias", "True"},
                      {"data_step", "0.1"}}};
               })});
}

/// Poolings of n, c, height and width, windows of 1 and more.
Samples poolings_with_ones(const char* type) {
  return with_ones({2, 3, 4, 20, 2, 2}, [type](const Shape& s) -> Sample {
    const Shape kernel{std::min(s[2], s[4]), std::min(s[3], s[5])};
    return {{{s[0], s[1], s[2], s[3]}},
            {{"kernel", kernel.str()}, {"pool_type", type}, {"stride", kernel.str()}}};
  });
}

Samples normalizations_with_ones(std::int64_t states, const Attributes& attrs, std::size_t axis) {
  return with_ones({3, 5, 20}, [&](const Shape& s) -> Sample {
    Sample sample{{s}, attrs};
    for (std::int64_t i = 0; i < states; ++i) sample.inputs.push_back(Shape{s[axis]});
    return sample;
  });
}

}  // namespace

Rows layer_rows() {
  return {
      {{"FullyConnected"},
       join({{{{{3, 5}, {7, 5}, {7}}, {{"num_hidden", "7"}}},
              {{{1, 17}, {31, 17}}, {{"num_hidden", "31"}, {"no_bias", "True"}}},
              {{{2, 3, 5}, {4, 15}, {4}}, {{"num_hidden", "4"}}},
              {{{1, 1031}, {3, 1031}, {3}}, {{"num_hidden", "3"}}},
              {{{67, 129}, {65, 129}, {65}}, {{"num_hidden", "65"}}, true}},
             with_ones({2, 3, 5, 17},
                       [](const Shape& s) -> Sample {
                         return {{{s[0], s[1], s[2]}, {s[3], s[2]}, {s[3]}},
                                 {{"num_hidden", fmt::to_string(s[3])}, {"flatten", "False"}}};
                       })}),
       float_dtypes},
      {{"Convolution"},
       join({convolutions_with_ones(),
             {{{{2, 3, 7}, {4, 3, 3}, {4}}, {{"kernel", "(3,)"}, {"num_filter", "4"}}},
              {{{1, 3, 5, 7}, {2, 3, 3, 2}, {2}}, {{"kernel", "(3, 2)"}, {"num_filter", "2"}}},
              {{{2, 4, 5, 5}, {6, 2, 3, 3}},
               {{"kernel", "(3, 3)"},
                {"num_filter", "6"},
                {"num_group", "2"},
                {"no_bias", "True"},
                {"pad", "(1, 1)"},
                {"stride", "(2, 2)"}}},
              {{{1, 17, 3, 3}, {17, 17, 1, 1}, {17}}, {{"kernel", "(1, 1)"}, {"num_filter", "17"}}},
              {{{1, 3, 9, 9}, {3, 1, 3, 3}, {3}},
               {{"kernel", "(3, 3)"}, {"num_filter", "3"}, {"num_group", "3"}, {"dilate", "(2, 2)"}}},
              {{{1, 2, 3, 4, 5}, {3, 2, 2, 2, 2}, {3}}, {{"kernel", "(2, 2, 2)"}, {"num_filter", "3"}}},
              {{{1, 33, 14, 15}, {34, 33, 3, 3}, {34}},
               {{"kernel", "(3, 3)"}, {"num_filter", "34"}, {"pad", "(1, 1)"}},
               true}}}),
       float_dtypes},
      {{"_int8_fully_connected"}, int8_dense(), float_dtypes},
      {{"_int8_weight_fully_connected"}, int8_weight_dense(), float_dtypes},
      {{"_int8_convolution"}, int8_convolutions(), float_dtypes},
      {{"Deconvolution"},
       join({with_ones({2, 3, 17, 2, 9, 3},
                       [](const Shape& s) -> Sample {
                         return {{{s[0], s[1], s[3], s[4]}, {s[1], s[2], s[5], s[5]}},
                                 {{"kernel", Shape{s[5], s[5]}.str()}, {"num_filter", fmt::to_string(s[2])}}};
                       }),
             {{{{2, 3, 5}, {3, 4, 3}}, {{"kernel", "(3,)"}, {"num_filter", "4"}}},
              {{{1, 3, 4, 5}, {3, 2, 3, 3}, {2}},
               {{"kernel", "(3, 3)"},
                {"num_filter", "2"},
                {"stride", "(2, 2)"},
                {"pad", "(1, 1)"},
                {"adj", "(1, 1)"},
                {"no_bias", "False"}}},
              {{{1, 4, 3, 3}, {4, 1, 2, 2}},
               {{"kernel", "(2, 2)"}, {"num_filter", "2"}, {"num_group", "2"}}}}}),
       float_dtypes},
      {{"im2col"},
       {{{{1, 2, 5, 4}}, {{"kernel", "(3, 2)"}}},
        {{{1, 3, 5, 5}}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pad", "(1, 0)"}}}},
       float_dtypes},
      {{"Pooling"},
       join({poolings_with_ones("max"),
             poolings_with_ones("avg"),
             {{{{1, 3, 5, 7}}, {{"kernel", "(2, 2)"}}},
              {{{1, 3, 5, 7}},
               {{"kernel", "(3, 3)"}, {"pool_type", "avg"}, {"stride", "(2, 2)"}, {"pad", "(1, 1)"}}},
              {{{1, 3, 5, 7}},
               {{"kernel", "(3, 3)"},
                {"pool_type", "avg"},
                {"stride", "(2, 2)"},
                {"pad", "(1, 1)"},
                {"count_include_pad", "False"},
                {"pooling_convention", "full"}}},
              {{{2, 3, 17}}, {{"kernel", "(3,)"}, {"pool_type", "sum"}, {"stride", "(2,)"}}},
              {{{1, 2, 3, 4, 5}}, {{"kernel", "(2, 2, 2)"}, {"pool_type", "max"}}},
              {{{2, 3, 5, 5}}, {{"kernel", "(1, 1)"}, {"pool_type", "avg"}, {"global_pool", "True"}}},
              {{{2, 3, 5, 5}}, {{"kernel", "(1, 1)"}, {"pool_type", "max"}, {"global_pool", "True"}}},
              {{{1, 2, 5, 5}}, {{"kernel", "(2, 2)"}, {"pool_type", "lp"}, {"p_value", "2"}}}}}),
       float_dtypes},
      {{"_contrib_AdaptiveAvgPooling2D"},
       {{{{1, 2, 5, 7}}},
        {{{1, 2, 5, 7}}, {{"output_size", "(2, 3)"}}},
        {{{2, 3, 4, 4}}, {{"output_size", "(5,)"}}}},
       float_dtypes},
      {{"UpSampling"},
       {{{{1, 2, 3, 5}}, {{"scale", "2"}, {"sample_type", "nearest"}, {"num_args", "1"}}},
        {{{1, 2, 3, 5}, {1, 2, 6, 10}},
         {{"scale", "2"}, {"sample_type", "nearest"}, {"num_args", "2"}, {"multi_input_mode", "sum"}}},
        {{{1, 2, 3, 5}, {2, 1, 4, 4}},
         {{"scale", "2"}, {"sample_type", "bilinear"}, {"num_args", "2"}, {"num_filter", "2"}}}},
       float_dtypes},
      {{"_contrib_BilinearResize2D"},
       {{{{1, 2, 3, 5}}, {{"height", "7"}, {"width", "4"}}},
        {{{1, 2, 3, 5}}, {{"height", "6"}, {"width", "2"}, {"align_corners", "False"}}},
        {{{1, 2, 3, 5}}, {{"mode", "odd_scale"}, {"scale_height", "2"}, {"scale_width", "1.5"}}},
        {{{1, 2, 3, 5}, {1, 1, 4, 7}}, {{"mode", "like"}}}},
       float_dtypes},
      {{"_contrib_SyncBatchNorm"},
       {{{{2, 3, 5}, {3}, {3}, {3}, {3}}, {{"fix_gamma", "False"}, {"key", "a"}}},
        {{{2, 3, 4, 5}, {3}, {3}, {3}, {3}}, {{"output_mean_var", "True"}, {"key", "a"}}}},
       float_dtypes,
       2,
       true},
      {{"BatchNorm", "_contrib_BatchNormWithReLU"},
       join({normalizations_with_ones(4, {{"fix_gamma", "False"}}, 1),
             {{{{2, 3, 5}, {3}, {3}, {3}, {3}}, {{"fix_gamma", "False"}}},
              {{{3, 17}, {17}, {17}, {17}, {17}}, {{"eps", "0.01"}, {"momentum", "0.5"}}},
              {{{2, 3, 4, 5}, {3}, {3}, {3}, {3}}, {{"output_mean_var", "True"}, {"fix_gamma", "False"}}},
              {{{2, 5, 3}, {3}, {3}, {3}, {3}}, {{"axis", "-1"}, {"fix_gamma", "False"}}},
              {{{2, 3, 5}, {3}, {3}, {3}, {3}}, {{"use_global_stats", "True"}}}}}),
       float_dtypes,
       2,
       true},
      {{"LayerNorm"},
       join({normalizations_with_ones(2, {}, 2),
             normalizations_with_ones(2, {{"axis", "1"}}, 1),
             {{{{3, 5}, {5}, {5}}},
              {{{2, 3, 17}, {17}, {17}}, {{"output_mean_var", "True"}}},
              {{{5, 3}, {5}, {5}}, {{"axis", "0"}, {"eps", "0.1"}}},
              {{{2, 129}, {129}, {129}}}}}),
       float_dtypes},
      {{"InstanceNorm"},
       join({normalizations_with_ones(2, {}, 1), {{{{1, 2, 3, 5}, {2}, {2}}, {{"eps", "0.1"}}}}}),
       float_dtypes},
      {{"GroupNorm"},
       join({with_ones({2, 2, 3, 20},
                       [](const Shape& s) -> Sample {
                         return {{{s[0], s[1] * s[2], s[3]}, {s[1]}, {s[1]}},
                                 {{"num_groups", fmt::to_string(s[1])}}};
                       }),
             {{{{2, 4, 5}, {2}, {2}}, {{"num_groups", "2"}}},
              {{{1, 6, 3, 3}, {3}, {3}}, {{"num_groups", "3"}, {"output_mean_var", "True"}}}}}),
       float_dtypes},
      {{"dot"},
       join({with_ones({3, 17, 5},
                       [](const Shape& s) -> Sample {
                         return {{{s[0], s[2]}, {s[2], s[1]}}};
                       }),
             with_ones(
                 {3, 17, 5},
                 [](const Shape& s) -> Sample {
                   return {{{s[2], s[0]}, {s[1], s[2]}}, {{"transpose_a", "True"}, {"transpose_b", "True"}}};
                 }),
             {{{{5, 3}, {5, 7}}, {{"transpose_a", "True"}}},
              {{{3, 17}, {31, 17}}, {{"transpose_b", "True"}}},
              {{{17}, {17}}},
              {{{2, 3, 5}, {5, 4}}},
              {{{33, 1}, {1, 15}}},
              {{{1, 1031}, {1031, 1}}},
              {{{3, 0}, {0, 2}}},
              {{{65, 129}, {129, 67}}, {}, true}}}),
       float_dtypes},
      {{"batch_dot"},
       join({products_with_ones({}), products_with_ones({{"transpose_a", "True"}}, true),
             products_with_ones({{"transpose_b", "True"}}, false, true)}),
       float_dtypes},
      {{"_linalg_gemm2"},
       join({{{{{3, 5}, {5, 7}}}, {{{3, 2, 5}, {5, 2, 7}}, {{"axis", "0"}}}},
             products_with_ones({}),
             products_with_ones({{"transpose_b", "True"}, {"alpha", "-0.5"}}, false, true)}),
       {kiln::DType::f32, kiln::DType::f64}},
      {{"_linalg_gemm"},
       join({{{{{3, 5}, {5, 7}, {3, 7}}},
              {{{2, 5, 3}, {2, 5, 4}, {2, 3, 4}}, {{"transpose_a", "True"}, {"alpha", "2"}, {"beta", "-1"}}},
              {{{5, 2, 3, 7}, {4, 2, 3, 7}, {5, 2, 3, 4}}, {{"transpose_b", "True"}, {"axis", "-4"}}}},
             with_ones({2, 3, 17, 5},
                       [](const Shape& s) -> Sample {
                         return {{{s[0], s[1], s[3]}, {s[0], s[3], s[2]}, {s[0], s[1], s[2]}}};
                       })}),
       {kiln::DType::f32, kiln::DType::f64}},
      {{"_linalg_syrk"},
       join({with_ones({2, 3, 5}, [](const Shape& s) -> Sample { return {{s}}; }),
             with_ones({2, 5, 17},
                       [](const Shape& s) -> Sample {
                         return {{s}, {{"transpose", "True"}, {"alpha", "0.5"}}};
                       })}),
       {kiln::DType::f32, kiln::DType::f64}},
      {{"khatri_rao"},
       join({with_ones({2, 5, 3},
                       [](const Shape& s) -> Sample {
                         return {{{s[0], s[2]}, {s[1], s[2]}}, {{"num_args", "2"}}};
                       }),
             {{{{1, 7}, {2, 7}, {3, 7}}, {{"num_args", "3"}}}}}),
       number_dtypes},
      {{"_contrib_interleaved_matmul_selfatt_qk"},
       with_ones({17, 2, 2, 5},  // steps, batch, heads, elements of a head
                 [](const Shape& s) -> Sample {
                   return {{{s[0], s[1], s[2] * s[3] * 3}}, {{"heads", fmt::to_string(s[2])}}};
                 }),
       float_dtypes},
      {{"_contrib_interleaved_matmul_selfatt_valatt"},
       with_ones({3, 2, 2, 17},
                 [](const Shape& s) -> Sample {
                   return {{{s[0], s[1], s[2] * s[3] * 3}, {s[1] * s[2], s[0], s[0]}},
                           {{"heads", fmt::to_string(s[2])}}};
                 }),
       float_dtypes},
  };
}

}  // namespace graphs

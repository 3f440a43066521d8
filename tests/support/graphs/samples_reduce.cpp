// Samples of reductions.
#include "graphs/samples.h"

namespace graphs {

namespace {

/// An axis of three, whichever extents are 1.
Samples along_axis_with_ones() {
  Samples samples;
  for (const char* axis : {"0", "1", "2"})
    samples = join({samples, with_ones({3, 5, 70}, [&](const kiln::Shape& s) -> Sample {
                      return {{s}, {{"axis", axis}}};
                    })});
  return samples;
}

}  // namespace

Rows reduce_rows() {
  const Samples axes = join({
      of_shapes({{1}, {15}, {17}, {33}, {3, 5}, {2, 3, 5}, {1031}}),
      of_shapes({{3, 5}, {67, 33}, {2, 3, 2, 5}}, {{"axis", "0"}}),
      of_shapes({{3, 17}, {5, 129}, {2, 3, 5}}, {{"axis", "1"}, {"keepdims", "True"}}),
      of_shapes({{2, 3, 5}, {3, 7, 31}}, {{"axis", "-1"}}),
      of_shapes({{2, 3, 2, 5}, {1, 2, 3, 2, 5}}, {{"axis", "(0, 2)"}}),
      of_shapes({{2, 3, 5}}, {{"axis", "(1,)"}, {"exclude", "True"}}),
      of_shapes({{2, 3, 4, 5}}, {{"axis", "(1, 3)"}, {"keepdims", "True"}}),
      reductions_with_ones("axis"),
  });
  const Samples large = {
      {{{257, 131}}, {{"axis", "1"}}, true}, {{{257, 131}}, {{"axis", "0"}}, true}, {{{263, 131}}, {}, true}};
  const Samples empty = of_shapes({{0}, {2, 0}, {0, 3}}, {});
  const Samples places = join(
      {of_shapes({{17}, {3, 5}, {2, 3, 5}}), of_shapes({{3, 17}, {5, 129}, {2, 3, 5}}, {{"axis", "1"}}),
       of_shapes({{2, 3, 2, 5}}, {{"axis", "2"}, {"keepdims", "True"}}),
       of_shapes({{33, 3}}, {{"axis", "0"}}), of_shapes({{31}}, {{"axis", "-1"}}), along_axis_with_ones()});
  return {
      {{"sum"}, join({axes, large, empty}), number_dtypes},
      {{"mean"}, join({axes, large}), number_dtypes},
      {{"prod", "nansum", "nanprod", "max", "min"}, axes, number_dtypes},
      {{"norm"},
       join({of_shapes({{17}, {3, 5}, {1031}}),
             of_shapes({{3, 5}, {2, 3, 17}}, {{"axis", "1"}, {"ord", "1"}}),
             of_shapes({{2, 3, 5}}, {{"axis", "(0, 2)"}, {"keepdims", "True"}}),
             of_shapes({{33}}, {{"out_dtype", "float64"}}), reductions_with_ones("axis")}),
       float_dtypes},
      {{"moments"},
       join({of_shapes({{17}, {3, 5}}), of_shapes({{3, 5}, {2, 3, 17}}, {{"axes", "1"}}),
             of_shapes({{2, 3, 5}}, {{"axes", "(0, 2)"}, {"keepdims", "True"}}),
             reductions_with_ones("axes")}),
       float_dtypes},
      {{"argmax", "argmin"}, places, number_dtypes},
      {{"argmax_channel"}, of_shapes({{3, 5}, {2, 17}, {2, 3, 5}}), number_dtypes},
      {{"softmax", "softmin", "log_softmax"},
       join({of_shapes({{1}, {17}, {3, 5}, {2, 3, 33}}),
             of_shapes({{3, 5}, {2, 31, 3}}, {{"axis", "1"}}),
             of_shapes({{5, 3}}, {{"axis", "0"}, {"temperature", "2.5"}}),
             of_shapes({{2, 17}}, {{"dtype", "float64"}}),
             {{{{3, 7}, indices({3}, 8)}, {{"axis", "-1"}, {"use_length", "True"}}}, {{{67, 257}}, {}, true}},
             along_axis_with_ones()}),
       float_dtypes},
      {{"SoftmaxActivation"},
       join({of_shapes({{3, 5}, {2, 3, 7}}), of_shapes({{2, 3, 5}, {2, 3, 4, 5}}, {{"mode", "channel"}}),
             with_ones({2, 3, 20},
                       [](const kiln::Shape& s) -> Sample {
                         return {{s}, {{"mode", "channel"}}};
                       })}),
       float_dtypes},
      {{"SoftmaxOutput"},
       {{{{3, 5}, indices({3}, 5)}},
        {{{2, 3, 5}, indices({2, 5}, 3)}, {{"multi_output", "True"}}},
        {{{2, 3, 5}, indices({2, 3}, 5)}, {{"preserve_shape", "True"}}}},
       float_dtypes},
      {{"softmax_cross_entropy"}, {{{{3, 5}, indices({3}, 5)}}, {{{17, 7}, indices({17}, 7)}}}, float_dtypes},
      {{"L2Normalization"},
       join({of_shapes({{3, 5}, {2, 3, 7}}), of_shapes({{2, 3, 5}}, {{"mode", "channel"}}),
             of_shapes({{2, 3, 4, 5}}, {{"mode", "spatial"}}),
             with_ones({2, 3, 20}, [](const kiln::Shape& s) -> Sample { return {{s}}; }),
             with_ones({2, 3, 20},
                       [](const kiln::Shape& s) -> Sample {
                         return {{s}, {{"mode", "channel"}}};
                       }),
             with_ones({2, 3, 20},
                       [](const kiln::Shape& s) -> Sample {
                         return {{s}, {{"mode", "spatial"}}};
                       })}),
       float_dtypes},
      {{"LRN"},
       join({of_shapes({{2, 7, 3, 5}}, {{"nsize", "3"}}),
             of_shapes({{1, 3, 5, 1}}, {{"nsize", "5"}, {"alpha", "0.1"}}),
             with_ones({2, 7, 3, 20},
                       [](const kiln::Shape& s) -> Sample {
                         return {{s}, {{"nsize", "3"}}};
                       })}),
       float_dtypes},
  };
}

}  // namespace graphs

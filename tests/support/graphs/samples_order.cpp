// Sorting, running sums and scattering.
#include "graphs/samples.h"

namespace graphs {

Rows order_rows() {
  const Samples in_order =
      join({of_shapes({{1}, {17}, {3, 5}, {2, 3, 33}, {0}}),
            of_shapes({{17, 3}, {2, 31, 2}}, {{"axis", "1"}, {"is_ascend", "False"}}),
            of_shapes({{33, 2}}, {{"axis", "0"}}), of_shapes({{3, 5}}, {{"axis", "None"}}),
            with_ones({3, 5, 20}, [](const kiln::Shape& s) -> Sample {
              return {{s}, {{"axis", "1"}}};
            })});
  return {
      {{"sort"}, in_order, number_dtypes},
      {{"argsort"}, join({in_order, of_shapes({{3, 7}}, {{"dtype", "int32"}})}), number_dtypes},
      {{"topk"},
       join({of_shapes({{17}, {3, 5}}),
             of_shapes({{3, 17}}, {{"k", "3"}, {"ret_typ", "both"}, {"dtype", "int64"}}),
             of_shapes({{2, 7, 3}}, {{"k", "2"}, {"axis", "1"}, {"ret_typ", "value"}}),
             of_shapes({{3, 31}}, {{"k", "4"}, {"ret_typ", "mask"}, {"is_ascend", "True"}}),
             of_shapes({{3, 5}}, {{"k", "4"}, {"axis", "None"}})}),
       number_dtypes},
      {{"_np_cumsum"},
       join({of_shapes({{1}, {17}, {3, 5}, {0}, {1031}}), of_shapes({{3, 17}, {2, 3, 5}}, {{"axis", "1"}}),
             of_shapes({{33, 2}}, {{"axis", "0"}}), of_shapes({{7}}, {{"dtype", "float64"}}),
             with_ones({3, 5, 20},
                       [](const kiln::Shape& s) -> Sample {
                         return {{s}, {{"axis", "1"}}};
                       })}),
       number_dtypes},
      {{"scatter_nd"},
       {{{{7, 3}, indices({1, 7}, 5)}, {{"shape", "(5, 3)"}}},
        {{{4}, indices({2, 4}, 3)}, {{"shape", "(3, 5)"}}},
        {{{17}, indices({1, 17}, 17)}, {{"shape", "(17,)"}}}},
       number_dtypes},
      {{"_scatter_set_nd"},
       {{{{5, 3}, {7, 3}, indices({1, 7}, 5)}, {{"shape", "(5, 3)"}}},
        {{{3, 5}, {4}, indices({2, 4}, 3)}, {{"shape", "(3, 5)"}}}},
       number_dtypes},
  };
}

}  // namespace graphs

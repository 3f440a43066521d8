// Samples of operators with indices.
#include "graphs/samples.h"

namespace graphs {

Rows index_rows() {
  using kiln::DType;
  return {
      {{"take"},
       {{{{5, 3}, indices({7}, 5)}},
        {{{5, 3}, indices({2, 3}, 3)}, {{"axis", "1"}}},
        {{{17}, indices({4}, 17)}, {{"mode", "wrap"}}},
        {{{5, 3}, checked_indices({7}, 5)}, {{"mode", "raise"}}},
        {{{2, 3}, checked_indices({2, 0}, 3)}, {{"mode", "raise"}, {"axis", "1"}}},
        {{{2, 3, 5}, indices({3}, 5, DType::i64)}, {{"axis", "-1"}}}},
       number_dtypes},
      {{"Embedding"},
       {{{indices({7}, 5), {5, 3}}, {{"input_dim", "5"}, {"output_dim", "3"}}},
        {{indices({2, 3}, 17, DType::i32), {17, 4}}, {{"input_dim", "17"}, {"output_dim", "4"}}}},
       number_dtypes},
      {{"one_hot"},
       {{{indices({7}, 5)}, {{"depth", "5"}}},
        {{indices({2, 3}, 17)},
         {{"depth", "17"}, {"on_value", "2"}, {"off_value", "-1"}, {"dtype", "int32"}}},
        {{indices({3}, 3)}, {{"depth", "0"}}}},
       number_dtypes},
      {{"pick"},
       {{{{3, 5}, indices({3}, 5)}},
        {{{3, 5}, indices({5}, 3)}, {{"axis", "0"}, {"keepdims", "True"}}},
        {{{2, 3, 5}, indices({2, 5}, 3)}, {{"axis", "1"}, {"mode", "wrap"}}}},
       number_dtypes},
      {{"batch_take"},
       {{{{3, 5}, indices({3}, 5)}}, {{{17, 2}, indices({17}, 2, DType::i32)}}},
       number_dtypes},
      {{"gather_nd"},
       {{{{5, 3}, indices({1, 7}, 5)}}, {{{3, 5, 2}, indices({2, 4}, 3)}}, {{{3, 5}, indices({2, 2, 2}, 3)}}},
       number_dtypes},
      {{"_ravel_multi_index"}, {{{indices({2, 7}, 3)}, {{"shape", "(3, 5)"}}}}, number_dtypes},
      {{"_unravel_index"},
       {{{indices({7}, 15)}, {{"shape", "(3, 5)"}}}, {{indices({2, 3}, 30)}, {{"shape", "(2, 3, 5)"}}}},
       number_dtypes},
      {{"_contrib_index_copy"}, {{{{5, 3}, indices({2}, 5, DType::i64), {2, 3}}}}, number_dtypes},
      {{"SequenceMask"},
       {{{{3, 2, 5}}},
        {{{3, 2, 5}, indices({2}, 4)}, {{"use_sequence_length", "True"}, {"value", "-1"}}},
        {{{2, 3}, indices({2}, 4)}, {{"use_sequence_length", "True"}, {"axis", "1"}}}},
       number_dtypes},
      {{"SequenceLast"},
       {{{{3, 2, 5}}},
        {{{3, 2, 5}, indices({2}, 4)}, {{"use_sequence_length", "True"}}},
        {{{2, 3, 5}, indices({2}, 4)}, {{"use_sequence_length", "True"}, {"axis", "1"}}}},
       number_dtypes},
      {{"SequenceReverse"},
       {{{{3, 2, 5}}},
        {{{3, 2, 5}, indices({2}, 4)}, {{"use_sequence_length", "True"}}},
        {{{7, 1}, indices({1}, 8)}, {{"use_sequence_length", "True"}}}},
       number_dtypes},
  };
}

}  // namespace graphs

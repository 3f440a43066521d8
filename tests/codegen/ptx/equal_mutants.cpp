// The list of mutants without an effect, each with the reason.
#include "equal_mutants.h"

namespace kiln::ptx {

const std::vector<EqualMutants>& equal_mutants() {
  using enum MutantKind;
  // Reasons that several kernels have.
  constexpr std::string_view whole_steps = "the index and the bound of the loop are multiples of its step",
                             masked_step = "a further step, in which no lane has an element",
                             one_row = "a block has one row",
                             factor_1 = "a row has one result of the reduction: the factor is 1",
                             grid = "the grid has no block beyond the last result",
                             long_division =
                                 "the division of 64 bits is for numbers above 2^32, and gives the same",
                             exact = "the product is exact: a power of two, or a constant of few bits";
  static const std::vector<EqualMutants> list = {
      // Functions.
      {"exp", split, "2a 9a", exact},
      {"tanh", split, "7a 14a", exact},
      {"tanh", split, "6a 8a 9a", "a term so small that no argument of 1.5 million shows its rounding"},
      {"tanh", bound, "2a 2b", "arguments are limited to 10, beyond which each is 1 in any case"},
      {"roundings", rounding, "3a", "the ceiling is taken where it is the nearest number"},
      // Reductions.
      {"short rows", bound, "2b", whole_steps},
      {"short rows", bound, "3a", masked_step},
      {"maxima", bound, "2b", whole_steps},
      {"maxima", bound, "3a", masked_step},
      {"long rows", bound, "1a", grid},
      {"long rows", bound, "2a", "a further round, in which no warp has a block"},
      {"long rows", bound, "6a", "the number of whole steps is the same"},
      {"long rows", bound, "8b", whole_steps},
      {"long rows", bound, "9a", masked_step},
      {"columns", bound, "2a 4a 6a 8a 10a", "a further half without elements"},
      {"columns", bound, "11a 11b 12a 12b 13a 13b 14a 14b 15a 15b",
       "elements after the last whole step come one by one, in the same order"},
      {"columns", bound, "17b", whole_steps},
      // Row fusions.
      {"softmax", bound, "1a", grid},
      {"softmax", bound, "2a", one_row},
      {"softmax", exchange, "2a 3a", factor_1},
      {"softmax", bound, "6b 14b", whole_steps},
      {"softmax", bound, "7a 15a", masked_step},
      {"layer norm", bound, "1a", grid},
      {"layer norm", bound, "2a", one_row},
      {"layer norm", exchange, "2a 3a", factor_1},
      {"layer norm", bound, "6b 12b", whole_steps},
      {"layer norm", bound, "7a 7b 13a 13b", "the row ends within a step"},
      {"layer norm", bound, "9a 9b 15a 15b", "the row ends in the other half of a warp's step"},
      {"layer norm", exchange, "25a 26a 27a 28a 29a 30a 31a 32a 43a 46a", "the difference is squared"},
      // Products.
      {"product", bound, "1a", grid},
      {"product", bound, "2a 2b 3a 3b", long_division},
      {"product", bound, "10b", whole_steps},
      {"product", bound, "12b", "a further step without elements"},
      {"product of chunks", bound, "1a", grid},
      {"product of chunks", bound, "2a 2b 3a 3b", long_division},
      {"product of chunks", bound, "12a", "a further chunk without elements"},
      {"product of chunks", bound, "14b 15b", whole_steps},
      {"product of chunks", bound, "17b", "a further step without elements"},
      {"product of chunks", bound, "16a", "what is loaded after the last step is not used"},
      {"few results", bound, "2a 2b 3a 3b", long_division},
      {"few results", exchange, "2a 4a 5a", long_division},
      {"few results", bound, "4b", whole_steps},
      {"few long results", bound, "1a", grid},
      {"few long results", bound, "2a 2b 3a 3b", long_division},
      {"few long results", exchange, "2a 4a 5a", long_division},
      {"few long results", bound, "4b", "a further round, in which no thread has a chunk"},
      {"few long results", bound, "5a", "a further chunk without elements"},
      {"few long results", bound, "7b", whole_steps},
      {"few long results", bound, "11a", "all threads have the sum"},
      // Written by hand.
      {"block_sum", distance, "1c 2c",
       "the sums of eight neighbours are of the same lanes, in another order"},
      {"block_sum", bound, "1a", "lane 1 has its warp's sum as well"},
      {"block_sum", bound, "2a", "thread 1 adds the same words"},
      {"prefix_sum", bound, "2a", "a step by 64 adds 0"},
      {"prefix_sum", bound, "2b", "distances are powers of 2"},
      {"warp_sums", distance, "6c 7c 8c 9c",
       "the step by 1 that follows makes it the same lanes, in another order"},
      {"sample product", split, "1a 2a 3a 4a", "values are small multiples of 1/8: nothing is rounded"},
      {"sample product", bound, "1b 2b", whole_steps},
      {"exchange", bound, "1a 1b", "no word is 3001 or 3000"},
  };
  return list;
}

}  // namespace kiln::ptx

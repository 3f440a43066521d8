#include "model_case.h"

#include "frontend/tensor/bits.h"

#include <fmt/format.h>

namespace kiln::ptx {

std::vector<Tensor> run_on(const Case& c, Device device) {
  random::seed(7);
  return c.model.run(c.inputs, {.train = c.train, .device = device});
}

std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (const auto element = detail::first_difference(got.at(i), expected[i]))
      return *element < 0 ? fmt::format("output {} has another shape or dtype", i)
                          : fmt::format("output {} has other bits: element {} is {} and should be {}", i,
                                        *element, detail::element_text(got[i], *element),
                                        detail::element_text(expected[i], *element));
  return {};
}

}  // namespace kiln::ptx

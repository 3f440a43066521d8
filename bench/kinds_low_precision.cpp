// Layers in int8 and in bfloat16, at the sizes of the same layers in float32.
#include "bench/kinds.h"
#include "bench/low_precision.h"

#include <iterator>

namespace bench {

std::vector<Kind> low_precision_kinds() {
  const std::pair<const char*, Workload (*)(Workload)> forms[] = {
      {"int8_", in_int8},
      {"bf16_", [](Workload w) { return in_bf16(std::move(w)); }},
      {"precision_bf16_", with_bf16_operands}};
  const std::pair<const char*, const char*> layers[] = {{"few_rows", "few_rows"},
                                                        {"dense_parameter", "dense"},
                                                        {"convolution1", "convolution1"},
                                                        {"convolution3", "convolution3"},
                                                        {"depthwise3", "depthwise3"}};
  std::vector<Kind> in_float = product_kinds(), kinds;
  std::vector<Kind> convolutions = convolution_kinds();
  std::move(convolutions.begin(), convolutions.end(), std::back_inserter(in_float));
  for (const auto& [prefix, lowered] : forms)
    for (const auto& [name, short_name] : layers) {
      const auto kind =
          std::find_if(in_float.begin(), in_float.end(), [&](const Kind& k) { return k.name == name; });
      kinds.push_back({std::string(prefix) + short_name, kind->draw,
                       [lowered = lowered, make = kind->make](const Sizes& s) { return lowered(make(s)); },
                       kind->name});
    }
  return kinds;
}

}  // namespace bench

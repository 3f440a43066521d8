// Golden models as cases, and their kernels.
#include "model_case.h"

#include "frontend/model/planned_model.h"
#include "frontend/tensor/bits.h"
#include "golden_files.h"

#include <filesystem>
#include <fmt/format.h>
#include <optional>

namespace kiln::ptx {

Case golden_case(const std::string& folder, const nlohmann::json& row) {
  const std::string name = row["name"];
  const auto file = [&](const char* key, const std::string& ending) {
    return golden::path(folder + "/" + row.value(key, name + ending));
  };
  const std::string params = file("params", "-0000.params");
  const bool has_params = std::filesystem::exists(params);
  Case c{name,
         Model::load(file("symbol", "-symbol.json"), has_params ? std::optional(params) : std::nullopt),
         {},
         row["train"].get<bool>()};
  for (const NamedArray& a : load_arrays(file("io", "-io.params")))
    if (a.name.starts_with("in:")) c.inputs.emplace(a.name.substr(3), a.array);
  return c;
}

void add_kernels(const Case& c, const std::string& arch, std::map<std::string, std::string>& ptx) {
  const PlannedModel planned =
      PlannedModel::of(c.model, c.inputs, {.train = c.train, .device = cuda(), .arch = arch});
  for (const PlannedKernel& k : planned.plan.kernels)
    ptx[k.symbol] = {reinterpret_cast<const char*>(k.object->data()), k.object->size()};
}

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

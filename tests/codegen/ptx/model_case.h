// Models with inputs, run on the CPU and on the device.
#pragma once
#include <kiln/kiln.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// A model with inputs, and whether two runs of it agree.
namespace kiln::ptx {

struct Case {
  std::string name;
  Model model;
  std::map<std::string, Tensor> inputs;
  bool train = false;
};

/// A case of the reference data: a row of a folder's manifest.
Case golden_case(const std::string& folder, const nlohmann::json& row);
/// Of every kernel of the case for the architecture, by the kernels' symbols.
void add_kernels(const Case& c, const std::string& arch, std::map<std::string, std::string>& ptx);

std::vector<Tensor> run_on(const Case& c, Device device);

/// Empty, or how the runs differ.
std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected);

}  // namespace kiln::ptx

#pragma once
#include <kiln/kiln.h>

#include <map>
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

std::vector<Tensor> run_on(const Case& c, Device device);

/// Empty, or how the runs differ.
std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected);

}  // namespace kiln::ptx

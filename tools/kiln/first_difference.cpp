// Bisection for the first node that differs.
#include "tools/kiln/first_difference.h"

#include "frontend/tensor/bits.h"
#include "tools/kiln/gradients.h"

#include <kiln/f.h>
#include <kiln/random.h>

#include <algorithm>
#include <functional>
#include <set>

namespace kiln::tool {
namespace {

/// The nodes in the list that differ, in order.
template <class Found>
using Differing = std::function<std::vector<Found>(const std::vector<std::string>& nodes)>;

template <class Found>
class Bisection {
 public:
  Bisection(const Model& model, Differing<Found> differences)
      : model_(model), differences_(std::move(differences)) {}

  std::optional<Found> from(const std::string& output) {
    std::optional<Found> found;
    std::vector<std::string> nodes = needed_by(output);
    // In a list that is no chain, inner values may differ and agree again, so bisection can miss an earlier
    // difference. The ancestors of the found node are therefore checked once more.
    while (!nodes.empty()) {
      auto here = bisect(nodes);
      if (!here) return found;
      found = here;
      nodes = needed_by(found->name);
      nodes.pop_back();
      std::vector<Found> earlier = differences_(nodes);
      if (earlier.empty()) return found;
      nodes.resize(static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), earlier.front().name) -
                                            nodes.begin()) +
                   1);
    }
    return found;
  }

 private:
  /// Operator outputs on which `output` depends, in order, itself last.
  std::vector<std::string> needed_by(const std::string& output) const {
    std::vector<std::string> all = model_.internals();
    std::set<std::string> known(all.begin(), all.end());
    std::vector<std::string> nodes;
    for (std::string& name : model_.symbol().get_internals()[output].get_internals().list_outputs())
      if (known.contains(name)) nodes.push_back(std::move(name));
    return nodes;
  }

  /// Requires that the last node of the list differs; finds a differing node whose predecessor in the list is
  /// equal.
  std::optional<Found> bisect(const std::vector<std::string>& nodes) {
    std::vector<Found> last = differences_({nodes.back()});
    if (last.empty()) return {};
    Found found = last.front();
    std::size_t equal = 0,
                different = nodes.size();  // nodes[0, equal) are equal, nodes[different - 1] is not
    while (different - equal > 1) {
      std::size_t middle = equal + (different - equal) / 2;
      auto here = differences_({nodes[middle - 1]});
      if (here.empty()) {
        equal = middle;
      } else {
        different = middle;
        found = here.front();
      }
    }
    return found;
  }

  const Model& model_;
  Differing<Found> differences_;
};

std::string last_node(const Model& model, const std::string& output) {
  // An auxiliary state is no node's output; its differences come from any node of the model.
  std::vector<std::string> outputs = model.internals();
  return std::find(outputs.begin(), outputs.end(), output) != outputs.end() ? output
                                                                            : model.output_names().front();
}

/// The network whose only output is the node's, with the inputs and parameters that it has.
struct Part {
  Part(const Model& whole, const std::map<std::string, Tensor>& given, const std::string& node)
      : model(Model::from_symbol(whole.symbol().get_internals()[node])) {
    std::vector<NamedArray> params;
    const std::vector<std::string> variables = model.symbol().list_inputs();
    const auto is_used = [&](const std::string& name) {
      return std::find(variables.begin(), variables.end(), name) != variables.end();
    };
    for (const NamedArray& a : whole.params())
      if (is_used(a.name)) params.push_back(a);
    for (const auto& [name, array] : given)
      if (is_used(name)) inputs.emplace(name, array);
    model = Model::from_symbol(model.symbol(), params);
  }
  Model model;
  std::map<std::string, Tensor> inputs;
};

std::optional<GradientDifference> gradient_difference(const Part& part, const std::string& node,
                                                      const RunOptions& reference,
                                                      const RunOptions& options) {
  const auto run = [&](const RunOptions& with, const HeadGradients& heads) {
    random::seed(0);  // both modes draw the same numbers
    return run_gradients(part.model, part.inputs, heads, with).gradients;
  };
  HeadGradients heads;
  const Tensor value = part.model.run(part.inputs, reference).at(0);
  if (!is_floating(value.dtype())) return {};
  random::seed(1);
  heads[0] = F::random::uniform(-1, 1, value.shape()).astype(value.dtype());
  const std::vector<NamedArray> expected = run(reference, heads), got = run(options, heads);
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (auto element = detail::first_difference(expected[i].array, got[i].array))
      return GradientDifference{{node, *element, expected[i].array, got[i].array}, expected[i].name};
  return {};
}

}  // namespace

std::optional<Difference> first_differing_node(const Model& model,
                                               const std::map<std::string, Tensor>& inputs,
                                               RunOptions reference, RunOptions options,
                                               const std::string& output) {
  const auto values = [&](RunOptions with, const std::vector<std::string>& nodes) {
    with.extra_outputs = nodes;
    random::seed(0);  // both modes draw the same numbers
    std::vector<Tensor> all = model.run(inputs, with);
    return std::vector<Tensor>(all.end() - static_cast<std::ptrdiff_t>(nodes.size()), all.end());
  };
  // All nodes in one run, each an output.
  const auto differences = [&](const std::vector<std::string>& nodes) {
    std::vector<Difference> found;
    if (nodes.empty()) return found;
    std::vector<Tensor> expected = values(reference, nodes), got = values(options, nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (auto element = detail::first_difference(expected[i], got[i]))
        found.push_back({nodes[i], *element, expected[i], got[i]});
    return found;
  };
  return Bisection<Difference>(model, differences).from(last_node(model, output));
}

std::optional<GradientDifference> first_differing_gradient(const Model& model,
                                                           const std::map<std::string, Tensor>& inputs,
                                                           RunOptions reference, RunOptions options,
                                                           const std::string& output) {
  // A run for each node.
  const auto differences = [&](const std::vector<std::string>& nodes) {
    std::vector<GradientDifference> found;
    for (const std::string& node : nodes)
      if (auto here = gradient_difference(Part(model, inputs, node), node, reference, options)) {
        found.push_back(std::move(*here));
        break;  // bisection needs the first alone
      }
    return found;
  };
  return Bisection<GradientDifference>(model, differences).from(last_node(model, output));
}

}  // namespace kiln::tool

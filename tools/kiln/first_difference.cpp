#include "tools/kiln/first_difference.h"

#include "frontend/tensor/bits.h"

#include <kiln/random.h>

#include <algorithm>
#include <set>

namespace kiln::tool {
namespace {

class Bisection {
 public:
  Bisection(const Model& model, const std::map<std::string, Tensor>& inputs, RunOptions reference,
            RunOptions options)
      : model_(model), inputs_(inputs), reference_(std::move(reference)), options_(std::move(options)) {}

  std::optional<Difference> from(const std::string& output) {
    std::optional<Difference> found;
    std::vector<std::string> nodes = needed_by(output);
    // Inner values may differ and agree again, so that bisection over a list that is no chain can miss an
    // earlier difference: the ancestors of the found node are checked once more, all in one run.
    while (!nodes.empty()) {
      auto here = bisect(nodes);
      if (!here) return found;
      found = here;
      nodes = needed_by(found->name);
      nodes.pop_back();
      std::vector<Difference> earlier = differences(nodes);
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

  /// The nodes that differ when all of them are outputs.
  std::vector<Difference> differences(const std::vector<std::string>& nodes) {
    if (nodes.empty()) return {};
    std::vector<Tensor> expected = values(reference_, nodes), got = values(options_, nodes);
    std::vector<Difference> found;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (auto element = detail::first_difference(expected[i], got[i]))
        found.push_back({nodes[i], *element, expected[i], got[i]});
    return found;
  }

  std::vector<Tensor> values(RunOptions options, const std::vector<std::string>& nodes) const {
    options.extra_outputs = nodes;
    random::seed(0);  // both modes draw the same numbers
    std::vector<Tensor> all = model_.run(inputs_, options);
    return {all.end() - static_cast<std::ptrdiff_t>(nodes.size()), all.end()};
  }

  /// Requires that the last node of the list differs; finds a differing node whose predecessor in the list is
  /// equal.
  std::optional<Difference> bisect(const std::vector<std::string>& nodes) {
    std::vector<Difference> last = differences({nodes.back()});
    if (last.empty()) return {};
    Difference found = last.front();
    std::size_t equal = 0,
                different = nodes.size();  // nodes[0, equal) are equal, nodes[different - 1] is not
    while (different - equal > 1) {
      std::size_t middle = equal + (different - equal) / 2;
      auto here = differences({nodes[middle - 1]});
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
  const std::map<std::string, Tensor>& inputs_;
  RunOptions reference_, options_;
};

}  // namespace

std::optional<Difference> first_differing_node(const Model& model,
                                               const std::map<std::string, Tensor>& inputs,
                                               RunOptions reference, RunOptions options,
                                               const std::string& output) {
  // An auxiliary state is no node's output; its differences come from any node of the model.
  std::vector<std::string> outputs = model.internals();
  std::string end = std::find(outputs.begin(), outputs.end(), output) != outputs.end()
                        ? output
                        : model.output_names().front();
  return Bisection(model, inputs, std::move(reference), std::move(options)).from(end);
}

}  // namespace kiln::tool

// Initializers that depend on the name of the parameter.
#include "frontend/call/line.h"
#include "frontend/tensor/text.h"
#include "runtime/fail.h"

#include <kiln/initializer.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

namespace kiln::init {
namespace {

Initializer values_of(const Tensor& saved) {
  return Initializer("[\"load\", {}]",
                     [saved](std::span<double> out, const Shape& shape, const std::function<double()>&) {
                       if (saved.shape() != shape)
                         fail("the saved values have the shape {}", saved.shape().str());
                       const std::vector<double> values = saved.to_vector<double>();
                       std::copy(values.begin(), values.end(), out.begin());
                     });
}

Initializer load(const std::vector<NamedArray>& params, const std::string& source,
                 const Initializer& default_init) {
  auto by_name = std::make_shared<std::unordered_map<std::string, Tensor>>();
  for (const NamedArray& a : params) (*by_name)[detail::name_without_kind(a.name)] = a.array;
  return Initializer::choosing("[\"load\", {}]", [by_name, source, default_init](const std::string& parameter,
                                                                                 const Initializer& own) {
    if (const auto found = by_name->find(parameter); found != by_name->end()) return values_of(found->second);
    if (!default_init.defined())
      fail(
          "{}there are no values for parameter '{}': give Load a default initializer for those it does not "
          "name",
          source, parameter);
    return default_init.of(parameter, own);
  });
}

}  // namespace

Initializer Mixed(const std::vector<std::string>& patterns, const std::vector<Initializer>& initializers,
                  Where where) {
  if (patterns.size() != initializers.size())
    fail("{}Mixed takes an initializer for each pattern: there are {} patterns and {} initializers",
         line_prefix(where), patterns.size(), initializers.size());
  using Case = std::pair<std::unique_ptr<detail::NamePattern>, Initializer>;
  auto cases = std::make_shared<std::vector<Case>>();
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!initializers[i].defined())
      fail("{}Mixed: the initializer for '{}' is empty", line_prefix(where), patterns[i]);
    at_line(where, [&] {
      cases->emplace_back(std::make_unique<detail::NamePattern>(patterns[i]), initializers[i]);
    });
  }
  return Initializer::choosing(
      "[\"mixed\", {}]", [cases](const std::string& parameter, const Initializer& own) {
        for (const auto& [pattern, initializer] : *cases)
          if (pattern->matches(parameter)) return initializer.of(parameter, own);
        if (own.defined()) return own.of(parameter);
        fail("Mixed: no pattern matches the parameter '{}': add the pattern \".*\" with a default at the end",
             parameter);
      });
}

Initializer Load(const std::vector<NamedArray>& params, const Initializer& default_init) {
  return load(params, "Load: ", default_init);
}

Initializer Load(const std::string& path, const Initializer& default_init, Where where) {
  return load(at_line(where, [&] { return load_arrays(path, {}); }), path + ": ", default_init);
}

}  // namespace kiln::init

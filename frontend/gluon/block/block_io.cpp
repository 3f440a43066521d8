// save_parameters and load_parameters: values by the path of their block in the tree.
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/tensor/text.h"
#include "runtime/messages.h"

#include <kiln/io.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kiln {
namespace {

struct PathParameter {
  std::string path;
  Parameter parameter;
};

/// "0.weight": keys of children joined by dots, then the parameter's name within its block.
void collect_paths(const Block& block, const std::string& path, std::vector<PathParameter>& out) {
  const ParameterDict params = block.params();
  for (const Parameter& p : params) {
    const std::string& full = p.name();
    out.push_back(
        {path + (full.starts_with(params.prefix()) ? full.substr(params.prefix().size()) : full), p});
  }
  for (const auto& [key, child] : block.children()) collect_paths(*child, path + key + ".", out);
}

}  // namespace

void Block::save_parameters(const std::string& path, std::source_location where) const {
  std::vector<PathParameter> params;
  collect_paths(*this, "", params);
  std::vector<NamedArray> arrays;
  for (const auto& p : params) arrays.push_back({p.path, p.parameter.data(where)});
  save_arrays(path, arrays, {}, where);
}

namespace {

/// Advice on a file of names without points: it is an exported one, one of another network, or lacks some.
constexpr detail::LoadAdvice exported_advice{
    ". The file names parameters by the prefixes of their blocks, as files of export_model() do: give this "
    "network the prefix of the saved one, or read an exported network with SymbolBlock::imports()",
    "; load with {.ignore_extra = true} to ignore it. The file names parameters by the prefixes of their "
    "blocks: give this network the prefix of the saved one, or read an exported network with "
    "SymbolBlock::imports()"};
constexpr detail::LoadAdvice other_network_advice{
    "; no array of the file has a name of this network: it was saved from another network or under another "
    "prefix. An exported network is read by SymbolBlock::imports()",
    "; no array of the file has a name of this network: it was saved from another network or under another "
    "prefix. Load with {.ignore_extra = true} to ignore them"};
constexpr detail::LoadAdvice some_fit_advice{"; load with {.allow_missing = true} to keep its current values",
                                             "; load with {.ignore_extra = true} to ignore it"};

const detail::LoadAdvice& advice_on(const std::vector<NamedArray>& loaded, const ParameterDict& params,
                                    const std::string& prefix) {
  const std::vector<std::string> keys = params.keys();
  const std::unordered_set<std::string> known(keys.begin(), keys.end());
  bool exported = false;
  for (const NamedArray& a : loaded) {
    const std::string name = detail::name_without_kind(a.name);
    if (known.contains(name) || known.contains(prefix + name)) return some_fit_advice;
    exported |= detail::is_exported_name(a.name);
  }
  return exported ? exported_advice : other_network_advice;
}

[[noreturn]] void fail_missing(const std::string& path, const std::string& parameter,
                               const std::vector<std::string>& names, bool fits) {
  fail(Mistake::missing_parameter, "{}: there are no values for parameter '{}', only for {}{}", path,
       parameter, detail::brief_list(names),
       fits ? some_fit_advice.missing
            : "; no array of the file has a name of this network: it was saved from another one");
}

/// Sets the values of the file at `path`.
void load(const Block& block, const std::string& path, const LoadOptions& options) {
  std::vector<NamedArray> loaded = load_arrays(path, {});
  std::vector<PathParameter> params;
  collect_paths(block, "", params);
  if (loaded.empty() && params.empty()) return;
  std::unordered_map<std::string, const Parameter*> by_path;
  for (const auto& p : params) by_path[p.path] = &p.parameter;
  // A child may be called "arg:0", as an exported array is.
  const bool has_paths = std::any_of(loaded.begin(), loaded.end(), [&](const NamedArray& a) {
    return a.name.find('.') != std::string::npos &&
           (!detail::is_exported_name(a.name) || by_path.contains(a.name));
  });
  if (!has_paths) {
    const ParameterDict all = block.collect_params();
    const detail::LoadAdvice& advice = advice_on(loaded, all, block.prefix());
    return detail::load_by_name(all, std::move(loaded), path, options, block.prefix(), advice);
  }

  std::vector<std::string> names;
  for (const NamedArray& a : loaded) names.push_back(a.name);
  const std::unordered_set<std::string> in_file(names.begin(), names.end());
  if (!options.allow_missing) {
    for (const auto& p : params) {
      // A parameter shared by several blocks may be in the file under one of its paths only.
      const bool found = std::any_of(params.begin(), params.end(), [&](const PathParameter& o) {
        return o.parameter == p.parameter && in_file.contains(o.path);
      });
      if (!found)
        fail_missing(path, p.path, names,
                     std::any_of(names.begin(), names.end(),
                                 [&](const std::string& name) { return by_path.contains(name); }));
    }
  }
  for (const NamedArray& a : loaded) {
    const auto it = by_path.find(a.name);
    if (it != by_path.end()) {
      try {
        detail::ParameterAccess::load(*it->second, a.array, options.cast_dtype);
      } catch (const Error& e) {
        if (e.kind() != Error::Kind::user) throw;
        fail("{}: '{}': {}", path, a.name, e.what());
      }
    } else if (!options.ignore_extra) {
      std::vector<std::string> known;
      for (const auto& p : params) known.push_back(p.path);
      fail(Mistake::extra_parameter,
           "{}: there is no parameter '{}', only {}; load with {{.ignore_extra = true}} to ignore it", path,
           a.name, detail::brief_list(known));
    }
  }
}

}  // namespace

void Block::load_parameters(const std::string& path, const LoadOptions& options,
                            std::source_location where) const {
  at_line(where, [&] { load(*this, path, options); });
}

}  // namespace kiln

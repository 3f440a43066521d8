// Operators by the names that a person may give them: C++ spellings, parts of names, misspelt names.
#include "frontend/api/op_names.h"

#include "frontend/api/op_spellings.h"
#include "frontend/tensor/text.h"
#include "ir/nearest_name.h"
#include "ir/op_def.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>
#include <utility>

namespace kiln {
namespace {

/// The part of a C++ spelling after its namespaces: "Dense" of "nn::Dense".
std::string_view last_part(std::string_view spelling) {
  const std::size_t at = spelling.rfind("::");
  return at == std::string_view::npos ? spelling : spelling.substr(at + 2);
}

/// The table's spelling of a program's: "F::softmax" of "F.softmax" and "nd::softmax", "F::random::uniform"
/// of "F.random().uniform" and "random::uniform".
std::string in_table(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '(' && c != ')') out += c == '.' ? "::" : std::string(1, c);
  constexpr std::pair<std::string_view, std::string_view> scopes[] = {
      {"kiln::", ""},      {"mx::", ""},         {"nd::", "F::"}, {"random::", "F::random::"},
      {"F::np::", "np::"}, {"F::npx::", "npx::"}};
  for (const auto& [written, scope] : scopes)
    if (out.starts_with(written)) out.replace(0, written.size(), scope);
  return out;
}

std::string lowered(std::string_view text) { return detail::lower(std::string(text)); }

/// A name of an operator: its own, an alias, or the last part of a C++ spelling.
struct Candidate {
  std::string_view op, name;
  std::string_view spelling = {};  ///< empty for a name of files
  std::string_view scope() const { return spelling.substr(0, spelling.size() - name.size()); }
  /// Names without underscores and short ones are likelier.
  auto rank() const {
    return std::tuple(op.starts_with('_'), name.size(), op, !spelling.empty(), lowered(name) != name, name);
  }
};

std::vector<Candidate> all_names() {
  std::vector<Candidate> names;
  for (const ir::OpDef* op : ir::all_ops()) {
    names.push_back({op->name, op->name});
    for (const std::string_view alias : op->aliases) names.push_back({op->name, alias});
  }
  for (const OpSpelling& s : op_spellings()) names.push_back({s.op, last_part(s.cxx), s.cxx});
  return names;
}

/// "softmax", or "Convolution (nn::Conv1D, nn::Conv2D, nn::Conv3D)": one of `names`, and if it is a C++
/// spelling its operator's others of the same scope and length.
std::string shown(const Candidate& n, const std::vector<Candidate>& names) {
  if (n.spelling.empty()) return std::string(n.name);
  std::vector<std::string_view> spellings;
  for (const Candidate& other : names)
    if (other.op == n.op && other.scope() == n.scope() && other.spelling.size() == n.spelling.size())
      spellings.push_back(other.spelling);
  return fmt::format("{} ({})", n.op, fmt::join(spellings, ", "));
}

/// The likeliest names of different operators.
std::vector<std::string> likeliest(std::vector<Candidate> names) {
  constexpr std::size_t max_shown = 5;
  std::sort(names.begin(), names.end(),
            [](const Candidate& a, const Candidate& b) { return a.rank() < b.rank(); });
  std::vector<std::string> texts;
  std::vector<std::string_view> ops;
  for (const Candidate& n : names) {
    if (texts.size() == max_shown) break;
    if (std::find(ops.begin(), ops.end(), n.op) != ops.end()) continue;
    ops.push_back(n.op);
    texts.push_back(shown(n, names));
  }
  return texts;
}

template <class Matches>
std::vector<std::string> likeliest_if(const std::vector<Candidate>& names, Matches matches) {
  std::vector<Candidate> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found), matches);
  return likeliest(std::move(found));
}

}  // namespace

std::vector<std::string_view> ops_spelled(std::string_view name) {
  const std::string spelling = in_table(name);
  std::vector<std::string_view> ops;
  for (const OpSpelling& s : op_spellings())
    if (s.cxx == spelling && (ops.empty() || ops.back() != s.op)) ops.push_back(s.op);
  std::stable_partition(ops.begin(), ops.end(), [](std::string_view op) { return !op.starts_with('_'); });
  return ops;
}

std::vector<std::string> ops_like(std::string_view name) {
  if (name.size() > 64) return {};  // as nearest_name()
  const std::string whole = in_table(name), part = lowered(last_part(whole));
  const std::vector<Candidate> names = all_names();
  auto found = likeliest_if(names, [&](const Candidate& n) { return lowered(n.name) == part; });
  if (found.empty() && part.size() > 2)
    found = likeliest_if(names,
                         [&](const Candidate& n) { return lowered(n.name).find(part) != std::string::npos; });
  if (!found.empty()) return found;
  std::vector<std::string_view> known;
  for (const Candidate& n : names) known.push_back(n.name);
  const std::string_view nearest = ir::nearest_name(last_part(whole), known);
  return likeliest_if(names, [&](const Candidate& n) { return n.name == nearest; });
}

}  // namespace kiln

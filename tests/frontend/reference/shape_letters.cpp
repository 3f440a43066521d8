// Parses the shapes of a reference, and finds extents for their letters.
#include "shape_letters.h"

#include <algorithm>
#include <functional>
#include <map>
#include <regex>

namespace reference {
namespace {

using Array = ShapeLetters::Array;
using Extents = std::vector<std::int64_t>;

std::vector<std::string> split_axes(const std::string& text) {
  std::vector<std::string> axes;
  static const std::regex comma(", ");
  for (std::sregex_token_iterator it(text.begin(), text.end(), comma, -1), end; it != end; ++it)
    if (it->length() != 0) axes.push_back(*it);
  return axes;
}

/// "x (N, C), weight (O, C)": nothing if there is more than arrays in the text.
std::optional<std::vector<Array>> parse_arrays(std::string text) {
  static const std::regex array(R"(^(?:, )?(?:(\w+) )?\(([^()]*)\))");
  std::vector<Array> arrays;
  for (std::smatch match; !text.empty(); text = match.suffix()) {
    if (!std::regex_search(text, match, array)) return std::nullopt;
    arrays.push_back({match[1], split_axes(match[2])});
  }
  return arrays;
}

bool is_axes(const std::string& token) { return token.ends_with("..."); }
bool is_letter(const std::string& token) {
  static const std::regex letter(R"([A-Za-z]\w*'?)");
  return std::regex_match(token, letter);
}

/// Whether the dots are no axes of a name: "(D1, ..., Dk)" counts letters, and of "(..., 1, ...)" the two
/// differ.
bool counts_letters(const Array& array) {
  const auto& axes = array.axes;
  static const std::regex numbered(R"(.*\b[A-Za-z]\d\b.*)");
  if (std::count(axes.begin(), axes.end(), "...") > 1) return true;
  for (std::size_t i = 1; i < axes.size(); ++i)
    if (axes[i] == "..." && std::regex_match(axes[i - 1], numbered)) return true;
  return false;
}

/// The search for extents: arrays one after another, each token of an array in turn.
class Search {
 public:
  void add(const Array& array, const kiln::Shape& shape) {
    arrays_.push_back({&array.axes, Extents(shape.begin(), shape.end())});
  }
  bool solve() { return match(0, 0, 0); }

 private:
  struct Pair {
    const std::vector<std::string>* tokens;
    Extents extents;
  };

  bool match(std::size_t array, std::size_t token, std::size_t axis) {
    if (array == arrays_.size()) return true;
    const auto& [tokens, extents] = arrays_[array];
    if (token == tokens->size()) return axis == extents.size() && match(array + 1, 0, 0);
    const std::string& text = (*tokens)[token];
    if (!is_axes(text))
      return axis < extents.size() &&
             bound(text, {extents[axis]}, is_letter(text), [&] { return match(array, token + 1, axis + 1); });
    for (std::size_t n = 0; axis + n <= extents.size(); ++n) {
      const auto first = extents.begin() + static_cast<std::ptrdiff_t>(axis);
      if (bound(text, Extents(first, first + static_cast<std::ptrdiff_t>(n)), true,
                [&] { return match(array, token + 1, axis + n); }))
        return true;
    }
    return false;
  }

  /// Whether `rest` holds while the token means these extents.
  bool bound(const std::string& token, Extents extents, bool named, const std::function<bool()>& rest) {
    if (!named) {
      const bool number =
          std::all_of(token.begin(), token.end(), [](unsigned char c) { return std::isdigit(c); });
      return (!number || std::stoll(token) == extents[0]) && rest();
    }
    const auto [it, added] = known_.emplace(token, extents);
    const bool holds = it->second == extents && rest();
    if (added) known_.erase(token);
    return holds;
  }

  std::vector<Pair> arrays_;
  std::map<std::string, Extents> known_;
};

}  // namespace

std::optional<ShapeLetters> parse_letters(std::string_view shapes) {
  // The words ", D along axis" say which axis a letter is; words after the results begin with one of these.
  static const std::regex along(R"(, \w+ along (?:the \w+ )?axis)"),
      form(R"(^(.*?) -> (.*?)(\.?$|(?:[.;] |, with|, g groups|, k the|, as many).*))");
  const std::string text = std::regex_replace(std::string(shapes), along, "");
  std::smatch match;
  if (!std::regex_match(text, match, form)) return std::nullopt;
  const auto inputs = parse_arrays(match[1]), results = parse_arrays(match[2]);
  if (!inputs || !results || results->empty()) return std::nullopt;
  for (const auto* arrays : {&*inputs, &*results})
    if (std::any_of(arrays->begin(), arrays->end(), counts_letters)) return std::nullopt;
  return ShapeLetters{*inputs, *results, match[3].length() <= 1};
}

bool fits(const ShapeLetters& letters, const std::vector<kiln::Shape>& inputs,
          const std::vector<kiln::Shape>& results) {
  if (inputs.size() > letters.inputs.size()) return false;
  Search search;
  for (std::size_t i = 0; i < inputs.size(); ++i) search.add(letters.inputs[i], inputs[i]);
  for (std::size_t i = 0; i < std::min(results.size(), letters.results.size()); ++i)
    search.add(letters.results[i], results[i]);
  return search.solve();
}

}  // namespace reference

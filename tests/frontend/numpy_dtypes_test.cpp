// Every operator of numpy mode with every combination of dtypes, compared with MXNet's results
// (numpy_dtypes/make.py). The table of docs/differences-numpy.md has the differences.
#include "golden_files.h"
#include "numpy_mode.h"
#include "operator_call.h"

#include <kiln/op_docs.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>

using namespace kiln;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text, char at) {
  Words out;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, at);) out.push_back(part);
  return out;
}

const std::map<std::string, DType>& dtypes() {
  static const std::map<std::string, DType> all = {
      {"f16", DType::f16}, {"f32", DType::f32}, {"f64", DType::f64}, {"u8", DType::u8},
      {"i8", DType::i8},   {"i32", DType::i32}, {"i64", DType::i64}, {"bool", DType::boolean}};
  return all;
}

double number_of(const json& v) {
  if (!v.is_string()) return v.get<double>();
  return v == "nan" ? NAN : v == "inf" ? INFINITY : -INFINITY;
}

Shape shape_of(const json& extents) {
  return Shape(std::span<const std::int64_t>(extents.get<std::vector<std::int64_t>>()));
}

/// The results of Kiln, or nothing if it refuses.
std::optional<Tensors> computed(const json& c, const json& inputs, const Words& combination) {
  std::vector<graphs::OperatorInput> types;
  Tensors arrays;
  for (std::size_t i = 0; i < combination.size(); ++i) {
    const Shape shape = shape_of(c["inputs"][i][1]);
    types.push_back({shape, dtypes().at(combination[i])});
    const auto given =
        inputs[c["inputs"][i][0].get<std::string>()][combination[i]].get<std::vector<double>>();
    std::vector<double> elements;
    for (std::size_t k = 0; k < static_cast<std::size_t>(shape.elements()); ++k)
      elements.push_back(given[k % given.size()]);
    arrays.push_back(Tensor(elements, shape).astype(types.back().dtype));
  }
  try {
    auto block = graphs::operator_block(c["op"], c["attrs"].get<graphs::Attributes>(), types);
    Tensors out = block(arrays);
    for (const Tensor& t : out) t.wait();
    return out;
  } catch (const Error& e) {
    REQUIRE(e.kind() == Error::Kind::user);
    return {};
  }
}

/// Two or three units in the last place; functions of float32 are within some of MXNet's.
double tolerance(DType d) {
  return d == DType::f16 ? 2e-3 : d == DType::f32 ? 2e-6 : d == DType::f64 ? 1e-12 : 0;
}

bool agree(const std::optional<Tensors>& got, const json& expected, bool with_values) {
  if (expected.is_string() || !got) return expected.is_string() == !got;
  if (expected.size() != got->size()) return false;
  for (std::size_t k = 0; k < got->size(); ++k) {
    const Tensor& t = (*got)[k];
    const DType d = dtypes().at(expected[k][0]);
    if (t.dtype() != d) return false;
    if (!with_values) continue;
    const auto values = t.to_vector<double>();
    if (values.size() + 1 != expected[k].size()) return false;
    const double bound = tolerance(d);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!golden::close(values[i], number_of(expected[k][i + 1]), bound, bound / 16)) return false;
  }
  return true;
}

/// A row of the page's first table.
struct Difference {
  Words operators, inputs, options;
  bool refused;  ///< by MXNet
  bool found = false;

  bool covers(const std::string& op, const Words& combination, const json& attrs, bool is_refused) const {
    if (refused != is_refused) return false;
    if (std::none_of(operators.begin(), operators.end(),
                     [&](const std::string& o) { return o == "*" || o == op; }))
      return false;
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const std::string& i) { return fits(i, combination); }))
      return false;
    return options.empty() || std::any_of(options.begin(), options.end(), [&](const std::string& option) {
             const Words pair = split(option, '=');
             return attrs.contains(pair[0]) && attrs[pair[0]] == pair[1];
           });
  }

 private:
  static bool is(const std::string& pattern, DType d) {
    if (pattern == "*") return true;
    if (pattern == "float") return is_floating(d);
    if (pattern == "int") return !is_floating(d) && d != DType::boolean;
    return pattern == name_of(d);
  }
  static bool fits(const std::string& pattern, const Words& combination) {
    std::vector<DType> given;
    for (const std::string& word : combination) given.push_back(dtypes().at(word));
    if (pattern == "none") return given.empty();
    if (pattern == "mixed") return std::set(given.begin(), given.end()).size() > 1;
    if (pattern == "bool among them") return std::count(given.begin(), given.end(), DType::boolean) > 0;
    const Words wanted = split(pattern, ' ');
    return wanted.size() == given.size() && std::equal(wanted.begin(), wanted.end(), given.begin(), is);
  }
};

/// The texts between backquotes.
Words quoted(const std::string& cell) {
  Words out;
  const Words parts = split(cell, '`');
  for (std::size_t i = 1; i < parts.size(); i += 2) out.push_back(parts[i]);
  return out;
}

std::vector<Difference> documented() {
  std::vector<Difference> rows;
  std::ifstream page(KILN_TEST_SOURCES "/../docs/differences-numpy.md");
  for (std::string line; std::getline(page, line) && line != "## Networks";) {
    const Words cells = split(line, '|');
    if (cells.size() != 6 || !cells[1].starts_with(" `")) continue;
    REQUIRE((cells[4] == " refused " || cells[4] == " computes "));
    rows.push_back({quoted(cells[1]), quoted(cells[2]), quoted(cells[3]), cells[4] == " refused "});
  }
  return rows;
}

}  // namespace

TEST_CASE("operators of numpy mode agree with MXNet for all dtypes, but for the documented differences",
          "[numpy]") {
  const NumpyMode mode;
  const json table = json::parse(golden::read_text(KILN_TEST_SOURCES "/frontend/numpy_dtypes/results.json"));
  std::vector<Difference> differences = documented();
  REQUIRE(differences.size() > 5);
  std::size_t combinations = 0;
  for (const json& c : table["cases"]) {
    for (const json& row : c["results"])
      for (const std::string& list : split(row[0].get<std::string>() + (row[0] == "" ? " " : ""), ',')) {
        const Words combination = list == " " ? Words() : split(list, ' ');
        ++combinations;
        const auto got = computed(c, table["inputs"], combination);
        if (agree(got, row[1], !c.contains("values"))) continue;
        bool covered = false;
        if (got)  // nothing that MXNet computes is refused
          for (Difference& d : differences)
            if (d.covers(c["op"], combination, c["attrs"], row[1].is_string())) covered = d.found = true;
        if (covered) continue;
        std::string text = got ? "" : "refused";
        if (got)
          for (const Tensor& t : *got)
            text += fmt::format("{} {} ", name_of(t.dtype()), fmt::join(t.to_vector<double>(), " "));
        FAIL_CHECK(c["op"].get<std::string>() << " " << c["attrs"].dump() << " of " << list << ": MXNet "
                                              << row[1].dump() << ", Kiln " << text);
      }
  }
  CHECK(combinations > 4000);
  for (const Difference& d : differences) {
    INFO(d.operators[0] << " of " << d.inputs[0]);
    CHECK(d.found);  // else the row has no difference
  }
}

TEST_CASE("the table has every operator of numpy mode", "[numpy]") {
  const json table = json::parse(golden::read_text(KILN_TEST_SOURCES "/frontend/numpy_dtypes/results.json"));
  std::set<std::string> names;
  for (const json& c : table["cases"]) names.insert(c["op"]);
  // Loops over rows of several dtypes, and images, have no such names; _npx_rnn takes floats alone.
  for (const OpDoc& op : op_docs()) {
    Words all = op.aliases;
    all.push_back(op.name);
    for (const std::string& name : all) {
      INFO(name);
      if (name.starts_with("_np") && name != "_npx_rnn") CHECK(names.contains(name));
    }
  }
}

// Zeros of both signs, infinities, NaN, subnormals and the limits of each dtype through every pointwise
// operator, with its gradients, compared with MXNet's (special_values/make.py). docs/differences.md lists
// Kiln's differences. A difference that it does not list fails, and so does a row without a difference.
#include "golden_files.h"
#include "graphs/samples.h"
#include "operator_call.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <set>

using namespace kiln;
using namespace graphs;

namespace {

using Numbers = std::vector<double>;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}
std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" `"), last = text.find_last_not_of(" `");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

Numbers numbers(std::istringstream& line) {
  Numbers all;
  for (std::string word; line >> word;) {
    const std::size_t star = word.find('*');
    all.insert(all.end(), star == std::string::npos ? 1 : std::stoul(word.substr(star + 1)),
               std::strtod(word.substr(0, star).c_str(), nullptr));
  }
  return all;
}

/// A call and MXNet's results.
struct Call {
  DType dtype = DType::f32;
  std::vector<std::string> operators;
  Attributes attrs;
  std::vector<Numbers> inputs, gradients;
  Numbers results;
};

std::vector<Call> calls() {
  std::istringstream text(golden::read_text(KILN_TEST_SOURCES "/gradient/special_values/values.txt"));
  std::vector<Call> all;
  std::vector<Numbers> inputs;
  bool inputs_end = false;
  for (std::string row; std::getline(text, row);) {
    std::istringstream line(row);
    std::string kind;
    line >> kind;
    if (kind == "in") {
      if (inputs_end) inputs.clear();
      inputs_end = false;
      inputs.push_back(numbers(line));
      continue;
    }
    inputs_end = true;
    if (kind == "call") {
      Call call;
      std::string dtype, operators;
      line >> dtype >> operators;
      call.dtype = dtype == "float32" ? DType::f32 : dtype == "float64" ? DType::f64 : DType::f16;
      call.operators = split(operators, ',');
      for (std::string attr; line >> attr;)
        call.attrs[attr.substr(0, attr.find('='))] = attr.substr(attr.find('=') + 1);
      call.inputs = inputs;
      all.push_back(std::move(call));
    } else if (kind == "out") {
      all.back().results = numbers(line);
    } else {
      all.back().gradients.push_back(numbers(line));
    }
  }
  return all;
}

struct Run {
  Numbers results;
  std::vector<Numbers> gradients;
};
Run run(const std::string& op, const Call& call) {
  std::vector<OperatorInput> types;
  Tensors inputs;
  for (const Numbers& v : call.inputs) {
    const Shape shape{static_cast<std::int64_t>(v.size())};
    types.push_back({shape, call.dtype});
    Tensor t = zeros(shape, call.dtype);
    t.copy_from(v.data(), DType::f64);
    t.attach_grad();
    inputs.push_back(std::move(t));
  }
  SymbolBlock block = operator_block(op, call.attrs, types);
  Tensors out;
  {
    const autograd::Record record(/*train=*/false);
    out = block(inputs);
  }
  autograd::backward({out[0]});
  Run r{out[0].to_vector<double>(), {}};
  for (const Tensor& t : inputs) r.gradients.push_back(t.grad().to_vector<double>());
  return r;
}

double min_normal(DType d) { return d == DType::f32 ? 0x1p-126 : d == DType::f64 ? 0x1p-1022 : 0x1p-14; }

/// Whether both are NaN, the same infinity, zeros of one sign, or numbers equal up to the error of MXNet's
/// functions. A subnormal number and a zero of its sign count as equal: some of MXNet's libraries flush them.
bool agree(double got, double want, DType dtype) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (std::signbit(got) != std::signbit(want)) return false;
  if (std::isinf(got) || std::isinf(want)) return got == want;
  const double least = min_normal(dtype), size = std::max(std::abs(got), std::abs(want));
  if (size < least) return true;
  const double tolerance = dtype == DType::f16 ? 0x1p-9 : 0x1p-18;
  return std::abs(got - want) <= tolerance * size;
}

std::string written(double v) { return std::isnan(v) ? "nan" : fmt::format("{:.9g}", v); }

/// Whether a word of the table describes the number: itself, `+-` for both signs, or one of the words below.
bool describes(const std::string& word, double v, DType dtype) {
  if (word == "any") return true;
  if (word == "number") return std::isfinite(v) && v != 0;
  if (word == "subnormal") return v != 0 && std::abs(v) < min_normal(dtype);
  if (word == "negative") return std::signbit(v) && !std::isnan(v);
  if (word.starts_with("+-")) return written(std::abs(v)) == word.substr(2);
  return written(v) == word;
}
/// The same of a list of alternatives.
bool describes_one(const std::vector<std::string>& words, double v, DType dtype) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& w) { return describes(w, v, dtype); });
}

/// A row of the table in docs/differences.md.
struct Difference {
  std::string text;
  std::vector<std::vector<std::string>> operators;  ///< name and attributes
  std::vector<std::string> dtypes, of;
  std::vector<std::vector<std::string>> at;  ///< by input: alternatives
  std::vector<std::string> theirs, ours;
  mutable bool used = false;

  bool covers(const std::string& op, const Call& call, const std::string& result, const Numbers& in,
              double mxnet, double kiln) const {
    const auto names = [&](const std::vector<std::string>& words) {
      return words[0] == op && std::all_of(words.begin() + 1, words.end(), [&](const std::string& word) {
               const auto found = call.attrs.find(word.substr(0, word.find('=')));
               return found != call.attrs.end() && found->second == word.substr(word.find('=') + 1);
             });
    };
    const auto has = [](const std::vector<std::string>& list, const std::string& word) {
      return list[0] == "any" || std::find(list.begin(), list.end(), word) != list.end();
    };
    if (std::none_of(operators.begin(), operators.end(), names)) return false;
    if (!has(dtypes, std::string(name_of(call.dtype))) || !has(of, result)) return false;
    for (std::size_t i = 0; i < std::min(at.size(), in.size()); ++i)
      if (!describes_one(at[i], in[i], call.dtype)) return false;
    return describes_one(theirs, mxnet, call.dtype) && describes_one(ours, kiln, call.dtype);
  }
};

std::vector<std::string> list(const std::string& text, char at) {
  std::vector<std::string> words;
  for (const std::string& part : split(text, at)) words.push_back(trimmed(part));
  return words;
}

/// The rows of the tables with seven columns.
std::vector<Difference> differences() {
  std::vector<Difference> rows;
  std::istringstream text(golden::read_text(KILN_TEST_SOURCES "/../docs/differences.md"));
  for (std::string line; std::getline(text, line);) {
    const std::vector<std::string> cells = list(line, '|');
    if (cells.size() != 8 || cells[1] == "operators" || cells[1].starts_with("-")) continue;
    Difference d;
    d.text = line;
    for (const std::string& op : list(cells[1], ',')) d.operators.push_back(split(op, ' '));
    d.dtypes = list(cells[2], ',');
    d.of = list(cells[3], ',');
    for (const std::string& in : list(cells[4], ';')) d.at.push_back(list(in, ','));
    d.theirs = list(cells[5], ',');
    d.ours = list(cells[6], ',');
    rows.push_back(std::move(d));
  }
  return rows;
}

}  // namespace

TEST_CASE("pointwise operators and their gradients at special values are MXNet's", "[special_values]") {
  const std::vector<Difference> known = differences();
  REQUIRE(!known.empty());
  std::set<std::string> called;
  for (const Call& call : calls())
    for (const std::string& op : call.operators) {
      called.insert(op);
      std::string attrs;
      for (const auto& [name, value] : call.attrs) attrs += fmt::format(" {}={}", name, value);
      const Run got = run(op, call);
      const auto compare = [&](const std::string& of, const Numbers& a, const Numbers& b) {
        REQUIRE(a.size() == b.size());
        for (std::size_t i = 0; i < b.size(); ++i) {
          if (agree(a[i], b[i], call.dtype)) continue;
          Numbers in;
          for (const Numbers& v : call.inputs) in.push_back(v[i]);
          bool listed = false;
          for (const Difference& d : known)
            if (d.covers(op, call, of, in, b[i], a[i])) listed = d.used = true;
          if (listed) continue;
          std::string at;
          for (const double v : in) at += (at.empty() ? "" : "; ") + written(v);
          FAIL_CHECK(fmt::format("{}{} | {} | {} | {} | {} | {} (MXNet's, Kiln's)", op, attrs,
                                 name_of(call.dtype), of, at, written(b[i]), written(a[i])));
        }
      };
      compare("result", got.results, call.results);
      REQUIRE(got.gradients.size() == call.gradients.size());
      for (std::size_t k = 0; k < call.gradients.size(); ++k)
        compare(call.inputs.size() == 1 ? "gradient" : fmt::format("gradient {}", k), got.gradients[k],
                call.gradients[k]);
    }
  for (const Difference& d : known) {
    INFO("no difference is left for the row " << d.text);
    CHECK(d.used);
  }
  const std::set<std::string> others{"BlockGrad",              // no gradient
                                     "Dropout",                // a random factor
                                     "_contrib_div_sqrt_dim",  // a division by a number of its shape
                                     "amp_cast",
                                     "amp_multicast",
                                     "add_n",
                                     "LinearRegressionOutput",
                                     "MAERegressionOutput",
                                     "LogisticRegressionOutput"};
  for (const Row& row : pointwise_rows())
    for (const std::string& op : row.operators) {
      INFO(op);
      CHECK((called.contains(op) || others.contains(op)));
    }
}

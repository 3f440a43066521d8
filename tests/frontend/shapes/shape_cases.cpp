// Makes the cases, and reads MXNet's answers.
#include "shape_cases.h"

#include <kiln/op_docs.h>

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace shapes {

using namespace kiln;
using graphs::Input;
using graphs::Row;
using graphs::Sample;

namespace {

constexpr std::size_t max_subjects = 6;  // of one operator

/// "3x5", "()" without axes.
std::string extents_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t d : shape) text += (text.empty() ? "" : "x") + fmt::to_string(d);
  return text.empty() ? "()" : text;
}
Shape parse_extents(const std::string& text) {
  Shape shape;
  if (text == "()") return shape;
  std::istringstream in(text);
  for (std::string extent; std::getline(in, extent, 'x');) shape.push_back(std::stoll(extent));
  return shape;
}

DType dtype_of(const Input& input) { return input.dtype.value_or(DType::f32); }

std::string key_of(const std::string& op, const Sample& sample) {
  std::string key = op;
  for (const auto& [name, value] : sample.attrs) {
    std::string packed = value;
    std::erase(packed, ' ');
    key += fmt::format(" {}={}", name, packed);
  }
  for (const Input& input : sample.inputs)
    key +=
        fmt::format(" {}{}", dtype_of(input) == DType::f32 ? "" : std::string(name_of(dtype_of(input))) + ":",
                    extents_text(input.shape));
  return key;
}

/// Equal for samples that call the operator in one way: other numbers, other extents.
std::string way_of(const Sample& sample) {
  std::string way;
  for (auto [name, value] : sample.attrs) {
    const bool is_axis = name.starts_with("axis") || name.starts_with("axes") || name.starts_with("dim");
    if (!is_axis)
      for (char& c : value)
        if (c >= '0' && c <= '9') c = '#';
    way += name + "=" + value + " ";
  }
  for (const Input& input : sample.inputs) way += fmt::to_string(input.shape.rank()) + " ";
  return way;
}

/// The sample, each input with its dtype.
Sample in_dtype(Sample sample, DType dtype) {
  for (Input& input : sample.inputs)
    if (!input.dtype) input.dtype = dtype;
  return sample;
}

bool is_subject(const Sample& sample) {
  return !sample.large && !sample.inputs.empty() &&
         std::none_of(sample.inputs.begin(), sample.inputs.end(),
                      [](const Input& input) { return input.shape.elements() == 0; });
}

}  // namespace

std::vector<Subject> subjects() {
  std::set<std::string> known;
  for (const OpDoc& doc : op_docs()) known.insert(doc.name);
  std::vector<Subject> list;
  for (const Row& row : graphs::sample_rows())
    for (const std::string& op : row.operators) {
      if (!known.contains(op)) continue;
      std::set<std::string> ways;
      for (const Sample& sample : row.samples)
        if (ways.size() < max_subjects && is_subject(sample) && ways.insert(way_of(sample)).second) {
          Sample own = in_dtype(sample, row.own_dtype());
          std::string key = key_of(op, own);
          list.push_back({op, std::move(own), row.states, std::move(key)});
        }
    }
  return list;
}

std::string to_json_lines(const std::vector<Subject>& list) {
  std::string text;
  for (const Subject& s : list) {
    nlohmann::ordered_json json{{"key", s.key}, {"op", s.op}, {"attrs", s.sample.attrs}};
    for (const Input& input : s.sample.inputs) {
      json["shapes"].push_back(std::vector<std::int64_t>(input.shape.begin(), input.shape.end()));
      json["dtypes"].push_back(std::string(name_of(dtype_of(input))));
    }
    if (!s.sample.subgraphs.empty()) json["subgraphs"] = nlohmann::ordered_json::parse(s.sample.subgraphs);
    text += json.dump() + "\n";
  }
  return text;
}

std::string Answer::str() const {
  if (kind == Kind::refused) return "refused";
  if (kind == Kind::silent) return "no answer";
  std::string text;
  for (const Shape& shape : outputs) text += (text.empty() ? "" : ", ") + shape.str();
  return text;
}

// A line with a subject's key, then for each input "NUMBER MODE SHAPE>ANSWER ...". An answer is the shapes of
// the outputs between "|", "-" (refused) or "?" (none).
std::map<std::string, std::vector<Case>> read_answers(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("cannot read " + path);
  std::map<std::string, std::vector<Case>> answers;
  std::vector<Case>* cases = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      cases = &answers[line];
      continue;
    }
    std::istringstream in(line);
    std::size_t input = 0;
    std::string mode, item;
    in >> input >> mode;
    while (in >> item) {
      const std::size_t arrow = item.find('>');
      Case c{input, mode == "numpy", parse_extents(item.substr(0, arrow)), {}};
      const std::string answer = item.substr(arrow + 1);
      if (answer == "-") c.mxnet.kind = Answer::Kind::refused;
      if (answer != "-" && answer != "?") {
        c.mxnet.kind = Answer::Kind::accepted;
        std::istringstream outputs(answer);
        for (std::string shape; std::getline(outputs, shape, '|');)
          c.mxnet.outputs.push_back(parse_extents(shape));
      }
      cases->push_back(std::move(c));
    }
  }
  return answers;
}

}  // namespace shapes

#include "ptx_text.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <stdexcept>

namespace kiln::ptx {
namespace {

constexpr std::string_view blank = " \t\r";

[[noreturn]] void unknown(std::string_view what, std::string_view line) {
  throw std::runtime_error(fmt::format("PTX: {} in '{}'", what, line));
}

std::string_view trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(blank) - first + 1);
}

/// Takes the next word off the front.
std::string_view take_word(std::string_view& s) {
  s = trimmed(s);
  const std::string_view word = s.substr(0, s.find_first_of(blank));
  s = trimmed(s.substr(word.size()));
  return word;
}

std::size_t number(std::string_view s, std::string_view line) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end != s.data() + s.size()) unknown(fmt::format("no number '{}'", s), line);
  return value;
}

/// "name[16]": the name and 16.
std::pair<std::string_view, std::size_t> array_of(std::string_view s, std::string_view line) {
  const std::size_t open = s.find('[');
  if (open == std::string_view::npos || s.back() != ']') unknown("no array", line);
  return {s.substr(0, open), number(s.substr(open + 1, s.size() - open - 2), line)};
}

/// Split at commas outside of braces and brackets.
std::vector<std::string_view> operands_of(std::string_view s) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == ',' && depth == 0)) {
      if (const std::string_view operand = trimmed(s.substr(begin, i - begin)); !operand.empty())
        out.push_back(operand);
      begin = i + 1;
    } else {
      depth += (s[i] == '{' || s[i] == '[') - (s[i] == '}' || s[i] == ']');
    }
  }
  return out;
}

class Parser {
 public:
  Entry run(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      line_ = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      const std::string_view code = trimmed(line_.substr(0, line_.find("//")));
      if (!code.empty()) add(code);
    }
    if (entry_.name.empty()) unknown("no entry", "the text");
    return std::move(entry_);
  }

 private:
  void add(std::string_view code) {
    if (in_body_) return add_body(code);
    if (code.starts_with(".visible .entry")) {
      code.remove_prefix(15);
      if (!entry_.name.empty()) unknown("a second entry", line_);
      entry_.name = trimmed(code.substr(0, code.find('(')));
    } else if (code.starts_with(".param")) {
      add_parameter(code.substr(6));
    } else if (code == "{") {
      in_body_ = true;
    } else if (code != ")" && !code.starts_with(".version") && !code.starts_with(".target") &&
               !code.starts_with(".address_size 64") && !code.starts_with(".maxntid")) {
      unknown("a directive that is not known", line_);
    }
  }

  /// ".align 8 .b8 k_param_0[16]", ".u64 k_param_2" or ".u64 .ptr .align 1 k_param_0"
  void add_parameter(std::string_view s) {
    if (s.ends_with(',')) s.remove_suffix(1);
    std::string_view type = take_word(s);
    if (type == ".align") {
      if (take_word(s) != "8" || take_word(s) != ".b8") unknown("a parameter that is not known", line_);
      const auto [name, bytes] = array_of(s, line_);
      put_parameter(name, bytes);
    } else if (type == ".u64" || type == ".b64") {
      // An address says what it is of: ".ptr .align 1".
      put_parameter(s.substr(s.find_last_of(blank) + 1), 8);
    } else {
      unknown("a parameter that is not known", line_);
    }
  }
  void put_parameter(std::string_view name, std::size_t bytes) {
    entry_.parameters.push_back({name, entry_.parameter_bytes, bytes});
    entry_.parameter_bytes += (bytes + 7) / 8 * 8;
  }

  void add_body(std::string_view code) {
    if (code == "}") {
      in_body_ = false;
    } else if (code.starts_with('{') && code.ends_with('}')) {
      add_scope(trimmed(code.substr(1, code.size() - 2)));
    } else if (code.ends_with(':')) {
      entry_.lines.push_back({.label = code.substr(0, code.size() - 1)});
    } else if (!code.ends_with(';')) {
      unknown("no instruction", line_);
    } else if (code.remove_suffix(1); code.front() == '.') {
      add_declaration(code);
    } else {
      add_instruction(code);
    }
  }

  void add_declaration(std::string_view s) {
    const std::string_view kind = take_word(s);
    if (kind == ".reg") {
      const std::string_view type = take_word(s);
      const unsigned bits = type == ".pred"  ? 1
                            : type == ".b16" ? 16
                            : type == ".b32" ? 32
                            : type == ".b64" ? 64
                                             : 0;
      if (bits == 0) unknown("a register that is not known", line_);
      entry_.registers.push_back({s.substr(0, s.find('<')), bits});
    } else if (kind == ".local") {
      if (take_word(s) != ".align") unknown("local memory that is not known", line_);
      const std::size_t alignment = number(take_word(s), line_);
      if (take_word(s) != ".b8") unknown("local memory that is not known", line_);
      const auto [name, bytes] = array_of(s, line_);
      entry_.locals.push_back({name, bytes, alignment});
    } else {
      unknown("a declaration that is not known", line_);
    }
  }

  /// "{ .reg .b16 tmp; mov.b32 {tmp, %r1}, %r2; }": a register that nothing else reads, and an instruction.
  void add_scope(std::string_view s) {
    const std::size_t end = s.find(';');
    std::string_view declared = s.substr(0, end), instruction = trimmed(s.substr(std::min(end, s.size() - 1) + 1));
    if (take_word(declared) != ".reg" || !instruction.ends_with(';') ||
        std::count(instruction.begin(), instruction.end(), ';') != 1)
      unknown("a scope that is not known", line_);
    take_word(declared);
    instruction.remove_suffix(1);
    add_instruction(instruction);
    for (std::string_view& operand : entry_.lines.back().operands) {
      const std::size_t at = operand.find(declared);
      if (at == std::string_view::npos) continue;
      if (!operand.starts_with('{')) unknown("a scope that is not known", line_);
      std::string& text = entry_.own.emplace_back(operand);
      operand = text.replace(at, declared.size(), "_");
    }
  }

  void add_instruction(std::string_view s) {
    Line line;
    if (s.front() == '@') {
      std::string_view predicate = take_word(s).substr(1);
      if ((line.negated = predicate.starts_with('!'))) predicate.remove_prefix(1);
      line.predicate = predicate;
    }
    line.opcode = take_word(s);
    line.operands = operands_of(s);
    entry_.lines.push_back(std::move(line));
  }

  Entry entry_;
  std::string_view line_;
  bool in_body_ = false;
};

}  // namespace

Entry parse(std::string_view text) { return Parser().run(text); }

}  // namespace kiln::ptx

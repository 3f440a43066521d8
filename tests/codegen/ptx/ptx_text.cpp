// Splits PTX into declarations, labels and instructions.
#include "ptx_text.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

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

struct Variable {
  std::string_view name;
  std::size_t bytes = 0, alignment = 1;
  bool has_size = true;
};

/// ".align 4 .b8 name[16]", ".f32 name", or ".b8 name[]", whose size is not known.
Variable variable_of(std::string_view s, std::string_view line) {
  Variable v;
  std::string_view type = take_word(s);
  if (type == ".align") {
    v.alignment = number(take_word(s), line);
    type = take_word(s);
  }
  if (v.alignment == 0 || v.alignment > 128 || (v.alignment & (v.alignment - 1)) != 0)
    unknown("an alignment that is not known", line);
  const std::string_view kinds = "bsuf";
  const std::size_t bits =
      type.size() > 2 && kinds.find(type[1]) != std::string_view::npos ? number(type.substr(2), line) : 0;
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) unknown("a type that is not known", line);
  v.alignment = std::max(v.alignment, bits / 8);
  const std::size_t open = s.find('[');
  v.name = s.substr(0, open);
  v.bytes = bits / 8;
  if (open != std::string_view::npos) {
    if (s.back() != ']') unknown("no array", line);
    const std::string_view count = s.substr(open + 1, s.size() - open - 2);
    v.has_size = !count.empty();
    v.bytes *= count.empty() ? 0 : number(count, line);
  }
  if (v.name.empty() || v.name.find_first_of(blank) != std::string_view::npos ||
      v.bytes > (std::size_t{1} << 30))
    unknown("a variable that is not known", line);
  return v;
}

std::size_t aligned(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
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
      if (const std::string_view code = whole(trimmed(line_.substr(0, line_.find("//")))); !code.empty())
        add(code);
    }
    if (entry_.name.empty() || in_body_) unknown("no whole entry", "the text");
    if (entry_.version == 0 || entry_.arch == 0) unknown("no .version or .target", "the text");
    for (const Variable& v : of_launch_) {
      // The launch's bytes follow all others.
      entry_.shared_bytes = aligned(entry_.shared_bytes, v.alignment);
    }
    for (const Variable& v : of_launch_) entry_.shared.push_back({v.name, entry_.shared_bytes, 0});
    return std::move(entry_);
  }

 private:
  /// The code of a line. An instruction of several lines is returned whole at its last one.
  std::string_view whole(std::string_view code) {
    const bool begins = in_body_ && !code.empty() && code.front() >= 'a' && code.front() <= 'z' &&
                        !code.ends_with(';') && !code.ends_with(':');
    if (!begins && begun_.empty()) return code;
    begun_ += begun_.empty() ? "" : " ";
    begun_ += code;
    if (!code.ends_with(';')) return {};
    return entry_.own.emplace_back(std::exchange(begun_, {}));
  }

  void add(std::string_view code) {
    if (in_body_) return add_body(code);
    if (code.starts_with(".visible .entry")) {
      code.remove_prefix(15);
      if (!entry_.name.empty()) unknown("a second entry", line_);
      entry_.name = trimmed(code.substr(0, code.find('(')));
    } else if (code.starts_with(".param")) {
      add_parameter(code.substr(6));
    } else if (code.starts_with(".version")) {
      entry_.version = version_of(trimmed(code.substr(8)));
    } else if (code.starts_with(".target")) {
      add_target(trimmed(code.substr(7)));
    } else if (code.starts_with(".maxntid") || code.starts_with(".reqntid")) {
      add_most_threads(code.substr(8));
    } else if (code.ends_with(';')) {
      std::string_view declaration = trimmed(code.substr(0, code.size() - 1));
      const bool is_extern = declaration.starts_with(".extern");
      if (is_extern || declaration.starts_with(".visible")) take_word(declaration);
      if (take_word(declaration) != ".shared") unknown("a directive that is not known", line_);
      add_shared(declaration, is_extern);
    } else if (code == "{") {
      in_body_ = true;
    } else if (code != ")" && !code.starts_with(".address_size 64") && !code.starts_with(".minnctapersm")) {
      unknown("a directive that is not known", line_);
    }
  }

  /// "7.0" as 70.
  unsigned version_of(std::string_view s) {
    const std::size_t point = s.find('.');
    if (point == std::string_view::npos) unknown("a version that is not known", line_);
    const std::size_t minor = number(s.substr(point + 1), line_);
    if (minor > 9) unknown("a version that is not known", line_);
    return static_cast<unsigned>(number(s.substr(0, point), line_) * 10 + minor);
  }
  /// "sm_80", "sm_90a"
  void add_target(std::string_view s) {
    if (!s.starts_with("sm_")) unknown("a target that is not known", line_);
    s.remove_prefix(3);
    const std::size_t digits = std::min(s.find_first_not_of("0123456789"), s.size());
    entry_.arch = static_cast<unsigned>(number(s.substr(0, digits), line_));
    entry_.arch_suffix = s.substr(digits);
    if (!entry_.arch_suffix.empty() && entry_.arch_suffix != "a")
      unknown("a target that is not known", line_);
  }
  /// "256, 1, 1"
  void add_most_threads(std::string_view s) {
    entry_.max_threads = 1;
    for (const std::string_view extent : operands_of(s)) entry_.max_threads *= number(extent, line_);
  }

  void add_shared(std::string_view s, bool is_extern) {
    const Variable v = variable_of(s, line_);
    if (v.has_size == is_extern) unknown("shared memory whose size is said twice, or not at all", line_);
    if (is_extern) return of_launch_.push_back(v);
    const std::size_t offset = aligned(entry_.shared_bytes, v.alignment);
    entry_.shared.push_back({v.name, offset, v.bytes});
    entry_.shared_bytes = offset + v.bytes;
  }

  /// ".align 8 .b8 k_param_0[16]", ".u64 k_param_2" or ".u64 .ptr .global .align 1 k_param_0"
  void add_parameter(std::string_view s) {
    if (s.ends_with(',')) s.remove_suffix(1);
    std::string_view rest = s;
    const std::string_view type = take_word(rest);
    Variable v;
    if (take_word(rest) == ".ptr") {
      // An address says what it is of.
      if (type != ".u64" && type != ".b64") unknown("a parameter that is not known", line_);
      v = {s.substr(s.find_last_of(blank) + 1), 8, 8};
    } else {
      v = variable_of(s, line_);
    }
    if (!v.has_size || v.alignment > 16) unknown("a parameter that is not known", line_);
    const std::size_t offset = aligned(entry_.parameter_bytes, v.alignment);
    entry_.parameters.push_back({v.name, offset, v.bytes});
    entry_.parameter_bytes = offset + v.bytes;
  }

  void add_body(std::string_view code) {
    // A register that braces hide, as LLVM takes the upper half of a 64-bit one in PTX 7.0.
    constexpr std::string_view hides = "{ .reg .b32 tmp; ";
    if (code.starts_with(hides) && code.ends_with(" }")) {
      if (!has_hidden_) entry_.registers.push_back({"tmp", 32});
      has_hidden_ = true;
      code.remove_prefix(hides.size());
      code.remove_suffix(2);
    }
    if (code == "}") {
      in_body_ = false;
    } else if (code.starts_with('{') && code.ends_with('}')) {
      add_scope(trimmed(code.substr(1, code.size() - 2)));
    } else if (code.ends_with(':')) {
      entry_.lines.push_back({.label = code.substr(0, code.size() - 1)});
    } else if (!code.ends_with(';') || code.size() == 1) {
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
      const Variable v = variable_of(s, line_);
      if (!v.has_size) unknown("local memory that is not known", line_);
      const std::size_t offset = aligned(entry_.local_bytes, v.alignment);
      entry_.locals.push_back({v.name, offset, v.bytes});
      entry_.local_bytes = offset + v.bytes;
    } else if (kind == ".shared") {
      add_shared(s, false);
    } else {
      unknown("a declaration that is not known", line_);
    }
  }

  /// "{ .reg .b16 tmp; mov.b32 {tmp, %r1}, %r2; }": a register that nothing else reads, and an instruction.
  void add_scope(std::string_view s) {
    const std::size_t end = s.find(';');
    std::string_view declared = s.substr(0, end),
                     instruction = trimmed(s.substr(std::min(end, s.size() - 1) + 1));
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
    line.text = s;
    if (s.front() == '@') {
      std::string_view predicate = take_word(s).substr(1);
      if ((line.negated = predicate.starts_with('!'))) predicate.remove_prefix(1);
      line.predicate = predicate;
    }
    line.opcode = take_word(s);
    if (line.opcode.empty()) unknown("no instruction", line_);
    line.operands = operands_of(s);
    for (const std::string_view name : {"bar.", "barrier.", "shfl.", "vote.", "mma."})
      entry_.waits |= line.opcode.starts_with(name);
    entry_.lines.push_back(std::move(line));
  }

  Entry entry_;
  bool has_hidden_ = false;  // a register tmp
  std::string begun_;        // an instruction's lines so far
  std::vector<Variable> of_launch_;
  std::string_view line_;
  bool in_body_ = false;
};

}  // namespace

Entry parse(std::string_view text) { return Parser().run(text); }

}  // namespace kiln::ptx

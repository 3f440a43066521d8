// Makes the mutants of a kernel's text.
#include "mutants.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace kiln::ptx {
namespace {

using Changes = std::vector<std::pair<MutantKind, std::string>>;

std::optional<long> number(std::string_view s) {
  long value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (s.empty() || error != std::errc() || end != s.data() + s.size()) return {};
  return value;
}

std::string_view trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

/// "setp.lt.s32 %p1, %r1, 5;"
struct Instruction {
  std::string_view opcode;
  std::vector<std::string_view> parts;     ///< of the opcode: setp, lt, s32
  std::vector<std::string_view> operands;  ///< "{%r1, %r2}" and "[%rd1+8]" are one each

  explicit Instruction(std::string_view line) {
    opcode = line.substr(0, line.find_first_of(" \t;"));
    for (std::size_t begin = 0; begin < opcode.size();) {
      const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
      parts.push_back(opcode.substr(begin, end - begin));
      begin = end + 1;
    }
    const std::string_view rest = line.substr(opcode.size(), line.rfind(';') - opcode.size());
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= rest.size(); ++i) {
      if (i < rest.size() && (rest[i] != ',' || depth > 0)) {
        depth += (rest[i] == '{' || rest[i] == '[') - (rest[i] == '}' || rest[i] == ']');
        continue;
      }
      if (const std::string_view operand = trimmed(rest.substr(begin, i - begin)); !operand.empty())
        operands.push_back(operand);
      begin = i + 1;
    }
  }

  std::string_view name() const { return parts.front(); }
  std::string_view type() const { return parts.back(); }
  bool has(std::string_view part) const { return std::find(parts.begin(), parts.end(), part) != parts.end(); }
  /// Bits of a signed or unsigned type; 0: another type.
  unsigned integer_bits() const {
    if (type().size() < 2 || (type()[0] != 's' && type()[0] != 'u' && type()[0] != 'b')) return 0;
    return static_cast<unsigned>(number(type().substr(1)).value_or(0));
  }
  bool is_float() const { return type() == "f32" || type() == "f64"; }

  std::string with(std::size_t operand, const std::string& by) const {
    std::string text = std::string(opcode) + " ";
    for (std::size_t i = 0; i < operands.size(); ++i)
      text += (i > 0 ? ", " : "") + (i == operand ? by : std::string(operands[i]));
    return text + ";";
  }
  std::string exchanged(std::size_t a, std::size_t b) const {
    Instruction i = *this;
    std::swap(i.operands[a], i.operands[b]);
    return i.with(0, std::string(i.operands[0]));
  }
  std::string with_opcode(const std::string& by) const {
    Instruction i = *this;
    i.opcode = by;
    return i.with(0, std::string(operands[0]));
  }
};

/// Operand 2, a constant or a register, one more and one less.
void add_bounds(const Instruction& i, Changes& out) {
  const unsigned bits = i.integer_bits();
  if (i.operands.size() != 3 || (bits != 16 && bits != 32 && bits != 64)) return;
  const auto constant = number(i.operands[2]);
  if (!constant && i.operands[2][0] != '%') return;
  for (const long by : {1, -1}) {
    if (constant) {
      out.emplace_back(MutantKind::bound, i.with(2, std::to_string(*constant + by)));
      continue;
    }
    const std::string changed = fmt::format("%mutant{}_1", bits);
    out.emplace_back(
        MutantKind::bound,
        fmt::format("add.s{} {}, {}, {}; ", bits, changed, i.operands[2], by) + i.with(2, changed));
  }
}

void add_offsets(const Instruction& i, Changes& out) {
  if (i.operands.size() != 2 || i.parts.size() < 3) return;
  const bool is_shared = i.parts[1] == "shared";
  if (!is_shared && i.parts[1] != "global") return;
  const std::size_t which = i.operands[0].starts_with('[') ? 0 : 1;
  const std::string_view address = i.operands[which];
  const std::size_t close = address.find(']'), plus = std::min(address.find('+'), close);
  if (close == std::string_view::npos) return;
  const long offset = plus < close ? number(address.substr(plus + 1, close - plus - 1)).value_or(0) : 0;
  const long lanes = i.has("v2") ? 2 : i.has("v4") ? 4 : 1;
  const long element = lanes * static_cast<long>(number(i.type().substr(1)).value_or(32)) / 8;
  const long step = is_shared ? 4 : element;
  for (const long by : {step, -step})
    out.emplace_back(is_shared ? MutantKind::shared_offset : MutantKind::global_offset,
                     i.with(which, fmt::format("{}+{}]", address.substr(0, plus), offset + by)));
}

void add_distances(const Instruction& i, Changes& out) {
  if (i.operands.size() != 5) return;
  if (const auto by = number(i.operands[2]))
    for (const long changed : {*by / 2, *by * 2 % 32, (*by + 1) % 32})
      if (changed != *by) out.emplace_back(MutantKind::distance, i.with(2, std::to_string(changed)));
}

/// ".rn" as each other suffix, whatever the instruction has.
void add_roundings(const Instruction& i, Changes& out) {
  std::size_t at = 0;
  for (const std::string_view rounding : {".rn.", ".rni.", ".rmi.", ".rpi.", ".rzi."}) {
    at = i.opcode.find(rounding);
    if (at == std::string_view::npos) continue;
    const auto add = [&](std::string_view by) {
      if (by != rounding)
        out.emplace_back(MutantKind::rounding,
                         i.with_opcode(std::string(i.opcode).replace(at, rounding.size(), by)));
    };
    if (rounding == ".rn.") {
      for (const std::string_view by : {".rz.", ".rm.", ".rp.", ".", ".approx."}) add(by);
      // The device has these for paired32; codegen/cuda/ptx_check.cpp keeps them from other kernels.
      const bool may_flush = i.name() == "add" || i.name() == "fma";
      if (!may_flush) add(".rn.ftz.");
    } else {
      for (const std::string_view by : {".rni.", ".rmi.", ".rpi.", ".rzi."}) add(by);
    }
    return;
  }
}

void add_exchanges(const Instruction& i, Changes& out) {
  const auto exchange = [&](std::size_t a, std::size_t b) {
    if (b < i.operands.size() && i.operands[a] != i.operands[b])
      out.emplace_back(MutantKind::exchange, i.exchanged(a, b));
  };
  constexpr std::string_view symmetric[] = {"eq", "ne", "equ", "neu", "nan", "num"};
  const bool is_symmetric = i.name() == "setp" && std::find(std::begin(symmetric), std::end(symmetric),
                                                            i.parts[1]) != std::end(symmetric);
  if ((i.name() == "setp" && !is_symmetric) || i.name() == "sub" || i.name() == "div" || i.name() == "rem" ||
      i.name() == "selp")
    exchange(1, 2);
  else if (i.name() == "fma" || i.name() == "mad")
    exchange(2, 3);
}

/// The possible changes of the instruction.
Changes changes_of(const Instruction& i) {
  Changes out;
  const std::string_view name = i.name();
  if ((name == "bar" || name == "barrier") && i.has("sync")) out.emplace_back(MutantKind::barrier, "");
  if (name == "shfl") add_distances(i, out);
  if (name == "ld" || name == "st") add_offsets(i, out);
  if (name == "setp" || name == "min" || name == "max") add_bounds(i, out);
  add_exchanges(i, out);
  if (name == "fma" && i.has("rn")) {
    const auto& x = i.operands;
    const std::string type(i.type()), product = fmt::format("%mutant{}_1", type.substr(1));
    out.emplace_back(MutantKind::split, fmt::format("mul.rn.{0} {1}, {2}, {3}; add.rn.{0} {4}, {1}, {5};",
                                                    type, product, x[1], x[2], x[0], x[3]));
  }
  if (!i.operands.empty() && (i.is_float() || name == "cvt")) add_roundings(i, out);
  return out;
}

/// The same with registers that changes use.
constexpr std::string_view registers =
    ".reg .b16 %mutant16_<2>;\n.reg .b32 %mutant32_<2>;\n.reg .b64 %mutant64_<2>;\n";

constexpr std::size_t max_alike = 64, kept = 8;

/// Keeps what is evenly spaced of instructions that are alike.
void thin_out(std::vector<Mutant>& mutants) {
  const auto kind_of = [](const Mutant& m) {
    return std::pair(m.kind, m.from.substr(0, m.from.find_first_of(" \t;")));
  };
  std::map<std::pair<MutantKind, std::string>, std::vector<std::size_t>> places;
  for (const Mutant& m : mutants)
    if (auto& of_kind = places[kind_of(m)]; of_kind.empty() || of_kind.back() != m.begin)
      of_kind.push_back(m.begin);
  std::erase_if(mutants, [&](const Mutant& m) {
    const auto& of_kind = places[kind_of(m)];
    const std::size_t step = of_kind.size() > max_alike ? of_kind.size() / kept : 1;
    const auto at = std::find(of_kind.begin(), of_kind.end(), m.begin) - of_kind.begin();
    return static_cast<std::size_t>(at) % step != 0;
  });
}

}  // namespace

std::string Mutant::apply(const std::string& ptx) const {
  std::string text = ptx.substr(0, begin) + to + ptx.substr(end);
  // One instruction in a line, under the same predicate.
  const std::size_t second = to.find("; ");
  if (second != std::string::npos) {
    const std::size_t line = ptx.rfind('\n', begin) + 1;
    text.insert(begin + second + 1, "\n" + ptx.substr(line, begin - line));
  }
  const std::size_t body = text.find("\n{");
  return text.insert(text.find('\n', body + 1) + 1, registers);
}

std::vector<Mutant> mutants_of(const std::string& ptx) {
  std::vector<Mutant> out;
  std::size_t places[mutant_kind_count] = {};
  for (std::size_t begin = 0; begin < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', begin), ptx.size());
    std::size_t first = std::min(ptx.find_first_not_of(" \t", begin), end);
    // The text after a predicate.
    if (first < end && ptx[first] == '@')
      first = std::min(ptx.find_first_not_of(" \t", ptx.find_first_of(" \t", first)), end);
    const std::size_t last = ptx.find(';', first);
    if (first < end && ptx[first] >= 'a' && ptx[first] <= 'z' && last < end) {
      const std::string line = ptx.substr(first, last + 1 - first);
      std::size_t changes[mutant_kind_count] = {};
      for (auto& [kind, to] : changes_of(Instruction(line))) {
        const auto k = static_cast<std::size_t>(kind);
        if (changes[k] == 0) ++places[k];
        const char letter = static_cast<char>('a' + changes[k]++);
        out.push_back({kind, fmt::format("{}{}", places[k], letter), line, to, first, last + 1});
      }
    }
    begin = end + 1;
  }
  thin_out(out);
  return out;
}

}  // namespace kiln::ptx

// Attributes as text, and their checks against an operator's definition.
#include "ir/attrs.h"

#include "runtime/messages.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace kiln::ir {

void Attrs::set(std::string_view name, AttrValue value) {
  for (Item& item : items_) {
    if (item.name != name) continue;
    item.value = std::move(value);
    return;
  }
  items_.push_back({name, std::move(value)});
}

namespace {
thread_local AttrReads* reads = nullptr;
}
AttrReads::AttrReads() { reads = this; }
AttrReads::~AttrReads() { reads = nullptr; }

const AttrValue* Attrs::find(std::string_view name) const {
  if (reads && !op_.empty()) reads->read_.emplace(op_, name);
  for (const Item& item : items_)
    if (item.name == name) return &item.value;
  return nullptr;
}

namespace {
template <class T>
const T& get(const Attrs& attrs, std::string_view name) {
  const AttrValue* v = attrs.find(name);
  const T* held = v ? std::get_if<T>(v) : nullptr;
  if (!held) fail_internal("attribute '{}' is missing or of another kind", name);
  return *held;
}
}  // namespace

bool Attrs::boolean(std::string_view name) const { return get<bool>(*this, name); }
std::int64_t Attrs::integer(std::string_view name) const { return get<std::int64_t>(*this, name); }
double Attrs::real(std::string_view name) const { return get<double>(*this, name); }
const Shape& Attrs::tuple(std::string_view name) const { return get<Shape>(*this, name); }
std::vector<std::int64_t> Attrs::integers(std::string_view name) const {
  std::vector<std::int64_t> out;
  for (const auto& item : get<OptionalInts>(*this, name)) out.push_back(item.value());
  return out;
}
const std::string& Attrs::word(std::string_view name) const { return get<std::string>(*this, name); }
DType Attrs::dtype(std::string_view name) const {
  const auto d = dtype_from_name(word(name));
  if (!d) fail("'{}' is not a dtype", word(name));
  return *d;
}
bool Attrs::is_none(std::string_view name) const {
  const AttrValue* v = find(name);
  return !v || std::holds_alternative<None>(*v);
}

std::string python_float(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  const double magnitude = std::fabs(v);
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string s(buffer, end);
  if (plain && s.find('.') == std::string::npos) s += ".0";
  return s;
}

std::string to_text(const AttrValue& value) {
  if (std::holds_alternative<None>(value)) return "None";
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "True" : "False";
  if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&value)) return python_float(*d);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* t = std::get_if<Shape>(&value)) return t->str();
  const auto& list = std::get<OptionalInts>(value);
  std::string s = "(";
  for (std::size_t i = 0; i < list.size(); ++i)
    s += (i ? ", " : "") + (list[i] ? std::to_string(*list[i]) : std::string("None"));
  return s + (list.size() == 1 ? ",)" : ")");
}

namespace {

[[noreturn]] void expected(const char* what, std::string_view text) {
  fail("expected {}, got '{}'", what, text);
}

// from_chars accepts no leading plus.
std::string_view without_plus(std::string_view s) {
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  return s;
}
std::optional<std::int64_t> read_integer(std::string_view s) {
  s = without_plus(s);
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size() || s.empty()) return {};
  return v;
}
std::optional<double> read_real(std::string_view s) {
  s = without_plus(s);
  double v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (end != s.data() + s.size() || error == std::errc::invalid_argument) return {};
  // Too large or too small for a double: from_chars leaves v alone, strtod gives inf or the nearest.
  return error == std::errc() ? v : std::strtod(std::string(s).c_str(), nullptr);
}
std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}
OptionalInts read_list(std::string_view text, bool holes, std::size_t most = 64) {
  std::string_view s = trimmed(text);
  OptionalInts out;
  const auto item = [&](std::string_view part) {
    part = trimmed(part);
    if (holes && part == "None") return out.push_back({});
    if (part.size() > 1 && part.back() == 'L') part.remove_suffix(1);  // Python 2 wrote (3L, 3L)
    const auto v = read_integer(part);
    if (!v) expected("a tuple of integers, as (3, 3)", text);
    out.push_back(*v);
  };
  if (s.empty()) expected("a tuple of integers, as (3, 3)", text);
  const char open = s.front();
  if (open != '(' && open != '[') {
    item(s);
    return out;
  }
  if (s.size() < 2 || s.back() != (open == '(' ? ')' : ']')) expected("a tuple of integers, as (3, 3)", text);
  s = trimmed(s.substr(1, s.size() - 2));
  while (!s.empty()) {
    const std::size_t comma = s.find(',');
    item(s.substr(0, comma));
    if (out.size() > most) expected("a shorter tuple", text.substr(0, 40));
    if (comma == std::string_view::npos) break;
    s = trimmed(s.substr(comma + 1));
  }
  return out;
}

}  // namespace

AttrValue parse_attr(const AttrSpec& spec, std::string_view text) {
  if (text == "None" && (spec.or_none || spec.fallback == AttrValue(None{}))) return None{};
  switch (spec.kind) {
    case AttrKind::boolean:
      for (std::string_view yes : {"True", "true", "TRUE", "1"})
        if (text == yes) return true;
      for (std::string_view no : {"False", "false", "FALSE", "0"})
        if (text == no) return false;
      expected("True or False", text);
    case AttrKind::integer:
      if (const auto v = read_integer(text)) return *v;
      expected("an integer", text);
    case AttrKind::real:
      if (const auto v = read_real(text)) return *v;
      expected("a number", text);
    case AttrKind::tuple: {
      Shape s;
      const OptionalInts list = read_list(text, false);
      if (list.size() > static_cast<std::size_t>(Shape::max_rank)) expected("at most 8 extents", text);
      for (const auto& v : list) s.push_back(*v);
      return s;
    }
    case AttrKind::optional_ints:
      return read_list(text, true);
    case AttrKind::integers:
      return read_list(text, false, text.size());
    case AttrKind::word:
      if (std::find(spec.words.begin(), spec.words.end(), text) != spec.words.end()) return std::string(text);
      for (const auto& [word, place] : spec.elsewhere)
        if (word == text)
          fail(Mistake::attribute_value, "expected one of {}, got '{}', which is {}",
               fmt::join(spec.words, ", "), text, place);
      fail(Mistake::attribute_value, "expected one of {}, got '{}'", fmt::join(spec.words, ", "), text);
    case AttrKind::dtype:
      if (dtype_from_name(text)) return std::string(text);
      expected("a dtype", text);
    case AttrKind::text:
      return std::string(text);
  }
  fail_internal("attribute '{}' has no kind", spec.name);
}

}  // namespace kiln::ir

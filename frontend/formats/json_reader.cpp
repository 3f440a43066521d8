// A pull parser of JSON.
#include "frontend/formats/json_reader.h"

#include <charconv>

namespace kiln {
namespace {

void append_utf8(std::string& out, std::uint32_t c) {
  const auto byte = [&](std::uint32_t b) { out += static_cast<char>(b); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6);
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

bool surrogate(std::uint32_t c) { return c >= 0xD800 && c < 0xE000; }

}  // namespace

char JsonReader::peek() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
  }
  return '\0';
}

std::string JsonReader::found() const {
  if (at_ >= text_.size()) return "the file ends";
  const auto c = static_cast<unsigned char>(text_[at_]);
  if (c >= 0x20 && c < 0x7F) return fmt::format("there is '{}'", static_cast<char>(c));
  return fmt::format("there is the byte {:#04x}", c);
}

void JsonReader::expect(char c, std::string_view what) {
  if (peek() != c || at_ >= text_.size()) error("{} must begin with '{}', but {}", what, c, found());
  ++at_;
}

bool JsonReader::next(char close, bool& first, std::string_view what) {
  const char c = peek();
  if (c == close) {
    ++at_;
    return false;
  }
  if (!first) {
    if (c != ',') error("{} needs ',' or '{}' here, but {}", what, close, found());
    ++at_;
    peek();
  }
  first = false;
  return true;
}

std::string JsonReader::key(std::string_view what) {
  if (peek() != '"') error("{} needs a key in quotes here, but {}", what, found());
  std::string name = string("a key");
  if (peek() != ':') error("the key \"{}\" of {} needs ':' after it, but {}", name, what, found());
  ++at_;
  return name;
}

std::string JsonReader::string(std::string_view what) {
  if (peek() != '"') error("{} must be a string, but {}", what, found());
  const unsigned begin_line = line_;
  ++at_;
  std::string out;
  for (;;) {
    const std::size_t plain = text_.find_first_of("\"\\\n", at_);
    if (plain == std::string_view::npos) {
      line_ = begin_line;
      at_ = text_.size();
      error("the file ends inside a string");
    }
    out += text_.substr(at_, plain - at_);
    at_ = plain + 1;
    if (text_[plain] == '"') return out;
    if (text_[plain] == '\n') error("a string has no closing quote on its line");
    escape(out, what);
  }
}

void JsonReader::escape(std::string& out, std::string_view what) {
  const char c = at_ < text_.size() ? text_[at_++] : '\0';
  switch (c) {
    case '"':
    case '\\':
    case '/':
      out += c;
      return;
    case 'n':
      out += '\n';
      return;
    case 'r':
      out += '\r';
      return;
    case 't':
      out += '\t';
      return;
    case 'b':
      out += '\b';
      return;
    case 'f':
      out += '\f';
      return;
    case 'u':
      break;
    default:
      error("{} has an unknown escape after a backslash", what);
  }
  std::uint32_t code = hex4(what);
  if (surrogate(code)) {
    const bool pair = code < 0xDC00 && text_.substr(at_, 2) == "\\u";
    if (pair) at_ += 2;
    const std::uint32_t low = pair ? hex4(what) : 0;
    if (low < 0xDC00 || low >= 0xE000) error("{} has half of a surrogate pair in \\u", what);
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(out, code);
}

std::uint32_t JsonReader::hex4(std::string_view what) {
  const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
  std::uint32_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (problem != std::errc() || digits.size() != 4 || end != digits.data() + 4)
    error("{} has \\u without four hexadecimal digits", what);
  at_ += 4;
  return value;
}

std::int64_t JsonReader::integer(std::string_view what) {
  if (!at_digit()) error("{} must be a whole number, but {}", what, found());
  std::int64_t value = 0;
  const char* const begin = text_.data() + at_;
  const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (problem != std::errc()) error("{} is no whole number of 64 bits", what);
  at_ += static_cast<std::size_t>(end - begin);
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E'))
    error("{} must be a whole number", what);
  return value;
}

std::uint32_t JsonReader::index(std::string_view what) {
  const std::int64_t value = integer(what);
  if (value < 0 || value > 0xFFFFFFFF) error("{} is {}, not a number between 0 and 2^32 - 1", what, value);
  return static_cast<std::uint32_t>(value);
}

void JsonReader::skip(std::string_view what) {
  // Counts open brackets without matching them: a skipped value need not be well-formed.
  std::size_t open = 0;
  do {
    const char c = peek();
    if (at_ >= text_.size()) error("the file ends inside {}", what);
    if (c == '"') {
      string(what);
    } else if (c == '[' || c == '{') {
      ++open;
      ++at_;
    } else if (c == ']' || c == '}') {
      if (open == 0) error("{} has no value", what);
      --open;
      ++at_;
    } else if (open != 0 && (c == ',' || c == ':')) {
      ++at_;
    } else {
      const std::size_t begin = at_;
      while (at_ < text_.size() &&
             std::string_view(",:]}[{\" \t\r\n").find(text_[at_]) == std::string_view::npos)
        ++at_;
      if (at_ == begin) error("{} has no value", what);
    }
  } while (open != 0);
}

void JsonReader::end() {
  peek();
  if (at_ < text_.size()) error("something follows the end of the text: {}", found());
}

}  // namespace kiln

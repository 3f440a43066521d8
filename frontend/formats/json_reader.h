// A pull parser of JSON.
#pragma once
#include "runtime/messages.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

/// A pull parser of JSON. The caller reads the values it expects; there is no document tree. Recursion
/// follows the caller's nesting, so that no text can overflow the stack. Strings may hold any bytes, as
/// MXNet's do.
class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// The context ("node 3 'fc1'") for errors.
  void set_part(std::string part) { part_ = std::move(part); }
  const std::string& part() const { return part_; }
  unsigned line() const { return line_; }

  /// Calls on_key(key) for each key; it must read the value.
  template <class F>
  void object(std::string_view what, F on_key) {
    expect('{', what);
    bool first = true;
    while (next('}', first, what)) on_key(key(what));
  }
  /// Calls on_item() for each item; it must read it.
  template <class F>
  void array(std::string_view what, F on_item) {
    expect('[', what);
    bool first = true;
    while (next(']', first, what)) on_item();
  }
  std::string string(std::string_view what);
  /// An integer.
  std::int64_t integer(std::string_view what);
  /// An integer between 0 and 2^32 - 1.
  std::uint32_t index(std::string_view what);
  /// Whether the next value is a string.
  bool at_string() { return peek() == '"'; }
  bool at_digit() { return (peek() >= '0' && peek() <= '9') || peek() == '-'; }
  bool at_array() { return peek() == '['; }
  bool at_minus() { return peek() == '-'; }
  bool at_null() {
    peek();
    return text_.substr(at_).starts_with("null");
  }
  /// Skips a value of any kind.
  void skip(std::string_view what);
  /// Throws unless only white space follows.
  void end();

  template <class... A>
  [[noreturn]] void error(fmt::format_string<A...> text, A&&... args) const {
    error_at(line_, text, std::forward<A>(args)...);
  }
  template <class... A>
  [[noreturn]] void error_at(unsigned line, fmt::format_string<A...> text, A&&... args) const {
    fail(Mistake::damaged_file, "{}, line {}: {}{}", file_, line, part_.empty() ? "" : part_ + ": ",
         compose(text, std::forward<A>(args)...).c_str());
  }

 private:
  char peek();
  void expect(char c, std::string_view what);
  bool next(char close, bool& first, std::string_view what);
  std::string key(std::string_view what);
  void escape(std::string& out, std::string_view what);
  std::uint32_t hex4(std::string_view what);
  std::string found() const;

  std::string_view text_;
  const std::string& file_;
  std::string part_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
};

}  // namespace kiln

// Text in memory of a fixed size.
#pragma once
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace kiln {

/// A text in UTF-8 that may have been cut off, without the part of a character at its end.
constexpr std::string_view whole_characters(std::string_view text) {
  std::size_t tail = 0;  // bytes that continue the last character
  while (tail < text.size() && tail < 3 &&
         (static_cast<unsigned char>(text[text.size() - 1 - tail]) & 0xC0U) == 0x80U)
    ++tail;
  if (tail == text.size()) return text;
  const auto lead = static_cast<unsigned char>(text[text.size() - 1 - tail]);
  const std::size_t bytes = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : lead >= 0xC0U ? 2 : 1;
  return tail + 1 < bytes ? text.substr(0, text.size() - 1 - tail) : text;
}

/// A message for a reader that may not allocate: at most 511 bytes, the rest is cut off. Thread rule: one
/// thread at a time.
class FixedText {
 public:
  FixedText() { clear(); }
  void clear() { text_[size_ = 0] = '\0'; }
  /// `arguments` are numbers and std::string_view.
  template <class... A>
  FixedText& add(fmt::format_string<A...> text, A&&... arguments) {
    char* const end = text_.data() + size_;
    const auto made = fmt::format_to_n(end, max_bytes - size_, text, std::forward<A>(arguments)...);
    const std::size_t room = max_bytes - size_;
    size_ += made.size <= room ? made.size : whole_characters({end, room}).size();
    text_[size_] = '\0';
    return *this;
  }
  const char* c_str() const { return text_.data(); }
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  static constexpr std::size_t max_bytes = 511;
  std::array<char, max_bytes + 1> text_;
  std::size_t size_ = 0;
};

}  // namespace kiln

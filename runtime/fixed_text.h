// Text in memory of a fixed size.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace kiln {

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
    size_ += std::min(made.size, max_bytes - size_);
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

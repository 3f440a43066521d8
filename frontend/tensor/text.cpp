// Text helpers for Gluon's messages and printed forms.
#include "frontend/tensor/text.h"

#include "runtime/fail.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <regex>

namespace kiln::detail {

std::string indent(const std::string& text, int blanks) {
  std::string out;
  for (char c : text) {
    out += c;
    if (c == '\n') out.append(static_cast<std::size_t>(blanks), ' ');
  }
  return out;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_exported_name(std::string_view name) { return name.starts_with("arg:") || name.starts_with("aux:"); }
std::string name_without_kind(const std::string& name) {
  return is_exported_name(name) ? name.substr(4) : name;
}

std::string brief_list(const std::vector<std::string>& names) {
  constexpr std::size_t head = 3, tail = 4, limit = 7;
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names.size() > limit && i == head) {
      i = names.size() - tail;
      out += ", ...";
    }
    if (!out.empty()) out += ", ";
    out += "'" + names[i] + "'";
  }
  return out;
}

std::string shapes_of(std::span<const Tensor> tensors) {
  std::string out;
  for (const Tensor& t : tensors) out += (out.empty() ? "" : ", ") + t.shape().str();
  return out;
}

std::string type_name_of(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                    std::free);
  const std::string name = status == 0 ? text.get() : mangled;
  return name.starts_with("kiln::") ? name.substr(6) : name;
}

std::string class_name_of(std::string name) {
  if (const auto args = name.find('<'); args != std::string::npos) name.resize(args);
  if (const auto scope = name.rfind("::"); scope != std::string::npos) name.erase(0, scope + 2);
  return name;
}

struct NamePattern::Impl {
  std::regex regex;
};

NamePattern::NamePattern(const std::string& pattern) : impl_(nullptr) {
  try {
    impl_ = new Impl{std::regex(pattern, std::regex::ECMAScript | std::regex::optimize)};
  } catch (const std::regex_error& e) {
    fail("'{}' is no regular expression: {}", pattern, e.what());
  }
}
NamePattern::~NamePattern() { delete impl_; }

bool NamePattern::matches(const std::string& name) const {
  return std::regex_search(name, impl_->regex, std::regex_constants::match_continuous);
}

}  // namespace kiln::detail

// The texts of errors.
#include "runtime/fail.h"

#include <string_view>
#include <utility>

namespace kiln {
namespace {

std::string complete(std::string message, Error::Kind kind) {
  constexpr std::string_view blame = "\n(This is a defect of Kiln, not of the program that called it.)";
  if (kind == Error::Kind::internal && !message.ends_with(blame)) message += blame;
  return message;
}

}  // namespace

Error::Error(std::string message, Kind kind)
    : std::runtime_error(complete(std::move(message), kind)), kind_(kind) {}
Error::~Error() = default;

std::string shortened(std::string_view text) {
  constexpr std::size_t longest = 400, tail = 60;
  if (text.size() <= longest) return std::string(text);
  // Cuts only between UTF-8 characters.
  const auto inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  std::size_t head = longest - tail, rest = text.size() - tail;
  while (head > 0 && inside(head)) --head;
  while (rest < text.size() && inside(rest)) ++rest;
  return fmt::format("{} ... {} bytes ... {}", text.substr(0, head), rest - head, text.substr(rest));
}

std::string SourceLocation::str() const {
  if (!known()) return "";
  const auto slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name + ":" + std::to_string(line);
}

}  // namespace kiln

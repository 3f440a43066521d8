// The texts of errors.
#include "runtime/fail.h"

#include <string_view>
#include <utility>

namespace kiln {
namespace {

/// Where a line has the number of its message, "... [KL0101]"; 0: nowhere.
std::size_t place_of_code(std::string_view line) {
  for (std::size_t at = line.rfind(" [KL"); at != std::string_view::npos && at > 0;
       at = line.rfind(" [KL", at - 1)) {
    const std::string_view code = line.substr(at);
    if (code.size() >= 9 && code[8] == ']' &&
        code.substr(4, 4).find_first_not_of("0123456789") == std::string_view::npos)
      return at + 2;
  }
  return 0;
}

std::string_view first_line(std::string_view message) { return message.substr(0, message.find('\n')); }

/// Moves the number to the end of the first line, where a text was added to a message that has one.
void move_code(std::string& message) {
  const std::size_t line = first_line(message).size(), at = place_of_code({message.data(), line});
  if (at == 0 || at + 7 == line) return;
  const std::string code = message.substr(at - 2, 9);
  message.insert(line, code);
  message.erase(at - 2, code.size());
}

std::string complete(std::string message, Error::Kind kind) {
  constexpr std::string_view blame = "\n(This is a defect of Kiln, not of the program that called it.)";
  if (kind == Error::Kind::internal && !message.ends_with(blame)) message += blame;
  move_code(message);
  return message;
}

}  // namespace

Error::Error(std::string message, Kind kind)
    : std::runtime_error(complete(std::move(message), kind)),
      kind_(kind),
      code_at_(place_of_code(first_line(what()))) {}
Error::~Error() = default;
std::string_view Error::code() const noexcept {
  return code_at_ == 0 ? std::string_view() : std::string_view(what() + code_at_, 6);
}

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

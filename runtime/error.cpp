#include <kiln/error.h>

#include <utility>

namespace kiln {
namespace {

std::string complete(std::string message, Error::Kind kind) {
  if (kind == Error::Kind::internal)
    message += "\n(This is a defect of Kiln, not of the program that called it.)";
  return message;
}

}  // namespace

Error::Error(std::string message, Kind kind)
    : std::runtime_error(complete(std::move(message), kind)), kind_(kind) {}

std::string SourceLocation::str() const {
  if (!known()) return "";
  const auto slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name + ":" + std::to_string(line);
}

}  // namespace kiln

#pragma once
#include "runtime/executable.h"

#include <kiln/error.h>

/// Steps that look at values and end the call where they are not allowed.
namespace kiln {

/// What such a step throws. The message begins with the line of the program that the step was compiled for;
/// whoever runs code that several lines share replaces it.
class ValueError final : public Error {
 public:
  ValueError(const std::string& line, std::string message);
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check);

}  // namespace kiln

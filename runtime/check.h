#pragma once
#include "runtime/executable.h"

#include <kiln/error.h>

/// Steps that check values and end the call if one is out of range.
namespace kiln {

class Accelerator;

/// The error of such a step. The message begins with the program line that the step was compiled for. A
/// caller whose code is shared by several lines replaces that line.
class ValueError final : public Error {
 public:
  ValueError(const std::string& line, std::string message);
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

/// `accelerator`: that of the indices; null for the CPU.
std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check, Accelerator* accelerator);

}  // namespace kiln

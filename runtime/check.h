// Steps that check values.
#pragma once
#include "runtime/host_memory.h"
#include "runtime/linked_plan.h"

#include <kiln/error.h>

#include <memory>
#include <string>

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

// For indices in the CPU's memory, and in an accelerator's.
std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check, HostMemory& memory);
std::unique_ptr<const Control> make_bounds_check(const BoundsCheck& check, Accelerator& accelerator);

}  // namespace kiln

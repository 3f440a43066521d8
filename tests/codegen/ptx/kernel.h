// A module's kernel as code of this machine.
#pragma once
#include "ptx_text.h"
#include "thread.h"

#include <memory>
#include <string>

namespace kiln::ptx {

/// A module's kernel as code of this machine.
struct Kernel {
  std::string text;
  Entry entry;  // views of the text
  void (*run)(Thread*) = nullptr;
  std::size_t max_shared = std::size_t{48} << 10;  ///< static and of a launch; cuFuncSetAttribute raises it
  struct Code;
  std::shared_ptr<Code> code;
};

/// Throws std::runtime_error for PTX that is not known or not possible, with the line.
std::unique_ptr<Kernel> load_kernel(const char* image);

}  // namespace kiln::ptx

// The parameters of a kernel's entry.
#pragma once
#include "runtime/accelerator.h"
#include "runtime/cuda/entry_arguments.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln::nvidia {

/// The parameters of a kernel's entry for one launch, as the driver takes them: the address of each.
class LaunchParameters {
 public:
  explicit LaunchParameters(const LaunchArguments& a)
      : extent_(a.extent),
        scratch_bytes_(a.scratch_bytes),
        operands_(a.operands.size()),
        by_value_(takes_arrays_by_value(a.operands.size(), a.params.size())) {
    for (void* const p : a.operands) arrays_.push_back(reinterpret_cast<std::uint64_t>(p));
    for (const std::int64_t p : a.params) arrays_.push_back(static_cast<std::uint64_t>(p));
    if (a.params.empty()) arrays_.push_back(0);
  }

  /// Bytes of the operands' addresses and the parameters, if the kernel reads them from memory; else 0.
  std::size_t array_bytes() const { return by_value_ ? 0 : 8 * arrays_.size(); }
  const std::uint64_t* arrays() const { return arrays_.data(); }

  /// `memory` has the arrays, if the kernel reads them there. Valid as long as this.
  void** list(std::byte* memory) {
    memory_ = memory;
    if (by_value_)
      list_ = {arrays_.data(), arrays_.data() + operands_};
    else
      list_ = {&memory_};
    list_.push_back(&extent_);
    if (scratch_bytes_ > 0) list_.push_back(&scratch_bytes_);
    return list_.data();
  }

 private:
  std::int64_t extent_, scratch_bytes_;
  std::size_t operands_;
  bool by_value_;
  std::byte* memory_ = nullptr;
  std::vector<std::uint64_t> arrays_;
  std::vector<void*> list_;
};

}  // namespace kiln::nvidia

// The arguments, random numbers and addresses of one call.
#pragma once
#include "runtime/linked_plan.h"
#include "runtime/small_array.h"
#include "runtime/storage.h"

#include <cstddef>
#include <cstdint>

/// One call of a plan: its arguments, its random numbers, and the addresses that it works with.
namespace kiln {

/// An argument of a call: a storage, and the offset of the array's first element.
struct Argument {
  Storage* storage;
  std::size_t offset = 0;  ///< bytes
};

/// Seed and counter at the start of a call's random numbers; 16 bytes that kernels read as two u64.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t counter = 0;
};

/// The addresses of one call. A frame has them, so that a call that is repeated allocates none.
struct CallAddresses {
  explicit CallAddresses(const LinkedPlan& plan)
      : bases(plan.base_count()),
        tables(plan.max_operands() + plan.table_slots()),
        inputs_in_order(plan.writes_in_place() ? plan.plan().inputs.size() : 0) {}
  SmallArray<std::byte*, 64> bases;               ///< in the order of LinkedPlan
  SmallArray<TableSlot, 32> tables;               ///< the operands of a launch, then the tables of its step
  SmallArray<std::uint32_t, 64> inputs_in_order;  ///< to find inputs that overlap
  std::byte* saved = nullptr;                     ///< the saved part of the arena, if the plan has one
};

}  // namespace kiln

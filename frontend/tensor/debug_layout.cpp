// The places of an array's members, which debuggers read from the library (tools/debug).
//
// Programs see kiln::detail::Array as an incomplete type, and a release of the library has no debug
// information. A debugger therefore finds the elements of a Tensor by this table. It calls no function of the
// process, so that it also works on a core dump.
#include "frontend/tensor/array.h"

#include <kiln/export.h>

#include <cstddef>
#include <cstdint>

// Arrays and nodes have no standard layout. GCC and Clang compute the offsets of their members all the same:
// no base is virtual.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace kiln {

/// Offsets in bytes. tools/debug/kiln_values.py has the same members in the same order, and knows `version`:
/// increment it with every other change than a member at the end.
struct DebugLayout {
  using Array = detail::Array;

  std::uint32_t version = 1;
  std::uint32_t members = 6;  ///< the number of offsets
  // From the beginning of an Array:
  std::uint32_t data = offsetof(Array, buffer_) + offsetof(Buffer, data_);  ///< the address of the elements
  std::uint32_t device = offsetof(Array, buffer_) + offsetof(Buffer, device_);
  std::uint32_t shape = offsetof(Array, shape);                                 ///< of the whole array
  std::uint32_t node = offsetof(Array, value) + offsetof(ir::Entry, node);      ///< null: not traced
  std::uint32_t output = offsetof(Array, value) + offsetof(ir::Entry, output);  ///< of the node
  // From the beginning of a Node:
  std::uint32_t node_name = offsetof(ir::Node, name);
};

extern "C" {
/// Found by its name. The table of the loaded library describes its arrays.
extern KILN_API const DebugLayout kiln_debug_layout;
constinit const DebugLayout kiln_debug_layout;
}

}  // namespace kiln
#pragma GCC diagnostic pop

// How views are recorded: the interface that a trace and the tape implement, each for its arrays.
#pragma once
#include "frontend/call/op_call.h"

#include <cstdint>
#include <source_location>

namespace kiln {

/// Records the operators that cut a view out of its array, and the operators by which a write through a view
/// replaces a part of the array. A trace records nodes, the tape entries; both record the same operators
/// (frontend/view). A separate value is a handle with an alias number (frontend/tensor/view_scope.h).
/// Immutable; any thread may use it.
class ViewRecorder {
 public:
  /// Records an operator that changes layout alone; its only output.
  virtual Tensor record(const OpCall& call) const = 0;
  /// A tensor of the same shape that no gradient reaches.
  virtual Tensor constant(const Tensor& t, std::source_location where) const = 0;
  /// Whether the handle itself is a separate value here, which no write of its array has ended.
  virtual bool has_own_value(const Tensor& t) const = 0;
  /// A handle of the same view as `t` that is a separate value in scopes of `call`. Its value is the present
  /// value of `of`. Returns `t` itself if values are not recorded.
  virtual Tensor own_value(const Tensor& t, const Tensor& of, std::uint64_t call,
                           std::source_location where) const = 0;
  /// Replaces the elements of `view` by `value`, which differs from the present ones only in the elements of
  /// `part`, a view within `view`.
  virtual void write(const Tensor& view, const Tensor& part, const Tensor& value,
                     std::source_location where) const = 0;

 protected:
  ~ViewRecorder() = default;
};

const ViewRecorder& traced_views();  ///< of traced arrays: frontend/trace
const ViewRecorder& taped_views();   ///< of concrete arrays: frontend/autograd

inline const ViewRecorder& recorder_of(const Tensor& t) {
  return detail::TensorAccess::array(t)->traced() ? traced_views() : taped_views();
}

}  // namespace kiln

// How views are recorded: the interface that a trace and the tape implement, each for its arrays.
#pragma once
#include "frontend/call/op_call.h"

#include <cstdint>
#include <source_location>

namespace kiln {

/// Records how views are cut out of their arrays, and how writes through them replace parts of these. The
/// definition of a view, and the operators, are the same for both (frontend/view). Immutable; any thread may
/// use it.
class ViewRecorder {
 public:
  /// The only output of an operator that changes layout.
  virtual Tensor record(const OpCall& call) const = 0;
  /// A tensor of the same shape that no gradient reaches.
  virtual Tensor constant(const Tensor& t, std::source_location where) const = 0;
  /// Whether the handle itself is a separate value here, which no write of its array has ended.
  virtual bool has_own_value(const Tensor& t) const = 0;
  /// A handle like `t` that is a separate value in scopes of `call`, with the value that `of` has here. `t`
  /// itself if values are not recorded.
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

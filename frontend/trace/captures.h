#pragma once
#include "frontend/trace/trace.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace kiln {

/// A variable of a trace.
struct TracedVariable {
  ir::NodePtr variable;
  Tensor traced;  ///< all of its array, which holds the value of the moment

  /// With the shape of `type` where that is known, else with its dtype alone.
  static TracedVariable make(Trace& trace, const std::string& name, const TensorType& type, bool shape_known,
                             const Trace::HiddenAttrs& hidden_attrs = {});
  /// Whether the program wrote into its array.
  bool is_written() const;
};

/// A variable that stands for an array from outside of the trace.
struct Captured : TracedVariable {
  Tensor tensor;  ///< all of that array
  bool parameter = false;
};

/// The arrays that a trace takes from outside: each is one variable, however many views of it are used.
class Captures {
 public:
  const std::vector<Captured>& list() const { return list_; }
  /// Null for an array that is none of them.
  const Captured* find(const detail::Array* array) const;
  const Captured& add(Captured captured);

  /// A concrete tensor as the same view of its variable in `trace`, whose captures these are; see
  /// Trace::capture.
  Tensor take(Trace& trace, const Tensor& concrete, const std::string& name, bool parameter,
              const Trace::HiddenAttrs& hidden_attrs);
  bool has_written(const detail::Array* array) const;

 private:
  std::vector<Captured> list_;
  std::unordered_map<const detail::Array*, std::size_t> index_;
};

}  // namespace kiln

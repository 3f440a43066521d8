// Aliasing of the results of loops and branches.
#pragma once
#include "frontend/trace/body_trace.h"

#include <optional>
#include <span>
#include <vector>

/// Aliasing of the results of loops and branches. In eager mode a body may return a captured tensor, or one
/// tensor twice: these results share memory. A recorded node has values only. So the handles of its results
/// get the aliasing of eager mode, and a later write has the same effect.
namespace kiln {

/// The aliasing of one body's results.
struct BodyAliases {
  struct Result {
    Shape shape;
    /// Certain: the result is this captured tensor, or this part of an earlier result.
    Tensor outside = {};
    struct Part {
      std::size_t result;
      std::int64_t offset;  ///< in elements
      Shape shape;
      bool operator==(const Part&) const = default;
    };
    std::optional<Part> part = {};
    /// The result is this part of a loop-carried state at the start of the step; earlier steps determine its
    /// array.
    std::optional<Part> state = {};
    /// Possible: captured tensors and earlier results that it may alias, depending on values.
    std::vector<Tensor> may_be_outside = {};
    std::vector<std::size_t> may_be_result = {};

    /// Whether it aliases at most a state at the start of the step.
    bool is_alone() const {
      return !outside.defined() && !part && may_be_outside.empty() && may_be_result.empty();
    }
  };
  std::vector<Result> results;
  bool any() const;  ///< whether some result aliases an array
};

/// The aliasing of `results` after the body ran. `states`: the loop-carried values at the start of the step.
BodyAliases aliases_of(BodyTrace& body, std::span<const Tensor> results, std::span<const Tensor> states = {});

/// The aliasing of the final states after `steps` >= 1 steps of a body with these aliases. A state may pass
/// through others, one step each.
BodyAliases after_steps(const BodyAliases& step, std::int64_t steps);
/// The distinct aliasings after 1, 2, ... up to `most` steps.
std::vector<BodyAliases> after_any_steps(const BodyAliases& step, std::int64_t most);

/// Applies the aliasing of its bodies to a node's results. `ways`: the alternatives chosen by values. If
/// these differ, or with `may_not_run` (a loop of zero steps returns its variables), the recording keeps the
/// possible aliases (PossibleAliases). `own`: a result that aliases another array is a separate value.
void share_arrays(std::span<Tensor> results, std::span<const BodyAliases> ways, bool may_not_run, bool own);

}  // namespace kiln

#pragma once
#include "frontend/trace/body_trace.h"

#include <optional>
#include <span>
#include <vector>

/// Results of loops and branches that are not new arrays. The functions of a program return tensors, and one
/// may be a tensor from outside, or another result again; a recorded node has values alone. So that a write
/// means the same in both, the program's handles of the node's results are made to share what its own would
/// share.
namespace kiln {

/// What the results of one body are besides new arrays.
struct BodyAliases {
  struct Result {
    Shape shape;
    /// What values cannot change: it is this tensor from outside, or this part of an earlier result.
    Tensor outside = {};
    struct Part {
      std::size_t result;
      std::int64_t offset;  ///< elements behind its beginning
      Shape shape;
      bool operator==(const Part&) const = default;
    };
    std::optional<Part> part = {};
    /// It is this part of a state of the loop, as the step got it: which array that is, the steps before
    /// tell.
    std::optional<Part> state = {};
    /// What they can: outside tensors, and earlier results, that it may share an array with.
    std::vector<Tensor> may_be_outside = {};
    std::vector<std::size_t> may_be_result = {};

    /// Whether it shares its array with nothing, but the state that it was before.
    bool is_alone() const {
      return !outside.defined() && !part && may_be_outside.empty() && may_be_result.empty();
    }
  };
  std::vector<Result> results;
  bool any() const;  ///< whether some result shares its array
};

/// Of a body that has run, as `results` are then. `states`: what a loop's step got.
BodyAliases aliases_of(BodyTrace& body, std::span<const Tensor> results, std::span<const Tensor> states = {});

/// Of the states that a loop leaves after so many steps, at least one, of a body with these: a state may
/// reach its array by way of others, one step later each.
BodyAliases after_steps(const BodyAliases& step, std::int64_t steps);
/// The different ones of 1, 2, ... and at most so many steps.
std::vector<BodyAliases> after_any_steps(const BodyAliases& step, std::int64_t most);

/// Makes a node's results share arrays as those of its bodies do. `ways`: those of which values choose one.
/// Where these differ, or `may_not_run` (a loop of no steps gives its variables back), values decide: the
/// recording notes that (PossibleAliases).
void share_arrays(std::span<Tensor> results, std::span<const BodyAliases> ways, bool may_not_run);

}  // namespace kiln

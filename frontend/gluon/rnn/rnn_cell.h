// Helpers of recurrent cells.
#pragma once
#include "frontend/gluon/block/block_state.h"

#include <kiln/rnn.h>

#include <optional>
#include <string_view>

namespace kiln::detail {

/// The per-thread state of a cell between steps.
struct CellMemory {
  int step = -1;               // number of the latest step, in node names: "t0_"
  int states = -1;             // number of the latest state of begin_state()
  std::uint64_t reset_in = 0;  // the trace in which reset() was called; 0: outside of all
  std::vector<Tensor> kept;
  int modifier_calls = 0;  // of a modifier that uses the cell, open on this thread
};

struct CellState {
  bool modified = false;  // a modifier holds the cell
};

/// Internal access to a cell.
struct CellAccess {
  /// This thread's state of the cell.
  static CellMemory& memory(const rnn::RecurrentCell& cell);
  static bool modified(const rnn::RecurrentCell& cell) { return cell.cell_->modified; }
  static void set_modified(const rnn::RecurrentCell& cell) { cell.cell_->modified = true; }
  static Block& block(rnn::RecurrentCell& cell) { return cell.block(); }
  static bool keeps_tensors(const rnn::RecurrentCell& cell) { return cell.keeps_tensors(); }
  static rnn::UnrollOutput unroll(rnn::RecurrentCell& cell, std::int64_t length, const rnn::Sequence& inputs,
                                  const rnn::UnrollOptions& options) {
    return cell.unroll(length, inputs, options);
  }
};

/// Allows this thread to use a modifier's base cell during its lifetime.
class Unmodified {
 public:
  explicit Unmodified(const rnn::RecurrentCell& cell) : cell_(cell) {
    ++CellAccess::memory(cell).modifier_calls;
  }
  ~Unmodified() { --CellAccess::memory(cell_).modifier_calls; }
  Unmodified(const Unmodified&) = delete;

 private:
  const rnn::RecurrentCell& cell_;
};

/// The child cells of a block. The result keeps them alive, even if a step changes the block.
std::vector<std::shared_ptr<rnn::RecurrentCell>> cells_of(const Block& block);

/// Throws for a cell held by a modifier.
void check_not_modified(const rnn::RecurrentCell& cell);

/// The tensor kept in slot `i` by an earlier step; undefined at the first. Throws while recording a network
/// that did not reset the cell: the recording would bake in tensors of earlier eager steps.
Tensor recall(const Block& block, const rnn::RecurrentCell& cell, std::size_t i);
void keep(const rnn::RecurrentCell& cell, std::size_t i, const Tensor& t);

/// Initial states from `options.func`, or zeros.
std::vector<Tensor> make_states(const rnn::RecurrentCell& cell, const Block& block,
                                const std::vector<rnn::StateInfo>& infos,
                                const rnn::BeginStateOptions& options);

/// A state's shape for an unknown batch: extents 0 in the form of the program's mode.
Shape open_shape(const rnn::StateInfo& info);

/// Marks the batch of zeros recorded as initial states as open, as in MXNet's files. `infos`: the states of
/// the cell or layer, without a batch.
void mark_open_batch(const std::vector<Tensor>& states, const std::vector<rnn::StateInfo>& infos);

/// The initial states of unrolling.
std::vector<Tensor> first_states(rnn::RecurrentCell& cell, const rnn::Sequence& inputs,
                                 const rnn::UnrollOptions& options);

// Sequences (rnn_sequence.cpp). `axis` is the time axis.

/// The axes of time and batch in a layout such as "NTC". Throws if one is missing.
struct SequenceLayout {
  explicit SequenceLayout(std::string_view layout);
  int time, batch;
};
/// Throws if the sequence is known not to have `length` steps.
void check_length(std::int64_t length, const rnn::Sequence& inputs, const rnn::UnrollOptions& options);
std::vector<Tensor> to_steps(std::int64_t length, const rnn::Sequence& sequence, int axis);
Tensor to_tensor(const rnn::Sequence& sequence, int axis);
/// Converts to one tensor, to a list, or not at all.
rnn::Sequence arranged(std::int64_t length, const rnn::Sequence& sequence, int axis,
                       std::optional<bool> merge);
/// Sets elements beyond the end of each sequence to zero.
rnn::Sequence masked(const rnn::Sequence& sequence, std::int64_t length, const Tensor& valid_length, int axis,
                     bool merge);
/// Reverses time; with valid lengths, the valid steps of each sequence.
std::vector<Tensor> reversed(const std::vector<Tensor>& steps, const Tensor& valid_length);
/// Whether all tensors are symbols outside of any trace.
bool any_symbol(const rnn::Sequence& inputs, const rnn::UnrollOptions& options);

}  // namespace kiln::detail

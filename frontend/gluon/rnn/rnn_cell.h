#pragma once
#include "frontend/gluon/block/block_state.h"

#include <kiln/rnn.h>

#include <optional>
#include <string_view>

namespace kiln::detail {

/// What one thread's steps of a cell leave behind.
struct CellMemory {
  int step = -1;               // number of the latest step: names of nodes begin with "t0_"
  int states = -1;             // number of the latest state that begin_state() made
  std::uint64_t reset_in = 0;  // the trace in which reset() was called; 0: outside of all
  std::vector<Tensor> kept;
};

struct CellState {
  bool modified = false;  // a modifier holds the cell
};

/// The library's own door into a cell.
struct CellAccess {
  /// This thread's memory of the cell.
  static CellMemory& memory(const rnn::RecurrentCell& cell);
  static bool modified(const rnn::RecurrentCell& cell) { return cell.cell_->modified; }
  static void set_modified(const rnn::RecurrentCell& cell, bool modified) { cell.cell_->modified = modified; }
  static Block& block(rnn::RecurrentCell& cell) { return cell.block(); }
  static bool keeps_tensors(const rnn::RecurrentCell& cell) { return cell.keeps_tensors(); }
  static rnn::UnrollOutput unroll(rnn::RecurrentCell& cell, std::int64_t length, const rnn::Sequence& inputs,
                                  const rnn::UnrollOptions& options) {
    return cell.unroll(length, inputs, options);
  }
};

/// While it lives, the cell inside a modifier may be used.
class Unmodified {
 public:
  explicit Unmodified(const rnn::RecurrentCell& cell) : cell_(cell) { CellAccess::set_modified(cell, false); }
  ~Unmodified() { CellAccess::set_modified(cell_, true); }
  Unmodified(const Unmodified&) = delete;

 private:
  const rnn::RecurrentCell& cell_;
};

/// The children of a block of cells. They live as long as the result, whatever a step does to the block.
std::vector<std::shared_ptr<rnn::RecurrentCell>> cells_of(const Block& block);

/// Refuses to go on for a cell that a modifier holds.
void check_not_modified(const rnn::RecurrentCell& cell);

/// What the cell kept in place `i` at an earlier step; undefined at the first. Throws while a network is
/// recorded that did not reset the cell: the recording would not see what eager steps before it kept.
Tensor recall(const Block& block, const rnn::RecurrentCell& cell, std::size_t i);
void keep(const rnn::RecurrentCell& cell, std::size_t i, const Tensor& t);

/// States by `options.func`, or zeros.
std::vector<Tensor> make_states(const rnn::RecurrentCell& cell, const Block& block,
                                const std::vector<rnn::StateInfo>& infos,
                                const rnn::BeginStateOptions& options);

/// A state's shape for a batch that is not known: its extents 0 as the mode of the program writes them.
Shape open_shape(const rnn::StateInfo& info);

/// Lets files say of zeros that were recorded as first states that their batch is open, as MXNet's files do.
/// `infos`: of the cell or layer, for no batch.
void mark_open_batch(const std::vector<Tensor>& states, const std::vector<rnn::StateInfo>& infos);

/// The states that unrolling begins with.
std::vector<Tensor> first_states(rnn::RecurrentCell& cell, const rnn::Sequence& inputs,
                                 const rnn::UnrollOptions& options);

// Sequences (rnn_sequence.cpp). `axis` is that of time.

/// Where time and batch are in a layout such as "NTC". Throws when one is missing.
struct SequenceLayout {
  explicit SequenceLayout(std::string_view layout);
  int time, batch;
};
/// Throws when the sequence has not `length` steps, as far as that can be seen.
void check_length(std::int64_t length, const rnn::Sequence& inputs, const rnn::UnrollOptions& options);
std::vector<Tensor> to_steps(std::int64_t length, const rnn::Sequence& sequence, int axis);
Tensor to_tensor(const rnn::Sequence& sequence, int axis);
/// As one tensor, as a list, or as it is.
rnn::Sequence arranged(std::int64_t length, const rnn::Sequence& sequence, int axis,
                       std::optional<bool> merge);
/// Zeros behind the end of each sequence.
rnn::Sequence masked(const rnn::Sequence& sequence, std::int64_t length, const Tensor& valid_length, int axis,
                     bool merge);
/// Last step first; with valid lengths, each sequence's steps that count.
std::vector<Tensor> reversed(const std::vector<Tensor>& steps, const Tensor& valid_length);
/// Whether all tensors are symbols outside of any trace.
bool any_symbol(const rnn::Sequence& inputs, const rnn::UnrollOptions& options);

}  // namespace kiln::detail

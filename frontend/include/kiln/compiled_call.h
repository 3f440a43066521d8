// CompiledCall: a recording of a hybridized block, and why it was made.
#pragma once
#include <kiln/export.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// Why a hybridized call was recorded instead of running code that existed: how it differs from the nearest
/// earlier recording of the same object, and the cost. Plain data, which belongs to whoever has it. The
/// library remembers the 32 latest recordings of an object.
struct RecordingReason {
  /// The kinds of differences.
  enum class Kind : std::uint8_t {
    first_call,   ///< there is no earlier recording
    copy,         ///< none of this object; another copy of the block has some
    shape,        ///< an extent or the number of axes of an input
    dtype,        ///< of an input
    input_count,  ///< the number of inputs
    aliasing,     ///< which inputs share memory
    device,       ///< of the inputs
    train,        ///< the training mode
    recording,    ///< autograd::Record, or the histories of arrays, for which hybrid_forward asks
    numpy_mode,   ///< the program's numpy mode
    precision,    ///< the thread's Precision, where it decides bits
    options,      ///< hybridize() was called again
    own_change,   ///< hybrid_forward itself changes the network
    child,        ///< a child block was added, replaced or removed
    hook,         ///< a hook was added or removed
    cast,         ///< the dtype of parameters
    moved,        ///< the device of parameters
    parameter,    ///< a parameter was replaced, or another value of an option of it was set
    attribute,    ///< the value of an Attr
    array,        ///< an array outside of parameters that hybrid_forward reads was replaced
    elements,     ///< elements that hybrid_forward reads as numbers were written
    block,        ///< a block was changed in another way
    dropped,      ///< the earlier recording was dropped (HybridizeOptions::max_recordings)
  };
  /// One difference. If `was` and `now` are empty, `what` is a whole clause.
  struct Difference {
    Kind kind = Kind::first_call;  ///< the subject of the difference
    std::string
        what;  ///< "axis 0 of input 0", "the child 'features.1'", "the Attr 'scale' of the block 'net0'"
    std::string was;  ///< "64"
    std::string now;  ///< "37"
    /// "axis 0 of input 0 was 64 and is 37"
    KILN_API std::string str() const;
  };

  std::string network;                  ///< the block's name: "lenet0"
  std::string inputs;                   ///< "float32 (37, 1, 28, 28), training"
  std::string line;                     ///< the program's line of the call, "main.cpp:31"; empty if unknown
  std::vector<Difference> differences;  ///< at least one, the most telling first
  std::string remedy;                   ///< how to avoid it; empty if there is nothing to avoid
  double milliseconds = 0;              ///< from the call to its code: recording and compilation
  std::size_t kernels_compiled = 0;     ///< new ones
  std::size_t kernels_reused = 0;       ///< from memory, Kiln's build or the disk cache

  /// One sentence with all of it, as KILN_LOG=compile prints it.
  KILN_API std::string str() const;
  /// The same as a JSON object in one line, as KILN_LOG=compile,json prints it.
  KILN_API std::string json() const;
};

/// The word for a kind: "shape", "child".
KILN_API std::string_view name_of(RecordingReason::Kind kind);

/// A recording of a hybridized block: its signature, and its executable.
struct CompiledCall {
  std::string inputs;  ///< "float32 (1, 512)", comma-separated
  bool train = false;  ///< the training mode of its calls
  /// False if such calls run eagerly, because a recording would differ or needs values. It would differ if
  /// hybrid_forward writes to an array that aliases another argument, if values decide which array it writes
  /// to, or if it moves the streams of random numbers. It needs values if it computes gradients.
  bool compiled = true;
  std::string eager_because;    ///< the reason if it is not compiled
  std::size_t kernels = 0;      ///< kernel launches per call
  std::size_t arena_bytes = 0;  ///< temporaries of one call, in bytes
  /// Bytes that a recorded call saves for its backward pass besides its inputs and results
  /// (HybridizeOptions::recompute); 0 before the first.
  std::size_t saved_bytes = 0;
  std::size_t recomputed_bytes = 0;  ///< of values of such a call that its backward pass computes again
  double compile_ms = 0;             ///< of its latest compilation, in milliseconds
  RecordingReason reason = {};       ///< why it was recorded
};

}  // namespace kiln

// Options of blocks and of hybridize().
#pragma once
#include <kiln/device.h>
#include <kiln/export.h>
#include <kiln/precision.h>
#include <kiln/recompute.h>

#include <cstdint>
#include <optional>
#include <string>

namespace kiln {

class ParameterDict;

/// Options of every block. The default prefix has the kind and a number: "dense0_". A block with an empty
/// prefix opens no name scope: its children, parameters and nodes use the enclosing scope.
struct BlockOptions {
  /// Of the names of children and parameters; nothing: made from the class.
  std::optional<std::string> prefix = {};
  /// The dictionary of another block, to share its parameters: also with blocks that are made in the name
  /// scope of this one, by name. One that contradicts the parameter of its name is an error at its first use.
  /// The constructor copies the handle.
  const ParameterDict* params = nullptr;
};

/// Debug checks of every hybridized call. KILN_CHECK=recording,bits adds them to every hybridize() of a
/// program, and to every TrainStep. Steps with `recording` or `bits` are separate calls, which are checked.
enum class Check : unsigned {
  /// No check.
  none = 0,
  /// Records hybrid_forward again and compares the recordings: finds untracked state read by hybrid_forward.
  recording = 1,
  /// Also runs hybrid_forward eagerly and compares results and written arrays bit by bit.
  bits = 2,
  /// An index out of range is an error that names operator, line, index and extent. Without it Embedding,
  /// take, pick (the labels of losses), batch_take, gather_nd, scatter_nd, index_copy and ravel_multi_index
  /// take the nearest index or none, as in MXNet. KILN_CHECK=indices checks eager calls too.
  indices = 4,
};
/// Both checks.
constexpr Check operator|(Check a, Check b) {
  return static_cast<Check>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// The checks of `a` that `b` has, too.
constexpr Check operator&(Check a, Check b) {
  return static_cast<Check>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

/// The forms in which a network keeps weights that compiled calls read packed.
enum class Weights : std::uint8_t {
  keep,  ///< their arrays, too
  /// The packed form alone, so that a network for inference takes little more memory than its weights. Reads
  /// and writes of a parameter find its array as ever. save_parameters(), printing and copies unpack it for a
  /// while. Other operators, gradients, in-place writes, Tensor::data() and calls of other signatures that
  /// need it unpack it to stay, until the next hybridize(), load_parameters() or set_data(). These operations
  /// end the validity of addresses that Tensor::data() of a parameter returned before. No effect on bits.
  release,
};

/// Options of hybridize(). The first group has MXNet's names and defaults; most have no effect, because Kiln
/// always assigns buffers and specialises on shapes.
struct HybridizeOptions {
  bool active = true;           ///< false: run eagerly again
  bool static_alloc = false;    ///< no effect: buffer assignment is always static
  bool static_shape = false;    ///< no effect: executables are always shape-specialised
  int inline_limit = 2;         ///< no effect: children are always inlined
  int forward_bulk_size = 15;   ///< no effect: there is no asynchronous engine
  int backward_bulk_size = 15;  ///< no effect, likewise
  // Kiln's own.
  bool fuse = true;           ///< false: one kernel per primitive. No effect on bits.
  std::string dump_dir = {};  ///< folder for dumps of every stage of each compilation (as KILN_DUMP)
  /// Checks of every call. A difference throws an Error with the first differing node, its line, both values
  /// and the remedy. Hooks still run once. Bound calls are checked by Check::indices alone.
  Check check = Check::none;
  /// The values that the backward pass of a recorded call computes again. No effect on bits.
  Recompute recompute = Recompute::cheap;
  /// Precision of matrix products and convolutions, outside of a PrecisionScope in hybrid_forward; the
  /// outermost hybridized block decides. Unset: PrecisionScope, else KILN_PRECISION, as for eager code.
  /// Another value than these gives other bits than an eager call.
  std::optional<Precision> precision = {};
  /// Maximum number of recordings per block object. A further signature replaces the recording that was
  /// called longest ago, which is recorded again when it is called. 0: KILN_RECORDINGS_MAX_COUNT, by default
  /// 256.
  int max_recordings = 0;
  /// Applies to the parameters of the blocks; of a shared parameter, the last hybridize() decides.
  Weights weights = Weights::keep;
};

/// Options of Block::initialize().
struct InitializeOptions {
  bool verbose = false;       ///< no effect
  bool force_reinit = false;  ///< overwrite existing values
  /// Where values are made; none: where to() has put the block, else DeviceScope's device.
  std::optional<Device> device = {};
};

/// Options of load functions of parameters.
struct LoadOptions {
  bool allow_missing = false;  ///< parameters missing in the file keep their values
  bool ignore_extra = false;   ///< arrays unknown to the block are skipped
  bool cast_dtype = false;     ///< convert arrays to the parameter's dtype
};

}  // namespace kiln

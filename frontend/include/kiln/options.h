#pragma once
#include <kiln/export.h>

#include <optional>
#include <string>

namespace kiln {

class ParameterDict;

/// What every block can be given. Without a prefix it is made from the kind and a number: "dense0_". A block
/// with an empty prefix opens no name scope: what is made and computed in it is named by the scope around it.
struct BlockOptions {
  std::optional<std::string> prefix = {};
  /// Parameters to share: those of another block. Not owned beyond the constructor, which keeps a handle.
  const ParameterDict* params = nullptr;
};

/// Which checks a hybridized call runs besides its code; for debugging. KILN_CHECK=recording,bits adds them
/// to every hybridize() of a program.
enum class Check : unsigned {
  none = 0,
  /// Records hybrid_forward again at each call and compares: finds state that hybrid_forward reads and Kiln
  /// does not see change.
  recording = 1,
  /// Runs hybrid_forward eagerly too and compares results and written arrays bit by bit.
  bits = 2,
};
constexpr Check operator|(Check a, Check b) {
  return static_cast<Check>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr Check operator&(Check a, Check b) {
  return static_cast<Check>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

/// How a hybridized network runs. Names and defaults of the first block are MXNet's; Kiln plans all memory
/// and knows all shapes in any case, so that most of them are accepted and change nothing, as each says.
struct HybridizeOptions {
  bool active = true;           ///< false: back to running eagerly
  bool static_alloc = false;    ///< changes nothing: temporaries always have planned places
  bool static_shape = false;    ///< changes nothing: code is always made for the shapes of the call
  int inline_limit = 2;         ///< changes nothing: children are always inlined
  int forward_bulk_size = 15;   ///< changes nothing: there is no engine to feed in bulk
  int backward_bulk_size = 15;  ///< changes nothing, likewise
  // Kiln's own.
  bool fuse = true;  ///< false: one kernel per primitive, to see what fusion does. Bits never depend on it.
  std::string dump_dir = {};  ///< a folder that gets every stage of each compilation as a file (as KILN_DUMP)
  /// Checks of every call; a difference is an Error that names the first node that differs, its line, both
  /// values and the remedy. Hooks run once, as without checks. Bound calls are not checked.
  Check check = Check::none;
  /// Recordings that each block object keeps; for a further signature the one that was called longest ago
  /// goes, and is made again if it is called again. 0: KILN_RECORDINGS_MAX_COUNT, which is 256 if it is not
  /// set.
  int max_recordings = 0;
};

struct InitializeOptions {
  bool verbose = false;       ///< changes nothing
  bool force_reinit = false;  ///< also parameters that have values already
};

struct LoadOptions {
  bool allow_missing = false;  ///< parameters that the file lacks keep their values
  bool ignore_extra = false;   ///< arrays that the block lacks are skipped
  bool cast_dtype = false;     ///< arrays of another dtype are converted to the parameter's
};

}  // namespace kiln

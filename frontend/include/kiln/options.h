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

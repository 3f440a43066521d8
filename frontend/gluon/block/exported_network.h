// A recorded network in the form of its two files.
#pragma once
#include "frontend/gluon/hybridize/cached_call.h"

#include <kiln/block.h>
#include <kiln/io.h>

#include <source_location>
#include <string>
#include <vector>

namespace kiln::detail {

/// A recorded network in the form of its two files.
struct ExportedNetwork {
  std::string symbol;               ///< the text of the symbol file
  std::vector<NamedArray> arrays;   ///< "arg:NAME" and "aux:NAME"; the arrays are the network's own
  std::vector<std::string> inputs;  ///< their names in the symbol
  bool numpy_mode = false;          ///< of both files
};

/// The files of a call of `block`. Throws for effects that a symbol file cannot express. Warns, once per
/// `file` (the name of the symbol file in the text), if the graph holds for inputs of these sizes only.
/// `remove_amp_cast`: without the casts of mixed precision.
ExportedNetwork exported_network(const HybridBlock& block, const TracedCall& call, const std::string& file,
                                 std::source_location where, bool remove_amp_cast = true);

}  // namespace kiln::detail

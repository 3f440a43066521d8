// `kiln opt`.
#pragma once
#include <kiln/export.h>

namespace kiln {

/// `kiln opt`: an mlir-opt with the kiln dialect and Kiln's passes (`--help` lists them). `argv[0]` is the
/// name it goes by. Returns the exit status: 0; 1 where the file or a pass is at fault; 2 for an unknown
/// option.
KILN_API int opt_main(int argc, char** argv);

}  // namespace kiln

#include "passes/opt_main.h"

#include "ir/dialect.h"
#include "passes/pipeline.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kiln {

int opt_main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<ir::KilnDialect, mlir::func::FuncDialect>();
  passes::register_passes();
  // Folding compiles in the context of the file, which one thread at a time may do.
  std::string one_thread = "--mlir-disable-threading";
  std::vector<char*> arguments(argv, argv + argc);
  if (std::none_of(argv, argv + argc, [&](const char* a) { return one_thread == a; }))
    arguments.push_back(one_thread.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  return mlir::asMainReturnCode(mlir::MlirOptMain(count, arguments.data(), "Kiln's passes", registry));
}

}  // namespace kiln

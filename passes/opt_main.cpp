#include "passes/opt_main.h"

#include "ir/dialect.h"
#include "passes/pipeline.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

namespace kiln {

int opt_main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<ir::KilnDialect, mlir::func::FuncDialect>();
  passes::register_passes();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Kiln's passes", registry));
}

}  // namespace kiln

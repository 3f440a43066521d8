// `kiln opt`.
#include "codegen/driver/opt_main.h"

#include "codegen/driver/evaluate.h"
#include "codegen/target/target_model.h"
#include "ir/dialect.h"
#include "passes/pipeline.h"

#include <llvm/Support/CommandLine.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace kiln {

int opt_main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<ir::KilnDialect, mlir::func::FuncDialect>();
  static llvm::cl::opt<int> lanes(
      "target-lanes", llvm::cl::desc("f32 lanes of a vector of the CPU to compile for"), llvm::cl::init(16));
  passes::register_passes([](mlir::ModuleOp module) { return codegen::evaluate(module, default_options()); },
                          []() -> const passes::TargetModel& {
                            // Registration makes each pass once, before the option is read.
                            static std::map<int, const codegen::CpuTargetModel> models;
                            return models.try_emplace(lanes, lanes, codegen::assumed_machine()).first->second;
                          });
  // Folding compiles in the context of the file, which one thread at a time may do.
  std::string one_thread = "--mlir-disable-threading";
  std::vector<char*> arguments(argv, argv + argc);
  if (std::none_of(argv, argv + argc, [&](const char* a) { return one_thread == a; }))
    arguments.push_back(one_thread.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  // As mlir-opt's own, but that wrong usage has the exit status that it has everywhere in `kiln`.
  std::string header = mlir::registerCLIOptions("Kiln's passes", registry);
  static llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<input file>"),
                                          llvm::cl::init("-"));
  static llvm::cl::opt<std::string> output("o", llvm::cl::desc("Output file"), llvm::cl::value_desc("file"),
                                           llvm::cl::init("-"));
  if (!llvm::cl::ParseCommandLineOptions(count, arguments.data(), header, &llvm::errs())) return 2;
  return mlir::asMainReturnCode(mlir::MlirOptMain(count, arguments.data(), input, output, registry));
}

}  // namespace kiln

// `kiln opt`.
#include "codegen/driver/opt_main.h"

#include "codegen/driver/evaluate.h"
#include "codegen/target/target_model.h"
#include "ir/dialect.h"
#include "passes/pipeline.h"

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/InitLLVM.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/ToolOutputFile.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Support/FileUtilities.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

namespace {

/// The entries of a registry of MLIR that have a name on the command line, by name.
template <class Info>
std::map<std::string, const Info*> registered() {
  std::map<std::string, const Info*> entries;
  for (const auto& option : llvm::cl::getRegisteredOptions())
    if (const Info* info = Info::lookup(option.first)) entries.emplace(option.first.str(), info);
  return entries;
}

template <class Info>
void print_help_of(llvm::StringRef title) {
  constexpr std::size_t indent = 2, description = 34;
  llvm::outs() << "\n" << title << ":\n";
  for (const auto& [name, info] : registered<Info>()) info->printHelpStr(indent, description);
}

/// Kiln's passes, before the hundreds of options that MLIR and LLVM list.
void print_passes() {
  llvm::outs() << "Runs passes on a file of MLIR, in the order in which they are named.\n"
                  "USAGE: kiln opt FILE.mlir [PASSES] [OPTIONS]\n";
  print_help_of<mlir::PassInfo>("Passes");
  print_help_of<mlir::PassPipelineInfo>("Pass pipelines");
  llvm::outs() << "\nOptions of MLIR and LLVM:\n\n";
}

/// Ends an output. One that could not be written is an error with its name; LLVM would end the process.
bool write_rest(llvm::raw_fd_ostream& output, llvm::StringRef name) {
  output.flush();
  if (!output.has_error()) return true;
  llvm::errs() << "kiln: cannot write to " << (name == "-" ? "standard output" : name) << ": "
               << output.error().message() << "\n";
  output.clear_error();
  return false;
}

/// For the end of the process, wherever LLVM calls exit(), as after its help.
void write_rest_of_stdout() {
  if (!write_rest(llvm::outs(), "-")) std::_Exit(1);
}

/// Runs the passes on the file as mlir-opt does. Returns the exit status.
int run_passes(const std::string& input, const std::string& output, mlir::DialectRegistry& registry,
               const mlir::MlirOptMainConfig& config) {
  std::string problem;
  auto file = mlir::openInputFile(input, &problem);
  const auto to = file ? mlir::openOutputFile(output, &problem) : nullptr;
  if (!to) {
    llvm::errs() << "kiln: " << problem << "\n";
    return 1;
  }
  const bool passed = mlir::succeeded(mlir::MlirOptMain(to->os(), std::move(file), registry, config));
  if (!write_rest(to->os(), output) || !passed) return 1;
  to->keep();
  return 0;
}

}  // namespace

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
  const auto asks_for_help = [](std::string_view argument) {
    return argument == "--help" || argument == "-help" || argument == "-h";
  };
  llvm::outs();  // made before, so that it ends after, the function
  std::atexit(write_rest_of_stdout);
  if (std::any_of(argv, argv + argc, asks_for_help)) print_passes();
  if (!llvm::cl::ParseCommandLineOptions(count, arguments.data(), header, &llvm::errs())) return 2;
  const auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (!config.shouldShowDialects() && !config.shouldListPasses()) {
    char** all = arguments.data();
    const llvm::InitLLVM initialised(count, all);
    return run_passes(input, output, registry, config);
  }
  return mlir::asMainReturnCode(mlir::MlirOptMain(count, arguments.data(), input, output, registry));
}

}  // namespace kiln

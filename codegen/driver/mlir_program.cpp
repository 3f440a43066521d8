// Reads, checks and compiles a program in the text of the dialect.
#include "codegen/driver/mlir_program.h"

#include "codegen/driver/compile_module.h"
#include "codegen/driver/mlir_check.h"
#include "codegen/emit/launch.h"
#include "ir/dialect.h"
#include "runtime/fail.h"

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <mlir/AsmParser/AsmParser.h>
#include <mlir/AsmParser/AsmParserState.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Verifier.h>

#include <algorithm>

namespace kiln {
namespace {

/// Brackets within brackets, beyond which the recursive parser of MLIR might leave its stack.
constexpr int max_brackets = 200;
/// Characters of a text for each operation, at most: for the memory that a compilation may need.
constexpr std::size_t characters_of_operation = 40;

[[noreturn]] void fail_at(const std::string& path, std::string_view text, std::size_t at,
                          std::string_view what) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;
  fail("{}:{}:{}: {}", path, line, column, std::string(what));
}

/// Refuses texts on which the parser recurses without a bound: deep brackets, and affine expressions, which
/// the dialect does not have.
void check_depth(const std::string& path, std::string_view text) {
  if (text.starts_with("ML\xefR")) fail("{}: is bytecode, not the text of a program", path);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        if (text[i] == '\\') ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "->") {
      ++i;
    } else if (c == '(' || c == '[' || c == '{' || c == '<') {
      if (++depth > max_brackets)
        fail_at(path, text, i, fmt::format("more than {} brackets are open", max_brackets));
    } else if (c == ')' || c == ']' || c == '}' || c == '>') {
      --depth;
    } else if (text.substr(i, 7) == "affine_") {
      fail_at(path, text, i, "a program has no affine expressions");
    }
  }
}

/// Collects errors as "FILE:LINE:COLUMN: error".
class Complaints {
 public:
  explicit Complaints(mlir::MLIRContext& context)
      : handler_(&context, [this](mlir::Diagnostic& d) {
          if (d.getSeverity() != mlir::DiagnosticSeverity::Error || !first_.empty()) return;
          if (auto at = d.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
            first_ = fmt::format("{}:{}:{}: ", at.getFilename().str(), at.getLine(), at.getColumn());
          first_ += shortened(d.str());
        }) {}
  [[noreturn]] void raise(const std::string& path) const {
    throw Error(first_.empty() ? fmt::format("{}: is no program of the kiln dialect", path) : first_);
  }

 private:
  std::string first_;
  mlir::ScopedDiagnosticHandler handler_;
};

/// The parsed module, in which each operation has its place in the text until end().
class PlacesInText {
 public:
  PlacesInText(const mlir::AsmParserState& state, const llvm::SourceMgr& sources, const std::string& path) {
    for (const mlir::AsmParserState::OperationDefinition& definition : state.getOpDefs()) {
      const auto [line, column] = sources.getLineAndColumn(definition.loc.Start);
      original_.emplace_back(definition.op, definition.op->getLoc());
      definition.op->setLoc(mlir::FileLineColLoc::get(definition.op->getContext(), path, line, column));
    }
  }
  void end() {
    for (auto [op, location] : original_) op->setLoc(location);
  }

 private:
  std::vector<std::pair<mlir::Operation*, mlir::Location>> original_;
};

mlir::OwningOpRef<mlir::ModuleOp> parse(std::string_view text, const std::string& path,
                                        mlir::MLIRContext& context, bool on_gpu) {
  check_depth(path, text);
  if (text.find("\n// -----\n") != text.npos)
    fail("{}: has two modules, the parts of a recorded call: two functions cannot run alone", path);
  const Complaints complaints(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy({text.data(), text.size()}, path), {});
  mlir::Block top;
  mlir::AsmParserState state;
  const mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
  if (mlir::failed(mlir::parseAsmSourceFile(sources, &top, config, &state))) complaints.raise(path);
  PlacesInText places(state, sources, path);
  // A text without `module` has one around it.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (!top.empty() && llvm::hasSingleElement(top)) module = llvm::dyn_cast<mlir::ModuleOp>(top.front());
  if (module) {
    module->getOperation()->remove();
  } else {
    module = mlir::ModuleOp::create(mlir::FileLineColLoc::get(&context, path, 1, 1));
    module->getBody()->getOperations().splice(module->getBody()->end(), top.getOperations());
  }
  if (mlir::failed(mlir::verify(*module)) || mlir::failed(codegen::check_program(*module, on_gpu)))
    complaints.raise(path);
  places.end();
  return module;
}

MlirProgram describe(mlir::func::FuncOp function) {
  MlirProgram program;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const auto name = function.getArgAttrOfType<mlir::StringAttr>(i, ir::name_attr);
    program.arguments.push_back({name ? name.str() : fmt::format("arg{}", i),
                                 static_cast<bool>(function.getArgAttr(i, ir::parameter_attr))});
  }
  const auto writes = function->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::writes_attr);
  const auto returned = function.front().getTerminator()->getOperands();
  for (const mlir::Value v : returned.drop_back(writes ? writes.size() : 0)) {
    mlir::Operation* const op = v.getDefiningOp();
    program.results.push_back(
        op && op->getLoc()->findInstanceOf<mlir::NameLoc>() ? codegen::name_of_location(op->getLoc()) : "");
  }
  return program;
}

}  // namespace

MlirProgram compile_mlir(std::string_view text, const std::string& path, const CompileOptions& options) {
  MlirProgram program;
  codegen::run_compilation("program", text.size() / characters_of_operation, options,
                           [&](const codegen::Compilation& c) {
                             auto module = parse(text, path, c.context, !options.gpu.empty());
                             program = describe(*module->getOps<mlir::func::FuncOp>().begin());
                             program.executable = codegen::compile_module(*module, c);
                           });
  return program;
}

}  // namespace kiln

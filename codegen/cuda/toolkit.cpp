// Runs NVIDIA's ptxas and disassemblers.
#include "codegen/cuda/toolkit.h"

#include "runtime/env.h"
#include "runtime/fail.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FileUtilities.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/raw_ostream.h>

namespace kiln::codegen {
namespace {

/// A new file, removed at the end of its scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(llvm::StringRef suffix) {
    int descriptor = -1;
    if (const auto error = llvm::sys::fs::createTemporaryFile("kiln", suffix, descriptor, path_)) {
      llvm::SmallString<128> folder;
      llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
      fail("no temporary file can be made in {}: {}; TMPDIR names another folder", folder.str().str(),
           error.message());
    }
    llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
    remover_.setFile(path_);
  }
  llvm::StringRef path() const { return path_; }

  void write(std::string_view text) const {
    std::error_code error;
    llvm::raw_fd_ostream file(path_, error);
    file << text;
    file.close();
    if (!error) error = file.error();
    file.clear_error();
    if (error) fail("{}: cannot be written: {}", path_.str().str(), error.message());
  }
  std::string read() const {
    auto contents = llvm::MemoryBuffer::getFile(path_);
    if (!contents) fail("{}: cannot be read: {}", path_.str().str(), contents.getError().message());
    return (*contents)->getBuffer().str();
  }

 private:
  llvm::SmallString<128> path_;
  llvm::FileRemover remover_;
};

struct ToolOutput {
  std::string out, log;  ///< of stdout and of stderr
};

/// Runs a program to its end.
ToolOutput run(const std::string& program, llvm::ArrayRef<llvm::StringRef> arguments,
               const std::string& kernel) {
  const TemporaryFile out("out"), log("log");
  llvm::SmallVector<llvm::StringRef> all{program};
  all.append(arguments.begin(), arguments.end());
  const std::optional<llvm::StringRef> streams[] = {llvm::StringRef(), out.path(), log.path()};
  std::string problem;
  const int status =
      llvm::sys::ExecuteAndWait(program, all, /*Env=*/std::nullopt, streams, /*SecondsToWait=*/0,
                                /*MemoryLimit=*/0, &problem);
  if (status != 0) {
    if (problem.empty()) problem = llvm::StringRef(log.read() + out.read()).trim().str();
    fail("{} fails with status {} for kernel '{}': {}", program, status, kernel, problem);
  }
  return {out.read(), log.read()};
}

/// The first of these programs that is installed.
std::string tool(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (auto path = find_cuda_tool(name)) return *path;
  fail(
      "machine code needs NVIDIA's ptxas and nvdisasm or cuobjdump, and {} is not installed: it is not on "
      "PATH, nor in $CUDA_HOME/bin, $CUDA_PATH/bin or /usr/local/cuda/bin. tools/setup --cuda installs it; "
      "NVIDIA's CUDA toolkit has it too",
      llvm::join(names, " or "));
}

}  // namespace

std::optional<std::string> find_cuda_tool(std::string_view name) {
  if (auto path = llvm::sys::findProgramByName(name)) return *path;
  llvm::SmallVector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto home = env(variable)) folders.push_back(std::string(*home) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  const llvm::SmallVector<llvm::StringRef> paths(folders.begin(), folders.end());
  if (auto path = llvm::sys::findProgramByName(name, paths)) return *path;
  return {};
}

std::string sass_of(std::string_view ptx, const std::string& arch, const std::string& kernel) {
  const std::string assembler = tool({"ptxas"}), disassembler = tool({"nvdisasm", "cuobjdump"});
  const TemporaryFile source("ptx"), code("cubin");
  source.write(ptx);
  const std::string architecture = "-arch=" + arch;
  const ToolOutput assembled = run(assembler, {"-v", architecture, source.path(), "-o", code.path()}, kernel);
  std::string text = "// " + kernel + "\n";
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(assembled.log).split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    if (line.consume_front("ptxas info")) line = line.ltrim(" :");
    if (!line.starts_with("Compile time")) text += "// " + line.trim().str() + "\n";
  }
  const bool is_nvdisasm = llvm::StringRef(disassembler).ends_with("nvdisasm");
  text += run(disassembler, {is_nvdisasm ? "-c" : "-sass", code.path()}, kernel).out;
  return text;
}

}  // namespace kiln::codegen

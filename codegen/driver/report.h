// The description of compilations: kernels with their work and their texts.
#pragma once
#include "ir/graph.h"
#include "runtime/executable.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The description of compilations, for pages that people read. It depends on no LLVM.
namespace kiln {

/// The work of one run of a step's kernel.
struct KernelReport {
  /// A node of the graph, and the line that made it; file and line are empty and 0 where it is not known.
  struct Node {
    std::string name, file;
    unsigned line = 0;
    /// Whether all that the kernel does of it is to read it in another layout or in part. Another kernel may
    /// compute it.
    bool only_viewed = false;
  };
  std::vector<Node> nodes;  ///< each once
  /// Of the arrays that it reads and writes, or of the parts of them, each once.
  std::int64_t bytes = 0;
  /// Of its contractions, by their definition: of a convolution, products of padding included; of Winograd's
  /// algorithm, the products of the direct form.
  double multiply_adds = 0;
  /// Of the contraction's result, or of its factors if they are bytes; else of the kernel's first result.
  DType dtype = DType::f32;
  std::string operations;  ///< of the kiln dialect, a line each
  /// "net.cpp:12": the lines that the text "lines" of its code names by number, from 1 on.
  std::vector<std::string> lines;
};

/// The code of a kernel, by stage: "mlir", "llvm", "asm" or "ptx". "lines", of CPUs, is the assembly with a
/// directive where instructions of another line begin; its instructions are mostly the ones of "asm".
using KernelTexts = std::map<std::string, std::string, std::less<>>;

/// The description of one compilation.
struct CompilationReport {
  std::string name;
  ir::Graph graph;   ///< without nodes for code that is made of a part of another graph
  ir::Graph update;  ///< of a training step
  std::map<std::string, KernelReport, std::less<>> kernels;  ///< by Step::name
  std::map<std::string, KernelTexts, std::less<>> texts;     ///< by PlannedKernel::symbol
  std::shared_ptr<const Executable> executable;              ///< null if it was not loaded
  bool is_backward = false;  ///< whether it is the backward entry of a joint function
};

/// During its lifetime all compilations of this thread are described. With code, they generate it anew,
/// caches or not: once for all steps that share a kernel. Without code there are no texts, and kernels are
/// from the caches. Of nested scopes the inner one describes.
class ReportScope {
 public:
  explicit ReportScope(bool has_code = true) : has_code(has_code), outer_(std::exchange(current(), this)) {}
  ~ReportScope() {
    if (outer_ && has_code && (!compilations.empty() || has_inner)) outer_->has_inner = true;
    current() = outer_;
  }
  ReportScope(const ReportScope&) = delete;
  ReportScope& operator=(const ReportScope&) = delete;

  const bool has_code;
  /// In the order in which they began; their addresses do not change.
  std::vector<std::unique_ptr<CompilationReport>> compilations;
  /// Whether a nested scope with code has described compilations, which are not in `compilations`.
  bool has_inner = false;

  /// The innermost scope of this thread, or null.
  static ReportScope*& current();

 private:
  ReportScope* outer_;
};

}  // namespace kiln

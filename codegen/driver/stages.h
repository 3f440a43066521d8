// The texts of a compilation's stages.
#pragma once
#include "codegen/backend/stage_texts.h"
#include "codegen/driver/report.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace kiln {
struct CompileOptions;
}

namespace kiln::codegen {

/// The destinations of one compilation's texts: the map of CompileOptions; its folder, with a file for each
/// stage and, if requested, for each pass; the report of this thread's ReportScope. Each text is written
/// before the next one is made, so that a crash leaves all preceding ones. One thread at a time.
class Stages final : public StageTexts {
 public:
  /// Makes the folder. Throws kiln::Error if it cannot be made.
  Stages(const CompileOptions& options, const std::string& graph);

  /// Whether the texts become files, so that a program runs the kernels that they show.
  bool writes_files() const { return !folder_.empty(); }
  /// Whether there is a destination.
  bool wanted() const { return map_ || report_ || !folder_.empty(); }
  /// Whether there is a destination of the kernels' texts.
  bool wants_code() const { return map_ || reports_code_ || !folder_.empty(); }
  /// Whether the report is to have the kernels' code.
  bool reports_code() const { return reports_code_; }
  void add(std::string_view stage, std::string_view text) override;
  /// Adds a module in MLIR. Modules of one stage are separated, as `kiln opt --split-input-file` reads them.
  void add_module(std::string_view stage, std::string_view text);
  /// Adds a graph to the stage "trace", and to the report: of several the first is the compilation's.
  void add_graph(const ir::Graph& graph);
  bool wants_sass() const override { return sass_; }

  /// Whether a text after each pass is requested.
  bool wants_passes() const { return !folder_.empty() && passes_; }
  /// Writes a file for a pass. Throws kiln::Error if it cannot be written.
  void add_pass(std::string_view pass, std::string_view text);

  /// The report of the compilation; null if nobody wants it.
  CompilationReport* report() const { return report_; }
  /// The texts that follow are of the kernel with this symbol too.
  void begin_kernel(const std::string& symbol) {
    if (report_) kernel_ = &report_->texts[symbol];
  }
  void end_kernel() { kernel_ = nullptr; }
  /// Adds the text "lines" of the kernel to the report.
  void add_lines(std::string_view text) {
    if (kernel_) (*kernel_)["lines"] += text;
  }
  /// The kernel that requests with this key share, null until it is made; null if each request has its own,
  /// since maps and folders have each kernel under its name.
  std::shared_ptr<const Kernel>* shared_kernel(const std::string& key) {
    return map_ || !folder_.empty() ? nullptr : &shared_[key];
  }

 private:
  std::map<std::string, std::string>* map_;
  CompilationReport* report_ = nullptr;
  KernelTexts* kernel_ = nullptr;
  std::map<std::string, std::shared_ptr<const Kernel>> shared_;
  std::filesystem::path folder_;
  bool passes_, sass_, reports_code_ = false;
  int pass_count_ = 0;
};

}  // namespace kiln::codegen

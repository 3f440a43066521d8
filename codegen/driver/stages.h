// The texts of a compilation's stages.
#pragma once
#include "codegen/backend/stage_texts.h"
#include "codegen/driver/report.h"

#include <filesystem>
#include <map>
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
    if (report_) kernel_ = &report_->kernels[symbol];
  }
  void end_kernel() { kernel_ = nullptr; }

 private:
  std::map<std::string, std::string>* map_;
  CompilationReport* report_ = nullptr;
  KernelReport* kernel_ = nullptr;
  std::filesystem::path folder_;
  bool passes_, sass_;
  int pass_count_ = 0;
};

}  // namespace kiln::codegen

// Writes the texts of stages to a folder.
#include "codegen/driver/stages.h"

#include "codegen/driver/compile.h"
#include "codegen/driver/stage_names.h"
#include "runtime/fail.h"

#include <atomic>
#include <fstream>

namespace kiln::codegen {
namespace {

namespace fs = std::filesystem;

fs::path make_folder(const std::string& dir, const std::string& graph) {
  static std::atomic<int> count{0};
  fs::path folder = fs::path(dir) / fmt::format("{:03}_{}", count++, graph);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("KILN_DUMP: cannot make the folder {}: {}", folder.string(), error.message());
  // An earlier process may have left some.
  fs::remove_all(folder / "passes", error);
  for (const auto& [stage, file] : stage_files) fs::remove(folder / file, error);
  return folder;
}

}  // namespace

Stages::Stages(const CompileOptions& options, const std::string& graph)
    : map_(options.stages), passes_(options.dump_passes), sass_(options.sass) {
  if (!options.dump_dir.empty()) folder_ = make_folder(options.dump_dir, graph);
  if (ReportScope* scope = ReportScope::current()) {
    report_ = scope->compilations.emplace_back(std::make_unique<CompilationReport>()).get();
    report_->name = graph;
  }
}

void Stages::add(std::string_view stage, std::string_view text) {
  if (map_) (*map_)[std::string(stage)] += text;
  if (kernel_) kernel_->texts[std::string(stage)] += text;
  if (folder_.empty()) return;
  for (const auto& [name, file] : stage_files) {
    if (name != stage) continue;
    std::ofstream out(folder_ / file, std::ios::app);
    out << text;
    if (!out.flush()) fail("KILN_DUMP: cannot write {}", (folder_ / file).string());
  }
}

void Stages::add_graph(const ir::Graph& graph) {
  add("trace", ir::to_string(graph));
  if (!report_) return;
  if (report_->graph.nodes.empty())
    report_->graph = graph;
  else
    report_->update = graph;
}

void Stages::add_pass(std::string_view pass, std::string_view text) {
  const fs::path file = folder_ / "passes" / fmt::format("{:02}_{}.mlir", pass_count_++, pass);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  std::ofstream out(file);
  out << text;
  if (!out.flush()) fail("KILN_DUMP: cannot write {}", file.string());
}

}  // namespace kiln::codegen

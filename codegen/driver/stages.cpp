// Writes the texts of stages to a folder.
#include "codegen/driver/stages.h"

#include "codegen/driver/compile.h"
#include "codegen/driver/stage_names.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/text_file.h"

#include <algorithm>
#include <atomic>
#include <cctype>

namespace kiln::codegen {
namespace {

namespace fs = std::filesystem;

/// `text` as a part of a file's name: shapes as 4x64, all other runs of characters that are neither letters,
/// digits nor dots as one '-'. At most 48 bytes.
std::string name_part(std::string_view text) {
  std::string out;
  bool in_shape = false;
  char separator = 0;  // is due before the next plain character
  for (const char c : text) {
    in_shape = c == '(' || (in_shape && c != ')');
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') {
      if (separator != 'x' || !in_shape) separator = in_shape && c == ',' ? 'x' : '-';
      continue;
    }
    if (separator != 0 && !out.empty()) out += separator;
    separator = 0;
    out += c;
  }
  constexpr std::size_t longest = 48;
  if (out.size() > longest) out.resize(longest);
  return out;
}

void write_dump(const fs::path& file, std::string_view text, bool append) {
  if (const std::string problem = write_text(file.string(), text, append); !problem.empty())
    fail("KILN_DUMP: cannot write {}: {}", file.string(), problem);
}

/// The number of a dumped request, in the order of the process: "007".
std::string next_number() {
  static std::atomic<int> count{0};
  return fmt::format("{:03}", count++);
}

/// The sentence of a request in the index: one line.
std::string index_text(const CompilePurpose& purpose, const std::string& otherwise) {
  std::string text = purpose.text.empty() ? otherwise : purpose.text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// Appends the folder's line to the index, at once, since other processes may do the same.
void add_to_index(const fs::path& dir, const std::string& folder, const std::string& text) {
  write_dump(dir / "index.txt", folder + ": " + text + "\n", /*append=*/true);
}

fs::path make_folder(const std::string& dir, const std::string& graph, const CompilePurpose& purpose) {
  std::string name = next_number();
  for (const std::string& part : {name_part(graph), name_part(purpose.inputs), name_part(purpose.reason)})
    if (!part.empty()) name += "_" + part;
  const fs::path folder = fs::path(dir) / name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("KILN_DUMP: cannot make the folder {}: {}", folder.string(), error.message());
  // An earlier process may have left some.
  fs::remove_all(folder / "passes", error);
  for (const auto& [stage, file] : stage_files) fs::remove(folder / file, error);
  add_to_index(dir, name, index_text(purpose, graph));
  return folder;
}

}  // namespace

Stages::Stages(const CompileOptions& options, const std::string& graph)
    : map_(options.stages), passes_(options.dump_passes), sass_(options.sass) {
  if (!options.dump_dir.empty()) folder_ = make_folder(options.dump_dir, graph, options.purpose);
  if (ReportScope* scope = ReportScope::current()) {
    report_ = scope->compilations.emplace_back(std::make_unique<CompilationReport>()).get();
    report_->name = graph;
    reports_code_ = scope->has_code;
  }
}

void Stages::add(std::string_view stage, std::string_view text) {
  if (map_) (*map_)[std::string(stage)] += text;
  if (kernel_) (*kernel_)[std::string(stage)] += text;
  if (folder_.empty()) return;
  for (const auto& [name, file] : stage_files) {
    if (name != stage) continue;
    write_dump(folder_ / file, text, /*append=*/true);
  }
}

void Stages::add_module(std::string_view stage, std::string_view text) {
  const bool follows = map_ && !(*map_)[std::string(stage)].empty();
  add(stage, follows ? fmt::format("// -----\n\n{}", text) : std::string(text));
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
  write_dump(file, text, /*append=*/false);
}

}  // namespace kiln::codegen

void kiln::list_reused_dump(const CompileOptions& options) {
  using namespace codegen;
  if (options.dump_dir.empty()) return;
  add_to_index(options.dump_dir, next_number() + " (no folder: equal code exists)",
               index_text(options.purpose, "equal code"));
}

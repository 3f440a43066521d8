// kiln dump: a network at each stage of compilation.
#include "codegen/driver/stage_names.h"
#include "runtime/text_file.h"
#include "tools/kiln/command.h"
#include "tools/kiln/gradients.h"
#include "tools/kiln/model_arguments.h"

#include <kiln/dump_html.h>

#include <filesystem>
#include <fmt/format.h>

namespace kiln::tool {
namespace {

struct DumpArguments {
  ModelArguments model;
  std::string stage, output, arch;
  Device device;
  std::optional<Precision> precision;
  bool all = false, dot = false, html = false, no_fuse = false, train = false, gradients = false;
  std::string recompute = "cheap";
};

void write_file(const std::filesystem::path& path, const std::string& text) {
  if (const std::string problem = write_text(path.string(), text); !problem.empty())
    throw Error(fmt::format("{}: cannot be written: {}", path.string(), problem));
}

void put(const DumpArguments& a, const std::string& text) {
  if (a.output.empty())
    fmt::print("{}", text);  // throws if it cannot write
  else
    write_file(a.output, text);
}

/// The page of a call or, with gradients, of a recorded call and its backward pass.
void write_html(const DumpArguments& a, const Model& model, const std::map<std::string, Tensor>& inputs,
                const RunOptions& options) {
  std::optional<PreparedModel> prepared;
  std::optional<TrainingModel> training;
  // Prepared in the first call, which is the one that is described.
  const auto call = [&] {
    if (options.gradients) {
      if (!training) training.emplace(model, inputs, options);
      training->run();
    } else {
      if (!prepared) prepared = model.prepare(inputs, options);
      prepared->run();
    }
  };
  dump_html(call, a.output, {.title = std::filesystem::path(a.model.symbol).filename().string()}, {});
}

/// Throws for options of the device that is not chosen.
void check_device(const DumpArguments& a) {
  const bool gpu = !a.device.is_cpu();
  if (!gpu && !a.arch.empty()) throw CLI::ValidationError("--arch is of GPUs: add --device cuda");
  if (!gpu && (a.stage == "ptx" || a.stage == "sass"))
    throw CLI::ValidationError("the stage " + a.stage + " is of GPUs: add --device cuda");
  if (gpu && a.stage == "asm")
    throw CLI::ValidationError("the stage asm is of CPUs; with --device cuda it is ptx or sass");
}

/// The policy of a name that the arguments may have.
Recompute recompute_named(std::string_view name) {
  return name == "none" ? Recompute::none : name == "all" ? Recompute::all : Recompute::cheap;
}

int dump(const DumpArguments& a) {
  if (a.dot && !a.model.has_inputs()) {
    put(a, a.model.load().symbol().dot());
    return ok;
  }
  RunOptions options;
  options.device = a.device;
  options.arch = a.arch;
  options.sass = a.stage == "sass";
  auto [model, inputs] = a.model.load_fed();
  options.fuse = !a.no_fuse;
  options.gradients = a.gradients || a.stage == "joint";
  options.train = a.train || options.gradients;
  options.recompute = recompute_named(a.recompute);
  if (a.dot) {
    put(a, model.dot(inputs, options));
    return ok;
  }
  if (a.html) {
    write_html(a, model, inputs, options);
    return ok;
  }
  std::map<std::string, std::string> texts = model.dump(inputs, options);
  if (!a.all) {
    put(a, texts[a.stage]);
    return ok;
  }
  std::error_code error;
  std::filesystem::create_directories(a.output, error);
  if (error) throw Error(fmt::format("{}: cannot make the folder: {}", a.output, error.message()));
  for (auto [stage, file] : codegen::stage_files)
    if (const auto text = texts.find(std::string(stage)); text != texts.end())
      write_file(std::filesystem::path(a.output) / file, text->second);
  return ok;
}

}  // namespace

void add_dump(CLI::App& app, Action& action) {
  auto a = std::make_shared<DumpArguments>();
  CLI::App* c = app.add_subcommand("dump", "Show a network at a stage of its compilation");
  a->model.add_model(*c);
  a->model.add_inputs(*c);
  std::vector<std::string> names;
  for (auto [stage, file] : codegen::stage_files) names.emplace_back(stage);
  auto* stage =
      c->add_option("--stage", a->stage, "trace joint kiln fused buffers mlir llvm asm ptx sass plan")
          ->check(CLI::IsMember(names))
          ->option_text("STAGE");
  auto* all = c->add_flag("--all", a->all, "Write every stage but sass to a file in the folder -o")
                  ->option_text(" ")
                  ->excludes(stage);
  auto* dot = c->add_flag("--dot", a->dot, "The graph for Graphviz; given inputs, with types and kernels")
                  ->option_text(" ")
                  ->excludes(stage)
                  ->excludes(all);
  auto* html = c->add_flag("--html", a->html, "A page of lines, nodes, kernels, times, code in the file -o")
                   ->option_text(" ")
                   ->excludes(stage)
                   ->excludes(all)
                   ->excludes(dot);
  auto* output = c->add_option("-o", a->output, "Write there instead of printing")->option_text("PATH");
  all->needs(output);
  html->needs(output);
  add_device(*c, a->device, "cpu, or cuda: PTX; machine code (sass) by NVIDIA's tools");
  add_precision(*c, a->precision);
  c->add_option("--arch", a->arch, "Of cuda: sm_80 (runs on all newer GPUs too) or sm_90")
      ->check(CLI::IsMember({"sm_80", "sm_90"}))
      ->option_text("ARCH");
  c->add_flag("--no-fuse", a->no_fuse, "One kernel per primitive");
  c->add_flag("--train", a->train, "As in training");
  c->add_flag("--gradients", a->gradients, "Of a recorded call, both parts (as for --stage joint)")
      ->option_text(" ")
      ->excludes(dot);
  c->add_option("--recompute", a->recompute, "Backward part recomputes none, cheap or all")
      ->check(CLI::IsMember({"none", "cheap", "all"}))
      ->option_text("HOW");
  c->callback([a, &action] {
    if (a->stage.empty() && !a->all && !a->dot && !a->html)
      throw CLI::RequiredError("one of --stage, --all, --dot and --html");
    check_device(*a);
    action = [a] { return with_precision(a->precision, [&] { return dump(*a); }); };
  });
}

}  // namespace kiln::tool

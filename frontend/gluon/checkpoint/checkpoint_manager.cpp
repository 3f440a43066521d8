// The checkpoints of a folder: their list, the newest one that is whole, and how a run continues from it.
#include "frontend/call/line.h"
#include "frontend/call/moved_from.h"
#include "frontend/formats/file_io.h"
#include "frontend/gluon/checkpoint/checkpoint_file.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/gluon/trainer/state_arrays.h"
#include "frontend/tensor/text.h"
#include "ir/numerics.h"
#include "runtime/fail.h"
#include "runtime/log.h"

#include <kiln/checkpoint.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln {
namespace {

namespace fs = std::filesystem;
using detail::CheckpointContents;

constexpr std::string_view name_prefix = "step-", name_suffix = ".npz";

struct CheckpointFile {
  std::int64_t step;
  std::string path;
};

/// The step of "step-00000100.npz".
std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(name_prefix) || !name.ends_with(name_suffix)) return {};
  const char* const begin = name.data() + name_prefix.size();
  const char* const end = name.data() + name.size() - name_suffix.size();
  std::int64_t step = 0;
  const auto [rest, error] = std::from_chars(begin, end, step);
  if (error != std::errc() || rest != end || step < 0) return {};
  return step;
}

/// Whether a killed run has left this: the temporary file of a checkpoint.
bool is_left_over(std::string_view name) {
  return name.starts_with(name_prefix) && name.find(std::string(name_suffix) + ".tmp.") != name.npos;
}

/// The checkpoints of a folder, oldest first; none if there is no such folder.
std::vector<CheckpointFile> checkpoints_in(const std::string& folder) {
  std::vector<CheckpointFile> files;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (const auto step = step_of(i->path().filename().string()))
      files.push_back({*step, i->path().string()});
  if (error && error != std::errc::no_such_file_or_directory)
    fail("{}: cannot list the folder of checkpoints: {}", folder, error.message());
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return a.step < b.step; });
  return files;
}

void remove_left_overs(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (is_left_over(i->path().filename().string())) found.push_back(i->path());
  for (const fs::path& p : found) fs::remove(p, error);
}

}  // namespace

struct CheckpointManager::Impl {
  std::string folder;
  CheckpointOptions options;
  ParameterDict parameters;  ///< of all networks and trainers
  std::vector<Trainer> trainers;
  std::vector<data::DataLoader> loaders;

  std::int64_t step() const { return trainers.front().num_update(); }

  CheckpointContents contents(const std::map<std::string, double>& numbers) const {
    CheckpointContents out;
    for (const Parameter& p : parameters) out.parameters.push_back({p.name(), p.data({})});
    for (const Trainer& t : trainers)
      out.trainers.push_back(detail::state_arrays(detail::TrainerAccess::state(t)));
    for (const data::DataLoader& l : loaders) out.loaders.push_back(l.state());
    out.random = random::state();
    out.numbers = numbers;
    out.step = step();
    out.numerics = ir::numerics_version;
    return out;
  }

  void save(const std::map<std::string, double>& numbers) const {
    if (const auto before = checkpoints_in(folder); !before.empty() && before.back().step > step())
      fail(
          "{}: this is a checkpoint of a later step than {}, of another run: continue that one by restore(), "
          "remove its checkpoints, or save in another folder",
          before.back().path, step());
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) fail("{}: cannot make the folder of checkpoints: {}", folder, error.message());
    const std::string path =
        (fs::path(folder) / fmt::format("{}{:08}{}", name_prefix, step(), name_suffix)).string();
    write_file(path, detail::format_checkpoint(contents(numbers)), "checkpoint");
    remove_left_overs(folder);
    const std::vector<CheckpointFile> files = checkpoints_in(folder);
    const std::size_t kept = std::min(files.size(), static_cast<std::size_t>(options.keep));
    for (std::size_t i = 0; i + kept < files.size(); ++i) fs::remove(files[i].path, error);
  }

  struct Damaged {
    std::string path, message;
  };

  std::optional<Checkpoint> restore() {
    const std::vector<CheckpointFile> files = checkpoints_in(folder);
    std::vector<Damaged> damaged;
    for (auto f = files.rbegin(); f != files.rend(); ++f) {
      const std::vector<std::byte> bytes = read_file(f->path, "checkpoint");
      CheckpointContents contents;
      try {
        contents = detail::parse_checkpoint(bytes, f->path);
      } catch (const detail::LaterCheckpoint& e) {
        throw Error(e.what());
      } catch (const Error& e) {
        if (e.kind() != Error::Kind::user) throw;
        damaged.push_back({f->path, e.what()});
        continue;
      }
      Checkpoint restored{f->path, contents.step, contents.numbers};
      take(std::move(contents), f->path);
      set_aside(damaged, f->path);
      return restored;
    }
    if (!damaged.empty())
      fail("none of the {} checkpoints in {} is whole; the newest: {}. To begin anew, remove them",
           damaged.size(), folder, damaged.front().message);
    return {};
  }

  /// Continues from the contents, after all of them have been checked.
  void take(CheckpointContents contents, const std::string& path) {
    check_parts("trainers", contents.trainers.size(), trainers.size(), path);
    check_parts("loaders", contents.loaders.size(), loaders.size(), path);
    std::unordered_map<std::string, const Tensor*> values;
    for (const NamedArray& a : contents.parameters) values.emplace(a.name, &a.array);
    check_parameters(values, path);
    const auto shape_of = [&](const Parameter& p) { return std::optional(values.at(p.name())->shape()); };
    std::vector<detail::LoadedStates> states;
    for (std::size_t i = 0; i < trainers.size(); ++i)
      states.push_back(detail::check_states(detail::TrainerAccess::state(trainers[i]),
                                            std::move(contents.trainers[i]), shape_of, path));
    take_loaders(contents.loaders, path);
    for (const Parameter& p : parameters) detail::ParameterAccess::load(p, *values.at(p.name()), false);
    for (std::size_t i = 0; i < trainers.size(); ++i)
      detail::take_states(detail::TrainerAccess::state(trainers[i]), std::move(states[i]));
    random::restore(contents.random);
    if (contents.numerics != ir::numerics_version)
      warn_once(
          "numerics " + path,
          fmt::format("{}: numerics version {} has computed this checkpoint, and this Kiln has version {}: "
                      "the run continues, with other bits than there",
                      path, contents.numerics, ir::numerics_version));
  }

  static void check_parts(const char* what, std::size_t saved, std::size_t here, const std::string& path) {
    if (saved != here)
      fail(
          "{}: the checkpoint has {} {}, and this run {}: each run gives its CheckpointManager the same "
          "parts",
          path, saved, what, here);
  }

  void check_parameters(const std::unordered_map<std::string, const Tensor*>& values,
                        const std::string& path) const {
    std::vector<std::string> names;
    for (const auto& [name, _] : values) names.push_back(name);
    std::sort(names.begin(), names.end());
    for (const Parameter& p : parameters) {
      const auto found = values.find(p.name());
      if (found == values.end())
        fail(
            "{}: there are no values for Parameter '{}', but for {}. Names begin with the prefixes of their "
            "blocks: make the networks in the same order in each run, or give them prefixes",
            path, p.name(), detail::brief_list(names));
      const Shape here = p.shape(), saved = found->second->shape();
      bool fits = here.empty() || here.rank() == saved.rank();  // an empty shape is not known
      if (p.is_initialized()) fits = here == saved;
      for (int i = 0; fits && i < here.rank(); ++i) fits = here[i] == saved[i] || here[i] == 0;
      if (!fits || p.dtype() != found->second->dtype())
        fail("{}: Parameter '{}' is {} {}, and the saved values are {} {}", path, p.name(),
             name_of(p.dtype()), here.str(), name_of(found->second->dtype()), saved.str());
    }
    if (values.size() != parameters.size()) {
      const auto extra = std::find_if(names.begin(), names.end(),
                                      [&](const std::string& n) { return !parameters.contains(n); });
      fail("{}: this run has no Parameter '{}'", path, *extra);
    }
  }

  /// Throws, changing nothing, for a place that a loader does not have.
  void take_loaders(const std::vector<data::LoaderState>& states, const std::string& path) {
    std::vector<data::LoaderState> before;
    for (std::size_t i = 0; i < loaders.size(); ++i) {
      before.push_back(loaders[i].state());
      loaders[i].restore(states[i], {});
      const std::int64_t size = loaders[i].size({});
      if (states[i].position <= size) continue;
      for (std::size_t k = 0; k <= i; ++k) loaders[k].restore(before[k], {});
      fail(
          "{}: the place in the epoch is batch {}, and the DataLoader has {}: it is of another dataset or "
          "batch "
          "size",
          path, states[i].position, size);
    }
  }

  /// So that the damaged files are not found again, and do not count as newer ones.
  static void set_aside(const std::vector<Damaged>& damaged, const std::string& restored) {
    for (const Damaged& d : damaged) {
      warn_once("damaged " + d.path, fmt::format("{}; continuing from {}", d.message, restored));
      std::error_code ignored;
      fs::rename(d.path, d.path + ".damaged", ignored);
    }
  }
};

CheckpointManager::CheckpointManager(const std::string& folder, const Block& net, const Trainer& trainer,
                                     const CheckpointOptions& options, Where where)
    : impl_(std::make_shared<Impl>(Impl{folder, options, ParameterDict(), {}, {}})) {
  if (options.keep < 1)
    fail("{}a CheckpointManager keeps 1 checkpoint or more, not {}", line_prefix(where), options.keep);
  add(net, where);
  add(trainer, where);
}
CheckpointManager::CheckpointManager(const std::string& folder, const Block& net, const Trainer& trainer,
                                     const data::DataLoader& loader, const CheckpointOptions& options,
                                     Where where)
    : CheckpointManager(folder, net, trainer, options, where) {
  add(loader);
}

void CheckpointManager::add(const Block& net, Where where) {
  at_line(where,
          [&] { detail::live_state(impl_, "CheckpointManager").parameters.update(net.collect_params()); });
}
void CheckpointManager::add(const Trainer& trainer, Where where) {
  at_line(where, [&] {
    Impl& impl = detail::live_state(impl_, "CheckpointManager");
    for (const detail::TrainedParameter& p : detail::TrainerAccess::state(trainer).parameters)
      impl.parameters.add(p.parameter);
    impl.trainers.push_back(trainer);
  });
}
void CheckpointManager::add(const data::DataLoader& loader) {
  detail::live_state(impl_, "CheckpointManager").loaders.push_back(loader);
}

void CheckpointManager::save(const std::map<std::string, double>& numbers, Where where) {
  at_line(where, [&] { detail::live_state(impl_, "CheckpointManager").save(numbers); });
}
bool CheckpointManager::save_every(std::int64_t steps, const std::map<std::string, double>& numbers,
                                   Where where) {
  if (steps < 1) fail("{}save_every() takes a number of steps, 1 or more, not {}", line_prefix(where), steps);
  if (detail::live_state(impl_, "CheckpointManager", where).step() % steps != 0) return false;
  save(numbers, where);
  return true;
}
std::optional<Checkpoint> CheckpointManager::restore(Where where) {
  return at_line(where, [&] { return detail::live_state(impl_, "CheckpointManager").restore(); });
}

}  // namespace kiln

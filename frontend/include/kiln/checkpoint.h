// CheckpointManager: training runs that continue after an interruption.
#pragma once
#include <kiln/block.h>
#include <kiln/data_loader.h>
#include <kiln/export.h>
#include <kiln/trainer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>

namespace kiln {

/// Options of CheckpointManager.
struct CheckpointOptions {
  int keep = 3;  ///< the newest checkpoints that are kept; at least 1
};

/// The place in a run that a CheckpointManager has restored.
struct Checkpoint {
  std::string path;                       ///< the folder of the checkpoint
  std::int64_t step = 0;                  ///< the updates that the (first) Trainer had made
  std::map<std::string, double> numbers;  ///< the program's own, from save()
};

/// Checkpoints of a training run in a folder. A run may be killed at any moment. Started again, it continues
/// from its last checkpoint with the same bits, for any number of the loader's workers.
///
/// ```
/// CheckpointManager checkpoints("checkpoints", net, trainer, batches);
/// checkpoints.restore();
/// for (auto epoch = batches.state().epoch; epoch < 10; ++epoch)
///   for (const auto& [x, y] : batches) {
///     ...
///     trainer.step(32);
///     checkpoints.save_every(100);
///   }
/// ```
///
/// A checkpoint has:
///
/// - the parameters of the networks and trainers;
///
/// - the states, counts and learning rates of the trainers;
///
/// - the epoch and place of the loops over the loaders, with the seed of their orders;
///
/// - the two streams of random numbers (random::State).
///
/// It does not have gradients: save after a step, not while GradReq::add collects. It is one .npz file,
/// `step-00000100.npz`. Its arrays are `arg:PARAMETER`, which `net.load_parameters(path, {.ignore_extra =
/// true})` reads, and states `trainer0:...` as of Trainer::save_states(). A JSON text, `kiln:checkpoint`, is
/// stored in bytes. Checksums find damage.
///
/// One run at a time uses a folder. Thread rule: one thread at a time, and no step meanwhile.
class KILN_API CheckpointManager {
 public:
  using Where = std::source_location;

  /// The folder is made by the first save(). The networks' parameters may still be uninitialised.
  CheckpointManager(const std::string& folder, const Block& net, const Trainer& trainer,
                    const CheckpointOptions& options = {}, Where where = Where::current());
  CheckpointManager(const std::string& folder, const Block& net, const Trainer& trainer,
                    const data::DataLoader& loader, const CheckpointOptions& options = {},
                    Where where = Where::current());
  /// Further parts of the run, as of a network with two trainers. Each run adds the same, in one order.
  void add(const Block& net, Where where = Where::current());
  void add(const Trainer& trainer, Where where = Where::current());
  void add(const data::DataLoader& loader);

  /// Writes a checkpoint, atomically: to a temporary file, flushed to disk, then renamed. Then removes all
  /// except the newest. `numbers`: further numbers that the program wants to find again, as the best accuracy
  /// so far. Throws if the file cannot be written, for parameters without values, and if the folder has
  /// checkpoints of later steps: of another run, which restore() would continue.
  void save(const std::map<std::string, double>& numbers = {}, Where where = Where::current());
  /// The same if the number of the trainer's updates is a multiple of `steps`. Returns whether it has saved.
  bool save_every(std::int64_t steps, const std::map<std::string, double>& numbers = {},
                  Where where = Where::current());
  /// Continues from the newest checkpoint that is whole: all that it has is as it was. A damaged one is
  /// skipped with a warning that names it, and gets the ending `.damaged`. None in the folder: returns
  /// nothing, and the run begins. Warns if a version of Kiln has written it that rounds differently (the
  /// numerics version): the run continues with other bits then. Throws, changing nothing, if the checkpoints
  /// are all damaged, or of another run: parameters of other names, shapes or dtypes, another optimizer,
  /// other parts.
  std::optional<Checkpoint> restore(Where where = Where::current());

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kiln

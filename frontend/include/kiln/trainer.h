// Trainer: updates of parameters by an optimizer.
#pragma once
#include <kiln/export.h>
#include <kiln/optimizer.h>
#include <kiln/parameter.h>

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

namespace detail {
struct TrainerState;
struct TrainerAccess;
}  // namespace detail

/// Options of Trainer besides the options of its optimizer, with MXNet's names.
struct TrainerOptions {
  /// MXNet's key-value store. With one device there is nothing to exchange: "device", "local", "nccl" and ""
  /// are accepted, names of distributed stores are errors.
  std::string kvstore = "device";
  bool update_on_kvstore = false;  ///< no effect: there is one device
  /// Before each update, checks that all gradients are finite. Throws and names the parameter if one is not;
  /// nothing is updated then. Reads every gradient once more.
  bool check_finite = false;
};

/// Updates the parameters of a network by an optimizer, from the gradients that backward() has left in them:
///
/// ```
/// Trainer trainer(net.collect_params(), "sgd", {.learning_rate = 0.1, .momentum = 0.9});
/// ```
///
/// The parameters may still be uninitialised; they must have values at the first step. Parameters that a
/// dictionary gets later are not the trainer's; parameters with GradReq::null are left alone. All updates of
/// a step are one executable; it is compiled again only for other shapes, dtypes or another choice of
/// parameters, never for another learning rate.
///
/// Parameters and states are written in place: handles of them see the new values. A handle itself: copies
/// are the same trainer. Thread rule: one thread at a time, and no call of the network meanwhile.
class KILN_API Trainer {
 public:
  using Where = std::source_location;

  /// `optimizer`: a name of optimizer::create(). Parameters of a dictionary are updated in the order of their
  /// names, a list in its order; Options::param_idx2name counts in that order.
  Trainer(const ParameterDict& params, std::string_view optimizer, const optimizer::Options& options = {},
          const TrainerOptions& trainer_options = {}, Where where = Where::current());
  Trainer(const ParameterDict& params, std::shared_ptr<optimizer::Optimizer> optimizer,
          const TrainerOptions& options = {}, Where where = Where::current());
  Trainer(const std::vector<Parameter>& params, std::string_view optimizer,
          const optimizer::Options& options = {}, const TrainerOptions& trainer_options = {},
          Where where = Where::current());
  Trainer(const std::vector<Parameter>& params, std::shared_ptr<optimizer::Optimizer> optimizer,
          const TrainerOptions& options = {}, Where where = Where::current());

  /// Updates all parameters once. Gradients are multiplied by rescale_grad / `batch_size`. A parameter whose
  /// gradient has not been computed since the last step is an error, or, with `ignore_stale_grad`, keeps its
  /// values and states. Throws before anything is written: for a batch size below 1, a parameter without
  /// values, a stale gradient, and one that is not finite with TrainerOptions::check_finite.
  void step(std::int64_t batch_size, bool ignore_stale_grad = false, Where where = Where::current());
  /// The two parts of step(): allreduce_grads() has nothing to do on one device. Gradients may be changed
  /// between them, as by clip_global_norm().
  void allreduce_grads();
  /// The update alone, after allreduce_grads(): step() does both.
  void update(std::int64_t batch_size, bool ignore_stale_grad = false, Where where = Where::current());

  /// The rate of the last update; before the first, of its beginning.
  double learning_rate() const;
  /// Throws if the optimizer has a schedule.
  void set_learning_rate(double rate, Where where = Where::current());
  /// The optimizer, shared with copies of the trainer.
  const std::shared_ptr<optimizer::Optimizer>& optimizer() const;
  /// The number of updates so far, counted from begin_num_update.
  std::int64_t num_update() const;

  /// Writes the states of all updated parameters, atomically, as .params, .npz or .safetensors by the file's
  /// extension. The arrays are `state:PARAMETER:STATE`; `kiln:json` has the optimizer, its options, schedule
  /// and learning rate, the counts of updates, and the factor of losses (kiln/amp.h).
  void save_states(const std::string& path, Where where = Where::current()) const;
  /// Reads them. Counts, states and, without a schedule, the learning rate continue from the file; options
  /// stay the program's. Throws, changing nothing, for a file of another optimizer, parameters of other names
  /// or shapes, and MXNet's own files, which are Python pickles.
  void load_states(const std::string& path, Where where = Where::current());

 private:
  friend struct detail::TrainerAccess;
  std::shared_ptr<detail::TrainerState> state_;
};

/// Scales the arrays, in place, so that the norm of all of them together is at most `max_norm`. Returns the
/// norm from before. `check_finite`: warns if it is infinite or NaN; the arrays are undefined then. Usually
/// of gradients: between Trainer::allreduce_grads() and update().
KILN_API double clip_global_norm(const std::vector<Tensor>& arrays, double max_norm, bool check_finite = true,
                                 std::source_location where = std::source_location::current());

}  // namespace kiln

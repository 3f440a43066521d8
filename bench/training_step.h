// Workloads that are one training step.
#pragma once
#include "bench/workload.h"

namespace bench {

/// A network that trains on one batch: the loss of its result and `label`, and an optimizer.
struct Training {
  std::shared_ptr<kiln::HybridBlock> net;
  kiln::Tensors inputs;
  kiln::Tensor label;
  std::shared_ptr<kiln::loss::Loss> loss;
  std::string optimizer;
  kiln::optimizer::Options options = {};
};

/// Registers a step in two forms: `name` is Record, backward() and Trainer::step(), eager and compiled;
/// `name`_one_call is train_step().
void add_training_step(const std::string& name, std::function<Training()> make);

/// 0 to classes - 1 in turn, in leaps: (count,).
kiln::Tensor class_labels(std::int64_t count, int classes);

/// The mean cross-entropy of scores and class_labels() for each of the batch.
std::shared_ptr<kiln::loss::Loss> cross_entropy();
/// The result of the network is the loss of each of the batch already; the label is not read.
std::shared_ptr<kiln::loss::Loss> computed_loss();

}  // namespace bench

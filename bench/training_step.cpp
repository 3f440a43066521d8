// Workloads that are one training step.
#include "bench/training_step.h"

using namespace kiln;

namespace bench {
namespace {

class ComputedLoss : public loss::Loss {
 public:
  ComputedLoss() : Loss({}, 0) {}

 protected:
  Tensors hybrid_forward(F& F, const Tensors& in) override { return {F.identity(in[0])}; }
};

Workload workload(const Training& t, bool one_call) {
  t.net->initialize();
  t.loss->hybridize();
  (*t.net)(t.inputs);  // shapes of parameters
  Trainer trainer(t.net->collect_params(), t.optimizer, t.options);
  Workload w{t.net, t.inputs};
  if (one_call) {
    w.program = [t, step = t.net->train_step(*t.loss, trainer)]() mutable { return step(t.inputs, t.label); };
  } else {
    w.program = [t, trainer]() mutable {
      Tensor l;
      {
        const autograd::Record record;
        l = (*t.loss)((*t.net)(t.inputs)[0], t.label);
      }
      l.backward();
      trainer.step(t.inputs[0].shape()[0]);
      return l;
    };
  }
  return w;
}

}  // namespace

void add_training_step(const std::string& name, std::function<Training()> make) {
  add(name, [=] { return workload(make(), false); });
  add_compiled(name + "_one_call", [=] { return workload(make(), true); });
}

Tensor class_labels(std::int64_t count, int classes) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 7 % classes));
  return {values, {count}};
}

std::shared_ptr<loss::Loss> cross_entropy() { return std::make_shared<loss::SoftmaxCrossEntropyLoss>(); }
std::shared_ptr<loss::Loss> computed_loss() { return std::make_shared<ComputedLoss>(); }

}  // namespace bench

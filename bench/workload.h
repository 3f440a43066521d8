// Workloads: networks and their inputs.
#pragma once
#include <kiln/kiln.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// A workload is a network and its inputs; one call is timed. Each is registered as NAME/eager/threads:N and
/// NAME/compiled/threads:N.
namespace bench {

struct Workload {
  std::shared_ptr<kiln::HybridBlock> net;
  kiln::Tensors inputs;
  bool many = false;  ///< the network returns several tensors
  /// Replaces the call of the network, where the workload is more than that; it has initialized the network.
  std::function<kiln::Tensor()> program = {};
  bool initialized = false;  ///< the network's parameters have values already

  /// Calls the network as a program would: most workloads take one to three tensors and return one.
  kiln::Tensor call() const {
    if (program) return program();
    if (many) return (*net)(inputs)[0];
    switch (inputs.size()) {
      case 1:
        return (*net)(inputs[0]);
      case 2:
        return (*net)(inputs[0], inputs[1]);
      default:
        return (*net)(inputs[0], inputs[1], inputs[2]);
    }
  }
};
using Make = std::function<Workload()>;

void add(const std::string& name, Make make, const std::vector<int>& threads = {1});
/// The compiled form alone.
void add_compiled(const std::string& name, Make make, const std::vector<int>& threads = {1});

/// A workload that is registered already.
Workload made(const std::string& name);

// One function per family, called by main.
void add_networks();
void add_pointwise();
void add_rows();
void add_contractions();
void add_recurrent();
void add_vision();
void add_mobile();
void add_images();
void add_transformers();
void add_training();
void add_trainer();
void add_language();
void add_low_precision();
/// Overhead of calls and compilation. `self`: the path of this program, which is started again for each first
/// call.
void add_calls(const std::string& self);
/// The main function of such a process: prints the time in seconds.
int run_first_call(const std::string& what);

/// Standard normal, or uniform in [0.5, 1.5): the same numbers in every run.
kiln::Tensor randn(const kiln::Shape& shape);
kiln::Tensor uniform(const kiln::Shape& shape);

/// The heads of attention as a batch: (batch, time, width) to (batch * heads, time, width / heads), and back.
kiln::Tensor split_heads(kiln::F& F, const kiln::Tensor& x, int heads);
kiln::Tensor join_heads(kiln::F& F, const kiln::Tensor& x, int heads);

/// A network that is a function of its inputs.
class Function : public kiln::HybridBlock {
 public:
  using Body = std::function<kiln::Tensor(kiln::F&, const kiln::Tensors&)>;
  explicit Function(Body body) : body_(std::move(body)) {}

 protected:
  kiln::Tensors hybrid_forward(kiln::F& F, const kiln::Tensors& inputs) override {
    return {body_(F, inputs)};
  }

 private:
  Body body_;
};
inline Workload function(Function::Body body, kiln::Tensors inputs) {
  return {std::make_shared<Function>(std::move(body)), std::move(inputs)};
}

/// 512-256-128-2 with relu: the network of Gluon's hybridize tutorial.
Workload mlp(int batch);
/// Two 5x5 convolutions with pooling, three dense layers, on images of 28x28.
Workload lenet(int batch);
/// A layer of BERT-base, on 128 tokens.
Workload encoder();
/// A network of the model zoo, on one image of 224x224.
Workload model(const std::string& name);

}  // namespace bench

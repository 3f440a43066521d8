// Networks in int8, and cast to bfloat16.
#include "bench/low_precision.h"

using namespace kiln;

namespace bench {
namespace {

class WithBf16Operands : public HybridBlock {
 public:
  explicit WithBf16Operands(std::shared_ptr<HybridBlock> net) : net_(std::move(net)) {
    register_child(net_, "net");
  }

 protected:
  Tensors hybrid_forward(F&, const Tensors& inputs) override {
    const PrecisionScope scope(Precision::bf16);
    return (*net_)(inputs);
  }

 private:
  std::shared_ptr<HybridBlock> net_;
};

void initialize(Workload& w) {
  w.net->initialize();
  w.initialized = true;
}

}  // namespace

Workload in_int8(Workload w) {
  initialize(w);
  w.net = std::make_shared<SymbolBlock>(quantize(*w.net, {w.inputs}, {.calibration = Calibration::extremes}));
  return w;
}

Workload in_bf16(Workload w, int min_axes) {
  initialize(w);
  w.net->cast(DType::bf16);
  for (Tensor& x : w.inputs)
    if (x.shape().rank() >= min_axes) x = x.astype(DType::bf16);
  return w;
}

Workload with_bf16_operands(Workload w) {
  w.net = std::make_shared<WithBf16Operands>(std::move(w.net));
  return w;
}

void add_low_precision() {
  struct Network {
    std::string name;
    int min_axes = 1;  ///< of inputs that are cast: others are row numbers, which bfloat16 would round
    bool in_int8 = false;
  };
  const Network networks[] = {{"mlp_b64", 1, true},
                              {"encoder_s128", 1, true},
                              {"bert_base_b1_s128", 3, true},
                              {"bert_base_b8_s128", 3, true},
                              {"gpt2_step_512", 3},
                              {"vit_s", 1, true},
                              {"resnet50_v1", 1, true},
                              {"mobilenet_v2", 1, true},
                              {"efficientnet_b0", 1, true},
                              {"vgg16", 1, true},
                              {"unet_224"},
                              {"bilstm2_b16"}};
  for (const auto& [name, min_axes, quantized] : networks) {
    if (quantized) add(name + "_int8", [=] { return in_int8(made(name)); }, {1, 2});
    add(name + "_bf16", [=] { return in_bf16(made(name), min_axes); }, {1, 2});
    add(name + "_precision_bf16", [=] { return with_bf16_operands(made(name)); }, {1, 2});
  }
}

}  // namespace bench

// Networks in int8, and cast to bfloat16.
#include "bench/low_precision.h"

#include "bench/transformer.h"

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

Workload in_bf16(Workload w, bool cast_inputs) {
  initialize(w);
  w.net->cast(DType::bf16);
  if (cast_inputs)
    for (Tensor& x : w.inputs) x = x.astype(DType::bf16);
  return w;
}

Workload with_bf16_operands(Workload w) {
  w.net = std::make_shared<WithBf16Operands>(std::move(w.net));
  return w;
}

void add_low_precision() {
  struct Network {
    std::string name;
    Make make;
    bool of_words = false;  ///< inputs are row numbers, which bfloat16 would round
  };
  const Network networks[] = {{"mlp_b64", [] { return mlp(64); }},
                              {"encoder_s128", encoder},
                              {"bert_base_b1_s128", [] { return bert_base(1, 128); }, true},
                              {"resnet50_v1", [] { return model("resnet50_v1"); }},
                              {"mobilenet_v2", [] { return model("mobilenetv2_1.0"); }}};
  for (const Network& n : networks) {
    add(n.name + "_int8", [make = n.make] { return in_int8(make()); }, {1, 2});
    add(n.name + "_bf16", [make = n.make, cast = !n.of_words] { return in_bf16(make(), cast); }, {1, 2});
  }
}

}  // namespace bench

// Block::summary().
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/tensor/text.h"
#include "runtime/fail.h"

#include <ostream>
#include <unordered_set>

namespace kiln {
namespace {

struct Layer {
  std::string name, shape;
  std::int64_t params = 0, trainable = 0, shared = 0;
};

Layer describe(const Block& block, std::size_t number, const Tensors& outputs,
               std::unordered_set<const detail::ParameterState*>& seen) {
  Layer layer{block.class_name() + "-" + std::to_string(number), detail::shapes_of(outputs)};
  for (const Parameter& p : block.params()) {
    const std::int64_t n = p.data({}).size();
    layer.params += n;
    if (p.grad_req() != GradReq::null) layer.trainable += n;
    if (!seen.insert(&detail::ParameterAccess::state(p)).second) layer.shared += n;
  }
  return layer;
}

void print(std::ostream& os, const std::vector<Layer>& layers) {
  const std::string thin(80, '-'), thick(80, '=');
  const auto row = [&](const std::string& name, const std::string& shape, const std::string& params) {
    os << fmt::format("{:>20}  {:>42} {:>15}\n", name, shape, params);
  };
  os << thin << "\n";
  row("Layer (type)", "Output Shape", "Param #");
  os << thick << "\n";
  std::int64_t total = 0, trainable = 0, shared = 0;
  for (const Layer& l : layers) {
    row(l.name, l.shape, std::to_string(l.params));
    total += l.params;
    trainable += l.trainable;
    shared += l.shared;
  }
  os << thick << "\nParameters in forward computation graph, duplicate included\n"
     << "   Total params: " << total << "\n   Trainable params: " << trainable
     << "\n   Non-trainable params: " << total - trainable
     << "\nShared params in forward computation graph: " << shared
     << "\nUnique parameters in model: " << total - shared << "\n"
     << thin << "\n";
}

}  // namespace

void Block::summary(const Tensors& inputs, std::ostream& os) const {
  std::vector<Layer> layers{{"Input", detail::shapes_of(inputs)}};
  std::unordered_set<const detail::ParameterState*> seen;
  struct Hooks {
    std::vector<HookHandle> list;
    ~Hooks() {
      for (HookHandle& h : list) h.detach();
    }
  } hooks;
  const_cast<Block&>(*this).apply([&](Block& block) {
    if (block.state().active) fail("\"{}\" must not be hybridized to print summary.", block.name());
    if (block.state().container) return;
    hooks.list.push_back(block.register_forward_hook([&](Block& b, const Tensors&, const Tensors& outputs) {
      layers.push_back(describe(b, layers.size(), outputs, seen));
    }));
  });
  (*this)(inputs);
  print(os, layers);
}

}  // namespace kiln

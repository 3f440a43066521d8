#pragma once
#include "frontend/invoke.h"
#include "frontend/trace.h"
#include "ir/attrs.h"

#include <kiln/nn.h>

#include <memory>

namespace kiln::detail {

/// The operator of a layer and all its attributes, as MXNet's layers write them. Made once, shared by the
/// copies.
struct LayerConfig {
  const ir::OpDef* op;
  ir::Attrs attrs;
};

inline std::shared_ptr<const LayerConfig> layer_config(std::string_view op_name, ir::Attrs attrs) {
  return std::make_shared<const LayerConfig>(LayerConfig{&row(op_name), std::move(attrs)});
}

inline ir::AttrValue word(std::string_view text) { return std::string(text); }

/// Extent `axis` (negative counts from the end) of a layer's input. Throws, naming the layer.
inline std::int64_t extent_of(const Block& layer, const Tensor& x, int axis) {
  const Shape& shape = x.shape();
  const int at = axis < 0 ? axis + shape.rank() : axis;
  if (at < 0 || at >= shape.rank())
    throw Error(layer.name() + " needs axis " + std::to_string(axis) + " of its input, whose shape is " +
                shape.str());
  return shape[static_cast<std::size_t>(at)];
}

}  // namespace kiln::detail

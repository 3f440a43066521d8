// The configuration that all copies of a layer share.
#pragma once
#include "frontend/call/line.h"
#include "frontend/call/op_call.h"
#include "ir/attrs.h"

#include <kiln/nn.h>

#include <memory>

namespace kiln::detail {

/// The operator of a layer and all its attributes, in the form of MXNet's layers. Shared by all copies.
struct LayerConfig {
  const ir::OpDef* op;
  ir::Attrs attrs;
};

inline std::shared_ptr<const LayerConfig> layer_config(std::string_view op_name, ir::Attrs attrs) {
  return std::make_shared<const LayerConfig>(LayerConfig{&find_op_or_throw(op_name), std::move(attrs)});
}

inline ir::AttrValue word(std::string_view text) { return std::string(text); }

}  // namespace kiln::detail

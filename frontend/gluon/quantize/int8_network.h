// The graph of a network with layers in int8, and its values.
#pragma once
#include "frontend/gluon/quantize/float_network.h"

#include <kiln/symbol_block.h>

#include <optional>
#include <string>
#include <vector>

namespace kiln::detail {

/// A weight in int8: symmetric integers and a step for each unit or channel.
struct Int8Weight {
  Tensor integers, steps;
  /// The greatest sum of magnitudes of the integers of one unit or channel.
  std::int64_t max_sum = 0;
};
/// Each element of a unit is a multiple of its step, to the nearest, halves to even. A step is the greatest
/// magnitude of the unit / 127, and 1 where that is 0. Throws for NaN or an infinity, naming the parameter
/// `name`.
Int8Weight int8_weight(const Tensor& weight, const std::string& name);

/// The integers of a layer's input.
struct Int8Data {
  DType dtype;
  float step;
};
/// A layer that becomes int8.
struct Int8Layer {
  ir::NodePtr node;
  std::optional<Int8Data> data;  ///< nothing: its input stays in floating point, of a dense layer
};
/// A new network on `device` with these layers in int8. `weights` has their weights by the names of the
/// parameters.
SymbolBlock int8_network(const FloatNetwork& network, const std::vector<Int8Layer>& layers,
                         const std::map<std::string, Int8Weight>& weights, Device device);

}  // namespace kiln::detail

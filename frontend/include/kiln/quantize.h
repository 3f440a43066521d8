// quantize(): a trained network with dense layers and convolutions in int8.
#pragma once
#include <kiln/block.h>
#include <kiln/data_loader.h>
#include <kiln/symbol_block.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace kiln {

/// How calibration chooses the greatest magnitude of a layer's input that its integers represent, from all
/// batches. Greater ones saturate. The order of the batches, and their sizes, have no effect.
enum class Calibration {
  extremes,    ///< the greatest one that was seen
  percentile,  ///< the one that 99.99 % of the elements do not exceed
  /// The one whose quantised distribution has the least Kullback-Leibler divergence from the seen one. Zeros
  /// are exact in any case and do not count. It needs some thousand elements.
  entropy,
};

/// The result of quantize() for one layer.
struct QuantizedLayer {
  std::string name;              ///< of the operator's node: "hybridsequential0_dense0_fwd"
  std::string op;                ///< "FullyConnected" or "Convolution"
  std::string float_because;     ///< why it stays in floating point; empty: its weight is int8
  bool weights_only = false;     ///< its input stays in floating point, without data_dtype and data_step
  DType data_dtype = DType::i8;  ///< i8 or u8: the integers of its input
  double data_step = 0;          ///< the number that the integer 1 stands for
  std::int64_t float_bytes = 0;  ///< of the weight before
  std::int64_t int8_bytes = 0;   ///< of the weight and its steps
};

/// Options of quantize().
struct QuantizeOptions {
  Calibration calibration = Calibration::entropy;  ///< of the inputs of layers
  /// Layers that stay in floating point: names of nodes, of layers, or of blocks with layers.
  std::vector<std::string> exclude = {};
  /// Whether weights of dense layers alone become int8, and all inputs stay in floating point. `calibration`
  /// has no effect, and of the batches the first one alone is read, for its shapes. For networks without
  /// samples, and where the memory of large weights bounds the time: few rows for each call, as in decoding.
  bool weights_only = false;
  /// i8 or u8, the integers of all inputs. Not given: u8 for an input without negative elements in all
  /// batches, which has twice as many levels, else i8.
  std::optional<DType> activations = {};
  std::size_t num_inputs =
      1;  ///< the arrays of a loader's batch that are the network's inputs, the first ones
  std::vector<QuantizedLayer>* layers = nullptr;  ///< receives a row for each layer, in the graph's order
};

/// A copy of the network whose dense layers and convolutions compute in int8. `net` runs on all batches, in
/// prediction mode, and each layer's input is observed. Then each weight becomes int8, symmetric, with one
/// step for each unit or channel. Each input becomes i8 or u8, with one step. Biases and all other operators
/// stay as they are. Dtypes and shapes of inputs and results do not change.
///
/// ```
/// SymbolBlock int8 = quantize(net, batches);
/// int8.hybridize();
/// Tensor y = int8(x);
/// ```
///
/// With `weights_only` dense layers multiply inputs by the integers, and add in floating point. Neither
/// samples nor calibration is needed: `quantize(net, {{x}}, {.weights_only = true})`.
///
/// A row of `layers` says why a layer stays in floating point. It is excluded, in the body of a loop or
/// branch, or has a weight that is computed. Or its input is 0 in all batches, or its sums might exceed
/// int32. With `weights_only`, or it is a convolution.
///
/// The result is a new network on the device of `net`, with the latest values of its parameters. Its int8
/// parameters have no gradient. It is exported and saved as any other, and SymbolBlock::imports() reads the
/// files.
///
/// Throws for no batches, a network without parameters' values, and an exclusion that names nothing. Throws
/// for NaN or an infinity in a layer's input or weight, and for a network without a layer to quantise. Throws
/// for `activations` together with `weights_only`. A network of deferred shapes takes them from the first
/// batch. Thread rule: as a call of `net`.
KILN_API SymbolBlock quantize(const HybridBlock& net, const data::DataLoader& batches,
                              const QuantizeOptions& options = {},
                              std::source_location where = std::source_location::current());
/// The same of the inputs of one call for each batch: `quantize(net, {{x}})`.
KILN_API SymbolBlock quantize(const HybridBlock& net, const std::vector<Tensors>& batches,
                              const QuantizeOptions& options = {},
                              std::source_location where = std::source_location::current());

}  // namespace kiln

#pragma once
#include <kiln/kiln.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Small networks of every kind that is trained, with a loss and data.
namespace training {

struct Task {
  std::string name;
  std::shared_ptr<kiln::HybridBlock> net;
  std::shared_ptr<kiln::loss::Loss> loss;
  kiln::Tensor x, label;
};

/// Multilayer perceptron, with layers of equal shapes.
Task mlp();
/// Convolutions with BatchNorm, pooling and Dropout.
Task convolutional();
/// An LSTM and a Dense on its last output.
Task lstm();
/// A layer of a transformer's encoder, with LayerNorm.
Task encoder();

/// All of the above, with parameters of the same values each time.
std::vector<std::function<Task()>> tasks();

}  // namespace training

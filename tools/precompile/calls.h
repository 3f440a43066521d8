// Calls that compile the kernels to install.
#pragma once

/// Not thread-safe.
namespace precompile {

/// Eager operators on float32, and on the integers that count and index.
void call_operators();
/// Dense layers of common widths, recurrent layers, an encoder layer, steps of training.
void call_layers();
/// The model zoo.
void call_networks();

}  // namespace precompile

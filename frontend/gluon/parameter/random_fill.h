#pragma once
#include <functional>
#include <span>

namespace kiln::init {

/// Uniform in [-scale, scale). `uniform` returns numbers in [0, 1).
void fill_uniform(std::span<double> out, double scale, const std::function<double()>& uniform);
/// Gaussian with mean 0. Box-Muller transform: two uniform numbers give two normal ones.
void fill_normal(std::span<double> out, double sigma, const std::function<double()>& uniform);

}  // namespace kiln::init

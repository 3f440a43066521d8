#pragma once
#include <kiln/export.h>
#include <kiln/shape.h>

#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>

namespace kiln {

/// The initial values of a parameter. An immutable handle, cheap to copy. Random values come from a separate
/// stream, restarted by random::seed: deferred initialisation does not shift the program's random numbers.
class KILN_API Initializer {
 public:
  /// Writes the values of an array of `shape`, in C order. `uniform` returns numbers in [0, 1).
  using Fill = std::function<void(std::span<double> values, const Shape& shape,
                                  const std::function<double()>& uniform)>;

  /// No initializer: the parameter uses the one of initialize().
  Initializer() = default;
  /// By MXNet's name: "zeros", "ones", "uniform", "normal", "xavier", ... Throws for another name, listing
  /// all.
  Initializer(const char* name, std::source_location where = std::source_location::current())
      : Initializer(std::string(name), where) {}
  Initializer(const std::string& name, std::source_location where = std::source_location::current());
  /// A custom initializer. `text` is its `__init__` in exported files.
  Initializer(std::string text, Fill fill);

  bool defined() const { return impl_ != nullptr; }
  /// The text in exported files: "zeros", or JSON `["xavier", {...}]`.
  const std::string& text() const;
  void fill(std::span<double> values, const Shape& shape, const std::function<double()>& uniform) const;
  /// Whether both are the same object or have the same text.
  bool operator==(const Initializer& o) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

namespace init {

KILN_API Initializer Zero();
KILN_API Initializer One();
KILN_API Initializer Constant(double value);
/// Uniform in [-scale, scale).
KILN_API Initializer Uniform(double scale = 0.07);
/// Gaussian with mean 0 and deviation sigma.
KILN_API Initializer Normal(double sigma = 0.01);

struct XavierOptions {
  std::string rnd_type = "uniform";  ///< "uniform" or "gaussian"
  std::string factor_type = "avg";   ///< "avg", "in" or "out"
  double magnitude = 3;
};
/// Scale sqrt(magnitude / factor); factor is the fan-in, fan-out or their mean (Glorot and Bengio 2010).
/// Needs two axes or more: outputs, inputs, window.
KILN_API Initializer Xavier(const XavierOptions& options = {});
/// Xavier for a PReLU with that slope (He et al. 2015).
KILN_API Initializer MSRAPrelu(const std::string& factor_type = "avg", double slope = 0.25);

}  // namespace init
}  // namespace kiln

#pragma once
#include <kiln/export.h>
#include <kiln/shape.h>

#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>

namespace kiln {

/// How a parameter gets its first values. A cheap handle; immutable. Values are drawn from a stream of their
/// own that random::seed restarts: when a parameter is initialised (at once or with the first call) does not
/// move the random numbers that the program draws otherwise.
class KILN_API Initializer {
 public:
  /// Writes values for an array of `shape`, in C order; `uniform` gives numbers in [0, 1) and may be called
  /// any number of times.
  using Fill = std::function<void(std::span<double> values, const Shape& shape,
                                  const std::function<double()>& uniform)>;

  /// None: a parameter without one takes what initialize() was given.
  Initializer() = default;
  /// By MXNet's name: "zeros", "ones", "uniform", "normal", "xavier", ... Throws for another word, listing
  /// them.
  Initializer(const char* name, std::source_location where = std::source_location::current())
      : Initializer(std::string(name), where) {}
  Initializer(const std::string& name, std::source_location where = std::source_location::current());
  /// A program's own. `text` is what exported files say of it (`__init__`).
  Initializer(std::string text, Fill fill);

  bool defined() const { return impl_ != nullptr; }
  /// As it stands in exported files: "zeros", or the JSON text `["xavier", {...}]`.
  const std::string& text() const;
  void fill(std::span<double> values, const Shape& shape, const std::function<double()>& uniform) const;
  /// Whether both are the same object or say the same.
  bool operator==(const Initializer& o) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

namespace init {

KILN_API Initializer Zero();
KILN_API Initializer One();
KILN_API Initializer Constant(double value);
/// Evenly in [-scale, scale).
KILN_API Initializer Uniform(double scale = 0.07);
/// Gaussian with mean 0 and deviation sigma.
KILN_API Initializer Normal(double sigma = 0.01);

struct XavierOptions {
  std::string rnd_type = "uniform";  ///< "uniform" or "gaussian"
  std::string factor_type = "avg";   ///< "avg", "in" or "out"
  double magnitude = 3;
};
/// Scale sqrt(magnitude / factor), the factor being fan-in, fan-out or their mean (Glorot and Bengio 2010).
/// For shapes with two or more axes: axis 0 counts outputs, axis 1 inputs, the rest the window.
KILN_API Initializer Xavier(const XavierOptions& options = {});
/// Xavier for a PReLU of that slope (He et al. 2015).
KILN_API Initializer MSRAPrelu(const std::string& factor_type = "avg", double slope = 0.25);

}  // namespace init
}  // namespace kiln

// Initial values of parameters.
#pragma once
#include <kiln/export.h>
#include <kiln/io.h>
#include <kiln/shape.h>

#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace kiln {

namespace detail {
struct InitializerAccess;
}  // namespace detail

/// The initial values of a parameter. An immutable handle, cheap to copy. Random values come from a separate
/// stream, restarted by random::seed: deferred initialisation does not shift the program's random numbers.
class KILN_API Initializer {
 public:
  /// Writes the values of an array of `shape`, in C order. `uniform` returns numbers in [0, 1).
  using Fill = std::function<void(std::span<double> values, const Shape& shape,
                                  const std::function<double()>& uniform)>;
  /// Chooses an initializer for a parameter by its full name. `own`: the one that the parameter was made
  /// with, if any.
  using Choose = std::function<Initializer(const std::string& parameter, const Initializer& own)>;

  /// No initializer: the parameter uses the one of initialize().
  Initializer() = default;
  /// By MXNet's name: "zeros", "ones", "uniform", "normal", "xavier", ... Throws for another name, listing
  /// all.
  Initializer(const char* name, std::source_location where = std::source_location::current())
      : Initializer(std::string(name), where) {}
  Initializer(const std::string& name, std::source_location where = std::source_location::current());
  /// A custom initializer. `text` is its `__init__` in exported files.
  Initializer(std::string text, Fill fill);
  /// A custom initializer that chooses another.
  static Initializer choosing(std::string text, Choose choose);

  bool defined() const { return impl_ != nullptr; }  ///< whether it is an initializer
  /// The text in exported files: "zeros", or JSON `["xavier", {...}]`.
  const std::string& text() const;
  /// The initializer that gives this parameter's values where this one is the default: `own` if defined, else
  /// this one, or by its Choose.
  Initializer of(const std::string& parameter, const Initializer& own = {}) const;
  /// Throws for one that chooses by name: see of().
  void fill(std::span<double> values, const Shape& shape, const std::function<double()>& uniform) const;
  /// Equal state or equal text. Initializers that choose by name compare by identity.
  bool operator==(const Initializer& o) const;

 private:
  friend struct detail::InitializerAccess;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

namespace init {

using Where = std::source_location;

KILN_API Initializer Zero();                  ///< all 0
KILN_API Initializer One();                   ///< all 1
KILN_API Initializer Constant(double value);  ///< all `value`
/// Uniform in [-scale, scale).
KILN_API Initializer Uniform(double scale = 0.07, Where where = Where::current());
/// Gaussian with mean 0 and deviation sigma, 0 or more.
/// Normal with mean 0 and standard deviation `sigma`.
KILN_API Initializer Normal(double sigma = 0.01, Where where = Where::current());

/// Options of Xavier.
struct XavierOptions {
  std::string rnd_type = "uniform";  ///< "uniform" or "gaussian"
  std::string factor_type = "avg";   ///< "avg", "in" or "out"
  double magnitude = 3;              ///< see Xavier
};
/// Scale sqrt(magnitude / factor); factor is the fan-in, fan-out or their mean (Glorot and Bengio 2010).
/// Needs two axes or more: outputs, inputs, window.
KILN_API Initializer Xavier(const XavierOptions& options = {}, Where where = Where::current());
/// Xavier for a PReLU with that slope (He et al. 2015).
KILN_API Initializer MSRAPrelu(const std::string& factor_type = "avg", double slope = 0.25,
                               Where where = Where::current());

/// Options of Orthogonal.
struct OrthogonalOptions {
  double scale = 1.414;               ///< the factor of the orthogonal matrix
  std::string rand_type = "uniform";  ///< "uniform" or "normal"
};
/// A matrix of shape[0] rows, scaled by `scale`. Its rows (or columns, if there are more rows than columns)
/// are orthogonal to each other and of length 1 (Saxe et al. 2013). Random numbers are made orthogonal in the
/// order of the rows (columns) by the method of Gram and Schmidt.
KILN_API Initializer Orthogonal(const OrthogonalOptions& options = {}, Where where = Where::current());
/// The window of a transposed convolution that upsamples by bilinear interpolation. Needs four axes. Each
/// channel has the window, as in MXNet: for a layer with as many groups as channels.
KILN_API Initializer Bilinear();
/// The bias of an LSTM cell: 0, and `forget_bias` for the forget gate, the second quarter (Jozefowicz et al.
/// 2015).
KILN_API Initializer LSTMBias(double forget_bias = 1.0);
/// The first initializer whose regular expression matches at the start of the parameter's full name. A
/// parameter that was made with an initializer keeps it. Throws for lists of different lengths and bad
/// expressions; where it is used, for a name that none matches.
KILN_API Initializer Mixed(const std::vector<std::string>& patterns,
                           const std::vector<Initializer>& initializers, Where where = Where::current());
/// Values by full name, without the prefixes "arg:" and "aux:", also for a parameter that was made with an
/// initializer. Others get that one, or `default_init`; without a default they are errors, as are values of
/// another shape.
KILN_API Initializer Load(const std::vector<NamedArray>& params, const Initializer& default_init = {});
/// The same from a file of arrays, which is read here.
KILN_API Initializer Load(const std::string& path, const Initializer& default_init = {},
                          Where where = Where::current());

}  // namespace init
}  // namespace kiln

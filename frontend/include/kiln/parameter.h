#pragma once
#include <kiln/initializer.h>
#include <kiln/options.h>
#include <kiln/tensor.h>

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

namespace detail {
struct ParameterState;
struct ParameterAccess;
struct ParameterDictState;
}  // namespace detail

/// What training does with a parameter's gradient.
enum class GradReq { write, add, null };

/// What a parameter is made with, but for its name and shape.
struct ParameterOptions {
  GradReq grad_req = GradReq::write;
  DType dtype = DType::f32;
  double lr_mult = 1;
  double wd_mult = 1;
  Initializer init = {};
  bool allow_deferred_init = true;
  bool differentiable = true;
  bool dtype_by_name =
      false;  ///< printed as "float32" and not as "<class 'numpy.float32'>": MXNet's layers differ in this
};

/// Thrown where the values of a parameter are asked for whose shape only the first call will tell.
class KILN_API DeferredInitializationError : public Error {
 public:
  using Error::Error;
};

/// A weight of a network: a name, a shape that may be known in part (0 is an extent that the first call
/// tells), and after initialize() the values. A handle: copies are the same parameter. In hybrid_forward it
/// is used as a tensor: `F.dot(x, weight)`, `x * weight`; while a network is traced it stands for the
/// parameter's variable. Thread rule: as Tensor; deferred initialisation is safe from many threads.
class KILN_API Parameter {
 public:
  /// No parameter: only defined() and assignment.
  Parameter() = default;
  explicit Parameter(const std::string& name, const Shape& shape = {}, const ParameterOptions& options = {});
  Parameter(const Parameter&) = default;
  Parameter(Parameter&&) = default;
  /// Another parameter in this one's place. Compiled calls that used this one record again.
  Parameter& operator=(const Parameter& o);
  Parameter& operator=(Parameter&& o);
  ~Parameter() = default;

  bool defined() const { return state_ != nullptr; }
  const std::string& name() const;
  /// As far as it is known; 0 is an unknown extent, rank 0 a shape of which nothing is known.
  Shape shape() const;
  /// Completes a shape known in part. Throws when an extent that is known differs.
  void set_shape(const Shape& shape);
  DType dtype() const;
  GradReq grad_req() const;
  void set_grad_req(GradReq req);
  double lr_mult() const;
  void set_lr_mult(double lr_mult);
  double wd_mult() const;
  void set_wd_mult(double wd_mult);
  const Initializer& init() const;
  void set_init(const Initializer& init);

  /// Gives values: by `init` if it is defined, else by the parameter's own initializer, else by
  /// `default_init`. A shape known in part defers it to the first call. One that has values keeps them, with
  /// a warning, unless `force_reinit`.
  void initialize(const Initializer& init = {}, const Initializer& default_init = init::Uniform(),
                  bool force_reinit = false);
  bool is_initialized() const;
  /// Whether initialize() waits for the first call.
  bool is_deferred() const;
  /// The values. Throws DeferredInitializationError before the first call told the shape, Error before
  /// initialize().
  const Tensor& data(std::source_location where = std::source_location::current()) const;
  /// Copies the elements of `data` into the parameter (which keeps its array, so that compiled code sees the
  /// new values).
  void set_data(const Tensor& data);
  /// Converts the values; code compiled for the old dtype is made anew at the next call.
  void cast(DType dtype);

  /// The values; while tracing, the parameter's variable.
  operator Tensor() const;
  /// "Parameter dense0_weight (shape=(2, 3), dtype=float32)"
  std::string str() const;
  /// The same parameter, not an equal one.
  bool operator==(const Parameter& o) const { return state_ == o.state_; }

 protected:
  friend struct detail::ParameterAccess;
  std::shared_ptr<detail::ParameterState> state_;
};

/// A parameter that training does not change, with given values.
class KILN_API Constant : public Parameter {
 public:
  Constant(const std::string& name, const Tensor& value);
};

KILN_API std::ostream& operator<<(std::ostream& os, const Parameter& p);

/// Parameters by name, in order of creation; all names begin with prefix(). A handle.
class KILN_API ParameterDict {
 public:
  explicit ParameterDict(const std::string& prefix = "");
  /// With a dictionary to look in first: what is found there is shared.
  ParameterDict(const std::string& prefix, const ParameterDict& shared);

  const std::string& prefix() const;
  /// The parameter prefix()+name, made if there is none. One that exists must agree in shape, dtype and the
  /// rest where both say. `shape`: 0 is an extent that the first call tells.
  Parameter get(std::string_view name, const Shape& shape = {}, const ParameterOptions& options = {}) const;
  /// The constant prefix()+name.
  Constant get_constant(std::string_view name, const Tensor& value) const;
  /// The parameter of that full name. Throws, listing the names.
  Parameter operator[](std::string_view full_name) const;
  bool contains(std::string_view full_name) const;

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  const std::vector<Parameter>& items() const;
  auto begin() const { return items().begin(); }
  auto end() const { return items().end(); }
  std::vector<std::string> keys() const;
  /// Adds a parameter under its name. Throws when another one has it.
  void add(const Parameter& p) const;
  /// Adds the parameters of `other`. Throws when another parameter has the name of one of them.
  void update(const ParameterDict& other) const;

  void initialize(const Initializer& init = init::Uniform(), const InitializeOptions& options = {}) const;
  void set_grad_req(GradReq req) const;
  void set_lr_mult(double lr_mult) const;
  void set_wd_mult(double wd_mult) const;
  void cast(DType dtype) const;
  /// Writes all values as an NDArray list of full names, less `strip_prefix`.
  void save(const std::string& path, const std::string& strip_prefix = "") const;
  /// Reads what save() or export_model() wrote ("arg:" and "aux:" are dropped); `restore_prefix` is put
  /// before the names.
  void load(const std::string& path, const LoadOptions& options = {},
            const std::string& restore_prefix = "") const;
  std::string str() const;

 private:
  friend struct detail::ParameterAccess;
  std::shared_ptr<detail::ParameterDictState> state_;
};

KILN_API std::ostream& operator<<(std::ostream& os, const ParameterDict& d);

}  // namespace kiln

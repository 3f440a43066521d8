// Parameters of networks, and their dictionaries.
#pragma once
#include <kiln/initializer.h>
#include <kiln/options.h>
#include <kiln/tensor.h>

#include <iosfwd>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

namespace detail {
struct ParameterState;
struct ParameterAccess;
struct ParameterDictState;

/// The reference that all copies of a Parameter share: to its state, or to the state of the parameter that it
/// stands for.
class KILN_API ParameterHandle {
 public:
  ParameterHandle() = default;
  ParameterHandle(std::shared_ptr<ParameterState> own) : own_(std::move(own)) {}
  explicit operator bool() const { return own_ != nullptr; }
  /// Throws where the parameter contradicts the one that it stands for.
  const std::shared_ptr<ParameterState>& get() const;
  ParameterState* operator->() const { return get().get(); }
  ParameterState& operator*() const { return *get(); }
  bool operator==(const ParameterHandle& o) const;

 private:
  friend struct ParameterAccess;
  std::shared_ptr<ParameterState> own_;
};
}  // namespace detail

/// The properties of a new parameter besides name and shape.
struct ParameterOptions {
  GradReq grad_req = GradReq::write;  ///< whether a backward pass writes, adds, or computes no gradient
  DType dtype = DType::f32;           ///< of the values and the gradient
  double lr_mult = 1;                 ///< factor of the learning rate
  double wd_mult = 1;                 ///< factor of the weight decay
  Initializer init = {};              ///< of the values; undefined: the network's
  bool allow_deferred_init = true;    ///< whether an unknown extent may wait for the first call
  bool differentiable = true;         ///< false: no gradient is computed, whatever `grad_req` says
  bool dtype_by_name =
      false;  ///< print "float32" instead of "<class 'numpy.float32'>", as some of MXNet's layers do
};

/// Thrown by access to the values of a parameter whose initialisation is deferred to the first call.
class KILN_API DeferredInitializationError : public Error {
 public:
  using Error::Error;
  DeferredInitializationError(const DeferredInitializationError&) = default;
  DeferredInitializationError& operator=(const DeferredInitializationError&) = default;
  ~DeferredInitializationError() override;
};

/// A weight of a network: a name, a shape (extent 0 is inferred by the first call), and after initialize()
/// the values. A handle: copies are the same parameter. In hybrid_forward it converts to a tensor: `F.dot(x,
/// weight)`, `x * weight`; while a network is traced, to the parameter's variable. Thread rule: as Tensor;
/// concurrent deferred initialisation is safe. Queries by hybrid_forward of its values, dtype, device,
/// grad_req, multipliers and initializer are tracked; shape(), is_initialized() and is_deferred() are baked
/// in.
class KILN_API Parameter {
 public:
  /// An empty handle: only defined() and assignment are allowed.
  Parameter() = default;
  /// A parameter of no block, without values. Throws for a negative extent.
  explicit Parameter(const std::string& name, const Shape& shape = {}, const ParameterOptions& options = {},
                     std::source_location where = std::source_location::current());
  Parameter(const Parameter&) = default;
  Parameter(Parameter&&) = default;
  /// Rebinds this handle to another parameter. Recordings that used the old one record again.
  Parameter& operator=(const Parameter& o);
  Parameter& operator=(Parameter&& o);
  ~Parameter() = default;

  bool defined() const { return static_cast<bool>(state_); }  ///< whether the handle has a parameter
  /// The full name, as in files: "dense0_weight".
  const std::string& name() const;
  /// The partial shape: extent 0 is unknown, rank 0 an unknown rank.
  Shape shape() const;
  /// Completes a partial shape. Throws if a known extent differs.
  void set_shape(const Shape& shape);
  DType dtype() const;       ///< the dtype of the values, given or cast
  GradReq grad_req() const;  ///< whether backward passes write or add its gradient
  /// Changes it; `null` releases the gradient. Recordings that use it record again.
  void set_grad_req(GradReq req);
  double lr_mult() const;  ///< the factor of the learning rate
  /// Any finite number; a negative one lets this parameter climb where others descend.
  void set_lr_mult(double lr_mult, std::source_location where = std::source_location::current());
  double wd_mult() const;  ///< the factor of the weight decay
  /// Throws for a number below 0: weights would grow.
  void set_wd_mult(double wd_mult, std::source_location where = std::source_location::current());
  const Initializer& init() const;  ///< its own initializer; undefined if it has none
  /// Replaces its own initializer; existing values stay.
  void set_init(const Initializer& init);

  /// Initialises the values by `init` if defined, else by the parameter's own initializer, else by
  /// `default_init`. A partial shape defers it to the first call. Existing values are kept, with a warning,
  /// unless `force_reinit`.
  void initialize(const Initializer& init = {}, const Initializer& default_init = init::Uniform(),
                  bool force_reinit = false, std::source_location where = std::source_location::current());
  bool is_initialized() const;  ///< whether it has values
  /// Whether initialize() is deferred to the first call.
  bool is_deferred() const;
  /// The values. Throws Error before initialize(), DeferredInitializationError while it is deferred.
  const Tensor& data(std::source_location where = std::source_location::current()) const;
  /// The gradient, of the values' shape and dtype; zeros before the first backward(). Throws as data(), and
  /// if grad_req is null.
  Tensor grad(std::source_location where = std::source_location::current()) const;
  /// Sets the gradient to zero; no effect before initialize() and if grad_req is null.
  void zero_grad();
  /// Copies the elements of `data` into the parameter's array; compiled calls see the new values.
  void set_data(const Tensor& data, std::source_location where = std::source_location::current());
  /// Converts the values. The next call compiles for the new dtype.
  void cast(DType dtype);
  /// Where the values are, or will be once they are initialized or loaded.
  Device device() const;
  /// Moves the values, and the gradient. Arrays that data() and grad() gave before stay where they are.
  /// Recordings that use the parameter record again. Before initialize(): its values will be there.
  void to(Device device, std::source_location where = std::source_location::current());

  /// The values; while tracing, the parameter's variable.
  operator Tensor() const;
  /// "Parameter dense0_weight (shape=(2, 3), dtype=float32)"
  std::string str() const;
  /// Identity: whether both are the same parameter.
  bool operator==(const Parameter& o) const { return state_ == o.state_; }

 protected:
  friend struct detail::ParameterAccess;
  detail::ParameterHandle state_;

 private:
  void give_values(const Initializer& init, const Initializer& default_init, bool force_reinit);
  void move(Device device);
};

/// A parameter with given values that training does not change. It has them from the beginning, whatever a
/// network's initializer; `initialize()` with `force_reinit` gives them again.
class KILN_API Constant : public Parameter {
 public:
  Constant(const std::string& name, const Tensor& value);
};

KILN_API std::ostream& operator<<(std::ostream& os, const Parameter& p);  ///< prints str()

/// Parameters by name, in order of creation; all names begin with prefix(). A handle.
class KILN_API ParameterDict {
 public:
  using Where = std::source_location;

  /// An empty dictionary whose names will begin with `prefix`.
  explicit ParameterDict(const std::string& prefix = "");
  /// `shared` is searched first; its parameters are shared.
  ParameterDict(const std::string& prefix, const ParameterDict& shared);

  const std::string& prefix() const;  ///< the beginning of all names
  /// Finds or creates the parameter prefix()+name. An existing one must agree in all properties that both
  /// specify. `shape`: extent 0 is inferred by the first call.
  Parameter get(std::string_view name, const Shape& shape = {}, const ParameterOptions& options = {},
                Where where = Where::current()) const;
  /// The constant prefix()+name.
  Constant get_constant(std::string_view name, const Tensor& value, Where where = Where::current()) const;
  /// The parameter with that full name. Throws if there is none, listing the names.
  Parameter operator[](std::string_view full_name) const;
  bool contains(std::string_view full_name) const;  ///< whether a parameter has that full name

  std::size_t size() const;                   ///< the number of parameters
  bool empty() const { return size() == 0; }  ///< whether there are none
  /// The parameters in order of creation. The reference is valid until one is added.
  /// @{
  const std::vector<Parameter>& items() const;
  auto begin() const { return items().begin(); }
  auto end() const { return items().end(); }
  /// @}
  std::vector<std::string> keys() const;  ///< the full names, in order of creation
  /// Adds a parameter under its name. Throws if another parameter has the name.
  void add(const Parameter& p) const;
  /// Adds the parameters of `other`. Throws if another parameter has one of their names.
  void update(const ParameterDict& other) const;

  /// Parameter::initialize() of each.
  void initialize(const Initializer& init = init::Uniform(), const InitializeOptions& options = {},
                  Where where = Where::current()) const;
  /// The function of this name of each parameter.
  /// @{
  void set_grad_req(GradReq req) const;
  void zero_grad() const;
  void set_lr_mult(double lr_mult, Where where = Where::current()) const;
  void set_wd_mult(double wd_mult, Where where = Where::current()) const;
  void cast(DType dtype) const;
  void to(Device device, Where where = Where::current()) const;
  /// @}
  /// Writes all values as an NDArray list of full names, less `strip_prefix`.
  void save(const std::string& path, const std::string& strip_prefix = "",
            Where where = Where::current()) const;
  /// Reads a file of save() or export_model(), without the prefixes "arg:" and "aux:". `restore_prefix` is
  /// prepended to the names.
  void load(const std::string& path, const LoadOptions& options = {}, const std::string& restore_prefix = "",
            Where where = Where::current()) const;
  std::string str() const;  ///< MXNet's text: the names, shapes and dtypes

 private:
  friend struct detail::ParameterAccess;
  std::shared_ptr<detail::ParameterDictState> state_;
};

KILN_API std::ostream& operator<<(std::ostream& os, const ParameterDict& d);  ///< prints str()

}  // namespace kiln

// Tensor: a handle to an array, with operators and indexing.
#pragma once
#include <kiln/device.h>
#include <kiln/dtype.h>
#include <kiln/error.h>
#include <kiln/export.h>
#include <kiln/f_options.h>
#include <kiln/grad_options.h>
#include <kiln/nested_values.h>
#include <kiln/shape.h>
#include <kiln/tensor_methods.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

class IndexedTensor;
class Operand;
template <std::equality_comparable T>
class Attr;
class Parameter;
class RowIterator;
class Tensor;

namespace detail {
struct Array;         // shared by all handles and views of one array; frontend/tensor/array.h
struct TensorAccess;  // internal access to a Tensor; frontend/tensor/array.h
}  // namespace detail

/// Python's slice of one axis, begin:end:step; each part is optional.
struct Slice {
  /// The first index, the first one beyond the end, and the distance; negative ones count from the end, as in
  /// Python. Nothing: the axis from its start, to its end, by 1; from its end to its start for a negative
  /// step.
  std::optional<std::int64_t> begin = {}, end = {}, step = {};
  std::source_location where = std::source_location::current();  ///< of the program's line, for errors
};
/// slice(1, 3) is 1:3, slice() is the whole axis.
inline Slice slice(std::optional<std::int64_t> begin = {}, std::optional<std::int64_t> end = {},
                   std::optional<std::int64_t> step = {},
                   std::source_location where = std::source_location::current()) {
  return {begin, end, step, where};
}
/// One index of x[...]: an integer (removes the axis) or a slice, with its source location.
class Index {
 public:
  /// An integer, which removes its axis; a negative one counts from the end.
  template <std::integral I>
  Index(I i, std::source_location where = std::source_location::current())
      : integer_(static_cast<std::int64_t>(i)), where_(where) {}
  /// A slice, which keeps its axis.
  Index(const Slice& s) : slice_(s), where_(s.where) {}
  /// The integer; nothing for a slice.
  const std::optional<std::int64_t>& integer() const { return integer_; }
  /// The slice; the whole axis for an integer.
  const Slice& slice() const { return slice_; }
  /// Where the program wrote the index.
  std::source_location where() const { return where_; }

 private:
  std::optional<std::int64_t> integer_;
  Slice slice_;
  std::source_location where_;
};

/// A handle to an array, as MXNet's NDArray. Copies share the elements: all handles see a write through one
/// of them. Two operations make views that write through: x[1:2] (a slice of the first axis with step 1) and
/// reshape(). Other indexing copies. A traced Tensor has shape and dtype but no elements; reading elements
/// throws an Error that names the line. Thread rule: concurrent reads are safe; the program synchronises
/// writes to one array.
class KILN_API Tensor : public TensorMethods<Tensor> {
 public:
  /// An empty handle. Every use except assignment and defined() throws.
  Tensor() = default;
  /// An array of the values in C order. `values.size()` must be shape.elements().
  template <class T>
  Tensor(std::span<const T> values, const Shape& shape,
         std::source_location where = std::source_location::current())
      : Tensor(from_host(values.data(), dtype_of<T>, values.size(), shape, where)) {}
  template <class T>
  Tensor(const std::vector<T>& values, const Shape& shape,
         std::source_location where = std::source_location::current())
      : Tensor(std::span<const T>(values), shape, where) {}
  template <class T, std::size_t n>
  Tensor(const std::array<T, n>& values, const Shape& shape,
         std::source_location where = std::source_location::current())
      : Tensor(std::span<const T>(values), shape, where) {}
  /// An array of the elements of a std::vector or std::array, or of nested ones, in their dtype:
  /// `Tensor(std::vector<std::vector<int>>{{1, 2}, {3, 4}})`, an int32 array of shape (2, 2). Throws for rows
  /// of different lengths, naming the row.
  template <detail::NestedValues V>
  explicit Tensor(const V& values, std::source_location where = std::source_location::current())
      : Tensor(detail::FlatValues<V>(values, where), where) {}
  template <class = void>  // a template, so that {{1}, {2}} prefers rows
  Tensor(std::initializer_list<double> values, DType dtype = DType::f32) : Tensor(from_list(values, dtype)) {}
  Tensor(std::initializer_list<std::initializer_list<double>> values, DType dtype = DType::f32);

  /// Wraps external (borrowed) memory without a copy. `data` holds shape.elements() values in C order and
  /// must stay valid until `release` is called, by the thread that drops the last handle.
  static Tensor wrap(void* data, const Shape& shape, DType dtype, std::function<void()> release = {},
                     std::source_location where = std::source_location::current());

  bool defined() const { return array_ != nullptr; }  ///< whether this handle has an array
  /// Throws for a symbol without shapes (sym::var outside a call).
  /// The extents. A reference that is valid while this handle lives and is not assigned.
  const Shape& shape(std::source_location where = std::source_location::current()) const;
  DType dtype() const;  ///< the dtype of the elements
  /// For a traced tensor: the device of its elements at run time.
  Device device() const;
  /// The same elements on `device`: this tensor if it is there, else a copy. Gradients pass it. Throws for
  /// another device than the call's while tracing.
  Tensor to(Device device, std::source_location where = std::source_location::current()) const;
  /// MXNet's name of to().
  Tensor as_in_context(Device device, std::source_location where = std::source_location::current()) const {
    return to(device, where);
  }
  /// The number of axes.
  int ndim(std::source_location where = std::source_location::current()) const { return shape(where).rank(); }
  /// The number of elements.
  std::int64_t size(std::source_location where = std::source_location::current()) const {
    return shape(where).elements();
  }
  /// Whether this is a node of a trace or a symbol, without elements.
  bool is_traced() const;
  /// The node's name of a traced tensor, else empty.
  std::string name() const;

  // Element access. Of a traced tensor it throws, naming the caller's line. Of an array it makes a recording
  // depend on the contents: after a write the next call records again.
  /// The element of an array of size 1, converted.
  template <class T>
  T item(std::source_location where = std::source_location::current()) const {
    return static_cast<T>(dtype() == DType::i64 ? static_cast<T>(item_integer(where))
                                                : static_cast<T>(item_real(where)));
  }
  /// All elements, converted, in C order.
  template <class T>
  std::vector<T> to_vector(std::source_location where = std::source_location::current()) const {
    std::vector<T> out(static_cast<std::size_t>(shape(where).elements()));
    fill_vector(out.data(), dtype_of<T>, where);
    return out;
  }
  /// Writes size() elements, converted to `dtype`, to `data`.
  void copy_to(void* data, DType dtype, std::source_location where = std::source_location::current()) const;
  /// Replaces the elements by size() values of `dtype` at `data`.
  void copy_from(const void* data, DType dtype, std::source_location where = std::source_location::current());
  /// The size() elements of dtype() in C order. Valid until the last handle is dropped or the array is
  /// written. Throws for an array that is not on the CPU.
  const void* data(std::source_location where = std::source_location::current()) const;
  /// As data(), for writing: the next call recomputes prepacked constants derived from this array.
  void* mutable_data(std::source_location where = std::source_location::current());

  // Views and copies.
  /// A view with another shape. -1: inferred; 0: copy this extent; -2: copy all remaining extents; -3: merge
  /// two extents; -4: split one extent into the next two.
  Tensor reshape(const Shape& shape, std::source_location where = std::source_location::current()) const;
  /// x({slice(1, 3), 0}): indexes several axes. Assigning to it writes into this array.
  IndexedTensor operator()(std::vector<Index> index,
                           std::source_location where = std::source_location::current());
  Tensor operator()(std::vector<Index> index,
                    std::source_location where = std::source_location::current()) const;
  /// Indexes the first axis. A view if the step is 1.
  IndexedTensor operator[](const Index& i);
  Tensor operator[](const Index& i) const;
  /// The rows: `for (Tensor row : x)` is x[0], x[1], ..., which are views. In a trace too, for the extent of
  /// the recording. Throws for rank 0.
  /// @{
  RowIterator begin(std::source_location where = std::source_location::current()) const;
  RowIterator end(std::source_location where = std::source_location::current()) const;
  /// @}
  /// An array with a copy of the elements. Gradients pass it.
  Tensor copy(std::source_location where = std::source_location::current()) const;
  /// The elements converted to `dtype`, in a new array. Gradients pass it, converted back.
  Tensor astype(DType dtype, std::source_location where = std::source_location::current()) const;

  // Gradients; see kiln/autograd.h. Arrays only: they throw for a traced tensor, naming the line.
  /// Makes this array a variable: backward() computes its gradient. It loses its history. Throws for an
  /// integer array and for a view.
  void attach_grad(GradReq req = GradReq::write,
                   std::source_location where = std::source_location::current());
  /// The gradient, of this shape and dtype; zeros before the first backward(). A later backward() changes its
  /// elements. Throws if none is attached.
  Tensor grad(std::source_location where = std::source_location::current()) const;
  /// Sets the gradient to zeros. Throws if none is attached.
  void zero_grad(std::source_location where = std::source_location::current());
  /// autograd::backward() with this head, whose gradient is `head_gradient`, ones if undefined.
  void backward(std::source_location where = std::source_location::current()) const;
  void backward(const Tensor& head_gradient, const autograd::BackwardOptions& options = {},
                std::source_location where = std::source_location::current()) const;
  /// A copy that gradients do not pass; in a trace too.
  Tensor detach(std::source_location where = std::source_location::current()) const;

  /// In place, seen by every handle and view of the array. Throws if the result has another shape or dtype: a
  /// bool array plus a number is int64.
  /// @{
  Tensor& operator+=(const Operand& b);
  Tensor& operator-=(const Operand& b);
  Tensor& operator*=(const Operand& b);
  Tensor& operator/=(const Operand& b);
  Tensor& operator%=(const Operand& b);
  /// @}

  /// Waits until the elements are computed: calls on a GPU return before. Throws the error of a computation
  /// that failed. Reading elements waits, too.
  void wait() const;
  void wait_to_read() const { wait(); }  ///< MXNet's name of wait()

 private:
  friend struct detail::TensorAccess;
  template <class V>
  Tensor(const detail::FlatValues<V>& flat, std::source_location where)
      : Tensor(from_host(flat.values.data(), flat.dtype, flat.values.size(), flat.shape, where)) {}
  static Tensor from_list(std::initializer_list<double> values, DType dtype);
  static Tensor from_host(const void* data, DType dtype, std::size_t count, const Shape& shape,
                          std::source_location where);
  void fill_vector(void* data, DType dtype, std::source_location where) const;
  double item_real(std::source_location where) const;
  std::int64_t item_integer(std::source_location where) const;

  std::shared_ptr<detail::Array> array_;
  std::int64_t offset_ = 0;  // in elements, from the start of the array
  Shape shape_;
  DType dtype_ = DType::f32;
  std::uint32_t alias_ = 0;  // frontend/tensor/view_scope.h
};

/// x[...]: an assignment writes into x; otherwise it converts to a tensor and has a tensor's methods.
class KILN_API IndexedTensor : public TensorMethods<IndexedTensor> {
 public:
  using Where = std::source_location;
  /// x[index] of `base`; programs write x[..] or x({..}) instead.
  IndexedTensor(const Tensor& base, std::vector<Index> index, Where where)
      : base_(base), index_(std::move(index)), where_(where) {}
  IndexedTensor(const IndexedTensor&) = default;
  /// Writes `value`, converted to x's dtype and broadcast to the slice's shape, into the array, seen by every
  /// handle and view.
  void operator=(const Operand& value);
  void operator=(const IndexedTensor& value);
  /// x[..] op= value: reads the selected elements and writes the results back, as operator= does.
  /// @{
  void operator+=(const Operand& value);
  void operator-=(const Operand& value);
  void operator*=(const Operand& value);
  void operator/=(const Operand& value);
  void operator%=(const Operand& value);
  /// @}

  /// The selected elements: a view for one integer or unit-step slice of the first axis, else a copy.
  Tensor get() const;
  /// As get().
  operator Tensor() const { return get(); }
  /// Indexes the selected elements.
  /// @{
  IndexedTensor operator[](const Index& i) const { return {get(), {i}, i.where()}; }
  IndexedTensor operator()(std::vector<Index> index, Where where = Where::current()) const {
    return {get(), std::move(index), where};
  }
  /// @}
  /// Tensor's functions of these names, of get().
  /// @{
  Shape shape(Where where = Where::current()) const { return get().shape(where); }
  DType dtype() const { return base_.dtype(); }
  Device device() const { return base_.device(); }
  Tensor to(Device device, Where where = Where::current()) const { return get().to(device, where); }
  int ndim(Where where = Where::current()) const { return shape(where).rank(); }
  std::int64_t size(Where where = Where::current()) const { return shape(where).elements(); }
  RowIterator begin(Where where = Where::current()) const;
  RowIterator end(Where where = Where::current()) const;
  bool is_traced() const { return base_.is_traced(); }
  template <class T>
  T item(Where where = Where::current()) const {
    return get().item<T>(where);
  }
  template <class T>
  std::vector<T> to_vector(Where where = Where::current()) const {
    return get().to_vector<T>(where);
  }
  void copy_to(void* data, DType dtype, Where where = Where::current()) const {
    get().copy_to(data, dtype, where);
  }
  Tensor reshape(const Shape& shape, Where where = Where::current()) const {
    return get().reshape(shape, where);
  }
  Tensor copy(Where where = Where::current()) const { return get().copy(where); }
  Tensor detach(Where where = Where::current()) const { return get().detach(where); }
  Tensor astype(DType dtype, Where where = Where::current()) const { return get().astype(dtype, where); }
  /// @}

 private:
  Tensor base_;
  std::vector<Index> index_;
  Where where_;
};

/// The rows of a Tensor in order. Each is made where it is read.
class RowIterator {
 public:
  using value_type = Tensor;
  using reference = Tensor;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;

  RowIterator() = default;
  /// At row `at` of `rows`; the first extent is the end.
  RowIterator(Tensor rows, std::int64_t at, std::source_location where)
      : rows_(std::move(rows)), at_(at), where_(where) {}
  /// The row, as rows[at] makes it.
  Tensor operator*() const { return std::as_const(rows_)[Index(at_, where_)]; }
  /// Goes to the next row.
  RowIterator& operator++() {
    ++at_;
    return *this;
  }
  RowIterator operator++(int) {
    RowIterator old = *this;
    ++at_;
    return old;
  }
  /// Of iterators of one tensor.
  bool operator==(const RowIterator& o) const { return at_ == o.at_; }

 private:
  Tensor rows_;
  std::int64_t at_ = 0;
  std::source_location where_;
};
inline RowIterator Tensor::begin(std::source_location where) const { return {*this, 0, where}; }
inline RowIterator IndexedTensor::begin(Where where) const { return get().begin(where); }
inline RowIterator IndexedTensor::end(Where where) const { return get().end(where); }

/// An operand: a tensor or a number, with the source location. Constructed implicitly, so that `x + 1` knows
/// its line.
class Operand {
 public:
  /// A tensor, which must outlive the operand.
  Operand(const Tensor& t, std::source_location where = std::source_location::current())
      : tensor_(&t), where_(where) {}
  /// The selected elements of x[..].
  Operand(const IndexedTensor& t, std::source_location where = std::source_location::current())
      : owned_(t.get()), where_(where) {}
  /// A parameter: its values, or its variable while tracing.
  KILN_API Operand(const Parameter& p, std::source_location where = std::source_location::current());
  /// A number. Beside a tensor it has the tensor's dtype; beside a bool tensor both are int64.
  /// @{
  Operand(double v, std::source_location where = std::source_location::current())
      : number_(v), where_(where) {}
  Operand(float v, std::source_location where = std::source_location::current())
      : number_(v), where_(where) {}
  template <std::integral I>
  Operand(I v, std::source_location where = std::source_location::current())
      : number_(static_cast<double>(v)), integral_(true), where_(where) {}
  /// @}
  /// A tracked number; see Attr.
  template <class T>
  Operand(const Attr<T>& a, std::source_location where = std::source_location::current())
      : Operand(a.get(), where) {}
  /// Whether the operand is a tensor, not a number.
  bool is_tensor() const { return tensor_ || owned_.defined(); }
  /// The tensor; undefined for a number.
  const Tensor& tensor() const { return tensor_ ? *tensor_ : owned_; }
  double number() const { return number_; }  ///< the number; 0 for a tensor
  /// Whether the number was given as an integer: "1" or "1.0" in MXNet's files.
  bool integral() const { return integral_; }
  std::source_location where() const { return where_; }  ///< where the program made the operand

 private:
  const Tensor* tensor_ = nullptr;
  Tensor owned_;
  double number_ = 0;
  bool integral_ = false;
  std::source_location where_;
};

/// The tensor among the operands of && and ||.
class TensorOperand : public Operand {
 public:
  /// As Operand's constructors of tensors.
  /// @{
  TensorOperand(const Tensor& t, std::source_location where = std::source_location::current())
      : Operand(t, where) {}
  TensorOperand(const IndexedTensor& t, std::source_location where = std::source_location::current())
      : Operand(t, where) {}
  TensorOperand(const Parameter& p, std::source_location where = std::source_location::current())
      : Operand(p, where) {}
  /// @}
};
/// The number among the operands of && and ||.
class NumberOperand : public Operand {
 public:
  /// As Operand's constructors of numbers.
  /// @{
  template <class N>
  requires std::is_arithmetic_v<N> NumberOperand(N v,
                                                 std::source_location where = std::source_location::current())
      : Operand(v, where) {}
  template <class T>
  NumberOperand(const Attr<T>& a, std::source_location where = std::source_location::current())
      : Operand(a, where) {}
  /// @}
};

/// F::add, F::subtract, F::multiply and F::divide: by element, broadcasting. At least one operand is a
/// tensor; a number has its dtype, and makes a bool tensor int64. Integers are divided towards zero. In numpy
/// mode as F::np()'s functions of these names. Throws for two tensors of different dtypes, and for shapes
/// that do not broadcast.
/// @{
KILN_API Tensor operator+(const Operand& a, const Operand& b);
KILN_API Tensor operator-(const Operand& a, const Operand& b);
KILN_API Tensor operator*(const Operand& a, const Operand& b);
KILN_API Tensor operator/(const Operand& a, const Operand& b);
/// @}
/// The remainder by element, broadcasting; it has the sign of the divisor, as in Python.
KILN_API Tensor operator%(const Operand& a, const Operand& b);
/// Comparisons by element, broadcasting: 1 and 0 in the tensors' dtype, int64 for a bool tensor and a number,
/// bool in numpy mode. NaN is unequal to all, itself included, and neither less nor greater.
/// @{
KILN_API Tensor operator==(const Operand& a, const Operand& b);
KILN_API Tensor operator!=(const Operand& a, const Operand& b);
KILN_API Tensor operator<(const Operand& a, const Operand& b);
KILN_API Tensor operator<=(const Operand& a, const Operand& b);
KILN_API Tensor operator>(const Operand& a, const Operand& b);
KILN_API Tensor operator>=(const Operand& a, const Operand& b);
/// @}
/// a * -1, as MXNet computes it.
KILN_API Tensor operator-(const Operand& a);
/// F::logical_and, F::logical_or and F::logical_not: 1 where both operands are not 0, one is not 0, the
/// operand is 0; else 0. The result has the tensors' dtype, int64 for a bool tensor and a number. NaN is not
/// 0. Unlike C++'s own operators && and || always compute both operands. A bool beside a tensor is the number
/// 0 or 1.
/// @{
KILN_API Tensor operator&&(const TensorOperand& a, const TensorOperand& b);
KILN_API Tensor operator&&(const TensorOperand& a, const NumberOperand& b);
KILN_API Tensor operator&&(const NumberOperand& a, const TensorOperand& b);
KILN_API Tensor operator||(const TensorOperand& a, const TensorOperand& b);
KILN_API Tensor operator||(const TensorOperand& a, const NumberOperand& b);
KILN_API Tensor operator||(const NumberOperand& a, const TensorOperand& b);
KILN_API Tensor operator!(const TensorOperand& a);
/// @}
/// As MXNet prints an NDArray; `<Symbol name>` for a traced tensor.
KILN_API std::ostream& operator<<(std::ostream& os, const Tensor& t);
/// The text that operator<< prints.
KILN_API std::string to_string(const Tensor& t);
/// "(2, 3)", "float32", "cpu(0)"
/// @{
KILN_API std::ostream& operator<<(std::ostream& os, const Shape& shape);
KILN_API std::ostream& operator<<(std::ostream& os, DType dtype);
KILN_API std::ostream& operator<<(std::ostream& os, const Device& device);
/// @}

/// An array of zeros, of ones, or of `value`, converted, of this shape and dtype, on the device of the call
/// (docs: GPUs). In a trace a constant of the network. Throws for a negative extent.
/// @{
KILN_API Tensor zeros(const Shape& shape, DType dtype = DType::f32,
                      std::source_location where = std::source_location::current());
KILN_API Tensor ones(const Shape& shape, DType dtype = DType::f32,
                     std::source_location where = std::source_location::current());
KILN_API Tensor full(const Shape& shape, double value, DType dtype = DType::f32,
                     std::source_location where = std::source_location::current());
/// @}
/// start, start+step, ... below stop; each `repeat` times. One number is `stop`, with start 0.
KILN_API Tensor arange(double stop, std::source_location where = std::source_location::current());
KILN_API Tensor arange(double start, double stop, double step = 1, int repeat = 1, DType dtype = DType::f32,
                       std::source_location where = std::source_location::current());

}  // namespace kiln

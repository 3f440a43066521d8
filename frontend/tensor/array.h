// The state that all handles of one array share.
#pragma once
#include "frontend/tensor/view_scope.h"
#include "ir/graph.h"
#include "runtime/fork_gate.h"
#include "runtime/storage.h"

#include <kiln/tensor.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace kiln {
class Trace;
}

namespace kiln::detail {

/// A range of the first axis as the program wrote it: negative indices count from the end, no `end` is open.
/// An integer index removes the axis.
struct RowRange {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};
  bool drop_axis = false;
};
/// The derivation of one view from another: a range of rows, or the codes of a reshape.
using ViewStep = std::variant<RowRange, Shape>;

struct Array;

/// How the contents of a concrete array were made, for gradients. The tape implements it
/// (frontend/autograd/tape.h).
class ArrayHistory {
 public:
  virtual ~ArrayHistory() = default;
  /// Whether a gradient can pass from the array.
  virtual bool has_link() const = 0;
  /// Whether the array has a gradient.
  virtual bool is_variable() const = 0;
  /// Called before the elements of the array are written: recorded calls that need the present contents keep
  /// a copy.
  virtual void keep_contents(Array& array) = 0;
  /// Called when the array dies: contents that recorded calls need live on.
  virtual void end(Array& array) = 0;
};
/// Guards the making of a history, its contents, and `Array::origins` of a concrete array: threads may record
/// reads of one array at once.
Mutex& history_mutex(const Array& array);

/// The state shared by all handles and views of one array. Concrete: the storage holds the elements. Traced:
/// the storage is empty, and `value` is the node output with the current contents of the whole array; a write
/// replaces it.
struct Array final : Storage {
  Array(Buffer buffer, const Shape& s) : Storage(std::move(buffer)), shape(s) {}
  Array(Trace* t, ir::Entry v, const Shape& s, bool known);

  ~Array() override {
    if (ArrayHistory* const ended = history.load(std::memory_order_acquire)) [[unlikely]] {
      ended->end(*this);
      delete ended;
    }
  }

  bool traced() const { return value.node != nullptr; }

  /// The cached value of a view of a traced array, valid while `of` is the array's value.
  struct View {
    ViewKey key;
    ir::Entry of;
    ir::Entry value;
    /// Whether `value` is a node that cuts the view out of the array. A recorded read uses such a node only
    /// if the node is recorded.
    bool cut = false;
  };

  /// The derivation of a view of a traced array. With it the graph keeps open ends of ranges and codes of
  /// reshapes, instead of their values at this recording's extents. Valid within one call of a block, for
  /// handles with this alias number (view_scope.h).
  struct Origin {
    std::int64_t offset;
    Shape shape;
    std::int64_t base_offset;
    Shape base_shape;
    ViewStep step;
    std::uint32_t alias;
    std::uint64_t call;  ///< ViewScope::call()
  };

  Trace* trace = nullptr;    // null for a traced array that belongs to a Symbol
  std::uint64_t serial = 0;  // distinguishes the trace from later ones at the same address
  ir::Entry value;
  Shape shape;  // of the whole array
  bool shape_known = true;
  bool written_recorded = false;  ///< a traced array: a write to it is recorded
  std::vector<View> views;
  std::vector<Origin> origins;  // a base precedes the views derived from it

  /// Owned; null until a concrete array is recorded or gets a gradient.
  std::atomic<ArrayHistory*> history{nullptr};
  /// The number of references held by recordings and bound calls (KeptArray).
  std::atomic<std::uint32_t> kept{0};
};

/// An internal reference: keeps an array alive but does not count as a handle of the program. Thread rule: as
/// shared_ptr.
class KeptArray {
 public:
  explicit KeptArray(std::shared_ptr<Array> array) : array_(std::move(array)) { ++array_->kept; }
  KeptArray(const KeptArray& o) : KeptArray(o.array_) {}
  KeptArray(KeptArray&&) = default;
  KeptArray& operator=(KeptArray o) noexcept {
    std::swap(array_, o.array_);
    return *this;
  }
  ~KeptArray() {
    if (array_) --array_->kept;
  }
  const std::shared_ptr<Array>& get() const { return array_; }
  Array* operator->() const { return array_.get(); }
  /// Whether the program has a handle of the array.
  bool in_use() const {
    return array_.use_count() > static_cast<long>(array_->kept.load(std::memory_order_relaxed));
  }

 private:
  std::shared_ptr<Array> array_;
};

/// Called before the elements of an array are written.
inline void before_write(Array& array) {
  if (ArrayHistory* const history = array.history.load(std::memory_order_acquire))
    history->keep_contents(array);
}

struct TensorAccess {
  static Tensor make(std::shared_ptr<Array> array, std::int64_t offset, const Shape& shape, DType dtype) {
    Tensor t;
    t.array_ = std::move(array);
    t.offset_ = offset;
    t.shape_ = shape;
    t.dtype_ = dtype;
    return t;
  }
  /// The same, into an existing handle.
  static void assign(Tensor& t, std::shared_ptr<Array> array, std::int64_t offset, const Shape& shape,
                     DType dtype) {
    t.array_ = std::move(array);
    t.offset_ = offset;
    t.shape_ = shape;
    t.dtype_ = dtype;
    t.alias_ = 0;
  }
  /// A concrete tensor with uninitialised elements.
  static Tensor empty(const Shape& shape, DType dtype, Device device = {}) {
    return make(std::make_shared<Array>(Buffer(TensorType{dtype, shape}, device), shape), 0, shape, dtype);
  }
  static Device device(const Tensor& t) { return t.array_->device(); }
  /// An address of the device.
  static std::byte* data(const Tensor& t) { return t.array_->data() + byte_offset(t); }
  static const std::shared_ptr<Array>& array(const Tensor& t) { return t.array_; }
  static std::int64_t offset(const Tensor& t) { return t.offset_; }
  static const Shape& shape(const Tensor& t) { return t.shape_; }
  static DType dtype(const Tensor& t) { return t.dtype_; }
  static std::uint32_t alias(const Tensor& t) { return t.alias_; }
  static void set_alias(Tensor& t, std::uint32_t alias) { t.alias_ = alias; }
  /// Whether all elements of the array are the tensor's, in the same shape.
  static bool is_whole(const Tensor& t) { return t.offset_ == 0 && t.shape_ == t.array_->shape; }
  /// Whether it is the array's value, not a view or a separate value.
  static bool is_array(const Tensor& t) { return t.alias_ == 0 && is_whole(t); }
  /// Byte offset of the first element in the array's memory.
  static std::size_t byte_offset(const Tensor& t) {
    return static_cast<std::size_t>(t.offset_) * size_of(t.dtype_);
  }
  static std::size_t bytes(const Tensor& t) {
    return static_cast<std::size_t>(TensorType{t.dtype_, t.shape_}.bytes());
  }
};

/// Whether a gradient can pass from the tensor's array.
inline bool has_link(const Tensor& t) {
  const ArrayHistory* const history = TensorAccess::array(t)->history.load(std::memory_order_acquire);
  return history && history->has_link();
}
/// Whether the tensor's array has a gradient.
inline bool is_variable(const Tensor& t) {
  const ArrayHistory* const history = TensorAccess::array(t)->history.load(std::memory_order_acquire);
  return history && history->is_variable();
}

}  // namespace kiln::detail

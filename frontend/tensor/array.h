#pragma once
#include "ir/graph.h"
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

/// A range of the first axis in the program's own terms: counted from the end where negative, open without
/// `end`. The axis of an integer index goes away.
struct RowRange {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};
  bool drop_axis = false;
};
/// How a program made one view out of another: a range of rows, or the codes given to reshape.
using ViewStep = std::variant<RowRange, Shape>;

/// What all handles and views of one array share. Concrete: the storage holds the elements. Traced: the
/// storage is empty and `value` is the node output that holds the whole array's contents at this point of the
/// program; a write replaces it.
struct Array final : Storage {
  explicit Array(Buffer buffer) : Storage(std::move(buffer)) {}
  Array(Trace* t, ir::Entry v, const Shape& s, bool known);

  bool traced() const { return value.node != nullptr; }

  /// What a view of a traced array reads, as long as `of` is the array's value.
  struct View {
    std::int64_t offset;
    Shape shape;
    ir::Entry of;
    ir::Entry value;
  };

  /// How a view of a traced array was made, so that the graph holds the program's open ends and codes and not
  /// the numbers that they stand for at the sizes of this recording.
  struct Origin {
    std::int64_t offset;
    Shape shape;
    std::int64_t base_offset;
    Shape base_shape;
    ViewStep step;
  };

  Trace* trace = nullptr;    // null for a traced array that belongs to a Symbol
  std::uint64_t serial = 0;  // tells the trace from later ones at the same address
  ir::Entry value;
  Shape shape;  // of the whole array; traced only
  bool shape_known = true;
  std::vector<View> views;
  std::vector<Origin> origins;  // a base stands before the views that were made out of it

  /// How many of the references to this array are those of recordings and bound calls (KeptArray).
  std::atomic<std::uint32_t> kept{0};
};

/// A reference of the library's own: it keeps an array alive, and the program still can be seen to have let
/// go of it. Thread rule: as shared_ptr.
class KeptArray {
 public:
  explicit KeptArray(std::shared_ptr<Array> array) : array_(std::move(array)) { ++array_->kept; }
  KeptArray(const KeptArray& o) : KeptArray(o.array_) {}
  KeptArray(KeptArray&&) = default;
  KeptArray& operator=(const KeptArray&) = delete;
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

struct TensorAccess {
  static Tensor make(std::shared_ptr<Array> array, std::int64_t offset, const Shape& shape, DType dtype) {
    Tensor t;
    t.array_ = std::move(array);
    t.offset_ = offset;
    t.shape_ = shape;
    t.dtype_ = dtype;
    return t;
  }
  /// The same into an existing handle, without a temporary.
  static void assign(Tensor& t, std::shared_ptr<Array> array, std::int64_t offset, const Shape& shape,
                     DType dtype) {
    t.array_ = std::move(array);
    t.offset_ = offset;
    t.shape_ = shape;
    t.dtype_ = dtype;
  }
  /// A concrete tensor with uninitialised elements.
  static Tensor empty(const Shape& shape, DType dtype) {
    return make(std::make_shared<Array>(Buffer(TensorType{dtype, shape})), 0, shape, dtype);
  }
  static const std::shared_ptr<Array>& array(const Tensor& t) { return t.array_; }
  static std::int64_t offset(const Tensor& t) { return t.offset_; }
  static const Shape& shape(const Tensor& t) { return t.shape_; }
  static DType dtype(const Tensor& t) { return t.dtype_; }
  /// Bytes from the beginning of the array's memory to the first element.
  static std::size_t byte_offset(const Tensor& t) {
    return static_cast<std::size_t>(t.offset_) * size_of(t.dtype_);
  }
  static std::size_t bytes(const Tensor& t) {
    return static_cast<std::size_t>(TensorType{t.dtype_, t.shape_}.bytes());
  }
};

}  // namespace kiln::detail

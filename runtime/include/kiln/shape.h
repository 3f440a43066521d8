// Shapes and other short lists of integers.
#pragma once
#include <kiln/export.h>
#include <kiln/index_at.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace kiln {

/// The extents of an array, outermost first; also other short integer lists (axes, strides). Stored inline:
/// comparison and copies do not allocate. In shapes for MXNet's inference, 0 is an unknown extent.
class Shape {
 public:
  static constexpr int max_rank = 8;  ///< the most axes of an array

  Shape() = default;
  /// The extents {2, 3}. Throws kiln::Error for more than max_rank dimensions.
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  /// Throws kiln::Error for more than max_rank dimensions.
  KILN_API explicit Shape(std::span<const std::int64_t> dims);
  /// `rank` dimensions of extent `fill`.
  static Shape filled(int rank, std::int64_t fill) {
    Shape s;
    for (int i = 0; i < rank; ++i) s.push_back(fill);
    return s;
  }

  /// Of `count` arrays of shape `row`, stacked: (count, *row). Throws kiln::Error for a rank above max_rank.
  static Shape stacked(std::int64_t count, const Shape& row) {
    Shape s{count};
    for (const std::int64_t d : row) s.push_back(d);
    return s;
  }

  int rank() const { return rank_; }                                    ///< the number of axes
  std::size_t size() const { return static_cast<std::size_t>(rank_); }  ///< rank(), unsigned
  bool empty() const { return rank_ == 0; }                             ///< whether the rank is 0
  /// The extent of axis `i`; a negative one counts from the end: shape[-1] is the last. Throws kiln::Error,
  /// naming index and rank, outside of [-rank(), rank()). dims()[i] is unchecked.
  std::int64_t operator[](IndexAt i) const { return dims_[place(i)]; }
  std::int64_t& operator[](IndexAt i) { return dims_[place(i)]; }
  /// The last extent, shape[-1].
  std::int64_t back(std::source_location where = std::source_location::current()) const {
    return dims_[place({-1, where})];
  }
  /// The extents in order; writing one is not checked.
  /// @{
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::int64_t* begin() { return dims_.data(); }
  std::int64_t* end() { return dims_.data() + rank_; }
  /// @}
  /// The extents, which live as long as this shape.
  std::span<const std::int64_t> dims() const { return {begin(), end()}; }
  /// Appends an axis. Throws kiln::Error if the rank is max_rank already.
  KILN_API void push_back(std::int64_t dim);

  /// The product of the extents; 1 for rank 0. Throws kiln::Error on overflow of 64 bits.
  KILN_API std::int64_t elements() const;
  /// As Python prints a tuple: "(2, 3)", "(3,)", "()".
  KILN_API std::string str() const;

  /// Equal ranks and extents.
  bool operator==(const Shape& o) const {
    if (rank_ != o.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (dims_[static_cast<std::size_t>(i)] != o.dims_[static_cast<std::size_t>(i)]) return false;
    return true;
  }

 private:
  /// The index into dims_. One comparison, unless the index is negative.
  std::size_t place(const IndexAt& i) const {
    const auto at = static_cast<std::uint64_t>(i.index);
    if (at < static_cast<std::uint64_t>(rank_)) [[likely]]
      return at;
    return place_from_end(i.index, i.where);
  }
  KILN_API std::size_t place_from_end(std::int64_t i, const std::source_location& where) const;

  std::array<std::int64_t, max_rank> dims_{};
  int rank_ = 0;
};

}  // namespace kiln

// The values of inputs of operators.
#pragma once
#include <kiln/kiln.h>

#include <cstdint>

namespace graphs {

/// The kind of values of an input.
struct Values {
  enum class Kind {
    any,      ///< numbers of all sizes around zero
    indices,  ///< whole numbers from 0 up to `limit`
  } kind = Kind::any;
  std::int64_t limit = 0;
  bool checked = false;  ///< an index out of range throws: there is none among special values either
};

/// Numbers fixed by the seed, -0 and subnormal ones among them. `special`: also NaN, infinities and the ends
/// of the dtype's range, and indices that are out of range.
kiln::Tensor make_values(const kiln::Shape& shape, kiln::DType dtype, const Values& values,
                         std::uint64_t seed, bool special);

}  // namespace graphs

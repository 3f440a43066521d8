// The .npy format of numpy.save.
#pragma once
#include "frontend/formats/stored_type.h"

/// A magic number, a version, and a Python dict of dtype, order and shape as text; padding places the
/// elements at a multiple of 64.
namespace kiln {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// Reads one array from the rest of `in`. Converts Fortran order and big-endian elements.
StoredArray read_npy(ByteReader& in);
/// The header before the elements, byte-identical to NumPy 2's.
std::string npy_header(const Tensor& array);

}  // namespace kiln

#pragma once
#include "frontend/formats/bytes.h"

/// One array as numpy.save writes it: a magic word, a version, and as text a Python dict of dtype, order and
/// shape, padded so that the elements begin at a multiple of 64.
namespace kiln {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// Reads the array that the rest of `in` is. Elements in Fortran's order or big endian are put into Kiln's.
Tensor read_npy(ByteReader& in);
/// What comes before the elements, byte for byte as NumPy 2 writes it.
std::string npy_header(const Tensor& array);

}  // namespace kiln

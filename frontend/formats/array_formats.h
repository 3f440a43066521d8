// Parsers and formatters of files of arrays, one pair per format.
#pragma once
#include "frontend/formats/bytes.h"

#include <kiln/io.h>

/// The file formats of arrays; io.cpp selects one. A parser takes the whole file. It validates
/// everything, and allocates no more than the size of the contents. A formatter throws if the format cannot
/// represent the list.
namespace kiln {

/// By the first bytes that are left, else by the extension of the file. Reads none of them.
ArrayFormat format_of(ByteReader& in);

/// "npz"
std::string_view name_of(ArrayFormat format);

std::vector<NamedArray> parse_params(ByteReader& in);
std::string format_params(std::span<const NamedArray> arrays, bool numpy_mode);

std::vector<NamedArray> parse_npy(ByteReader& in);
std::string format_npy(const Tensor& array);

std::vector<NamedArray> parse_npz(ByteReader& in);
std::string format_npz(std::span<const NamedArray> arrays, bool compress);

std::vector<NamedArray> parse_safetensors(ByteReader& in);
std::string format_safetensors(std::span<const NamedArray> arrays);

/// Names for formats that require unique names: unnamed arrays get numpy's "arr_0", "arr_1", ... by position.
/// Throws for a duplicate name.
std::vector<std::string> distinct_names(std::span<const NamedArray> arrays);

}  // namespace kiln

#pragma once
#include <kiln/io.h>

/// The file formats of arrays; io.cpp selects one. A parser takes the whole file, and its name for errors. It
/// validates everything, and allocates no more than the size of the contents. A formatter throws if the
/// format cannot represent the list.
namespace kiln {

std::vector<NamedArray> parse_params(std::span<const std::byte> bytes, const std::string& name);
std::string format_params(std::span<const NamedArray> arrays, bool numpy_mode);

std::vector<NamedArray> parse_npy(std::span<const std::byte> bytes, const std::string& name);
std::string format_npy(const Tensor& array);

std::vector<NamedArray> parse_npz(std::span<const std::byte> bytes, const std::string& name);
std::string format_npz(std::span<const NamedArray> arrays, bool compress);

std::vector<NamedArray> parse_safetensors(std::span<const std::byte> bytes, const std::string& name);
std::string format_safetensors(std::span<const NamedArray> arrays);

/// Names for formats in which every array has a unique name: unnamed arrays get numpy's "arr_0", "arr_1", ...
/// by position. Throws for a duplicate name.
std::vector<std::string> distinct_names(std::span<const NamedArray> arrays);

}  // namespace kiln

#pragma once
#include <kiln/io.h>

/// The forms that a file of arrays can have. Each parser takes the whole file and its name for errors, trusts
/// nothing in it, and allocates no more than the file's contents; each formatter throws where the form cannot
/// hold the list. io.cpp chooses among them.
namespace kiln {

std::vector<NamedArray> parse_params(std::span<const std::byte> bytes, const std::string& name);
std::string format_params(std::span<const NamedArray> arrays, bool numpy_mode);

std::vector<NamedArray> parse_npy(std::span<const std::byte> bytes, const std::string& name);
std::string format_npy(const Tensor& array);

std::vector<NamedArray> parse_npz(std::span<const std::byte> bytes, const std::string& name);
std::string format_npz(std::span<const NamedArray> arrays, bool compress);

std::vector<NamedArray> parse_safetensors(std::span<const std::byte> bytes, const std::string& name);
std::string format_safetensors(std::span<const NamedArray> arrays);

/// Names for forms in which each array has one of its own: those without get numpy's "arr_0", "arr_1", ... by
/// their place. Throws for a name that is there twice.
std::vector<std::string> distinct_names(std::span<const NamedArray> arrays);

}  // namespace kiln

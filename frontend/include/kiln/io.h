#pragma once
#include <kiln/tensor.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// MXNet's NDArray lists: the files that export, save_parameters and nd.save write.
namespace kiln {

struct NamedArray {
  std::string name;  ///< empty in a list without names
  Tensor array;
};

/// Reads a list, in the file's order. All forms that MXNet has written are read (magic V0 to V3); an array of
/// a gpu comes to the cpu. Every array has memory of its own, owned by its Tensor. Throws kiln::Error, naming
/// file and array, for a file that is no list, is cut short or declares more than it holds, and for sparse
/// arrays, arrays without a value ("none"), arrays of more than Shape::max_rank axes and unknown dtypes.
/// Never allocates more than the file holds. Any thread.
KILN_API std::vector<NamedArray> load_arrays(const std::string& path);
/// The same from memory; `name` stands for the file in errors.
KILN_API std::vector<NamedArray> parse_arrays(std::span<const std::byte> bytes, const std::string& name);

/// Writes a list as MXNet 1.9.1 does (V2; arrays of rank 0 or without elements need V3, MXNet's numpy mode,
/// and make the whole list V3). Names are written unless all are empty. The file appears whole or not at all:
/// it is written beside its place and then renamed. Throws kiln::Error where the folder cannot be written.
KILN_API void save_arrays(const std::string& path, std::span<const NamedArray> arrays);
/// The bytes of such a file.
KILN_API std::string format_arrays(std::span<const NamedArray> arrays);

/// The array of that name; null when there is none.
KILN_API const Tensor* find_array(std::span<const NamedArray> arrays, std::string_view name);

}  // namespace kiln

#pragma once
#include <kiln/tensor.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Files of arrays: MXNet's NDArray lists (what export, save_parameters and nd.save write), NumPy's .npy and
/// .npz, and safetensors.
namespace kiln {

struct NamedArray {
  std::string name;  ///< empty in a list without names
  Tensor array;
};

enum class ArrayFormat {
  params,      ///< MXNet's list, with or without names
  npy,         ///< one array, without a name
  npz,         ///< an archive of .npy files
  safetensors  ///< arrays by name
};
/// The format of a file's extension: .params, .npy, .npz, .safetensors, and without an extension MXNet's
/// list. Throws kiln::Error, listing these, for another extension.
KILN_API ArrayFormat array_format_of(std::string_view path);

/// Reads a file of arrays, in the file's order. Its first bytes tell the form; where they tell nothing, its
/// name. Every array has memory of its own, owned by its Tensor. Throws kiln::Error, naming file and array,
/// for a file that is none of these, is cut short, is damaged or declares more than it holds, and for arrays
/// of more than Shape::max_rank axes and of other dtypes than Kiln's. Never allocates more than the file
/// holds, unpacked. Any thread.
/// - .params: all forms that MXNet has written (magic V0 to V3); an array of a gpu comes to the cpu. Sparse
///   arrays and arrays without a value ("none") are errors.
/// - .npy: versions 1 to 3; Fortran's order and big-endian numbers are put into Kiln's. Objects and records
///   are errors. bfloat16 is what ml_dtypes makes of it: two bytes, "V2".
/// - .npz: members stored or deflated, of any size; names without ".npy".
/// - .safetensors: metadata is passed over.
KILN_API std::vector<NamedArray> load_arrays(const std::string& path);
/// The same from memory; `name` stands for the file in errors.
KILN_API std::vector<NamedArray> parse_arrays(std::span<const std::byte> bytes, const std::string& name);

struct SaveOptions {
  std::optional<ArrayFormat> format = {};  ///< not given: what the file's name says
  bool compress = false;                   ///< .npz: deflate the members, as numpy.savez_compressed does
  std::optional<bool> numpy_mode = {};     ///< .params: V3; not given: in a program in numpy mode
};
/// Writes a file of arrays. The file appears whole or not at all: it is written beside its place and then
/// renamed. Throws kiln::Error where the folder cannot be written or the form cannot hold the list.
/// - .params: as MXNet 1.9.1 does (V2; arrays of rank 0 or without elements need V3, MXNet's numpy mode, and
///   make the whole list V3). Names are written unless all are empty.
/// - .npy: exactly one array, its name is not written.
/// - .npz, .safetensors: names are distinct; arrays without one are "arr_0", "arr_1", ... by their place, as
///   numpy names them.
KILN_API void save_arrays(const std::string& path, std::span<const NamedArray> arrays,
                          const SaveOptions& options = {});
/// The bytes of such a file; of MXNet's list where no format is given.
KILN_API std::string format_arrays(std::span<const NamedArray> arrays, const SaveOptions& options = {});

/// The array of that name; null when there is none.
KILN_API const Tensor* find_array(std::span<const NamedArray> arrays, std::string_view name);

}  // namespace kiln

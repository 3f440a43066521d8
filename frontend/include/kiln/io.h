// Files of arrays: MXNet's .params, NumPy's .npy and .npz, and safetensors.
#pragma once
#include <kiln/tensor.h>

#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Files of arrays: MXNet's NDArray lists (written by export, save_parameters and nd.save), NumPy's .npy and
/// .npz, and safetensors.
namespace kiln {

/// An array of a file.
struct NamedArray {
  std::string name;  ///< empty in a list without names
  Tensor array;      ///< on the CPU
};

/// Formats of files of arrays.
enum class ArrayFormat {
  params,      ///< MXNet's list, with or without names
  npy,         ///< one array, without a name
  npz,         ///< an archive of .npy files
  safetensors  ///< arrays by name
};
/// The format by extension: .params, .npy, .npz, .safetensors; MXNet's list without one. Another extension
/// throws kiln::Error, listing these.
KILN_API ArrayFormat array_format_of(std::string_view path);

/// Reads a file of arrays, in the file's order. The format is detected from the first bytes, else chosen by
/// the extension. Each Tensor owns its memory. Throws kiln::Error, naming file and array, for an unknown,
/// truncated or damaged file, one that declares more than it holds, and more than Shape::max_rank axes. Never
/// allocates more than the unpacked size of the file, or four times the size of integers that widen. Any
/// thread. In .npy, .npz and .safetensors int16 and uint16 are read as int32, uint32 and uint64 as int64.
/// Kiln's dtypes do not hold complex numbers, text, objects, records, 8-bit floats and uint64 elements above
/// int64's maximum. Such an array is left out with a warning; if the file has no other, it is an error.
///
/// - .params: all versions (magic V0 to V3); a GPU array is read to the CPU. Sparse arrays and arrays without
///   a value ("none") are errors.
///
/// - .npy: versions 1 to 3; Fortran order and big-endian numbers are converted. bfloat16 is stored as by
///   ml_dtypes: two bytes, "V2".
///
/// - .npz: members stored or deflated, of any size; names without ".npy".
///
/// - .safetensors: metadata is ignored.
KILN_API std::vector<NamedArray> load_arrays(const std::string& path,
                                             std::source_location where = std::source_location::current());
/// The same from memory; errors show `name` as the file.
KILN_API std::vector<NamedArray> parse_arrays(std::span<const std::byte> bytes, const std::string& name);

/// Options of save().
struct SaveOptions {
  std::optional<ArrayFormat> format = {};  ///< not given: by extension
  bool compress = false;                   ///< .npz: deflate the members, as numpy.savez_compressed does
  std::optional<bool> numpy_mode = {};     ///< .params: V3; default: the program's mode
};
/// Writes a file of arrays, atomically: to a temporary file in the same folder, then renamed. Throws
/// kiln::Error if the folder is not writable or the format cannot represent the list.
///
/// - .params: V2, as MXNet 1.9.1 writes. Arrays of rank 0 or without elements need V3 (MXNet's numpy mode),
///   and make the whole list V3. Names are written unless all are empty.
///
/// - .npy: exactly one array; its name is not stored.
///
/// - .npz, .safetensors: names must be distinct; unnamed arrays are "arr_0", "arr_1", ... by position, as in
///   NumPy.
KILN_API void save_arrays(const std::string& path, std::span<const NamedArray> arrays,
                          const SaveOptions& options = {},
                          std::source_location where = std::source_location::current());
/// The bytes of such a file; by default of MXNet's list.
KILN_API std::string format_arrays(std::span<const NamedArray> arrays, const SaveOptions& options = {});

/// Writes a file of one array without a name, in the format of the extension: `save("x.npy", x)`, as
/// mx.nd.save("x", x). Throws as save_arrays().
KILN_API void save(const std::string& path, const Tensor& array, const SaveOptions& options = {},
                   std::source_location where = std::source_location::current());
/// The array of a file that has one, whatever its name. Throws as load_arrays(), and for another number of
/// arrays, listing their names.
KILN_API Tensor load(const std::string& path, std::source_location where = std::source_location::current());

/// The array with that name; null if there is none.
KILN_API const Tensor* find_array(std::span<const NamedArray> arrays, std::string_view name);

}  // namespace kiln

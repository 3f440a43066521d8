// Reading and writing files of arrays in all formats.
#include "frontend/call/call_context.h"
#include "frontend/call/line.h"
#include "frontend/call/numpy_scope.h"
#include "frontend/formats/array_formats.h"
#include "frontend/formats/file_io.h"
#include "runtime/fail.h"

#include <kiln/autograd.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace kiln {
namespace {

/// The format by the first bytes. The word 0x112 begins MXNet's lists, but may also be the length of a
/// safetensors header; that header begins with a brace.
std::optional<ArrayFormat> format_by_content(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\x93NUMPY")) return ArrayFormat::npy;
  if (text.starts_with("PK")) return ArrayFormat::npz;
  if (text.size() > 8 && text[8] == '{') return ArrayFormat::safetensors;
  if (text.size() >= 8 && text.substr(0, 8) == std::string_view("\x12\x01\0\0\0\0\0\0", 8))
    return ArrayFormat::params;
  return {};
}

struct Extension {
  std::string_view text;
  ArrayFormat format;
};
constexpr Extension extensions[] = {{".params", ArrayFormat::params},
                                    {".npy", ArrayFormat::npy},
                                    {".npz", ArrayFormat::npz},
                                    {".safetensors", ArrayFormat::safetensors}};

/// ".npz" for "a/b.npz"; nothing for "a.b/c" and ".hidden".
std::string_view extension_of(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::size_t dot = file.rfind('.');
  return dot == file.npos || dot == 0 ? std::string_view() : file.substr(dot);
}

std::optional<ArrayFormat> format_by_name(std::string_view path) {
  const std::string_view extension = extension_of(path);
  if (extension.empty()) return ArrayFormat::params;
  for (const Extension& e : extensions)
    if (e.text == extension) return e.format;
  return {};
}

}  // namespace

ArrayFormat array_format_of(std::string_view path) {
  if (const auto format = format_by_name(path)) return *format;
  std::string known;
  for (const Extension& e : extensions) known += (known.empty() ? "" : ", ") + std::string(e.text);
  fail("{}: '{}' is no file extension of arrays; Kiln writes {}, and .params is MXNet's", path,
       extension_of(path), known);
}

std::string_view name_of(ArrayFormat format) {
  const auto e = std::find_if(std::begin(extensions), std::end(extensions),
                              [&](const Extension& known) { return known.format == format; });
  return e->text.substr(1);
}

ArrayFormat format_of(ByteReader& in) {
  const ArrayFormat by_name = format_by_name(in.file()).value_or(ArrayFormat::params);
  constexpr std::size_t telling = 9;
  return format_by_content(in.peek(telling)).value_or(by_name);
}

namespace {

std::vector<NamedArray> read_arrays(ByteReader in) {
  switch (format_of(in)) {
    case ArrayFormat::npy:
      return parse_npy(in);
    case ArrayFormat::npz:
      return parse_npz(in);
    case ArrayFormat::safetensors:
      return parse_safetensors(in);
    case ArrayFormat::params:
      break;
  }
  return parse_params(in);
}

}  // namespace

std::vector<NamedArray> parse_arrays(std::span<const std::byte> bytes, const std::string& name) {
  return read_arrays(ByteReader(bytes, name));
}

std::vector<NamedArray> load_arrays(const std::string& path, std::source_location where) {
  return at_line(where, [&] {
    const InputFile file(path, "file of arrays");
    return file.size() ? read_arrays(ByteReader(file)) : parse_arrays(file.read_all(), path);
  });
}

std::string format_arrays(std::span<const NamedArray> given, const SaveOptions& options) {
  const autograd::Pause pause(autograd::is_training());
  std::vector<NamedArray> arrays(given.begin(), given.end());
  for (NamedArray& a : arrays) {
    if (!a.array.defined()) fail("the array '{}' to be saved is an undefined Tensor", a.name);
    if (!a.array.is_traced()) a.array = a.array.to(cpu());
  }
  switch (options.format.value_or(ArrayFormat::params)) {
    case ArrayFormat::npy:
      if (arrays.size() != 1)
        fail("a .npy file holds one array, not {}; .npz, .safetensors and .params hold any number",
             arrays.size());
      return format_npy(arrays[0].array);
    case ArrayFormat::npz:
      return format_npz(arrays, options.compress);
    case ArrayFormat::safetensors:
      return format_safetensors(arrays);
    case ArrayFormat::params:
      break;
  }
  return format_params(arrays, options.numpy_mode.value_or(NumpyScope::program()));
}

void save_arrays(const std::string& path, std::span<const NamedArray> arrays, const SaveOptions& options,
                 std::source_location where) {
  at_line(where, [&] {
    SaveOptions with_format = options;
    if (!options.format) with_format.format = array_format_of(path);
    std::string content;
    try {
      content = format_arrays(arrays, with_format);
    } catch (const Error& e) {
      throw Error(fmt::format("{}: {}", path, e.what()), e.kind());
    }
    write_file(path, content, "file of arrays");
  });
}

void save(const std::string& path, const Tensor& array, const SaveOptions& options,
          std::source_location where) {
  save_arrays(path, std::array{NamedArray{"", array}}, options, where);
}

Tensor load(const std::string& path, std::source_location where) {
  const std::vector<NamedArray> arrays = load_arrays(path, where);
  if (arrays.size() == 1) return arrays[0].array;
  std::string names;
  for (const NamedArray& a : arrays)
    if (!a.name.empty()) names += (names.empty() ? " (" : ", ") + a.name;
  fail("{}{}: load() reads a file of one array, and this one has {}{}: load_arrays() reads them all",
       line_prefix(where), path, arrays.size(), names.empty() ? names : names + ")");
}

const Tensor* find_array(std::span<const NamedArray> arrays, std::string_view name) {
  for (const NamedArray& a : arrays)
    if (a.name == name) return &a.array;
  return nullptr;
}

std::vector<std::string> distinct_names(std::span<const NamedArray> arrays) {
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (const NamedArray& a : arrays) {
    names.push_back(a.name.empty() ? fmt::format("arr_{}", names.size()) : a.name);
    if (!seen.insert(names.back()).second)
      fail("there are two arrays '{}': names in this format are unique", names.back());
  }
  return names;
}

}  // namespace kiln

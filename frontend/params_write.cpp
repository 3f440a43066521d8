#include "frontend/file_io.h"
#include "frontend/params_format.h"
#include "runtime/fail.h"

#include <kiln/io.h>

#include <algorithm>

namespace kiln {
namespace {

using namespace params_format;

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What V2 cannot say: there rank 0 means "none", and an extent 0 "not known".
bool needs_v3(const NamedArray& a) {
  const Shape& shape = a.array.shape();
  return shape.empty() || std::find(shape.begin(), shape.end(), 0) != shape.end();
}

void append_array(std::string& out, const NamedArray& a, bool v3) {
  const Shape& shape = a.array.shape();
  append<std::uint32_t>(out, v3 ? magic_v3 : magic_v2);
  append<std::int32_t>(out, 0);  // dense
  append<std::int32_t>(out, shape.rank());
  for (const std::int64_t dim : shape) append<std::int64_t>(out, dim);
  append<std::int32_t>(out, device_cpu);
  append<std::int32_t>(out, 0);
  append<std::int32_t>(out, static_cast<std::int32_t>(a.array.dtype()));
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size_of(a.array.dtype());
  if (bytes != 0) out.append(static_cast<const char*>(a.array.data()), bytes);
}

}  // namespace

std::string format_arrays(std::span<const NamedArray> arrays) {
  bool named = false;
  for (const NamedArray& a : arrays) {
    if (!a.array.defined()) fail("the array '{}' to be saved is an undefined Tensor", a.name);
    named = named || !a.name.empty();
  }
  const bool v3 = std::any_of(arrays.begin(), arrays.end(), needs_v3);
  std::string out;
  std::size_t room = 64;
  for (const NamedArray& a : arrays) {
    room += static_cast<std::size_t>(a.array.shape().elements()) * size_of(a.array.dtype());
    room += a.name.size() + 128;
  }
  out.reserve(room);
  append<std::uint64_t>(out, list_magic);
  append<std::uint64_t>(out, 0);
  append<std::uint64_t>(out, arrays.size());
  for (const NamedArray& a : arrays) append_array(out, a, v3);
  append<std::uint64_t>(out, named ? arrays.size() : 0);
  if (!named) return out;
  for (const NamedArray& a : arrays) {
    append<std::uint64_t>(out, a.name.size());
    out += a.name;
  }
  return out;
}

void save_arrays(const std::string& path, std::span<const NamedArray> arrays) {
  write_file(path, format_arrays(arrays), "params file");
}

}  // namespace kiln

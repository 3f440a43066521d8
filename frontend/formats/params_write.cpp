// Writes MXNet's .params.
#include "frontend/formats/array_formats.h"
#include "frontend/formats/bytes.h"
#include "frontend/formats/params_format.h"

#include <algorithm>

namespace kiln {
namespace {

using namespace params_format;

// Shapes that V2 cannot express: there, rank 0 means "none" and an extent 0 "unknown".
bool needs_v3(const NamedArray& a) {
  const Shape& shape = a.array.shape();
  return shape.empty() || std::find(shape.begin(), shape.end(), 0) != shape.end();
}

void append_array(std::string& out, const NamedArray& a, bool v3) {
  const Shape& shape = a.array.shape();
  append_number<std::uint32_t>(out, v3 ? magic_v3 : magic_v2);
  append_number<std::int32_t>(out, 0);  // dense
  append_number<std::int32_t>(out, shape.rank());
  for (const std::int64_t dim : shape) append_number<std::int64_t>(out, dim);
  append_number<std::int32_t>(out, device_cpu);
  append_number<std::int32_t>(out, 0);
  append_number<std::int32_t>(out, static_cast<std::int32_t>(a.array.dtype()));
  append_bytes(out, ElementBytes(a.array).span());
}

}  // namespace

std::string format_params(std::span<const NamedArray> arrays, bool numpy_mode) {
  bool named = false;
  for (const NamedArray& a : arrays) named = named || !a.name.empty();
  const bool v3 = numpy_mode || std::any_of(arrays.begin(), arrays.end(), needs_v3);
  std::string out;
  std::size_t room = 64;
  for (const NamedArray& a : arrays) room += ElementBytes::size_of(a.array) + a.name.size() + 128;
  out.reserve(room);
  append_number<std::uint64_t>(out, list_magic);
  append_number<std::uint64_t>(out, 0);
  append_number<std::uint64_t>(out, arrays.size());
  for (const NamedArray& a : arrays) append_array(out, a, v3);
  append_number<std::uint64_t>(out, named ? arrays.size() : 0);
  if (!named) return out;
  for (const NamedArray& a : arrays) {
    append_number<std::uint64_t>(out, a.name.size());
    out += a.name;
  }
  return out;
}

}  // namespace kiln

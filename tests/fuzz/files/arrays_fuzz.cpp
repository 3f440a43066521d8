// Any bytes are a file of arrays of some form, or an error; a list that was read is written in that form and
// comes back equal.
#include <kiln/kiln.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace kiln;

namespace {

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

bool equal(const Tensor& a, const Tensor& b) {
  const std::size_t bytes = static_cast<std::size_t>(a.size()) * size_of(a.dtype());
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         (bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0);
}

ArrayFormat form_of(std::string_view text) {
  if (text.starts_with("\x93NUMPY")) return ArrayFormat::npy;
  if (text.starts_with("PK")) return ArrayFormat::npz;
  return text.size() > 8 && text[8] == '{' ? ArrayFormat::safetensors : ArrayFormat::params;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::vector<NamedArray> arrays = parse_arrays(std::as_bytes(std::span(text)), "fuzz.arrays");
    // A file of named arrays may name one "", which is written as "arr_0".
    if (form_of(text) == ArrayFormat::safetensors && find_array(arrays, "")) return 0;
    const bool first_bit = size != 0 && (data[size - 1] & 1) != 0;
    const std::string written = format_arrays(arrays, {.format = form_of(text), .compress = first_bit});
    const std::vector<NamedArray> again = parse_arrays(std::as_bytes(std::span(written)), "again.arrays");
    if (again.size() != arrays.size()) broken("a written list has another length");
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (again[i].name != arrays[i].name || !equal(again[i].array, arrays[i].array))
        broken("a written array comes back differently");
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::internal ||
        std::string_view(e.what()).find("fuzz.arrays") == std::string_view::npos)
      broken(e.what());
  }
  return 0;
}

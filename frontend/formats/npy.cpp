#include "frontend/formats/npy.h"

#include "frontend/formats/array_formats.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace kiln {
namespace {

// NumPy has no bfloat16. The package ml_dtypes, which adds it, writes it to files as opaque two-byte
// elements.
constexpr std::pair<std::string_view, DType> descriptions[] = {
    {"<f4", DType::f32}, {"<f8", DType::f64},  {"<f2", DType::f16},
    {"|u1", DType::u8},  {"|i1", DType::i8},   {"<i4", DType::i32},
    {"<i8", DType::i64}, {"<V2", DType::bf16}, {"|b1", DType::boolean}};

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

/// Reads the Python literal of a header: a dict with exactly the keys descr, fortran_order and shape.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const ByteReader& in) : text_(text), in_(in) {}

  NpyHeader read() {
    NpyHeader header;
    std::vector<std::string> seen;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) in_.error("its header has two '{}'", key);
      seen.push_back(key);
      expect(':');
      if (key == "descr")
        header.descr = description();
      else if (key == "fortran_order")
        header.fortran_order = boolean();
      else if (key == "shape")
        header.shape = shape();
      else
        in_.error("its header has the unknown key '{}'", key);
      if (!accept(',') && peek() != '}') in_.error("its header is malformed at '{}'", rest());
    }
    if (seen.size() != 3) in_.error("its header needs descr, fortran_order and shape");
    if (peek() != '\0' || !text_.empty()) in_.error("something follows its header: '{}'", rest());
    return header;
  }

 private:
  std::string_view rest() const { return text_.substr(0, 20); }
  char peek() {
    const std::size_t at = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(at, text_.size()));
    return text_.empty() ? '\0' : text_[0];
  }
  bool accept(char c) {
    if (peek() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) in_.error("its header needs '{}' at '{}'", c, rest());
  }
  bool accept_word(std::string_view word) {
    peek();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::string string() {
    const char quote = peek();
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) in_.error("its header needs a string at '{}'", rest());
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  std::string description() {
    if (peek() == '[' || peek() == '(')
      in_.error("its elements are records of several fields; save each field as an array of its own");
    return string();
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) in_.error("its header needs True or False at '{}'", rest());
    return false;
  }
  Shape shape() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t extent = 0;
      const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (problem != std::errc() || extent < 0) in_.error("its shape has no extent at '{}'", rest());
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept('L');  // written by Python 2
      if (shape.rank() == Shape::max_rank)
        in_.error("it has more than {} axes, the most that Kiln's arrays have", Shape::max_rank);
      shape.push_back(extent);
      if (!accept(',') && peek() != ')') in_.error("its shape is malformed at '{}'", rest());
    }
    return shape;
  }

  std::string_view text_;
  const ByteReader& in_;
};

DType dtype_of_descr(std::string_view descr, const ByteReader& in) {
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string_view kind = descr.substr(has_order ? 1 : 0);
  for (const auto& [text, dtype] : descriptions)
    if (kind == text.substr(1)) return dtype;
  if (kind.starts_with('O'))
    in.error("it holds Python objects, which only Python can make again; save an array of numbers");
  in.error(
      "its dtype is '{}'; Kiln has float16, bfloat16, float32, float64, int8, uint8, int32, int64 and bool: "
      "convert it with .astype() before it is saved",
      descr);
}

/// Converts elements from Fortran order to C order.
std::vector<std::byte> from_fortran_order(std::span<const std::byte> elements, const Shape& shape,
                                          std::size_t element) {
  std::vector<std::byte> ordered(elements.size());
  Shape stride = shape, index = Shape::filled(shape.rank(), 0);
  std::size_t step = element;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = static_cast<std::int64_t>(step);
    step *= static_cast<std::size_t>(shape[axis]);
  }
  std::size_t from = 0;
  for (std::size_t to = 0; to < ordered.size(); to += element) {
    std::memcpy(ordered.data() + to, elements.data() + from, element);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += static_cast<std::size_t>(stride[axis]);
      if (++index[axis] < shape[axis]) break;
      from -= static_cast<std::size_t>(stride[axis] * shape[axis]);
      index[axis] = 0;
    }
  }
  return ordered;
}

}  // namespace

Tensor read_npy(ByteReader& in) {
  if (in.text(std::min(in.left(), npy_magic.size()), "the magic word") != npy_magic)
    in.error("it does not begin as a .npy file does");
  const auto major = in.number<std::uint8_t>("the version");
  in.number<std::uint8_t>("the version");
  if (major < 1 || major > 3) in.error("it has the version {} of the format; 1, 2 and 3 are known", major);
  const std::uint32_t length = major == 1 ? in.number<std::uint16_t>("the header's length")
                                          : in.number<std::uint32_t>("the header's length");
  const NpyHeader header = HeaderReader(in.text(length, "the header"), in).read();
  const DType dtype = dtype_of_descr(header.descr, in);
  const std::size_t bytes = in.bytes_of(header.shape, dtype);
  if (in.left() != bytes) in.error("{} bytes follow the elements of the array", in.left() - bytes);
  const bool reorder = header.fortran_order && header.shape.rank() > 1 && bytes > 0;
  const bool swap = header.descr[0] == '>' && size_of(dtype) > 1;
  if (!reorder && !swap) return in.array(header.shape, dtype);

  std::span<const std::byte> elements = in.elements(header.shape, dtype);
  std::vector<std::byte> ordered;
  if (reorder) elements = ordered = from_fortran_order(elements, header.shape, size_of(dtype));
  if (swap) {
    if (ordered.empty()) ordered.assign(elements.begin(), elements.end());
    const auto width = static_cast<std::ptrdiff_t>(size_of(dtype));
    for (auto e = ordered.begin(); e != ordered.end(); e += width) std::reverse(e, e + width);
    elements = ordered;
  }
  return make_array(header.shape, dtype, elements);
}

std::string npy_header(const Tensor& array) {
  const Shape& shape = array.shape();
  const auto* const row = std::find_if(std::begin(descriptions), std::end(descriptions),
                                       [&](const auto& d) { return d.second == array.dtype(); });
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", row->first, shape.str());
  // NumPy reserves room for the first extent to grow to 21 digits in place.
  if (!shape.empty()) text.append(21 - std::to_string(shape[0]).size(), ' ');
  const std::size_t before = npy_magic.size() + 4 + text.size() + 1;
  text.append(64 - before % 64, ' ');
  text += '\n';
  std::string out(npy_magic);
  out += std::string_view("\1\0", 2);
  append_number<std::uint16_t>(out, static_cast<std::uint16_t>(text.size()));
  return out + text;
}

std::vector<NamedArray> parse_npy(ByteReader& in) { return {{"", read_npy(in)}}; }

std::string format_npy(const Tensor& array) {
  std::string out = npy_header(array);
  append_bytes(out, ElementBytes(array).span());
  return out;
}

}  // namespace kiln

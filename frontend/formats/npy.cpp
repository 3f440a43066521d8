// Reads and writes .npy.
#include "frontend/formats/npy.h"

#include "frontend/formats/array_formats.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace kiln {
namespace {

constexpr NamedType<NpyNames> widening[] = {
    {{"<i2", "h", " int16 short "}, stored_int16},
    {{"<u2", "H", " uint16 ushort "}, stored_uint16},
    {{"<u4", "I", " uint32 uintc "}, stored_uint32},
    {{"<u8", "LQP", " uint64 uint uintp ulong ulonglong "}, stored_uint64}};
constexpr auto descriptions = types_of_format(&DTypeRow::npy, widening);

struct NpyHeader {
  std::string descr;
  bool records = false;  ///< in the place of `descr`
  bool fortran_order = false;
  Shape shape;
};

/// Reads the Python literal of a header: a dict with exactly the keys descr, fortran_order and shape.
class HeaderReader {
 public:
  /// Python 2, which wrote versions 1 and 2, marks some integers with an L.
  HeaderReader(std::string_view text, bool python2, const ByteReader& in)
      : text_(text), python2_(python2), in_(in) {}

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
        read_description(header);
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
    char quote = peek();
    if (quote == 'u') {  // as Python 2 writes
      text_.remove_prefix(1);
      quote = text_.empty() ? '\0' : text_[0];
    }
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) in_.error("its header needs a string at '{}'", rest());
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  void read_description(NpyHeader& header) {
    if (peek() != '[' && peek() != '(') {
      header.descr = string();
      return;
    }
    header.records = true;
    skip_list();
  }
  /// Skips a list or tuple of strings, numbers and such.
  void skip_list() {
    std::size_t open = 0;
    do {
      const char c = peek();
      if (c == '\0') in_.error("its header ends inside the fields of its elements");
      if (c == '\'' || c == '"') {
        string();
        continue;
      }
      open += c == '[' || c == '(';
      open -= c == ']' || c == ')';
      text_.remove_prefix(1);
    } while (open > 0);
  }
  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) in_.error("its header needs True or False at '{}'", rest());
    return false;
  }
  /// A tuple: of one extent only with a comma.
  Shape shape() {
    Shape shape;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) in_.error("its shape is malformed at '{}'", rest());
      if (shape.rank() == Shape::max_rank)
        in_.error("it has more than {} axes, the most that Kiln's arrays have", Shape::max_rank);
      shape.push_back(extent());
      comma = accept(',');
      if (!comma && shape.rank() == 1) in_.error("its shape is malformed at '{}'", rest());
    }
    return shape;
  }
  std::int64_t extent() {
    peek();
    std::int64_t extent = 0;
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
    if (problem != std::errc() || extent < 0) in_.error("its shape has no extent at '{}'", rest());
    const auto digits = static_cast<std::size_t>(end - text_.data());
    if (text_[0] == '0' && extent != 0) in_.error("its shape has no extent at '{}'", rest());
    text_.remove_prefix(digits);
    if (python2_) accept('L');
    return extent;
  }

  std::string_view text_;
  bool python2_;
  const ByteReader& in_;
};

std::variant<StoredType, NoDType> type_of_descr(std::string_view descr) {
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string_view kind = descr.substr(has_order ? 1 : 0);
  for (const auto& [d, type] : descriptions) {
    const bool character = kind.size() == 1 && d.characters.find(kind[0]) != std::string_view::npos;
    const bool name = !has_order && kind.find(' ') == std::string_view::npos && !kind.empty() &&
                      d.names.find(' ' + std::string(kind) + ' ') != std::string_view::npos;
    if (kind == d.written.substr(1) || character || name) return type;
  }
  if (kind.starts_with('O'))
    return NoDType{"it holds Python objects, which only Python can make again; save an array of numbers"};
  return NoDType{compose("its dtype is '{}'; {}: convert it with .astype() before it is saved", descr,
                         readable_dtypes())};
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

StoredArray read_npy(ByteReader& in) {
  if (in.text(std::min(in.left(), npy_magic.size()), "the magic word") != npy_magic)
    in.error("it does not begin as a .npy file does");
  const auto major = in.number<std::uint8_t>("the version");
  in.number<std::uint8_t>("the version");
  if (major < 1 || major > 3) in.error("it has the version {} of the format; 1, 2 and 3 are known", major);
  const std::uint32_t length = major == 1 ? in.number<std::uint16_t>("the header's length")
                                          : in.number<std::uint32_t>("the header's length");
  const NpyHeader header = HeaderReader(in.text(length, "the header"), major < 3, in).read();
  if (header.records)
    return NoDType{"its elements are records of several fields; save each field as an array of its own"};
  const auto known = type_of_descr(header.descr);
  if (const NoDType* const problem = std::get_if<NoDType>(&known)) return *problem;
  const StoredType type = std::get<StoredType>(known);
  const std::size_t bytes = stored_bytes(in, header.shape, type);
  if (in.left() != bytes) in.error("{} bytes follow the elements of the array", in.left() - bytes);
  const bool reorder = header.fortran_order && header.shape.rank() > 1 && bytes > 0;
  const bool swap = header.descr[0] == '>' && type.width > 1;
  if (!reorder && !swap) return read_stored(in, header.shape, type);

  std::span<const std::byte> elements = in.take(bytes, "the elements");
  std::vector<std::byte> ordered;
  if (reorder) elements = ordered = from_fortran_order(elements, header.shape, type.width);
  if (swap) {
    if (ordered.empty()) ordered.assign(elements.begin(), elements.end());
    const auto width = static_cast<std::ptrdiff_t>(type.width);
    for (auto e = ordered.begin(); e != ordered.end(); e += width) std::reverse(e, e + width);
    elements = ordered;
  }
  return make_stored(header.shape, type, elements);
}

std::string npy_header(const Tensor& array) {
  const Shape& shape = array.shape();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                 row_of(array.dtype()).npy.written, shape.str());
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

std::vector<NamedArray> parse_npy(ByteReader& in) {
  StoredArrays arrays(in);
  arrays.add("", read_npy(in));
  return arrays.take();
}

std::string format_npy(const Tensor& array) {
  std::string out = npy_header(array);
  append_bytes(out, ElementBytes(array).span());
  return out;
}

}  // namespace kiln

// Hugging Face's safetensors: the length of a header, the header as JSON, then the bytes. The header has a
// name, dtype, shape and a range of bytes for each array.
#include "frontend/formats/array_formats.h"
#include "frontend/formats/bytes.h"
#include "frontend/formats/json_reader.h"
#include "frontend/formats/stored_type.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace kiln {
namespace {

using Json = nlohmann::json;

constexpr NamedType<std::string_view> widening_types[] = {
    {"I16", stored_int16}, {"U16", stored_uint16}, {"U32", stored_uint32}, {"U64", stored_uint64}};
constexpr auto dtypes = types_of_format(&DTypeRow::safetensors, widening_types);

/// The other dtypes of the format, and their bits.
constexpr std::pair<std::string_view, std::int64_t> other_dtypes[] = {
    {"C64", 64},    {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4}};

// The limit of the format.
constexpr std::uint64_t longest_header = 100'000'000;

struct Entry {
  std::string name;
  StoredType type;
  std::string_view other = {};  ///< the name of a dtype that Kiln has not
  std::int64_t other_bits = 0;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // of the bytes after the header
};

bool is_utf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

void read_dtype(JsonReader& json, Entry& entry) {
  const std::string word = json.string("dtype");
  for (const auto& [name, type] : dtypes) {
    if (word != name) continue;
    entry.type = type;
    return;
  }
  for (const auto& [name, bits] : other_dtypes) {
    if (word != name) continue;
    entry.other = name;
    entry.other_bits = bits;
    return;
  }
  json.error("its dtype is '{}', which the format has not", word);
}

std::uint64_t read_extent(JsonReader& json, std::string_view what) {
  const bool negative = json.at_minus();
  const std::int64_t value = json.integer(what);
  if (negative) json.error("{} holds {}{}", what, value == 0 ? "-" : "", value);
  return static_cast<std::uint64_t>(value);
}

Entry read_entry(JsonReader& json, const std::string& name) {
  Entry entry{.name = name};
  std::unordered_set<std::string> seen;
  json.object("an array", [&](const std::string& key) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") return json.skip(key);
    if (!seen.insert(key).second) json.error("it has two '{}'", key);
    if (key == "dtype") {
      read_dtype(json, entry);
    } else if (key == "shape") {
      json.array("shape", [&] {
        if (entry.shape.rank() == Shape::max_rank)
          json.error("it has more than {} axes, the most that Kiln's arrays have", Shape::max_rank);
        entry.shape.push_back(static_cast<std::int64_t>(read_extent(json, "shape")));
      });
    } else {
      std::vector<std::uint64_t> range;
      json.array("data_offsets", [&] {
        range.push_back(read_extent(json, "data_offsets"));
        if (range.size() > 2) json.error("data_offsets must be two numbers");
      });
      if (range.size() != 2 || range[0] > range[1]) json.error("data_offsets must be two ascending numbers");
      entry.begin = range[0];
      entry.end = range[1];
    }
  });
  if (seen.size() != 3) json.error("it needs dtype, shape and data_offsets");
  return entry;
}

std::vector<Entry> read_header(std::string_view text, const ByteReader& in) {
  JsonReader json(text, in.file());
  std::vector<Entry> entries;
  std::unordered_set<std::string> seen;
  json.object("the header", [&](const std::string& name) {
    json.set_part(fmt::format("array '{}'", name));
    if (!is_utf8(name)) json.error("this is no name in UTF-8");
    if (!seen.insert(name).second) json.error("there are two arrays of that name");
    if (name == "__metadata__") {
      json.set_part("");
      if (json.at_null()) return json.skip(name);
      return json.object(name, [&](const std::string&) { json.string("a value of __metadata__"); });
    }
    entries.push_back(read_entry(json, name));
    json.set_part("");
  });
  json.end();
  // Text that the reader passes over must be JSON too.
  if (!Json::accept(text))
    in.error("its header is no JSON: a number, a string or what stands behind a value is malformed");
  return entries;
}

/// The bytes of the elements of a dtype that Kiln has not; nothing if they are none.
std::optional<std::int64_t> other_bytes(const Entry& entry) {
  const auto bits = product_of(entry.shape.dims(), entry.other_bits);
  return bits && *bits % 8 == 0 ? std::optional(*bits / 8) : std::nullopt;
}

StoredArray read_elements(ByteReader& in, const Entry& e) {
  if (!e.other.empty()) {
    if (other_bytes(e) != static_cast<std::int64_t>(e.end - e.begin))
      in.error("its shape {} of {} does not take the {} bytes that data_offsets gives it", e.shape.str(),
               e.other, e.end - e.begin);
    return NoDType{compose("its dtype is '{}'; {}", e.other, readable_dtypes())};
  }
  const std::size_t needed = stored_bytes(in, e.shape, e.type);
  if (needed != e.end - e.begin)
    in.error("its shape {} of {} takes {} bytes, but data_offsets gives it {}", e.shape.str(),
             name_of(e.type.dtype), needed, e.end - e.begin);
  return read_stored(in, e.shape, e.type);
}

/// The arrays must cover all bytes exactly: no gap, no overlap, no rest.
void check_cover(std::vector<const Entry*> entries, std::uint64_t size, const ByteReader& in) {
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t at = 0;
  for (const Entry* e : entries) {
    if (e->begin != at)
      in.error("array '{}': its bytes begin at {}, but those before it end at {}", e->name, e->begin, at);
    at = e->end;
  }
  if (at != size) in.error("its arrays take {} bytes, but {} follow the header", at, size);
}

}  // namespace

std::vector<NamedArray> parse_safetensors(ByteReader& in) {
  const auto length = in.number<std::uint64_t>("the header's length");
  if (length > longest_header)
    in.error("it declares a header of {} bytes; a safetensors file has at most {}", length, longest_header);
  const std::vector<Entry> entries = read_header(in.text(length, "the header"), in);
  const std::size_t data = in.at();
  std::vector<const Entry*> pointers;
  for (const Entry& e : entries) pointers.push_back(&e);
  check_cover(std::move(pointers), in.left(), in);
  StoredArrays arrays(in);
  for (const Entry& e : entries) {
    in.set_part(fmt::format("array '{}'", e.name));
    in.seek(data + e.begin, "it");
    arrays.add(e.name, read_elements(in, e));
  }
  return arrays.take();
}

std::string format_safetensors(std::span<const NamedArray> arrays) {
  const std::vector<std::string> names = distinct_names(arrays);
  for (const std::string& name : names)
    if (name == "__metadata__" || !is_utf8(name))
      fail("the array '{}' cannot be saved: names of a safetensors file are UTF-8 and not __metadata__",
           name);
  // Arrays with wide elements are written first, so that all are aligned in a mapped file. The header keeps
  // the order of the list.
  std::vector<std::size_t> order;
  for (const std::size_t width : {8, 4, 2, 1})
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (size_of(arrays[i].array.dtype()) == width) order.push_back(i);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(arrays.size());
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    ranges[i] = {at, at + ElementBytes::size_of(arrays[i].array)};
    at = ranges[i].second;
  }
  std::string text = "{";
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Shape& shape = arrays[i].array.shape();
    text += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", i == 0 ? "" : ",",
                        Json(names[i]).dump(), row_of(arrays[i].array.dtype()).safetensors,
                        fmt::join(shape.dims(), ","), ranges[i].first, ranges[i].second);
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > longest_header)
    fail("{} arrays need a header of {} bytes; a safetensors file has at most {}", arrays.size(), text.size(),
         longest_header);
  std::string out;
  out.reserve(8 + text.size() + at);
  append_number<std::uint64_t>(out, text.size());
  out += text;
  for (const std::size_t i : order) append_bytes(out, ElementBytes(arrays[i].array).span());
  return out;
}

}  // namespace kiln

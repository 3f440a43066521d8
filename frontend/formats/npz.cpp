// Archives of arrays, as by numpy.savez and savez_compressed: one .npy file per array.
#include "frontend/formats/array_formats.h"
#include "frontend/formats/npy.h"
#include "frontend/formats/zip.h"

#include <unordered_set>

namespace kiln {
namespace {

constexpr std::string_view suffix = ".npy";

}  // namespace

std::vector<NamedArray> parse_npz(ByteReader& in) {
  in.fetch_all();
  StoredArrays arrays(in);
  std::unordered_set<std::string> seen;
  std::vector<std::byte> room;
  for (const ZipMember& member : read_zip_directory(in)) {
    in.set_part(fmt::format("member '{}'", member.name));
    if (!member.name.ends_with(suffix) || member.name == suffix)
      in.error("it is no array: members of a .npz file are called NAME.npy");
    if (!seen.insert(member.name).second) in.error("there are two of that name");
    ByteReader content(read_zip_member(in, member, room), in.file());
    content.set_part(fmt::format("member '{}'", member.name));
    arrays.add(member.name.substr(0, member.name.size() - suffix.size()), read_npy(content));
    in.set_part("");
  }
  return arrays.take();
}

std::string format_npz(std::span<const NamedArray> arrays, bool compress) {
  ZipWriter zip;
  const std::vector<std::string> names = distinct_names(arrays);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string header = npy_header(arrays[i].array);
    const ElementBytes elements(arrays[i].array);
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(header)), elements.span()};
    zip.add(names[i] + std::string(suffix), parts, compress);
  }
  return zip.finish();
}

}  // namespace kiln

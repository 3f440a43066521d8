// Any bytes are a RecordIO file, the index of one, or an error; records that were read are written, and come
// back equal.
#include <kiln/recordio.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <unistd.h>

using namespace kiln;

namespace {

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

const std::string file = "fuzz." + std::to_string(::getpid());

void write(const std::string& path, const std::uint8_t* data, std::size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

/// The body's errors are about this file, and of the user.
void allow_errors_about(const std::string& name, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::internal || std::string_view(e.what()).find(name) == std::string_view::npos)
      broken(e.what());
  }
}

std::vector<std::string> all_records(const std::string& path) {
  recordio::Reader in(path);
  std::vector<std::string> records;
  while (auto record = in.read()) records.push_back(std::move(*record));
  return records;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  write(file, data, size);
  allow_errors_about(file, [] {
    const std::vector<std::string> records = all_records(file);
    recordio::Writer out(file + ".again");
    for (const std::string& r : records) out.write(r);
    out.close();
    if (all_records(file + ".again") != records) broken("a written record comes back differently");
    for (const std::string& r : records)
      allow_errors_about("the header of a record", [&] {
        const auto [header, bytes] = recordio::unpack(r);
        const std::string packed = recordio::pack(header, bytes);
        if (recordio::unpack(packed).second != bytes) broken("a packed record comes back differently");
      });
  });
  // As an index of these bytes, and of a file with one record
  static const std::string one = [] {
    recordio::Writer out(file + ".one");
    out.write("record");
    return file + ".one";
  }();
  for (const std::string& rec : {file, one})
    allow_errors_about(file, [&] {
      const recordio::IndexedReader in(file, rec);
      for (const std::int64_t key : in.keys()) in.read_idx(key);
    });
  return 0;
}

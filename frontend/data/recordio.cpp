// RecordIO files with and without an index, and the header of images in them.
#include "frontend/call/line.h"
#include "frontend/call/moved_from.h"
#include "frontend/call/readable.h"
#include "frontend/data/record_file.h"
#include "frontend/formats/bytes.h"
#include "frontend/formats/file_io.h"
#include "frontend/tensor/elements.h"
#include "runtime/fail.h"

#include <kiln/dataset.h>
#include <kiln/recordio.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unordered_map>

namespace kiln {
namespace recordio {
namespace {

constexpr std::string_view what = "RecordIO file";

/// A file that is written from its beginning, in pieces.
class OutputFile {
 public:
  OutputFile(const std::string& path, std::string_view kind)
      : path_(path), kind_(kind), file_(std::fopen(path.c_str(), "wbe"), &std::fclose) {
    check(file_ != nullptr);
  }
  void write(std::string_view bytes) {
    if (!file_) fail("{}: the {} is closed", path_, kind_);
    check(std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size());
  }
  void close() {
    if (file_) check(std::fclose(file_.release()) == 0);
  }

 private:
  void check(bool good) const {
    if (!good) fail("{}: cannot write the {}: {}", path_, kind_, std::strerror(errno));
  }
  std::string path_;
  std::string kind_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// The text of an index, line by line.
class IndexText {
 public:
  IndexText(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  /// Whether there is another line, whose key and byte it sets.
  bool next(std::int64_t& key, std::uint64_t& byte) {
    if (text_.empty()) return false;
    ++line_;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!number(line, key) || !line.starts_with('\t')) error("is not a key, a tab and a byte");
    line.remove_prefix(1);
    if (!number(line, byte) || !line.empty()) error("is not a key, a tab and a byte");
    return true;
  }
  [[noreturn]] void error(const std::string& problem) const {
    fail("{}, line {}: {}", path_, line_, problem);
  }

 private:
  template <class T>
  static bool number(std::string_view& text, T& value) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return failed == std::errc();
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t line_ = 0;
};

}  // namespace

struct Reader::State {
  RecordFile file;
  RecordWindow window{file, 1 << 16};
  std::uint64_t at = 0;
  explicit State(const std::string& path) : file(path, what) {}
};

Reader::Reader(const std::string& path, std::source_location where)
    : state_(at_line(where, [&] { return std::make_unique<State>(path); })) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

std::optional<std::string> Reader::read(std::source_location where) {
  State& s = detail::live_state(state_, "Reader", where);
  if (s.at == s.file.size()) return std::nullopt;
  std::uint64_t at = s.at;
  std::string record = at_line(where, [&] { return s.window.record(at); });
  s.at = at;
  return record;
}

std::uint64_t Reader::tell() const { return detail::live_state(state_, "Reader").at; }

void Reader::seek(std::uint64_t byte, std::source_location where) {
  State& s = detail::live_state(state_, "Reader", where);
  if (byte > s.file.size())
    fail("{}{}: there is no byte {}: the file has {}", line_prefix(where), s.file.path(), byte,
         s.file.size());
  s.at = byte;
}

struct Writer::State {
  OutputFile file;
  std::uint64_t at = 0;
  std::string room = {};
};

Writer::Writer(const std::string& path, std::source_location where)
    : state_(at_line(where, [&] { return new State{OutputFile(path, what)}; })) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::write(std::string_view record, std::source_location where) {
  at_line(where, [&] {
    State& s = detail::live_state(state_, "Writer");
    s.room.clear();
    append_record(s.room, record);
    s.file.write(s.room);
    s.at += s.room.size();
  });
}

std::uint64_t Writer::tell() const { return detail::live_state(state_, "Writer").at; }
void Writer::close(std::source_location where) {
  at_line(where, [&] { detail::live_state(state_, "Writer").file.close(); });
}

struct IndexedReader::State {
  RecordFile file;
  std::vector<std::int64_t> keys = {};
  std::unordered_map<std::int64_t, std::uint64_t> bytes = {};

  explicit State(const std::string& path) : file(path, what) {}
};

IndexedReader::IndexedReader(const std::string& idx_path, const std::string& rec_path,
                             std::source_location where) try
    : state_(std::make_unique<State>(rec_path)) {
  const std::vector<std::byte> content = read_file(idx_path, "index of a RecordIO file");
  IndexText text({reinterpret_cast<const char*>(content.data()), content.size()}, idx_path);
  std::int64_t key = 0;
  std::uint64_t byte = 0;
  while (text.next(key, byte)) {
    if (byte >= state_->file.size())
      text.error(compose("byte {} is behind the end of {}, which has {} bytes", byte, rec_path,
                         state_->file.size()));
    if (!state_->bytes.emplace(key, byte).second) text.error(compose("key {} is there already", key));
    state_->keys.push_back(key);
  }
} catch (const Error&) {
  rethrow_at_line(where);
}
IndexedReader::~IndexedReader() = default;
IndexedReader::IndexedReader(IndexedReader&&) noexcept = default;
IndexedReader& IndexedReader::operator=(IndexedReader&&) noexcept = default;

const std::vector<std::int64_t>& IndexedReader::keys() const {
  return detail::live_state(state_, "IndexedReader").keys;
}

std::string IndexedReader::read_idx(std::int64_t key, std::source_location where) const {
  return at_line(where, [&] {
    const State& s = detail::live_state(state_, "IndexedReader");
    const auto found = s.bytes.find(key);
    if (found == s.bytes.end()) fail("{}: the index has no key {}", s.file.path(), key);
    RecordWindow window(s.file, 1 << 12);
    std::uint64_t at = found->second;
    return window.record(at);
  });
}

struct IndexedWriter::State {
  OutputFile index;
  Writer records;
  std::unordered_map<std::int64_t, std::uint64_t> bytes = {};
};

IndexedWriter::IndexedWriter(const std::string& idx_path, const std::string& rec_path,
                             std::source_location where)
    : state_(at_line(where, [&] {
        return new State{OutputFile(idx_path, "index of a RecordIO file"), Writer(rec_path, where)};
      })) {}
IndexedWriter::~IndexedWriter() = default;
IndexedWriter::IndexedWriter(IndexedWriter&&) noexcept = default;
IndexedWriter& IndexedWriter::operator=(IndexedWriter&&) noexcept = default;

void IndexedWriter::write_idx(std::int64_t key, std::string_view record, std::source_location where) {
  at_line(where, [&] {
    State& s = detail::live_state(state_, "IndexedWriter");
    const std::uint64_t byte = s.records.tell();
    if (s.bytes.contains(key)) fail("the key {} of a RecordIO file is written already", key);
    s.records.write(record, where);
    s.index.write(fmt::format("{}\t{}\n", key, byte));
    s.bytes.emplace(key, byte);
  });
}

void IndexedWriter::close(std::source_location where) {
  State& s = detail::live_state(state_, "IndexedWriter", where);
  s.records.close(where);
  at_line(where, [&] { s.index.close(); });
}

std::string pack(const IRHeader& header, std::string_view bytes) {
  std::string out;
  const bool one = header.label.size() == 1;
  append_number(out, static_cast<std::uint32_t>(one ? 0 : header.label.size()));
  append_number(out, one ? header.label[0] : 0.0f);
  append_number(out, header.id);
  append_number(out, header.id2);
  if (!one) append_bytes(out, std::as_bytes(std::span(header.label)));
  return out.append(bytes);
}

namespace {

/// The header of a record, and where its bytes begin.
std::pair<IRHeader, std::size_t> header_of(std::span<const std::byte> record) {
  const std::string name = "the header of a record";
  ByteReader in(record, name);
  IRHeader header;
  const auto labels = in.number<std::uint32_t>("the flag");
  header.label[0] = in.number<float>("the label");
  header.id = in.number<std::uint64_t>("the id");
  header.id2 = in.number<std::uint64_t>("the second id");
  if (labels > 0) {
    const std::span<const std::byte> numbers = in.take(std::uint64_t{4} * labels, "the labels");
    header.label.resize(labels);
    std::memcpy(header.label.data(), numbers.data(), numbers.size());
  }
  return {header, in.at()};
}

}  // namespace

std::pair<IRHeader, std::string> unpack(std::string_view record, std::source_location where) {
  const auto [header, at] =
      at_line(where, [&] { return header_of(std::as_bytes(std::span(record.data(), record.size()))); });
  return {header, std::string(record.substr(at))};
}

std::pair<IRHeader, Tensor> unpack(const Tensor& record, std::source_location where) {
  check_readable(record, "recordio::unpack()", where);
  if (record.dtype() != DType::u8 || record.shape().rank() != 1)
    fail("{}a record is uint8 of one axis, got {} of shape {}", line_prefix(where), name_of(record.dtype()),
         record.shape().str());
  const HostElements elements(record);
  const std::span<const std::byte> bytes(elements.data(), static_cast<std::size_t>(record.size()));
  const auto [header, at] = at_line(where, [&] { return header_of(bytes); });
  return {header, make_array({static_cast<std::int64_t>(bytes.size() - at)}, DType::u8, bytes.subspan(at))};
}

}  // namespace recordio

namespace data {

RecordFileDataset::RecordFileDataset(const std::string& path, Where where)
    : Dataset([&]() -> Dataset {
        const auto file = std::make_shared<const recordio::IndexedReader>(
            std::filesystem::path(path).replace_extension(".idx").string(), path, where);
        return {static_cast<std::int64_t>(file->keys().size()), [file](std::int64_t i) -> Sample {
                  const std::string record = file->read_idx(file->keys()[static_cast<std::size_t>(i)], {});
                  const auto bytes = std::as_bytes(std::span(record));
                  return make_array({static_cast<std::int64_t>(bytes.size())}, DType::u8, bytes);
                }};
      }()) {}

}  // namespace data
}  // namespace kiln

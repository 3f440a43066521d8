// MXNet's RecordIO files.
#pragma once
#include <kiln/export.h>
#include <kiln/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// MXNet's RecordIO files: byte strings one after another, written by mx.recordio and im2rec, in both
/// directions with the same bytes. A record has less than 2^29 bytes.
///
/// Readers throw kiln::Error, naming the file and the byte, for files that are no RecordIO, cut short or
/// damaged. They allocate in proportion to the bytes that are there.
namespace kiln::recordio {

/// Reads records one after another. Thread rule: one thread at a time.
class KILN_API Reader {
 public:
  /// Opens a file. Throws if it cannot be read.
  explicit Reader(const std::string& path, std::source_location where = std::source_location::current());
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  /// The next record; none at the end of the file.
  std::optional<std::string> read(std::source_location where = std::source_location::current());
  /// The byte at which the next record begins.
  std::uint64_t tell() const;
  /// Goes on at a byte that tell() has told.
  void seek(std::uint64_t byte, std::source_location where = std::source_location::current());
  /// Goes on at the beginning.
  void reset() { seek(0); }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a file anew. Thread rule: one thread at a time.
class KILN_API Writer {
 public:
  /// Throws if the file cannot be written. An old one is emptied.
  explicit Writer(const std::string& path, std::source_location where = std::source_location::current());
  /// Closes the file; an error, which close() would throw, is lost.
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  /// Throws for a record of 2^29 bytes or more, after close(), and if the system cannot write.
  void write(std::string_view record, std::source_location where = std::source_location::current());
  /// The byte at which the next record begins.
  std::uint64_t tell() const;
  /// Writes the bytes still in memory and closes the file. A second call does nothing.
  void close(std::source_location where = std::source_location::current());

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads records by key: the index is a text file with a line `KEY\tBYTE` for each. Any thread, at any time.
class KILN_API IndexedReader {
 public:
  /// Throws for an index with another line, the same key twice, or a byte after the file's end.
  IndexedReader(const std::string& idx_path, const std::string& rec_path,
                std::source_location where = std::source_location::current());
  ~IndexedReader();
  IndexedReader(IndexedReader&&) noexcept;
  IndexedReader& operator=(IndexedReader&&) noexcept;

  /// In the order of the index.
  const std::vector<std::int64_t>& keys() const;
  /// Throws for a key that is not in the index.
  std::string read_idx(std::int64_t key, std::source_location where = std::source_location::current()) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes records with their index. Thread rule: one thread at a time.
class KILN_API IndexedWriter {
 public:
  /// Creates both files. Throws if one cannot be written.
  IndexedWriter(const std::string& idx_path, const std::string& rec_path,
                std::source_location where = std::source_location::current());
  ~IndexedWriter();
  IndexedWriter(IndexedWriter&&) noexcept;
  IndexedWriter& operator=(IndexedWriter&&) noexcept;

  /// As Writer::write(). Throws for a key that was written before.
  void write_idx(std::int64_t key, std::string_view record,
                 std::source_location where = std::source_location::current());
  /// As Writer::close(), for both files.
  void close(std::source_location where = std::source_location::current());

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The header of an image's record.
struct IRHeader {
  /// One number, or any other count, which takes another form in the file.
  std::vector<float> label = {0};
  std::uint64_t id = 0;   ///< the sample's number
  std::uint64_t id2 = 0;  ///< higher bits of the id
  bool operator==(const IRHeader&) const = default;
};

/// A record of a header and bytes, usually of an encoded image. A label of one number is stored as a number.
/// (mx.recordio.pack stores it as a number or as an array, as it is given.)
KILN_API std::string pack(const IRHeader& header, std::string_view bytes);
/// The two parts of a record. Throws for a record that is shorter than its header says.
KILN_API std::pair<IRHeader, std::string> unpack(
    std::string_view record, std::source_location where = std::source_location::current());
/// The same of a sample of RecordFileDataset; the bytes are u8 of shape (bytes,).
KILN_API std::pair<IRHeader, Tensor> unpack(const Tensor& record,
                                            std::source_location where = std::source_location::current());

}  // namespace kiln::recordio

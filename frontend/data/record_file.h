// The layout of RecordIO files, and a reader of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// RecordIO, as dmlc-core defines it. A record is written in parts. A part is a header of two numbers of 32
/// bits, little endian, then bytes, with zeros up to a multiple of 4. The first number is the magic one. The
/// second has the length of the part in its lower 29 bits, and in the others which part of the record it is.
/// If the record has the magic number at a multiple of 4 bytes, that number is left out and a part ends
/// before it. So no record has the number where a header may begin, and a reader can find the next header
/// from any byte.
namespace kiln::recordio {

inline constexpr std::uint32_t magic = 0xCED7230A;
inline constexpr unsigned length_bits = 29;
inline constexpr std::size_t header_bytes = 8;
enum Part : std::uint32_t { whole = 0, first = 1, middle = 2, last = 3 };

constexpr std::uint64_t padded_length(std::uint64_t n) { return (n + 3) / 4 * 4; }

/// An open file for reading at any place. Any thread.
class RecordFile {
 public:
  /// `what` ("RecordIO file") is for the error.
  RecordFile(const std::string& path, std::string_view what);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `to` with the bytes from `at` on; throws if the file has less.
  void read(std::uint64_t at, std::span<std::byte> to) const;

 private:
  std::string path_;
  std::string what_;
  int descriptor_;
  std::uint64_t size_;
};

/// Bytes of a file around the place where it is read: records that follow each other are read together.
class RecordWindow {
 public:
  /// `ahead`: how many bytes are read at least, if the file has them.
  RecordWindow(const RecordFile& file, std::size_t ahead) : file_(file), ahead_(ahead) {}

  /// The record that begins at `at`, which moves to its end.
  std::string record(std::uint64_t& at);

 private:
  /// Valid until the next call.
  std::span<const std::byte> bytes(std::uint64_t at, std::size_t n);

  const RecordFile& file_;
  std::size_t ahead_;
  std::uint64_t begin_ = 0;
  std::vector<std::byte> buffer_;
};

/// Appends the parts of a record.
void append_record(std::string& out, std::string_view record);

}  // namespace kiln::recordio

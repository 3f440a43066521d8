// The file of a checkpoint: its contents, written and read.
#pragma once
#include <kiln/data_loader.h>
#include <kiln/io.h>
#include <kiln/random.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kiln::detail {

/// The contents of a checkpoint's file.
struct CheckpointContents {
  std::vector<NamedArray> parameters;             ///< by full name
  std::vector<std::vector<NamedArray>> trainers;  ///< of each, its state_arrays()
  std::vector<data::LoaderState> loaders;
  random::State random;
  std::map<std::string, double> numbers;  ///< the program's own
  std::int64_t step = 0;
  int numerics = 0;  ///< the numerics version that has computed the values
};

/// The bytes of a file. Its arrays share memory with the arrays in `contents`.
std::string format_checkpoint(const CheckpointContents& contents);

/// Thrown for a file that a later version of Kiln has written.
class LaterCheckpoint : public Error {
 public:
  using Error::Error;
};

/// Reads any form of file of arrays. Throws kiln::Error, naming `path`, for bytes that are damaged, or no
/// checkpoint; the states of trainers are not looked into.
CheckpointContents parse_checkpoint(std::span<const std::byte> bytes, const std::string& path);

}  // namespace kiln::detail

// Comparison of a row alone with the same row in batches of many sizes.
#pragma once
#include <kiln/kiln.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Whether a row has the same bits alone as among others: in batches of many sizes, eagerly and compiled, and
/// so has the gradient of an input.
namespace batch_invariance {

/// Around the widths of registers and the heights of tiles, and beyond them.
inline constexpr std::int64_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 13, 15,
                                         16, 17, 23, 24, 31, 32, 33, 48, 64, 65, 100};
static_assert(std::size(sizes) == 23);
inline constexpr std::int64_t max_rows = 100;

/// A function of rows that lie along one axis.
struct Call {
  std::function<kiln::Tensors(const kiln::Tensors&)> function;
  std::vector<bool> batched;  ///< of each input: whether it has rows; otherwise they share it
  int axis = 0;               ///< of the results, too
  bool train = false;
  bool gradients = false;  ///< gradients of batched inputs are further results
};

/// `t` with rows [begin, begin + count) along the axis taken from `from`, at its rows [from_begin, from_begin
/// + count). The shape of `from` equals the shape of `t` except for the extent of that axis. Without a
/// kernel: each range would need one.
void copy_rows(kiln::Tensor& t, std::int64_t begin, const kiln::Tensor& from, std::int64_t from_begin,
               std::int64_t count, int axis);

/// The rows [first, end) of the inputs that have some, and copies of the others.
kiln::Tensors rows_of(const Call& call, const kiln::Tensors& inputs, std::int64_t first, std::int64_t end);

/// The results for inputs whose first row is row `first` of all; this number decides its head gradients.
kiln::Tensors run(const Call& call, const kiln::Tensors& inputs, std::int64_t first);

/// Row `number` of a result: its bits.
std::vector<std::uint64_t> row_bits(const kiln::Tensor& t, int axis, std::int64_t number);

/// Of each result, the bits of each of the first `rows` rows, computed alone. Throws what the call throws.
using Alone = std::vector<std::vector<std::vector<std::uint64_t>>>;
Alone rows_alone(const Call& call, const kiln::Tensors& inputs, std::int64_t rows = max_rows);

/// Runs the call on the first `size` rows: what differs from rows alone, in words. `call` may be another form
/// of the one that computed these.
std::optional<std::string> difference(const Call& call, const kiln::Tensors& inputs, std::int64_t size,
                                      const Alone& alone);

}  // namespace batch_invariance

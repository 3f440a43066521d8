// Fills new arrays with the values of an initializer, on all threads.
#include "frontend/gluon/parameter/initial_values.h"

#include "frontend/call/random_state.h"
#include "frontend/gluon/parameter/initializer_impl.h"
#include "frontend/tensor/array.h"
#include "frontend/tensor/convert.h"
#include "frontend/tensor/elements.h"
#include "runtime/hash.h"
#include "runtime/threads.h"

#include <algorithm>
#include <array>
#include <vector>

namespace kiln {
namespace {

/// Counter-based random numbers in [0, 1) for one initialisation: splitmix64 (Steele, Lea, Flood 2014) of key
/// and index.
class InitializerStream {
 public:
  InitializerStream() {
    RandomStreamScope scope(RandomStream::initializer);
    const RandomState taken = reserve_random(1);
    key_ = scrambled(taken.seed) ^ scrambled(taken.counter + 0x632be59bd9b4e019ull);
  }
  double at(std::uint64_t index) const {
    // Signed, which every processor converts in one instruction; 53 bits are exact.
    const auto bits = static_cast<std::int64_t>(scrambled(key_ + 0x9e3779b97f4a7c15ull * (index + 1)) >> 11);
    return static_cast<double>(bits) * 0x1p-53;
  }

 private:
  std::uint64_t key_;
};

void fill_on_threads(std::byte* out, DType dtype, std::int64_t count, const init::Distribution& distribution,
                     const InitializerStream& stream) {
  // A block of doubles stays in L1. Its size is even: normal numbers come in pairs.
  constexpr std::int64_t block = 1024, grain = 16 * block;
  const std::size_t width = size_of(dtype);
  parallel_ranges(count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<double, block> room;
    for (std::int64_t at = begin; at < end; at += block) {
      const std::span<double> values(room.data(), static_cast<std::size_t>(std::min(block, end - at)));
      init::fill(values, distribution, static_cast<std::uint64_t>(at),
                 [&](std::uint64_t i) { return stream.at(i); });
      convert_elements(values.data(), DType::f64, out + static_cast<std::size_t>(at) * width, dtype,
                       values.size());
    }
  });
}

}  // namespace

Tensor initial_values(const Initializer& initializer, const TensorType& type, Device device) {
  const InitializerStream stream;
  const DistributionOf* const distribution_of = detail::InitializerAccess::distribution(initializer);
  if (!distribution_of) {
    std::vector<double> values(static_cast<std::size_t>(type.shape.elements()));
    std::uint64_t index = 0;
    initializer.fill(values, type.shape, [&] { return stream.at(index++); });
    Tensor array = detail::TensorAccess::empty(type.shape, type.dtype, device);
    set_elements(array, values);
    return array;
  }
  const init::Distribution distribution = (*distribution_of)(type.shape);
  if (distribution.kind == init::Distribution::Kind::constant)
    return filled(type, distribution.scale, device);
  Tensor array = detail::TensorAccess::empty(type.shape, type.dtype, device);
  const Buffer staged(device.is_cpu() ? 0 : detail::TensorAccess::bytes(array));
  std::byte* const out = device.is_cpu() ? detail::TensorAccess::data(array) : staged.data();
  fill_on_threads(out, type.dtype, type.shape.elements(), distribution, stream);
  if (!device.is_cpu()) set_elements(array, out);
  return array;
}

}  // namespace kiln

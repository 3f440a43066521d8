// Compares two runs, and reads the seeds to run.
#include "seen.h"

#include "same_bits.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>

namespace program_fuzz {

using namespace kiln;

namespace {

std::string text_of(DType dtype, std::uint64_t bits) {
  if (!is_floating(dtype)) return fmt::format("{}", static_cast<std::int64_t>(bits));
  return fmt::format("{}", std::bit_cast<double>(bits));
}

}  // namespace

std::vector<unsigned> seeds(unsigned count) {
  unsigned first = 0, last = count;
  if (const char* const text = std::getenv("KILN_FUZZ_SEEDS"))
    if (std::sscanf(text, "%u-%u", &first, &last) != 2 || last < first)
      throw std::invalid_argument(fmt::format("KILN_FUZZ_SEEDS={}: must be first-last", text));
  std::vector<unsigned> list(last - first);
  std::iota(list.begin(), list.end(), first);
  return list;
}

Seen see(std::string name, const Tensor& t) { return {std::move(name), t.shape(), t.dtype(), bits_of(t)}; }

std::optional<std::string> first_difference(const std::vector<Seen>& expected,
                                            const std::vector<Seen>& actual) {
  for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    const Seen &a = expected[i], &b = actual[i];
    if (a.name != b.name) return fmt::format("{} is expected, {} is there", a.name, b.name);
    if (!(a.shape == b.shape) || a.dtype != b.dtype)
      return fmt::format("{} is {} {}, and not {} {}", a.name, name_of(b.dtype), b.shape.str(),
                         name_of(a.dtype), a.shape.str());
    for (std::size_t k = 0; k < a.bits.size(); ++k)
      if (a.bits[k] != b.bits[k])
        return fmt::format("{}: element {} of {} {} is {}, and not {}", a.name, k, name_of(a.dtype),
                           a.shape.str(), text_of(b.dtype, b.bits[k]), text_of(a.dtype, a.bits[k]));
  }
  if (expected.size() != actual.size())
    return fmt::format("{} tensors are expected, {} are there", expected.size(), actual.size());
  return {};
}

void see_and_write(const std::string& when, const F::Tensors& tensors, std::vector<Seen>& seen) {
  const auto see_all = [&](const char* then) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      seen.push_back(see(fmt::format("{}: tensor {}{}", when, i, then), tensors[i]));
  };
  see_all("");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor t = tensors[i];
    t[slice(0, 1)] = static_cast<int>(i + 1);
  }
  see_all(" after the caller wrote into all");
}

}  // namespace program_fuzz

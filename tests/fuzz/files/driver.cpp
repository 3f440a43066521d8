// Feeds mutated files to LLVMFuzzerTestOneInput: what libFuzzer does, without coverage and without clang.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }

  void mutate(Bytes& b, const Bytes& other) {
    for (std::size_t n = 1 + below(4); n > 0; --n) once(b, other);
  }

 private:
  void once(Bytes& b, const Bytes& other) {
    const std::size_t at = below(b.size() + 1);
    switch (below(9)) {
      case 0:  // one bit
        if (at < b.size()) b[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:  // one byte
        if (at < b.size()) b[at] = static_cast<std::uint8_t>(random_());
        break;
      case 2:  // cut off
        b.resize(at);
        break;
      case 3:  // take out
        b.erase(b.begin() + static_cast<std::ptrdiff_t>(at),
                b.begin() +
                    static_cast<std::ptrdiff_t>(at + below(std::min<std::size_t>(b.size() - at, 64) + 1)));
        break;
      case 4: {  // a number of 4 or 8 bytes that likes to overflow
        static constexpr std::uint64_t numbers[] = {
            0,          1,          2,          0x7F,       0xFF,       0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
            1ull << 32, 1ull << 40, 1ull << 60, 1ull << 62, ~0ull >> 1, 1ull << 63, ~0ull};
        const std::uint64_t v = numbers[below(std::size(numbers))];
        const std::size_t bytes = below(2) ? 4 : 8;
        for (std::size_t i = 0; i < bytes && at + i < b.size(); ++i)
          b[at + i] = static_cast<std::uint8_t>(v >> (8 * i));
        break;
      }
      case 5: {  // a piece of JSON
        static const std::string pieces[] = {"[",
                                             "]",
                                             "{",
                                             "}",
                                             ",",
                                             ":",
                                             "\"",
                                             "\\",
                                             "\\u12",
                                             "-1",
                                             "99999999999",
                                             "[[0, 0, 0]]",
                                             "\"nodes\": []",
                                             "null",
                                             "1e400",
                                             "\"op\": \"null\"",
                                             "(",
                                             "None",
                                             "4294967295"};
        const std::string& p = pieces[below(std::size(pieces))];
        b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), p.begin(), p.end());
        break;
      }
      case 6:  // a piece of itself, again
      case 7:  // a piece of another file
      {
        const Bytes& from = below(2) ? b : other;
        const std::size_t begin = below(from.size());
        const Bytes piece(
            from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(
                               begin + below(std::min<std::size_t>(from.size() - begin, 256) + 1)));
        b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
        break;
      }
      default: {  // a digit
        for (std::size_t i = at; i < b.size(); ++i)
          if (b[i] >= '0' && b[i] <= '9') {
            b[i] = static_cast<std::uint8_t>('0' + below(10));
            break;
          }
      }
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s RUNS SEED FILE...\n", argv[0]);
    return 2;
  }
  const long runs = std::atol(argv[1]);
  Mutator mutator(static_cast<std::uint64_t>(std::atoll(argv[2])));
  std::vector<Bytes> seeds;
  for (int i = 3; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    if (!in) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 2;
    }
    LLVMFuzzerTestOneInput(seeds.back().data(), seeds.back().size());
  }
  for (long i = 0; i < runs; ++i) {
    Bytes b = seeds[mutator.below(seeds.size())];
    mutator.mutate(b, seeds[mutator.below(seeds.size())]);
    LLVMFuzzerTestOneInput(b.data(), b.size());
  }
  std::printf("%ld runs\n", runs);
}

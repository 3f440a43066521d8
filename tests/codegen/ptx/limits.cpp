// The limits of the emulated card.
#include "limits.h"

#include <cstdio>
#include <fmt/format.h>

namespace kiln::ptx {
namespace {

constexpr std::uint64_t max_threads = 1024;
constexpr Extent max_block{1024, 1024, 64}, max_grid{0x7fffffff, 65535, 65535};

bool is_within(Extent e, Extent most) {
  return e.x > 0 && e.y > 0 && e.z > 0 && e.x <= most.x && e.y <= most.y && e.z <= most.z;
}

}  // namespace

int attribute_of_card(int attribute) {
  switch (attribute) {
    case 1:
      return max_threads;  // threads of a block
    case 2:
      return static_cast<int>(max_block.x);
    case 3:
      return static_cast<int>(max_block.y);
    case 4:
      return static_cast<int>(max_block.z);
    case 5:
      return static_cast<int>(max_grid.x);
    case 6:
      return static_cast<int>(max_grid.y);
    case 7:
      return static_cast<int>(max_grid.z);
    case 8:
      return 48 << 10;  // shared memory of a block
    case 10:
      return 32;  // threads of a warp
    case 16:
      return 108;  // multiprocessors
    case 97:
      return static_cast<int>(max_shared_of_card);  // shared memory of a block that opts in
    default:
      return 0;
  }
}

bool is_possible(const Kernel& k, Extent grid, Extent block, std::size_t shared_bytes) {
  const Entry& e = k.entry;
  const auto refuse = [&](const std::string& why) {
    std::fprintf(stderr, "ptx device: kernel %s: %s\n", std::string(e.name).c_str(), why.c_str());
    return false;
  };
  if (!is_within(block, max_block) || block.count() > max_threads)
    return refuse(
        fmt::format("a block of ({}, {}, {}) threads: the card takes 1024, (1024, 1024, 64) along the axes",
                    block.x, block.y, block.z));
  if (e.max_threads != 0 && block.count() > e.max_threads)
    return refuse(fmt::format("a block of {} threads: the kernel is for {}", block.count(), e.max_threads));
  if (!is_within(grid, max_grid))
    return refuse(fmt::format("a grid of ({}, {}, {}) blocks: the card takes (2147483647, 65535, 65535)",
                              grid.x, grid.y, grid.z));
  if (e.shared_bytes + shared_bytes > k.max_shared)
    return refuse(fmt::format("{} bytes of shared memory and {} of the launch: the card gives a block {}",
                              e.shared_bytes, shared_bytes, k.max_shared));
  return true;
}

}  // namespace kiln::ptx

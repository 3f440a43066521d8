// Shadow memory: the last writer and reader of each word.
#pragma once
#include <cstddef>
#include <cstdint>

/// Who wrote and who read memory last, as marks. Marks grow: a launch's marks are above all earlier ones, and
/// a thread of a block gets a new one at each barrier. So an order of two accesses is a comparison.
namespace kiln::ptx {

using Mark = std::uint32_t;
constexpr Mark nobody = 0, host = 1, first_mark = 2;

/// The ranges of marks at an access of a thread. From `launch` on: this launch; from `block` on: the thread's
/// block; from `epoch` on: since its last barrier. Below `oldest` nobody wrote.
struct Period {
  Mark oldest, launch, block, epoch;

  /// Of the same block, before its last barrier.
  bool is_ordered(Mark m) const { return m - block < epoch - block; }
  bool is_before(Mark m) const { return m < launch || is_ordered(m); }
  // Marks that are no thread's.
  Mark read_only() const { return launch; }        ///< read by ld.global.nc
  Mark many_blocks() const { return launch + 1; }  ///< read by threads of several blocks
  Mark many_threads() const { return epoch; }      ///< read by threads of this block since the barrier
  static constexpr Mark of_launch = 2;             ///< the number of marks before the first block's
};

enum class Clash { none, unwritten, written, read };
struct Found {
  Clash clash = Clash::none;
  Mark other = nobody;
};

/// Marks for each word of a memory, or for each byte once a part of a word is accessed. Pages that are not
/// touched take no memory.
class Shadow {
 public:
  explicit Shadow(std::size_t bytes);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  /// Accesses by the thread of the mark `me`. `at` is a multiple of `bytes`.
  Found read(std::size_t at, std::size_t bytes, Mark me, const Period& p) {
    if (bytes < unit()) split();
    Found found;
    for (std::size_t i = at >> shift_, end = (at + bytes) >> shift_; i < end; ++i) {
      const Mark w = writers_[i], r = readers_[i];
      if (w != me && !p.is_ordered(w)) {
        if (w < p.oldest) found = {Clash::unwritten, w};
        if (w >= p.launch) found = {Clash::written, w};
      }
      if (r == me) continue;
      if (p.is_before(r))
        readers_[i] = me;
      else if (r >= p.epoch)
        readers_[i] = p.many_threads();
      else if (r != p.read_only())
        readers_[i] = p.many_blocks();
    }
    return found;
  }
  /// Of memory that no thread of the launch may write.
  Found read_constant(std::size_t at, std::size_t bytes, const Period& p);
  Found write(std::size_t at, std::size_t bytes, Mark me, const Period& p) {
    if (bytes < unit()) split();
    Found found;
    for (std::size_t i = at >> shift_, end = (at + bytes) >> shift_; i < end; ++i) {
      const Mark w = writers_[i], r = readers_[i];
      if (r != me && !p.is_before(r)) found = {Clash::read, r};
      if (w != me && !p.is_before(w)) found = {Clash::written, w};
      writers_[i] = me;
    }
    return found;
  }

  /// The host wrote it, or nobody.
  void set(std::size_t at, std::size_t bytes, Mark mark);
  /// As from[from_at, from_at + bytes), where only matters whether somebody wrote it.
  void copy(std::size_t at, Shadow& from, std::size_t from_at, std::size_t bytes);
  /// Marks of launches become the host's: marks start anew.
  void forget_launches();

 private:
  void split();
  /// Makes marks of bytes, if the range does not end with words. The memory's end ends a word.
  void split_for(std::size_t at, std::size_t bytes);
  std::size_t unit() const { return std::size_t{1} << shift_; }  ///< bytes of a mark
  std::size_t count() const { return (bytes_ + unit() - 1) >> shift_; }

  std::size_t bytes_;
  unsigned shift_ = 2;
  Mark *writers_, *readers_;
};

}  // namespace kiln::ptx

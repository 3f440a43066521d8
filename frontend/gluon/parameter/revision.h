#pragma once
// How recordings notice that something they depend on has changed.
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

namespace kiln::detail {

struct BlockState;

/// Raised whenever something changes that a recording depends on. A hit compares it with the epoch in which
/// its recording was last found to hold: one relaxed load. The program orders changes against the calls that
/// they concern, so no stronger order is needed.
inline std::atomic<std::uint64_t> structure_epoch{1};

/// Counts the changes of one thing that hybrid_forward may depend on: a block, a parameter, an Attr. Thread
/// rule: the program orders changed() and ended() against calls of networks that depend on the thing; other
/// networks may be called meanwhile.
class Revision {
 public:
  void changed() {
    count_.fetch_add(1, std::memory_order_relaxed);
    raise();
  }
  /// The thing is gone.
  void ended() {
    alive_.store(false, std::memory_order_relaxed);
    raise();
  }
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  bool alive() const { return alive_.load(std::memory_order_relaxed); }
  /// Of a block: the one of which an object of it became a handle by its latest assignment. Members that know
  /// their block are assigned right after it, and tell by this that they follow it.
  std::weak_ptr<const Revision> left_for;
  /// From now on changes raise the epoch. Until then no recording depends on the thing.
  void watch() { watched_.store(true, std::memory_order_relaxed); }

 private:
  void raise() {
    if (watched_.load(std::memory_order_relaxed)) structure_epoch.fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> count_{0};
  std::atomic<bool> alive_{true}, watched_{false};
};

/// The revisions that a recording was made at.
class Dependencies {
 public:
  /// The revision of now, unless it is there already: a change during the recording then is one.
  void add(const std::shared_ptr<Revision>& revision);
  bool contains(const Revision* revision) const { return known_.contains(revision); }
  /// Forgets what came to an end during the recording: hybrid_forward made it for itself.
  void settle();
  bool unchanged() const;
  bool alive() const;

 private:
  struct Entry {
    std::shared_ptr<const Revision> revision;
    std::uint64_t count;
    bool alive;
  };
  std::vector<Entry> entries_;
  std::unordered_set<const Revision*> known_;
};

/// While it lives, what this thread reads is added to the dependencies.
class DependencyScope {
 public:
  explicit DependencyScope(Dependencies& into);
  ~DependencyScope();
  DependencyScope(const DependencyScope&) = delete;

 private:
  Dependencies* outer_;
};

/// The recording that this thread makes, if any, depends on it.
void depend_on(const std::shared_ptr<Revision>& revision);
/// The same for a block and all below it.
void depend_on_tree(const BlockState& block);

}  // namespace kiln::detail

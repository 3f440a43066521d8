#pragma once
// Invalidation of recordings by changes of their dependencies.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace kiln::detail {

struct BlockState;

/// Incremented by every change of a dependency of a recording. A hit compares it with the epoch of the
/// recording's last validation: one relaxed load. Relaxed suffices, because the program synchronises changes
/// with the calls they affect.
inline std::atomic<std::uint64_t> structure_epoch{1};

/// The change counter of one dependency of hybrid_forward: a block, a parameter, an Attr. Thread rule: the
/// program synchronises changed() and ended() with calls of networks that depend on it; other networks may
/// run concurrently.
class Revision {
 public:
  // Changes that readers of latest() tell from others.
  static constexpr const char* was_cast = "was cast";
  static constexpr const char* was_moved = "was given another device";
  static constexpr const char* was_replaced = "was replaced";  ///< the handle of a parameter
  /// `how`: a literal that continues "the block x ...", as "was cast"; messages quote it.
  void changed(const char* how) {
    latest_.store(how, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
    raise();
  }
  /// The dependency is destroyed.
  void ended() {
    alive_.store(false, std::memory_order_relaxed);
    raise();
  }
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  /// How the latest change was made; empty before the first one.
  std::string_view latest() const { return latest_.load(std::memory_order_relaxed); }
  bool alive() const { return alive_.load(std::memory_order_relaxed); }
  /// For a block: the target of the latest assignment to one of its handles. Members with a reference to
  /// their block are assigned right after it, and recognise by this that they follow it.
  std::weak_ptr<const Revision> left_for;
  /// For a block: whether a handle that was moved from has been assigned it. The members of such a handle
  /// have lost their block, and recognise by this that they follow to it.
  std::atomic<bool> given_to_moved{false};
  /// Makes changes increment the epoch. Before, no recording depends on this.
  void watch() { watched_.store(true, std::memory_order_relaxed); }

 private:
  void raise() {
    if (watched_.load(std::memory_order_relaxed)) structure_epoch.fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> count_{0};
  std::atomic<const char*> latest_{""};
  std::atomic<bool> alive_{true}, watched_{false};
};

/// The value of an Attr as text, as a recording read it.
struct AttributeRead {
  const Revision* block;  ///< of the Attr's owner; only compared
  std::string name, value;
  bool operator==(const AttributeRead&) const = default;
};

/// The value of an option of a parameter as text, as a recording read it.
struct OptionRead {
  std::weak_ptr<const void> parameter;  ///< only compared
  std::string name;                     ///< of the parameter
  std::string_view option;              ///< "lr_mult"
  std::string value;
  std::uint64_t changes = 0;  ///< of the option until then; 0: a change alone invalidates nothing
};

/// The revisions of a recording's dependencies at the time of recording.
class Dependencies {
 public:
  /// Notes the first value of an option that is read.
  void add(OptionRead read);
  const std::vector<OptionRead>& options() const { return options_; }
  /// Notes the first value of an Attr that is read.
  void add(AttributeRead read);
  const std::vector<AttributeRead>& attributes() const { return attributes_; }
  /// Adds the current revision unless present, so that a change during the recording counts as one.
  void add(const std::shared_ptr<Revision>& revision);
  bool contains(const Revision* revision) const { return known_.contains(revision); }
  /// Removes dependencies destroyed during the recording: they were local to hybrid_forward.
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
  std::vector<AttributeRead> attributes_;
  std::vector<OptionRead> options_;
};

/// During its lifetime, reads on this thread are added to the dependencies.
class DependencyScope {
 public:
  explicit DependencyScope(Dependencies& into);
  ~DependencyScope();
  DependencyScope(const DependencyScope&) = delete;

 private:
  Dependencies* outer_;
};

/// Whether this thread records dependencies.
bool has_dependencies();
/// Makes this thread's recording, if any, depend on it.
void depend_on(const std::shared_ptr<Revision>& revision);
/// The same for an option of a parameter, whose value is noted.
void depend_on(const std::shared_ptr<Revision>& revision, OptionRead read);
/// The same for a block and its descendants.
void depend_on_tree(const BlockState& block);

}  // namespace kiln::detail

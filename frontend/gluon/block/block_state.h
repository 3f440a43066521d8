#pragma once
#include "frontend/gluon/parameter/revision.h"
#include "runtime/fork_gate.h"

#include <kiln/block.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln {
class CallTrace;
struct TensorType;
}  // namespace kiln

namespace kiln::detail {

struct TracedCall;

/// What the copies of one block share.
struct BlockState {
  BlockState() = default;
  ~BlockState() { structure->ended(); }
  BlockState(const BlockState&) = delete;

  // Names. The prefix of a program's own class is made when it is first needed: only then, inside its
  // constructor or after, is the class known from whose name it is made.
  std::optional<std::string> given_prefix;
  bool scopeless = false;  // MXNet: a block that was given an empty prefix opens no name scope
  std::optional<ParameterDict> shared_params;
  std::shared_ptr<BlockState> made_in;  // the scope that was open; dropped once the prefix is made
  std::atomic<bool> named{false};
  Mutex naming;
  std::string prefix;
  ParameterDict params;
  std::map<std::string, int, std::less<>> counts;  // of the blocks made in this one's scope

  // How the name came about, for Block::number_in_order.
  std::uint64_t serial = 0;              // order of making within the process
  std::uint64_t named_at = 0;            // order of naming
  std::string kind;                      // empty when the program gave the prefix
  const BlockState* named_in = nullptr;  // only compared
  /// Gives the block, its parameters and its descendants the prefix `to` in place of `from`.
  void rename(const std::string& from, const std::string& to);

  /// Makes the prefix if there is none yet. Safe from many threads.
  void make_name(std::string_view kind);

  // The tree.
  std::vector<std::pair<std::string, std::shared_ptr<Block>>> children;
  /// The program's lines that added them, as far as it did so by add().
  std::unordered_map<const Block*, std::source_location> added_at;
  std::set<std::string> child_names;  // of the members that are a Child
  bool hybrid = false;                // a HybridBlock: all its children are
  bool library = false;               // one of Kiln's own: operators inside belong to the line that called it

  struct Hook {
    std::uint64_t id;
    Block::PreHook before;
    Block::Hook after;
  };
  std::vector<Hook> hooks;
  std::uint64_t next_hook = 1;

  // hybridize().
  bool active = false;
  HybridizeOptions options;
  /// Raised by changes of the children, the hooks, the dtype and the Attrs.
  const std::shared_ptr<Revision> structure = std::make_shared<Revision>();
  /// Raised by hybridize(), of which networks around this block know nothing.
  const std::shared_ptr<Revision> hybridized = std::make_shared<Revision>();

  /// The recordings of all copies, and the latest of them.
  Mutex recordings_mutex;
  std::vector<std::weak_ptr<const TracedCall>> recordings;
  std::shared_ptr<const TracedCall> latest;
};

/// The innermost open name scope of this thread; null outside of all.
std::shared_ptr<BlockState> current_block_scope();

/// Of the calls that this thread is in: a block that was called by another without being a child of it, and
/// the remedy. Empty where there is none.
std::string unregistered_block();

/// The library's own door into a Block.
struct BlockAccess {
  static BlockState& state(const Block& b) { return b.state(); }
  /// The same inside constructors, where the class is not known yet from whose name the block's is made.
  static BlockState& unnamed_state(const Block& b) { return *b.state_; }
  /// hybrid_forward on values of this thread's trace, or at once when there is none; deferred parameters get
  /// their values.
  static Tensors run(HybridBlock& b, const Tensors& inputs);
  static void add(Block& container, const std::shared_ptr<Block>& child, std::source_location where) {
    container.register_child(child);
    container.state_->added_at[child.get()] = where;
  }
  static void number_in_order(const std::vector<const Block*>& blocks) { Block::number_in_order(blocks); }
  /// The results of hybrid_forward on inputs of `trace`, this thread's, with these types: "data", or "data0",
  /// "data1", ... They are appended to `traced`.
  static Tensors record(HybridBlock& b, CallTrace& trace, std::span<const TensorType> types, Tensors& traced);
  static Tensors call(Block& b, std::span<const Tensor> inputs, std::source_location where) {
    return b.call(inputs, where);
  }
  /// The trace of the latest hybridized call; null when there was none. Throws when the block has changed
  /// since.
  static std::shared_ptr<const TracedCall> latest(const HybridBlock& b);
};

}  // namespace kiln::detail

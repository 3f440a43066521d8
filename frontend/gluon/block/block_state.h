// The state of a block.
#pragma once
#include "frontend/call/moved_from.h"
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

/// The name of a block in messages and dumps: its class's name if it has none, as a SymbolBlock.
inline std::string shown_name(const Block& block) {
  return block.name().empty() ? block.class_name() : block.name();
}

struct TracedCall;

/// The state shared by all copies of one block.
struct BlockState {
  BlockState() = default;
  ~BlockState() { structure->ended(); }
  BlockState(const BlockState&) = delete;

  // Names. The prefix of a derived class is generated on first use: only then, in the derived constructor or
  // later, is the class name known.
  std::optional<std::string> given_prefix;
  bool scopeless = false;  // MXNet: a block with an empty prefix opens no name scope
  std::optional<ParameterDict> shared_params;
  std::shared_ptr<BlockState> made_in;  // the enclosing scope; released once the prefix is generated
  std::atomic<bool> named{false};
  Mutex naming;
  std::string prefix;
  ParameterDict params;
  std::map<std::string, int, std::less<>> counts;  // of the blocks created in this scope

  // The history of the name, for Block::number_in_order.
  std::uint64_t serial = 0;              // order of creation in the process
  std::uint64_t named_at = 0;            // order of naming
  std::string kind;                      // empty if the program gave the prefix
  const BlockState* named_in = nullptr;  // only compared
  std::string own_prefix;                // without the scope's
  /// The block gets the own prefix `to`, and its parameters and descendants with it.
  void rename(const std::string& to);

  struct Prefixes {
    std::string from, to;
  };
  void rename(const Prefixes& of_blocks, const Prefixes* of_parameters);

  /// Generates the prefix on first use. Any thread.
  void make_name(std::string_view kind);

  // The tree.
  std::vector<std::pair<std::string, std::shared_ptr<Block>>> children;
  /// The source locations of add(), if the children were added by it.
  std::unordered_map<const Block*, std::source_location> added_at;
  std::set<std::string> child_names;  // of the Child members
  int attributes = 0;                 // the number of its Attrs
  bool hybrid = false;                // a HybridBlock, whose children all are
  bool container = false;             // a Sequential or HybridSequential
  bool library = false;               // a block of the library: operators inside belong to the caller's line

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
  /// Incremented by changes of children, hooks, dtype and Attrs.
  const std::shared_ptr<Revision> structure = std::make_shared<Revision>();
  /// Incremented by hybridize(); enclosing networks do not depend on it.
  const std::shared_ptr<Revision> hybridized = std::make_shared<Revision>();

  /// The recordings of all copies, and the latest of them.
  Mutex recordings_mutex;
  std::vector<std::weak_ptr<const TracedCall>> recordings;
  std::shared_ptr<const TracedCall> latest;
};

/// The innermost name scope of this thread; null if none is open.
std::shared_ptr<BlockState> current_block_scope();

/// If a running block of this thread was called by another without being its child: text with the block and
/// the remedy. Otherwise empty.
std::string unregistered_block();

/// Internal access to a Block.
struct BlockAccess {
  static BlockState& state(const Block& b) { return b.state(); }
  /// The same without a generated name. For constructors, in which the derived class is not known yet.
  static BlockState& unnamed_state(const Block& b, std::source_location where = {}) {
    return live_state(b.state_, "block", where);
  }
  /// Runs hybrid_forward on values of this thread's trace, eagerly without one. Initialises deferred
  /// parameters.
  static Tensors run(HybridBlock& b, const Tensors& inputs);
  static void add(Block& container, const std::shared_ptr<Block>& child, std::source_location where) {
    container.register_child(child, "", where);
    container.state_->added_at[child.get()] = where;
  }
  static void number_in_order(const std::vector<const Block*>& blocks) { Block::number_in_order(blocks); }
  /// Runs hybrid_forward on new inputs of `trace`, this thread's, with these types; they are named "data", or
  /// "data0", "data1", ..., and appended to `traced`.
  /// `given`: the caller's arrays, if there are.
  static Tensors record(HybridBlock& b, CallTrace& trace, std::span<const TensorType> types, Tensors& traced,
                        std::span<const Tensor> given = {});
  static Tensors call(Block& b, std::span<const Tensor> inputs, std::source_location where) {
    return b.call(inputs, where);
  }
  static rnn::RecurrentCell* recurrent_cell(Block& b) { return b.recurrent_cell(); }
  static std::weak_ptr<const void> identity(const Block& b) { return b.calls_.identity(); }
  /// The trace of the latest hybridized call; null if there is none. Throws if the block has changed since.
  static std::shared_ptr<const TracedCall> latest(const HybridBlock& b);
};

}  // namespace kiln::detail

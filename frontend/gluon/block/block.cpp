// Blocks: construction, copies, and the tree of children. hybrid_block.cpp has the additions of HybridBlock.
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/call/trace.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/tensor/text.h"
#include "runtime/dynamic_type.h"
#include "runtime/messages.h"

#include <algorithm>

namespace kiln {

using detail::BlockAccess;
using detail::BlockState;

std::shared_ptr<CachedCall> detail::ObjectCalls::get(BlockState& state) {
  const std::lock_guard lock(state.recordings_mutex);
  if (!owned_) {
    owned_ = std::make_shared<CachedCall>();
    published_.store(owned_.get(), std::memory_order_release);
  }
  return owned_;
}

Block::Block(const BlockOptions& options) : state_(std::make_shared<BlockState>()) {
  static std::atomic<std::uint64_t> made{0};
  state_->serial = ++made;
  state_->given_prefix = options.prefix;
  state_->scopeless = options.prefix && options.prefix->empty();
  if (options.params) state_->shared_params = *options.params;
  state_->made_in = detail::current_block_scope();
  if (options.prefix) state_->make_name("");
}

Block::Block(const BlockOptions& options, std::string_view kind) : Block(options) {
  state_->library = true;
  if (!state_->named) state_->make_name(kind);
}

Block::~Block() = default;

void Block::leave_for(const Block& o) {
  if (!o.state_ || state_ == o.state_) return;
  if (!state_) {
    o.state_->structure->given_to_moved.store(true, std::memory_order_relaxed);
    return;
  }
  state_->structure->left_for = o.state_->structure;
  // While recording, handles are local variables of hybrid_forward.
  if (!Trace::current()) state_->structure->changed("was assigned another block");
}
bool Block::left_for(const Block& o) const {
  const detail::Revision& other = *BlockAccess::unnamed_state(o).structure;
  if (!state_) return other.given_to_moved.load(std::memory_order_relaxed);
  return state_->structure->left_for.lock().get() == &other;
}
Block& Block::operator=(const Block& o) {
  BlockAccess::unnamed_state(o);  // throws before any member changes
  leave_for(o);
  state_ = o.state_;
  calls_ = o.calls_;
  return *this;
}
Block& Block::operator=(Block&& o) {
  leave_for(o);
  state_ = std::move(o.state_);
  calls_ = std::move(o.calls_);
  return *this;
}

BlockState& Block::state() const {
  BlockState& s = BlockAccess::unnamed_state(*this);
  if (!s.named.load(std::memory_order_acquire)) s.make_name(detail::lower(class_name()));
  return s;
}

ParameterDict Block::params() const { return state().params; }

void Block::register_child(std::shared_ptr<Block> block, const std::string& name, Where where) {
  if (!block) fail("{}A null pointer cannot be a child", line_prefix(where));
  BlockState& s = BlockAccess::unnamed_state(*this, where);  // this object may be under construction
  if (s.hybrid && !block->is_hybrid())
    fail(Mistake::eager_child,
         "{}Children of HybridBlock must also be HybridBlock, but {} has type {}. If you are using "
         "Sequential, "
         "please try HybridSequential instead.",
         line_prefix(where), block->name(), block->class_name());
  if (block->state_ == state_) fail("{}A block cannot be its own child", line_prefix(where));
  block->state();
  s.structure->changed("got a child");
  const std::string key = name.empty() ? std::to_string(s.children.size()) : name;
  for (auto& [other, child] : s.children) {
    if (other != key) continue;
    child = std::move(block);
    return;
  }
  s.children.emplace_back(key, std::move(block));
}

void Block::claim_child_name(const std::string& name, Where where) const {
  if (!BlockAccess::unnamed_state(*this, where).child_names.insert(name).second)
    fail(
        "{}this block has two Child members called '{}': files and printed forms tell them by the name, so "
        "give each "
        "its own, as in Child<nn::Dense> {}2{{this, \"{}2\"}}",
        line_prefix(where), name, name, name);
}

namespace {

bool has_descendant(const BlockState& block, const BlockState& wanted) {
  return &block == &wanted ||
         std::any_of(block.children.begin(), block.children.end(), [&](const auto& child) {
           return has_descendant(BlockAccess::state(*child.second), wanted);
         });
}

}  // namespace

std::string detail::unregistered_block() {
  const std::vector<const Block*> calls = CallSite::blocks();
  for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
    const Block &inner = *calls[i], &outer = *calls[i + 1];
    if (has_descendant(BlockAccess::state(outer), BlockAccess::state(inner))) continue;
    const std::type_info* const known = dynamic_type(inner);
    const std::string type = known ? detail::type_name_of(known->name()) : inner.class_name();
    return fmt::format(
        "{} uses the block {} ({}), which is no child of it, so initialize(), save_parameters() and the like "
        "do not "
        "reach it. Make it a child: the member Child<{}> fc{{this, \"fc\"}}, and in the constructor fc = "
        "{}(...)",
        outer.class_name(), inner.name(), inner.class_name(), type, type);
  }
  return {};
}

std::size_t Block::size() const { return BlockAccess::unnamed_state(*this).children.size(); }

Block& Block::operator[](IndexAt i) const {
  const BlockState& s = BlockAccess::unnamed_state(*this, i.where);
  const auto n = static_cast<std::int64_t>(s.children.size());
  const std::int64_t at = i.index < 0 ? i.index + n : i.index;
  if (at < 0 || at >= n) fail("{}Child {} of a block with {} children", line_prefix(i.where), i.index, n);
  return *s.children[static_cast<std::size_t>(at)].second;
}

Block& Block::child(std::string_view name, Where where) const {
  std::vector<std::string> names;
  for (const auto& [key, block] : BlockAccess::unnamed_state(*this, where).children) {
    if (key == name) return *block;
    names.push_back(key);
  }
  fail("{}This {} has no child '{}', but {}", line_prefix(where), class_name(), name,
       detail::brief_list(names));
}

std::vector<std::pair<std::string, std::shared_ptr<Block>>> Block::children() const {
  return BlockAccess::unnamed_state(*this).children;
}

ParameterDict Block::collect_params(const std::string& select) const {
  const detail::NamePattern pattern(select);
  const ParameterDict all(params().prefix());
  const auto collect = [&](const auto& self, const Block& block) -> void {
    for (const Parameter& p : block.params())
      if (select.empty() || pattern.matches(p.name())) all.add(p);
    for (const auto& [key, child] : block.state_->children) self(self, *child);
  };
  collect(collect, *this);
  return all;
}

void Block::initialize(const Initializer& init, const InitializeOptions& options, Where where) const {
  at_line(where, [&] { collect_params().initialize(init, options, where); });
}

void Block::to(Device device, Where where) const {
  at_line(where, [&] { collect_params().to(device, where); });
}

void Block::apply(const std::function<void(Block&)>& fn) {
  for (const auto& [key, child] : children()) child->apply(fn);
  fn(*this);
}

void Block::cast(DType dtype) {
  detail::check_cast(collect_params(), dtype);
  for (const auto& [key, child] : children()) child->cast(dtype);
  params().cast(dtype);
  state().structure->changed(detail::Revision::was_cast);
}

void Block::hybridize(const HybridizeOptions& options) const {
  set_active(options);
  for (const auto& [key, child] : state().children) child->hybridize(options);
}
void Block::set_active(const HybridizeOptions&) const {}

std::string Block::str() const {
  std::string lines;
  for (const auto& [key, child] : BlockAccess::unnamed_state(*this).children)
    lines += (lines.empty() ? "" : "\n") + std::string("  (") + key + "): " + detail::indent(child->str(), 2);
  return class_name() + "(\n" + lines + "\n)";
}

std::ostream& operator<<(std::ostream& os, const Block& block) { return os << block.str(); }

}  // namespace kiln

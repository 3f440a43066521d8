// Names of blocks: scopes, generated prefixes, renaming.
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/trace/naming.h"
#include "runtime/once.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace kiln {

using detail::BlockAccess;
using detail::BlockState;

struct BlockScope::Impl {
  NameScope node_names;
};

namespace {

/// The open scopes of this thread, innermost last.
std::vector<std::shared_ptr<BlockState>>& scopes() {
  thread_local std::vector<std::shared_ptr<BlockState>> list;
  return list;
}

std::string numbered(std::map<std::string, int, std::less<>>& counts, std::string_view kind) {
  auto it = counts.find(kind);
  if (it == counts.end()) it = counts.emplace(std::string(kind), 0).first;
  return it->first + std::to_string(it->second++) + "_";
}

/// Outside of all scopes, block numbers are counted per process.
std::string process_wide(std::string_view kind) {
  struct Numbers {
    Mutex mutex;
    std::map<std::string, int, std::less<>> counts;
  };
  Numbers& numbers = once<[] { return Numbers(); }>();
  std::lock_guard lock(numbers.mutex);
  return numbered(numbers.counts, kind);
}

}  // namespace

std::shared_ptr<BlockState> detail::current_block_scope() {
  return scopes().empty() ? nullptr : scopes().back();
}

void BlockState::make_name(std::string_view kind) {
  std::lock_guard lock(naming);
  if (named.load(std::memory_order_relaxed)) return;
  const std::shared_ptr<BlockState> scope = std::exchange(made_in, nullptr);
  prefix = given_prefix ? *given_prefix : scope ? numbered(scope->counts, kind) : process_wide(kind);
  static std::atomic<std::uint64_t> names{0};
  named_at = ++names;
  if (!given_prefix) this->kind = kind;
  named_in = scope.get();
  own_prefix = prefix;
  std::string params_prefix = prefix;
  if (scope) {
    params_prefix = scope->params.prefix() + prefix;
    prefix = scope->prefix + prefix;
  }
  if (shared_params)
    params = ParameterDict(shared_params->prefix(), *shared_params);
  else
    params = scope ? detail::scoped_parameters(params_prefix, scope->params) : ParameterDict(params_prefix);
  named.store(true, std::memory_order_release);
}

void BlockState::rename(const std::string& to) {
  const auto renamed = [&](const std::string& whole) {
    return Prefixes{whole, whole.substr(0, whole.size() - own_prefix.size()) + to};
  };
  const Prefixes blocks = renamed(prefix), parameters = renamed(shared_params ? prefix : params.prefix());
  own_prefix = to;
  rename(blocks, &parameters);
}

void BlockState::rename(const Prefixes& of_blocks, const Prefixes* of_parameters) {
  if (!prefix.starts_with(of_blocks.from)) return;
  prefix = of_blocks.to + prefix.substr(of_blocks.from.size());
  if (shared_params) of_parameters = nullptr;  // their names belong to another block
  if (of_parameters) detail::rename_parameters(params, of_parameters->from, of_parameters->to);
  for (const auto& [key, child] : children) BlockAccess::state(*child).rename(of_blocks, of_parameters);
}

namespace {

/// The block and the descendants that it created, if their prefixes are generated.
void collect_made(BlockState& block, std::uint64_t since, std::vector<BlockState*>& out) {
  if (!block.kind.empty()) out.push_back(&block);
  for (const auto& [key, child] : block.children)
    if (BlockState& c = BlockAccess::state(*child); c.serial > since) collect_made(c, since, out);
}

}  // namespace

void Block::number_in_order(const std::vector<const Block*>& arguments) {
  std::vector<BlockState*> roots;
  for (const Block* b : arguments)
    if (b) roots.push_back(&b->state());
  const auto later = [](const BlockState* a, const BlockState* b) { return a->serial > b->serial; };
  if (roots.size() < 2 || !std::is_sorted(roots.begin(), roots.end(), later)) return;
  // The compiler evaluated the arguments from last to first. Blocks of one kind and scope exchange their
  // prefixes.
  std::vector<BlockState*> rest;
  for (BlockState* root : roots) collect_made(*root, root->serial, rest);
  while (!rest.empty()) {
    const BlockState& first = *rest.front();
    const auto differs = [&](const BlockState* b) {
      return b->kind != first.kind || b->named_in != first.named_in;
    };
    const auto end = std::stable_partition(rest.begin(), rest.end(), std::not_fn(differs));
    const std::vector<BlockState*> wanted(rest.begin(), end);
    rest.erase(rest.begin(), end);
    std::vector<BlockState*> as_named = wanted;
    std::sort(as_named.begin(), as_named.end(),
              [](const auto* a, const auto* b) { return a->named_at < b->named_at; });
    std::vector<std::string> prefixes;
    for (const BlockState* b : as_named) prefixes.push_back(b->own_prefix);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i]->rename(prefixes[i]);
  }
}

BlockScope::BlockScope(std::shared_ptr<BlockState> block) {
  if (block->scopeless) return;
  scopes().push_back(block);
  impl_.reset(new Impl{NameScope(block->prefix)});
}
BlockScope::~BlockScope() {
  if (impl_) scopes().pop_back();
}

BlockScope Block::name_scope() const {
  state();
  return BlockScope(state_);
}

const std::string& Block::prefix() const { return state().prefix; }
std::string Block::name() const {
  const std::string& p = prefix();
  return p.ends_with('_') ? p.substr(0, p.size() - 1) : p;
}
}  // namespace kiln

// Blocks: names, children, calls. hybrid_block.cpp has the additions of HybridBlock.
#include "frontend/call/call_site.h"
#include "frontend/call/line.h"
#include "frontend/gluon/block/block_state.h"
#include "frontend/gluon/hybridize/cached_call.h"
#include "frontend/gluon/parameter/parameter_state.h"
#include "frontend/symbol/blocked_gradients.h"
#include "frontend/symbol/symbol_tensor.h"
#include "frontend/tensor/text.h"
#include "frontend/trace/naming.h"
#include "frontend/trace/symbol_trace.h"
#include "frontend/view/view.h"
#include "runtime/fail.h"
#include "runtime/once.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <typeinfo>

namespace kiln {

using detail::BlockAccess;
using detail::BlockState;

// --- names

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

// --- construction and the tree

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
  if (!state_ || !o.state_ || state_ == o.state_) return;
  state_->structure->left_for = o.state_->structure;
  // While recording, handles are local variables of hybrid_forward.
  if (!Trace::current()) state_->structure->changed();
}
bool Block::left_for(const Block& o) const {
  return state_->structure->left_for.lock() == o.state_->structure;
}
Block& Block::operator=(const Block& o) {
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
  if (!state_) fail("This block was moved from and cannot be used");
  if (!state_->named.load(std::memory_order_acquire)) state_->make_name(detail::lower(class_name()));
  return *state_;
}

const std::string& Block::prefix() const { return state().prefix; }
std::string Block::name() const {
  const std::string& p = prefix();
  return p.ends_with('_') ? p.substr(0, p.size() - 1) : p;
}
std::string Block::class_name() const { return detail::class_name_of(typeid(*this).name()); }
ParameterDict Block::params() const { return state().params; }

BlockScope Block::name_scope() const {
  state();
  return BlockScope(state_);
}

void Block::register_child(std::shared_ptr<Block> block, const std::string& name, Where where) {
  if (!block) fail("{}A null pointer cannot be a child", line_prefix(where));
  BlockState& s = *state_;  // not state(), which needs the class: this object may be under construction
  if (s.hybrid && !block->is_hybrid())
    fail(
        "{}Children of HybridBlock must also be HybridBlock, but {} has type {}. If you are using "
        "Sequential, "
        "please try HybridSequential instead.",
        line_prefix(where), block->str(), block->class_name());
  if (block->state_ == state_) fail("{}A block cannot be its own child", line_prefix(where));
  block->state();
  s.structure->changed();
  const std::string key = name.empty() ? std::to_string(s.children.size()) : name;
  for (auto& [other, child] : s.children) {
    if (other != key) continue;
    child = std::move(block);
    return;
  }
  s.children.emplace_back(key, std::move(block));
}

void Block::claim_child_name(const std::string& name, Where where) const {
  if (!state_->child_names.insert(name).second)
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
    const std::string type = detail::type_name_of(typeid(inner).name());
    return fmt::format(
        "{} uses the block {} ({}), which is no child of it, so initialize(), save_parameters() and the like "
        "do not "
        "reach it. Make it a child: the member Child<{}> fc{{this, \"fc\"}}, and in the constructor fc = "
        "{}(...)",
        outer.class_name(), inner.name(), inner.class_name(), type, type);
  }
  return {};
}

std::size_t Block::size() const { return state_->children.size(); }

Block& Block::operator[](IndexAt i) const {
  const auto n = static_cast<std::int64_t>(size());
  const std::int64_t at = i.index < 0 ? i.index + n : i.index;
  if (at < 0 || at >= n) fail("{}Child {} of a block with {} children", line_prefix(i.where), i.index, n);
  return *state_->children[static_cast<std::size_t>(at)].second;
}

Block& Block::child(std::string_view name, Where where) const {
  std::vector<std::string> names;
  for (const auto& [key, block] : state_->children) {
    if (key == name) return *block;
    names.push_back(key);
  }
  fail("{}This {} has no child '{}', but {}", line_prefix(where), class_name(), name,
       detail::brief_list(names));
}

std::vector<std::pair<std::string, std::shared_ptr<Block>>> Block::children() const {
  return state_->children;
}

void Block::wrong_type(const std::type_info& wanted) const {
  fail("This block is a {}, not a {}", class_name(), detail::class_name_of(wanted.name()));
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
  for (const auto& [key, child] : children()) child->cast(dtype);
  params().cast(dtype);
  state().structure->changed();
}

void Block::hybridize(const HybridizeOptions& options) const {
  set_active(options);
  for (const auto& [key, child] : state().children) child->hybridize(options);
}
void Block::set_active(const HybridizeOptions&) const {}

std::string Block::str() const {
  std::string lines;
  for (const auto& [key, child] : state_->children)
    lines += (lines.empty() ? "" : "\n") + std::string("  (") + key + "): " + detail::indent(child->str(), 2);
  return class_name() + "(\n" + lines + "\n)";
}

std::ostream& operator<<(std::ostream& os, const Block& block) { return os << block.str(); }

// --- hooks

HookHandle Block::register_forward_pre_hook(PreHook hook) const {
  HookHandle handle;
  handle.block_ = state_;
  handle.id_ = state_->next_hook++;
  state_->structure->changed();
  state_->hooks.push_back({handle.id_, std::move(hook), nullptr});
  return handle;
}

HookHandle Block::register_forward_hook(Hook hook) const {
  HookHandle handle;
  handle.block_ = state_;
  handle.id_ = state_->next_hook++;
  state_->structure->changed();
  state_->hooks.push_back({handle.id_, nullptr, std::move(hook)});
  return handle;
}

void HookHandle::detach() {
  if (const auto block = block_.lock())
    if (std::erase_if(block->hooks, [&](const auto& h) { return h.id == id_; }) != 0)
      block->structure->changed();
  block_.reset();
}

// --- calls

namespace {

/// Whether an input is a symbol, not a value of a trace.
bool is_symbolic(std::span<const Tensor> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) {
    const detail::Array& array = *detail::TensorAccess::array(t);
    return array.traced() && !array.trace;
  });
}

}  // namespace

Tensors Block::call(std::span<const Tensor> inputs, Where where) {
  BlockState& s = state();
  const std::source_location line = CallSite::resolve(where);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      fail("{}Input {} of the block {} is an undefined Tensor", line_prefix(line), i, name());
  if (!Trace::current() && is_symbolic(inputs)) {
    Tensors out;
    {
      const SymbolTrace composition;
      out = call(inputs, where);
    }
    std::vector<ir::Entry> values;
    for (const Tensor& t : out) values.push_back(detail::TensorAccess::array(t)->value);
    values = with_blocked_gradients(values);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = detail::symbol_tensor(values[i], out[i].dtype());
    return out;
  }
  // Operators in a program's own forward have their own lines; operators in the library's blocks get the
  // caller's.
  const CallSite site(s.library ? std::optional(line) : std::nullopt, line, this);
  detail::depend_on_tree(s);
  const CallContext& context = CallContext::current();
  // Arrays that the block creates are where its inputs are, as in compiled code. A recording has set it.
  std::optional<DeviceScope> device;
  if (!context.trace && !inputs.empty())
    if (const Device of_inputs = detail::TensorAccess::device(inputs[0]); !(of_inputs == context.device))
      device.emplace(of_inputs);
  const detail::ViewScope::NextCall next = detail::ViewScope::next_call();
  const Tensors in = own_values(inputs, next.number, line);
  const detail::ViewScope scope(next);
  const auto run = [&] { return returned_values(forward(in), inputs, in, next.outer, line); };
  if (s.hooks.empty() || detail::VariableScope::current() || CheckScope::active())
    return run();  // no hooks during shape inference, and only once for a call with checks
  const auto hooks = s.hooks;
  for (const auto& h : hooks)
    if (h.before) h.before(*this, in);
  Tensors out = run();
  for (const auto& h : hooks)
    if (h.after) h.after(*this, in, out);
  return out;
}

Tensor Block::call_for_one(std::span<const Tensor> inputs, Where where) {
  return at_line(where, [&] {
    Tensor out;
    const CallContext& now = CallContext::current();
    if (const CachedCall* calls = calls_.find();
        calls && state_->active && state_->hooks.empty() && !now.trace && calls->hit(inputs, now, out))
      return out;
    Tensors all = call(inputs, where);
    if (all.size() != 1)
      fail("The block {} gives {} tensors; call it with a vector of inputs to get all", name(), all.size());
    out = std::move(all[0]);
    return out;
  });
}

Tensor Block::operator()(Where where) { return call_for_one({}, where); }
Tensor Block::operator()(const Tensor& x, Where where) { return call_for_one({&x, 1}, where); }
Tensor Block::operator()(const Tensor& x, const Tensor& y, Where where) {
  const Tensor inputs[] = {x, y};
  return call_for_one(inputs, where);
}
Tensor Block::operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where where) {
  const Tensor inputs[] = {x, y, z};
  return call_for_one(inputs, where);
}
Tensors Block::operator()(const Tensors& inputs, Where where) {
  return at_line(where, [&] { return call(inputs, where); });
}

Tensor Block::forward() {
  fail("{}{} defines no forward() without tensors", line_prefix(CallSite::caller()), class_name());
}
Tensor Block::forward(const Tensor&) {
  fail("{}{} defines no forward() of one tensor", line_prefix(CallSite::caller()), class_name());
}
Tensor Block::forward(const Tensor&, const Tensor&) {
  fail("{}{} defines no forward() of two tensors", line_prefix(CallSite::caller()), class_name());
}
Tensor Block::forward(const Tensor&, const Tensor&, const Tensor&) {
  fail("{}{} defines no forward() of three tensors", line_prefix(CallSite::caller()), class_name());
}
Tensors Block::forward(const Tensors& in) {
  switch (in.size()) {
    case 0:
      return {forward()};
    case 1:
      return {forward(in[0])};
    case 2:
      return {forward(in[0], in[1])};
    case 3:
      return {forward(in[0], in[1], in[2])};
    default:
      fail("{}{} defines no forward() of {} tensors; override forward(const Tensors&)",
           line_prefix(CallSite::caller()), class_name(), in.size());
  }
}

}  // namespace kiln

#include "frontend/eager_cache.h"

#include "codegen/compile.h"
#include "frontend/call_site.h"
#include "frontend/trace.h"
#include "runtime/fail.h"

#include <array>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kiln {
namespace {

// The bytes that say which code a call needs. Built in place; only a call with long lists spills to the heap.
class Key {
 public:
  void add(const void* data, std::size_t n) {
    if (spill_.empty() && size_ + n <= sizeof inline_) {
      std::memcpy(inline_ + size_, data, n);
      size_ += n;
      return;
    }
    if (spill_.empty()) spill_.assign(inline_, size_);
    spill_.append(static_cast<const char*>(data), n);
  }
  template <class T>
  void add(const T& v)
    requires std::is_trivially_copyable_v<T>
  {
    add(&v, sizeof v);
  }
  void add_text(std::string_view s) {
    add(static_cast<std::uint32_t>(s.size()));
    add(s.data(), s.size());
  }
  void add_shape(const Shape& s) {
    add(static_cast<std::uint8_t>(s.rank()));
    add(s.begin(), s.size() * sizeof(std::int64_t));
  }
  std::string_view bytes() const {
    return spill_.empty() ? std::string_view(inline_, size_) : std::string_view(spill_);
  }

 private:
  char inline_[512];
  std::size_t size_ = 0;
  std::string spill_;
};

void add_value(Key& key, const ir::AttrValue& value) {
  key.add(static_cast<std::uint8_t>(value.index()));
  if (const auto* b = std::get_if<bool>(&value)) return key.add(*b);
  if (const auto* i = std::get_if<std::int64_t>(&value)) return key.add(*i);
  if (const auto* d = std::get_if<double>(&value)) return key.add(*d);
  if (const auto* s = std::get_if<std::string>(&value)) return key.add_text(*s);
  if (const auto* shape = std::get_if<Shape>(&value)) return key.add_shape(*shape);
  if (const auto* list = std::get_if<ir::OptionalInts>(&value)) {
    key.add(static_cast<std::uint32_t>(list->size()));
    for (const auto& item : *list) {
      key.add(item.has_value());
      key.add(item.value_or(0));
    }
  }
}

void build_key(Key& key, const Call& call) {
  key.add(&call.op);
  key.add(static_cast<std::uint8_t>((call.op.train_sensitive || call.op.random_draws) && is_training()));
  key.add(static_cast<std::uint32_t>(call.given.size()));
  for (const ir::Attrs::Item& item : call.given) {
    key.add_text(item.name);
    add_value(key, item.value);
  }
  for (const Tensor* input : call.inputs) {
    key.add(detail::TensorAccess::dtype(*input));
    key.add_shape(detail::TensorAccess::shape(*input));
  }
}

std::shared_ptr<const EagerEntry> compile_entry(const Call& call, std::string_view key) {
  const ir::OpDef& op = call.op;
  ir::Graph graph;
  graph.name = std::string(op.name);
  graph.train = is_training();
  auto node = std::make_shared<ir::Node>();
  node->op = &op;
  node->op_name = std::string(op.name);
  node->name = std::string(op.name);
  node->location = CallSite::resolve(call.where);
  node->attrs = op.complete(given_attrs(call));
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    auto variable = std::make_shared<ir::Node>();
    variable->name =
        op.variadic || i >= op.inputs.size() ? "arg" + std::to_string(i) : std::string(op.inputs[i]);
    variable->types = {
        {detail::TensorAccess::dtype(*call.inputs[i]), detail::TensorAccess::shape(*call.inputs[i])}};
    graph.inputs.push_back(variable);
    graph.is_parameter.push_back(false);
    node->inputs.push_back({variable, 0, 0});
  }
  std::vector<ir::NodePtr> order = graph.inputs;
  order.push_back(node);
  ir::infer_types(order, graph.train);
  graph.nodes = {node};
  auto entry = std::make_shared<EagerEntry>();
  for (int i = 0; i < op.outputs_visible(node->attrs); ++i) {
    graph.outputs.push_back({node, static_cast<std::uint32_t>(i), 0});
    entry->outputs.push_back(node->types.at(static_cast<std::size_t>(i)));
  }
  entry->key = std::string(key);
  entry->executable = compile(graph);
  entry->random_draws = entry->executable->plan().random_draws;
  return entry;
}

// Shared by all threads and never destroyed: threads may outlive static objects. Each part holds a bounded
// number of entries and begins anew when it is full, which a program with endless new shapes may cause; the
// code itself stays in compile()'s caches.
struct Part {
  static constexpr std::size_t capacity = 1024;
  std::shared_mutex mutex;
  std::unordered_map<std::uint64_t, std::shared_ptr<const EagerEntry>> entries;
};
std::array<Part, 16>& parts() {
  static auto& all = *new std::array<Part, 16>;
  return all;
}

struct Recent {
  std::uint64_t hash = 0;
  std::shared_ptr<const EagerEntry> entry;
};
thread_local std::array<Recent, 64> recent;

}  // namespace

const EagerEntry& eager_entry(const Call& call) {
  Key key;
  build_key(key, call);
  const std::string_view bytes = key.bytes();
  const std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  Recent& slot = recent[hash % recent.size()];
  if (slot.hash == hash && slot.entry && slot.entry->key == bytes) [[likely]]
    return *slot.entry;

  Part& part = parts()[(hash >> 32) % parts().size()];
  {
    std::shared_lock lock(part.mutex);
    const auto it = part.entries.find(hash);
    if (it != part.entries.end() && it->second->key == bytes) {
      slot = {hash, it->second};
      return *slot.entry;
    }
  }
  std::shared_ptr<const EagerEntry> made = compile_entry(call, bytes);
  {
    std::unique_lock lock(part.mutex);
    if (part.entries.size() >= Part::capacity) part.entries.clear();
    part.entries[hash] = made;
  }
  slot = {hash, std::move(made)};
  return *slot.entry;
}

}  // namespace kiln

// The cache of eager operators' code.
#include "frontend/eager/eager_cache.h"

#include "codegen/driver/compile.h"
#include "frontend/call/arithmetic.h"
#include "frontend/call/call_context.h"
#include "frontend/call/call_site.h"
#include "frontend/call/gradient_code.h"
#include "frontend/call/line.h"
#include "runtime/fail.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"
#include "runtime/precision_on.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kiln {
namespace {

// The cache key of a call. Built in place; only a call with long lists allocates.
class Key {
 public:
  /// Inlined: a store if the compiler sees the size.
  [[gnu::always_inline]] void add(const void* data, std::size_t n) {
    if (!spill_.empty() || size_ + n > sizeof inline_) [[unlikely]]
      return spill(data, n);
    std::memcpy(inline_ + size_, data, n);
    size_ += n;
  }
  template <class T>
  void add(const T& v) requires std::is_trivially_copyable_v<T> {
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
  [[gnu::noinline]] void spill(const void* data, std::size_t n) {
    if (spill_.empty()) spill_.assign(inline_, size_);
    spill_.append(static_cast<const char*>(data), n);
  }

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

/// The part of a key that has one size for all calls.
struct KeyHeader {
  const ir::OpDef* op;
  std::uint8_t cpu;
  Precision precision;
  bool with_values, np_shape, train;
  std::uint8_t unused[3];  // no padding: all bytes have values
  std::int32_t device;     // -1: the CPU
  std::uint32_t given;     // attributes that follow
};
static_assert(std::has_unique_object_representations_v<KeyHeader>);

void build_key(Key& key, const OpCall& call, bool with_values) {
  const Device device = device_of(call);
  key.add(KeyHeader{.op = &call.op,
                    .cpu = codegen::process_cpu_key(),
                    .precision = precision_on(device),
                    .with_values = with_values,
                    .np_shape = call.np_shape,
                    .train = call.op.train_sensitive && is_training(),
                    .unused = {},
                    .device = device.is_cpu() ? -1 : device.id,
                    .given = static_cast<std::uint32_t>(call.given.size())});
  for (const ir::Attrs::Item& item : call.given) {
    key.add_text(item.name);
    if (with_values) add_value(key, item.value);
  }
  for (const ir::SubgraphPtr& body : call.bodies) key.add(body.get());
  for (const Tensor* input : call.inputs) {
    key.add(detail::TensorAccess::dtype(*input));
    key.add_shape(detail::TensorAccess::shape(*input));
  }
}

struct Input {
  std::string name;
  TensorType type;
};

std::shared_ptr<EagerEntry> compile_entry(const ir::OpDef& op, const ir::Attrs& given,
                                          const std::vector<Input>& arguments, const OpCall& call,
                                          std::string_view key) {
  ir::Graph graph;
  graph.name = std::string(op.name);
  graph.train = is_training();
  auto node = std::make_shared<ir::Node>();
  node->op = &op;
  node->op_name = std::string(op.name);
  node->name = std::string(op.name);
  node->location = CallSite::resolve(call.where);
  node->np_shape = call.np_shape;
  node->attrs = op.complete(given);
  node->subgraphs.assign(call.bodies.begin(), call.bodies.end());
  for (const Input& argument : arguments) {
    auto variable = std::make_shared<ir::Node>();
    variable->name = argument.name;
    variable->types = {argument.type};
    graph.inputs.push_back(variable);
    // Weights seldom change between calls: as parameters, their packed form is a prepacked constant.
    const std::size_t position = graph.inputs.size() - 1;
    graph.is_parameter.push_back(!op.variadic && position < op.inputs.size() &&
                                 op.inputs[position] == "weight");
    node->inputs.push_back({variable, 0, 0});
  }
  std::vector<ir::NodePtr> order = graph.inputs;
  order.push_back(node);
  ir::infer_types(order, graph.train);
  graph.nodes = {node};
  // Gradients are of all calls of the code, so that they have no line.
  const auto of_all_calls = std::make_shared<ir::Node>(*node);
  of_all_calls->location = {};
  ir::Subgraph body{graph.inputs, {of_all_calls}, {}};
  auto entry = std::make_shared<EagerEntry>();
  entry->line = path_and_line(node->location);
  for (int i = 0; i < op.outputs_visible(node->attrs); ++i) {
    graph.outputs.push_back({node, static_cast<std::uint32_t>(i), 0});
    body.outputs.push_back({of_all_calls, static_cast<std::uint32_t>(i), 0});
    entry->outputs.push_back(node->types.at(static_cast<std::size_t>(i)));
  }
  entry->key = std::string(key);
  entry->bodies = node->subgraphs;
  if (!op.stops_gradient)
    entry->gradient = std::make_shared<detail::GradientCode>(std::make_shared<ir::Subgraph>(std::move(body)),
                                                             graph.train, precision_on(device_of(call)));
  CompileOptions options = on_device(default_options(), device_of(call));
  if (!options.dump_dir.empty()) {
    std::string types;
    for (const Input& argument : arguments) types += (types.empty() ? "" : ", ") + argument.type.str();
    options.purpose = {types, "eager",
                       fmt::format("an eager call of {}{}", op.name, types.empty() ? "" : " on " + types)};
  }
  entry->executable = compile(graph, options);
  return entry;
}

std::shared_ptr<EagerEntry> compile_entry(const OpCall& call, std::string_view key) {
  const ir::Attrs given = given_attrs(call);
  const std::vector<std::string_view> names = call.op.input_names(call.op.complete(given));
  std::vector<Input> arguments;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    arguments.push_back(
        {i < names.size() ? std::string(names[i]) : "arg" + std::to_string(i),
         {detail::TensorAccess::dtype(*call.inputs[i]), detail::TensorAccess::shape(*call.inputs[i])}});
  }
  return compile_entry(call.op, given, arguments, call, key);
}

// A scalar is compiled into the code until the operator has met many different ones. The program then seems
// to vary it: a decaying learning rate, a loop counter.
constexpr int many_numbers = 16;
std::atomic<int>& numbers_met(const ir::OpDef& op) {
  static std::array<std::atomic<int>, 64> counts{};  // a shared counter only makes scalars inputs sooner
  return counts[reinterpret_cast<std::uintptr_t>(&op) / sizeof(ir::OpDef) % counts.size()];
}

bool has_number(const OpCall& call) {
  const auto& given = call.given;
  if (call.inputs.size() != 1 || given.empty() || given[0].name != "scalar") return false;
  // For a bool array the number decides the dtype; with `is_int`, for an integer array too.
  const DType dtype = detail::TensorAccess::dtype(*call.inputs[0]);
  const bool alone = given.size() == 1 && dtype != DType::boolean;
  const bool with_kind = given.size() == 2 && given[1].name == "is_int" && is_floating(dtype);
  return (alone || with_kind) && tensor_form(call.op).op != nullptr;
}

std::shared_ptr<EagerEntry> compile_with_variable(const OpCall& call, std::string_view key) {
  const TensorForm form = tensor_form(call.op);
  const TensorType x{detail::TensorAccess::dtype(*call.inputs[0]),
                     detail::TensorAccess::shape(*call.inputs[0])};
  std::vector<Input> arguments = {{"lhs", x}, {"rhs", x}};
  const std::size_t number = form.number_left ? 0 : 1;
  arguments[number].type.shape = Shape::filled(x.shape.rank(), 1);
  std::shared_ptr<EagerEntry> entry = compile_entry(*form.op, {}, arguments, call, key);
  entry->number_input = number;
  return entry;
}

// Shared by all threads, and never destroyed: threads may outlive static objects. Each part holds a bounded
// number of entries, since a program may produce new shapes without end, and an entry keeps its kernels in
// memory. All parts together hold half as many entries as the limit of kernels.
struct Part {
  static constexpr std::size_t capacity = 256;
  ForkSafe<std::shared_mutex> mutex;
  std::unordered_map<std::uint64_t, std::shared_ptr<const EagerEntry>> entries;

  // Drops the entries that were not used since the last drop; all of them if each was used.
  void make_room() {
    const auto unused = [](const auto& item) {
      return !item.second->used.exchange(false, std::memory_order_relaxed);
    };
    if (std::erase_if(entries, unused) == 0) entries.clear();
  }
};
std::array<Part, 16>& parts() {
  return once<[] { return std::array<Part, 16>(); }>();
}

struct Recent {
  std::uint64_t hash = 0;
  std::shared_ptr<const EagerEntry> entry;
};
thread_local std::array<Recent, 64> recent;

// Stores only if the flag changes: threads share the entries.
const EagerEntry& mark(const EagerEntry& entry) {
  if (!entry.used.load(std::memory_order_relaxed)) entry.used.store(true, std::memory_order_relaxed);
  return entry;
}

const EagerEntry none;  // the result of a look-up without an entry

// The entry with this key; `make` compiles it if there is none.
template <class Make>
const EagerEntry& look_up(const Key& key, Make make) {
  const std::string_view bytes = key.bytes();
  const std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  Recent& slot = recent[hash % recent.size()];
  if (slot.hash == hash && slot.entry && slot.entry->key == bytes) [[likely]]
    return mark(*slot.entry);

  Part& part = parts()[(hash >> 32) % parts().size()];
  {
    std::shared_lock lock(part.mutex);
    const auto it = part.entries.find(hash);
    if (it != part.entries.end() && it->second->key == bytes) {
      slot = {hash, it->second};
      return mark(*slot.entry);
    }
  }
  std::shared_ptr<const EagerEntry> made = make(bytes);
  if (!made) return none;
  {
    std::unique_lock lock(part.mutex);
    if (part.entries.size() >= Part::capacity) part.make_room();
    part.entries[hash] = made;
  }
  slot = {hash, std::move(made)};
  return *slot.entry;
}

}  // namespace

const OpCode& op_code(const OpCall& call) {
  Key key;
  build_key(key, call, true);
  const EagerEntry& entry = look_up(key, [&](std::string_view bytes) -> std::shared_ptr<EagerEntry> {
    if (has_number(call) && numbers_met(call.op).fetch_add(1, std::memory_order_relaxed) >= many_numbers)
      return nullptr;
    return compile_entry(call, bytes);
  });
  if (&entry != &none) [[likely]]
    return entry;
  Key without_number;
  build_key(without_number, call, false);
  return look_up(without_number, [&](std::string_view bytes) { return compile_with_variable(call, bytes); });
}

}  // namespace kiln

// Runs graphs and compares their results bit by bit.
#include "graphs/compare.h"

#include <kiln/random.h>

#include <cstring>
#include <fmt/format.h>

namespace graphs {

using namespace kiln;

namespace {

bool is_nan(const std::byte* element, DType dtype) {
  const auto bits = [&]<class T>(T) {
    T v;
    std::memcpy(&v, element, sizeof v);
    return v;
  };
  switch (dtype) {
    case DType::f64:
      return (bits(std::uint64_t{}) & ~(1ull << 63)) > 0x7ff0000000000000ull;
    case DType::f32:
      return (bits(std::uint32_t{}) & 0x7fffffffu) > 0x7f800000u;
    case DType::f16:
      return (bits(std::uint16_t{}) & 0x7fff) > 0x7c00;
    case DType::bf16:
      return (bits(std::uint16_t{}) & 0x7fff) > 0x7f80;
    default:
      return false;
  }
}

std::string element_text(const Tensor& t, std::size_t i) {
  std::string bytes;
  const auto* data = static_cast<const unsigned char*>(t.data()) + i * size_of(t.dtype());
  for (std::size_t b = size_of(t.dtype()); b-- > 0;) bytes += fmt::format("{:02x}", data[b]);
  return fmt::format("{} (0x{})", t.to_vector<double>()[i], bytes);
}

}  // namespace

Runner::Runner(const Graph& graph, RunMode mode, bool fuse, Device device)
    : seed_(graph.seed), train_(graph.train) {
  const Model model = Model::from_symbol(Symbol::load_json(to_json(graph)));
  for (const Node& node : graph.nodes)
    if (node.is_variable()) inputs_.emplace(node.name, node.value.copy());
  names_ = model.output_names();
  prepared_ = model.prepare(inputs_, {.mode = mode, .train = train_, .fuse = fuse, .device = device});
}

Result Runner::run(int threads) {
  const ThreadLimit limit(threads);
  random::seed(seed_);
  Result result{prepared_->run(), names_};
  if (train_)
    for (const NamedArray& state : prepared_->auxiliary_states()) {
      result.arrays.push_back(state.array.copy());
      result.names.push_back(state.name);
    }
  return result;
}

void Runner::set(const std::map<std::string, Tensor>& values) {
  for (const auto& [name, value] : values)
    if (value.size() > 0) inputs_.at(name).copy_from(value.data(), value.dtype());
}

std::optional<std::string> first_difference(const Result& expected, const Result& actual) {
  for (std::size_t k = 0; k < expected.arrays.size(); ++k) {
    const Tensor &a = expected.arrays[k], &b = actual.arrays.at(k);
    if (a.dtype() != b.dtype() || !(a.shape() == b.shape()))
      return fmt::format("{} is {} {} eagerly, {} {} compiled", expected.names[k], name_of(a.dtype()),
                         a.shape().str(), name_of(b.dtype()), b.shape().str());
    const std::size_t size = size_of(a.dtype()), count = static_cast<std::size_t>(a.size());
    if (count == 0) continue;
    const auto* x = static_cast<const std::byte*>(a.data());
    const auto* y = static_cast<const std::byte*>(b.data());
    if (std::memcmp(x, y, count * size) == 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const auto *p = x + i * size, *q = y + i * size;
      if (std::memcmp(p, q, size) == 0 || (is_nan(p, a.dtype()) && is_nan(q, a.dtype()))) continue;
      return fmt::format("element {} of {} ({} {}) is {} eagerly, {} compiled", i, expected.names[k],
                         name_of(a.dtype()), a.shape().str(), element_text(a, i), element_text(b, i));
    }
  }
  return {};
}

Comparison compare(const Graph& graph, const std::vector<std::map<std::string, Tensor>>& more, bool fuse,
                   Device device) {
  const std::vector<int> numbers_of_threads = device.is_cpu() ? std::vector{1, 2} : std::vector{1};
  std::optional<Runner> eager, compiled;
  std::vector<Result> expected;
  std::string error;
  try {
    eager.emplace(graph, RunMode::eager);
    for (std::size_t set = 0; set <= more.size(); ++set) {
      if (set > 0) eager->set(more[set - 1]);
      for (const int threads : numbers_of_threads) expected.push_back(eager->run(threads));
    }
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::user) return {.difference = fmt::format("eager throws: {}", e.what())};
    error = e.what();
  }
  try {
    compiled.emplace(graph, RunMode::compiled, fuse, device);
    if (!error.empty()) {
      compiled->run(1);
      return {.difference = fmt::format("eager throws, compiled does not: {}", error)};
    }
    for (std::size_t set = 0, i = 0; set <= more.size(); ++set) {
      if (set > 0) compiled->set(more[set - 1]);
      for (const int threads : numbers_of_threads)
        if (auto text = first_difference(expected[i++], compiled->run(threads)))
          return {.difference =
                      fmt::format("{}, on {} threads{}", *text, threads, fuse ? "" : ", without fusion")};
    }
  } catch (const Error& e) {
    if (error.empty() || e.kind() != Error::Kind::user)
      return {.difference = fmt::format("compiled throws: {}", e.what())};
    return {.valid = false, .error = error};
  }
  return {};
}

}  // namespace graphs

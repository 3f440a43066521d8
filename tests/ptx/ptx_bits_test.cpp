// The PTX of every kernel of the reference data's cases, run thread by thread, gives the bits of the CPU's
// code.
#include "../golden_files.h"
#include "codegen/cuda/toolkit.h"
#include "frontend/model/planned_model.h"
#include "frontend/tensor/bits.h"
#include "mutants.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <map>

using namespace kiln;
using nlohmann::json;

namespace {

struct Case {
  std::string name;
  Model model;
  std::map<std::string, Tensor> inputs;
  bool train = false;
};

Case read_case(const std::string& folder, const json& row) {
  const std::string name = row["name"];
  const auto file = [&](const char* key, const std::string& ending) {
    return golden::path(folder + "/" + row.value(key, name + ending));
  };
  const std::string params = file("params", "-0000.params");
  const bool has_params = std::filesystem::exists(params);
  Case c{name,
         Model::load(file("symbol", "-symbol.json"), has_params ? std::optional(params) : std::nullopt),
         {},
         row["train"].get<bool>()};
  for (const NamedArray& a : load_arrays(file("io", "-io.params")))
    if (a.name.starts_with("in:")) c.inputs.emplace(a.name.substr(3), a.array);
  return c;
}

std::vector<Tensor> run_on(const Case& c, Device device) {
  random::seed(7);
  return c.model.run(c.inputs, {.train = c.train, .device = device});
}

/// Empty, or how the runs differ.
std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (const auto element = detail::first_difference(got.at(i), expected[i]))
      return *element < 0 ? fmt::format("output {} has another shape or dtype", i)
                          : fmt::format("output {} has other bits: element {} is {} and should be {}", i,
                                        *element, detail::element_text(got[i], *element),
                                        detail::element_text(expected[i], *element));
  return {};
}

/// Every `step`-th case of the folder from `first` on.
void run_cases(const std::string& folder, std::size_t first, std::size_t step) {
  const json rows = golden::manifest(folder);
  std::size_t run = 0;
  for (std::size_t i = first; i < rows.size(); i += step) {
    std::string problem;
    try {
      const Case c = read_case(folder, rows[i]);
      problem = difference(run_on(c, cuda()), run_on(c, cpu()));
    } catch (const std::exception& e) {
      problem = e.what();
    }
    ++run;
    INFO(rows[i]["name"].get<std::string>() << ": " << problem);
    CHECK(problem.empty());
  }
  std::cout << fmt::format("{} cases of {}\n", run, folder);
  CHECK(run > 0);
}

/// A change of a kernel's PTX, and what became of the kernels that have it.
struct Mutation {
  std::string_view from, to;
  int made = 0, refused = 0, noticed = 0;  ///< not translated; other bits
};

enum class Seen { nothing, refused, bits };

/// Runs a case with changed kernels, one at a time.
class MutantRun {
 public:
  explicit MutantRun(const Case& c)
      : expected_(run_on(c, cpu())),
        planned_(PlannedModel::of(c.model, c.inputs, {.train = c.train, .device = cuda()})) {}

  std::size_t kernels() const { return planned_.plan.kernels.size(); }
  std::string ptx(std::size_t kernel) const {
    const auto& object = planned_.plan.kernels[kernel].object;
    return {reinterpret_cast<const char*>(object->data()), object->size()};
  }
  /// What becomes of the case if the kernel is this one.
  Seen run(std::size_t number, const std::string& ptx) {
    static std::uint64_t changed = 0;
    PlannedKernel& kernel = planned_.plan.kernels[number];
    const PlannedKernel original = kernel;
    const auto* const data = reinterpret_cast<const std::byte*>(ptx.data());
    kernel.object = std::make_shared<const std::vector<std::byte>>(data, data + ptx.size());
    kernel.key = {++changed, 0};
    Seen seen = Seen::nothing;
    try {
      random::seed(7);
      const Executable executable(planned_.plan, {}, cuda());
      if (!difference(run_executable(executable, planned_.variables), expected_).empty()) seen = Seen::bits;
    } catch (const Error&) {
      seen = Seen::refused;
    }
    kernel = original;
    return seen;
  }

 private:
  std::vector<Tensor> expected_;
  PlannedModel planned_;
};

/// Runs the case with each of a few places changed, one at a time.
void run_mutants(MutantRun& run, Mutation& m) {
  constexpr std::size_t places = 3;
  for (std::size_t kernel = 0; kernel < run.kernels(); ++kernel) {
    const std::string text = run.ptx(kernel);
    std::size_t at = text.find(m.from);
    for (std::size_t i = 0; i < places && at != std::string::npos; ++i, at = text.find(m.from, at + 1)) {
      const Seen seen = run.run(kernel, std::string(text).replace(at, m.from.size(), m.to));
      ++m.made;
      m.refused += seen == Seen::refused;
      m.noticed += seen == Seen::bits;
    }
  }
}

}  // namespace

TEST_CASE("operators, even cases", "[ops1]") { run_cases("ops", 0, 2); }
TEST_CASE("operators, odd cases", "[ops2]") { run_cases("ops", 1, 2); }
TEST_CASE("models", "[models]") { run_cases("models", 0, 1); }

TEST_CASE("a kernel with more arguments than a launch passes by value", "[arguments]") {
  // One row fusion of many kernels, with the operands and parameters of all.
  Symbol y = sym::var("x");
  for (int i = 0; i < 14; ++i) y = y + F::softmax(y) * F::softmax(y * 0.5f);
  Case c{"chain", Model::from_symbol(y), {}};
  c.inputs = c.model.make_inputs({{"x", {300, 301}}});
  std::size_t in_memory = 0;
  for (const PlannedKernel& k : PlannedModel::of(c.model, c.inputs, {.device = cuda()}).plan.kernels) {
    const std::string ptx(reinterpret_cast<const char*>(k.object->data()), k.object->size());
    in_memory += ptx.find(k.symbol + "_param_0[") == std::string::npos;
  }
  CHECK(in_memory > 0);
  CHECK(difference(run_on(c, cuda()), run_on(c, cpu())) == "");
}

TEST_CASE("rows of all lengths", "[rows]") {
  // Less than a warp, whole stripes, several blocks of 1024 elements, blocks of blocks.
  const std::vector<Shape> shapes = {{70, 5},    {33, 64},  {9, 1000},  {5, 1025},   {3000, 40},
                                     {400, 300}, {3, 9001}, {2, 70000}, {1, 1100000}};
  for (const Shape& shape : shapes)
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i64}) {
      if (shape[1] > 10000 && dtype != DType::f32) continue;
      const Symbol x = F::cast(sym::var("x") * 100.0F, dtype);
      std::vector<Symbol> results = {F::sum(x, 1), F::max(x, 1), F::sum(x, 0), F::sum(x)};
      if (dtype != DType::i64) {
        results.push_back(F::softmax(x));
        results.push_back(F::log_softmax(x * 3.0F));
        results.push_back(F::mean(x * x - x, 1));
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        Case c{"rows", Model::from_symbol(results[i]), {}};
        c.inputs = c.model.make_inputs({{"x", shape}});
        INFO(shape.str() << " " << name_of(dtype) << ", result " << i);
        CHECK(difference(run_on(c, cuda()), run_on(c, cpu())) == "");
      }
    }
}

TEST_CASE("products of all shapes", "[products]") {
  struct Product {
    Shape a, b;
    bool transposes_a = false, transposes_b = false;
  };
  // Within a tile and over its border; less than a step of k, a part of one, several chunks; batches; tiles
  // of 128 by 128, of which there are many.
  const std::vector<Product> products = {{{5, 7}, {7, 9}},
                                         {{64, 16}, {16, 64}},
                                         {{65, 33}, {33, 130}},
                                         {{70, 512}, {512, 67}},
                                         {{20, 1030}, {1030, 70}},
                                         {{33, 70}, {33, 81}, true},
                                         {{70, 33}, {81, 33}, false, true},
                                         {{530, 41}, {80, 530}, true, true},
                                         {{3, 66, 20}, {3, 20, 65}},
                                         {{2, 3, 9, 600}, {2, 3, 600, 20}},
                                         {{1930, 18}, {18, 1925}},
                                         {{1925, 520}, {520, 1930}}};
  for (const Product& p : products) {
    const DotOptions options{.transpose_a = p.transposes_a, .transpose_b = p.transposes_b};
    const auto product = [&](const Symbol& a, const Symbol& b) {
      return p.a.rank() > 2 ? F::linalg::gemm2(a, b) : F::dot(a, b, options);
    };
    const Symbol a = sym::var("a"), b = sym::var("b");
    // Of operands as they are, and of a computed one, with an epilogue.
    for (const Tensor& result : {product(a, b), F::relu(product(a, b * 0.5F) + 1.0F)}) {
      Case c{"product", Model::from_symbol(result), {}};
      c.inputs = c.model.make_inputs({{"a", p.a}, {"b", p.b}});
      INFO(p.a.str() << " times " << p.b.str());
      CHECK(difference(run_on(c, cuda()), run_on(c, cpu())) == "");
    }
  }
}

TEST_CASE("changed PTX is refused, or gives other bits", "[mutants]") {
  const json rows = golden::manifest("ops");
  Mutation mutations[] = {{"mul.rn.f32", "mul.f32"},        {"add.rn.f32", "add.f32"},
                          {"add.rn.f32", "add.rn.ftz.f32"}, {"div.rn.f32", "div.full.f32"},
                          {"add.rn.f32", "sub.rn.f32"},     {"mul.rn.f32", "add.rn.f32"},
                          {"fma.rn.f32", "fma.rz.f32"}};
  for (std::size_t i = 0; i < rows.size(); i += 10) {
    MutantRun run(read_case("ops", rows[i]));
    for (Mutation& m : mutations) run_mutants(run, m);
  }
  for (const Mutation& m : mutations) {
    std::cout << fmt::format("{} to {}: {} mutants, {} refused, {} with other bits\n", m.from, m.to, m.made,
                             m.refused, m.noticed);
    INFO(m.from << " to " << m.to);
    // Another sum or product is noticed where the values of a case lead to it; that is not in all branches of
    // a function. Other roundings are not known.
    const bool exact = m.to == "sub.rn.f32" || m.to == "add.rn.f32";
    CHECK((exact ? m.noticed : m.refused) >= (exact ? 20 : std::max(20, m.made)));
  }
}

/// Cases that use all of what kernels with barriers and shuffles have: rows of several blocks of 1024
/// elements and of no whole warps, products of several tiles.
std::vector<Case> cases_of_threads_together() {
  const Symbol x = sym::var("x"), y = sym::var("y");
  std::vector<Case> cases;
  const auto add = [&](const char* name, const Symbol& result, std::map<std::string, Shape> shapes) {
    Case c{name, Model::from_symbol(result), {}};
    c.inputs = c.model.make_inputs(shapes);
    cases.push_back(std::move(c));
  };
  add("sum", F::sum(x, 1), {{"x", {3, 70001}}});
  add("softmax", F::softmax(x * 3.0F), {{"x", {6, 34001}}});
  add("mean", F::mean(x * x - x, 1), {{"x", {3, 66001}}});
  add("short rows", F::sum(x, 1), {{"x", {3000, 40}}});
  add("product", F::dot(x, y), {{"x", {200, 159}}, {"y", {159, 170}}});
  return cases;
}

TEST_CASE("mistakes in generated kernels whose threads work together", "[mutants]") {
  std::array<int, 4> made{}, noticed{};
  for (const Case& c : cases_of_threads_together()) {
    MutantRun run(c);
    for (std::size_t kernel = 0; kernel < run.kernels(); ++kernel) {
      const std::string text = run.ptx(kernel);
      if (text.find("bar.sync") == std::string::npos && text.find("shfl.sync") == std::string::npos) continue;
      REQUIRE(run.run(kernel, text) == Seen::nothing);
      for (std::size_t kind = 0; kind < made.size(); ++kind) {
        std::vector<ptx::Mutant> mutants = ptx::mutants_of(text);
        std::erase_if(mutants,
                      [&](const ptx::Mutant& m) { return static_cast<std::size_t>(m.kind) != kind; });
        // A dozen of each kind, from all over the kernel.
        const std::size_t step = mutants.size() / 12 + 1;
        for (std::size_t i = 0; i < mutants.size(); i += step) {
          const ptx::Mutant& m = mutants[i];
          const bool is_noticed = run.run(kernel, m.ptx) != Seen::nothing;
          ++made[kind];
          noticed[kind] += is_noticed;
          if (!is_noticed)
            std::cout << fmt::format("{}: not noticed: '{}' changed to '{}'\n", c.name, m.from, m.to);
        }
      }
    }
  }
  for (std::size_t kind = 0; kind < made.size(); ++kind) {
    std::cout << fmt::format("{}: {} mutants of generated kernels, {} noticed\n", ptx::mutant_kinds[kind],
                             made[kind], noticed[kind]);
    INFO(ptx::mutant_kinds[kind]);
    // A maximum may not lie where the mistake is, and a step that is whole may as well be done as a part.
    CHECK(3 * noticed[kind] >= 2 * made[kind]);
  }
}

TEST_CASE("a missing barrier is noticed, and another shuffle", "[mutants]") {
  const Symbol x = sym::var("x");
  const auto of = [&](const Symbol& y, const Shape& shape) {
    Case c{"rows", Model::from_symbol(y), {}};
    c.inputs = c.model.make_inputs({{"x", shape}});
    return c;
  };
  // A row fusion; rows of several blocks, whose warps meet in shared memory; a product.
  const Case cases[] = {of(F::softmax(x), {70, 1000}), of(F::sum(x, 1), {3, 70000}),
                        of(F::dot(x, F::transpose(x)), {40, 40})};
  Mutation mutations[] = {{"bar.sync \t0;", ""}, {", 16, 31, -1;", ", 8, 31, -1;"}};
  for (const Mutation& mutation : mutations)
    for (const Case& c : cases) {
      Mutation m = mutation;
      MutantRun run(c);
      run_mutants(run, m);
      INFO(m.from << " of case " << &c - cases << ": " << m.made << " mutants, " << m.refused << " refused, "
                  << m.noticed << " with other bits");
      CHECK(m.refused + m.noticed == m.made);
    }
}

TEST_CASE("NVIDIA's assembler takes the kernels of the models", "[accepted]") {
  const auto ptxas = codegen::find_cuda_tool("ptxas");
  if (!ptxas) {
    std::cout << "SKIPPED: ptxas is not installed\n";
    return;
  }
  // Each takes a sixth of a second: of the distinct kernels every third.
  constexpr std::size_t step = 3;
  std::map<std::string, std::string> kernels;  // by symbol
  for (const std::string arch : {"sm_80", "sm_90"}) {
    for (const json& row : golden::manifest("models")) {
      const Case c = read_case("models", row);
      for (const PlannedKernel& k :
           PlannedModel::of(c.model, c.inputs, {.device = cuda(), .arch = arch}).plan.kernels)
        kernels[k.symbol] = {reinterpret_cast<const char*>(k.object->data()), k.object->size()};
    }
    std::size_t number = 0;
    for (const auto& [symbol, ptx] : kernels) {
      if (number++ % step != 0) continue;
      golden::write_text("kernel.ptx", ptx);
      INFO(symbol << " for " << arch);
      CHECK(std::system(fmt::format("{} -arch={} kernel.ptx -o kernel.cubin", *ptxas, arch).c_str()) == 0);
    }
    CHECK(number > 50);
  }
}

TEST_CASE("NVIDIA's tools show the machine code of a model's kernels", "[sass]") {
  using codegen::find_cuda_tool;
  if (!find_cuda_tool("ptxas") || (!find_cuda_tool("nvdisasm") && !find_cuda_tool("cuobjdump"))) {
    std::cout << "SKIPPED: ptxas, or nvdisasm and cuobjdump, are not installed\n";
    return;
  }
  const Case c = read_case("models", golden::manifest("models").at(0));
  const auto count = [](const std::string& text, std::string_view word) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  for (const std::string arch : {"sm_80", "sm_90"}) {
    auto stages = c.model.dump(c.inputs, {.device = cuda(), .arch = arch, .sass = true});
    const std::string& sass = stages["sass"];
    INFO(arch << "\n" << sass);
    CHECK(count(sass, " registers") >= count(stages["ptx"], ".entry "));
    CHECK(count(sass, arch) >= count(stages["ptx"], ".entry "));
    CHECK(count(sass, " FFMA ") > 0);
    CHECK(count(sass, " EXIT") > 0);
  }
  CHECK(c.model.dump(c.inputs, {.device = cuda()}).count("sass") == 0);
}

// The PTX of every kernel of the reference data's cases, run thread by thread, gives the bits of the CPU's
// code.
#include "frontend/model/planned_model.h"
#include "golden_files.h"
#include "model_case.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <iostream>

using namespace kiln;
using namespace kiln::ptx;
using nlohmann::json;

namespace {

/// Every `step`-th case of the folder from `first` on.
void run_cases(const std::string& folder, std::size_t first, std::size_t step) {
  const json rows = golden::manifest(folder);
  std::size_t run = 0;
  for (std::size_t i = first; i < rows.size(); i += step) {
    std::string problem;
    try {
      const Case c = golden_case(folder, rows[i]);
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
  // Within a tile and over its border; less than a step of k, a part of one, several chunks; batches; many
  // tiles of 128 by 128.
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

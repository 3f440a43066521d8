// Operators alone, at sizes between those of whole networks: short rows, long rows of which few elements are
// wanted, thin products, functions, padding, normalisations.
#include "bench/workload.h"

using namespace kiln;

namespace bench {
namespace {

std::string sized(const std::string& name, const Shape& shape) {
  std::string text = name + "_";
  for (int i = 0; i < shape.rank(); ++i)
    text += (i == 0 ? "" : "x") + std::to_string(shape[static_cast<std::size_t>(i)]);
  return text;
}

/// A workload of one operator on standard normal numbers.
void add_on(const std::string& name, const Function::Body& body, const std::vector<Shape>& shapes) {
  add(sized(name, shapes.front()), [=] {
    Tensors in;
    for (const Shape& shape : shapes) in.push_back(randn(shape));
    return function(body, std::move(in));
  });
}

void add_top(const Shape& shape, int count) {
  add_on("top" + std::to_string(count),
         [count](F& f, const Tensors& in) { return f.topk(in[0], {.k = count, .ret_typ = "value"}); },
         {shape});
}

void add_rows_of(std::int64_t length) {
  const Shape shape{400000 / length, length};
  add_on("sum", [](F& f, const Tensors& in) { return f.sum(in[0], {.axis = 1}); }, {shape});
  add_on("max", [](F& f, const Tensors& in) { return f.max(in[0], {.axis = 1}); }, {shape});
  add_on("softmax", [](F& f, const Tensors& in) { return f.softmax(in[0]); }, {shape});
  add_on("layernorm", [](F& f, const Tensors& in) { return f.LayerNorm(in[0], in[1], in[2]); },
         {shape, {length}, {length}});
}

void add_batch_norm(const Shape& shape) {
  add(sized("batchnorm_training", shape), [=] {
    auto norm = std::make_shared<nn::BatchNorm>();
    norm->initialize();
    const Tensor x = randn(shape);
    const autograd::TrainMode train;
    (*norm)(x);
    return Workload{norm, {x}, false, [norm, x] {
                      const autograd::TrainMode scope;
                      return (*norm)(x);
                    }};
  });
}

}  // namespace

void add_operators() {
  add_top({1, 1000000}, 10);
  add_top({1, 1000000}, 1000);
  add_top({64, 1000}, 5);
  add_top({32, 50257}, 50);
  add_top({128, 4096}, 100);
  for (const std::int64_t length : {1, 2, 3, 5, 8, 10, 16, 21, 32}) add_rows_of(length);
  for (const int axis : {0, 1}) {
    const std::string number = std::to_string(axis);
    add_on("argmax" + number, [axis](F& f, const Tensors& in) { return f.argmax(in[0], {.axis = axis}); },
           {{4096, 1000}});
    add_on("cumsum" + number, [axis](F& f, const Tensors& in) { return f.cumsum(in[0], {.axis = axis}); },
           {{2000, 2000}});
  }
  const Shape million{1000000};
  add_on("sin", [](F& f, const Tensors& in) { return f.sin(in[0]); }, {million});
  add_on("cos", [](F& f, const Tensors& in) { return f.cos(in[0]); }, {million});
  add_on("expm1", [](F& f, const Tensors& in) { return f.expm1(in[0]); }, {million});
  add_on("log1p", [](F& f, const Tensors& in) { return f.log1p(f.abs(in[0])); }, {million});
  add_on("log2", [](F& f, const Tensors& in) { return f.log2(f.abs(in[0])); }, {million});
  add_on("log10", [](F& f, const Tensors& in) { return f.log10(f.abs(in[0])); }, {million});
  add_on("tan", [](F& f, const Tensors& in) { return f.tan(in[0]); }, {million});
  add_on("arcsin", [](F& f, const Tensors& in) { return f.arcsin(f.clip(in[0], -1, 1)); }, {million});
  add_on("arccos", [](F& f, const Tensors& in) { return f.arccos(f.clip(in[0], -1, 1)); }, {million});
  add_on("arctan", [](F& f, const Tensors& in) { return f.arctan(in[0]); }, {million});
  const Shape images{8, 64, 56, 56}, channels{64};
  add_on("reflect3",
         [](F& f, const Tensors& in) {
           return f.pad(in[0], {.mode = "reflect", .pad_width = {0, 0, 0, 0, 3, 3, 3, 3}});
         },
         {images});
  add_on("instancenorm", [](F& f, const Tensors& in) { return f.InstanceNorm(in[0], in[1], in[2]); },
         {images, channels, channels});
  add_on("groupnorm",
         [](F& f, const Tensors& in) { return f.GroupNorm(in[0], in[1], in[2], {.num_groups = 8}); },
         {images, {8}, {8}});
  add_batch_norm(images);
  add_batch_norm({32, 256, 14, 14});
  add_batch_norm({16, 32, 112, 112});
  const auto product = [](F& f, const Tensors& in) { return f.dot(in[0], in[1]); };
  add_on("matvec", product, {{4096, 4096}, {4096}});
  add_on("matvec_transposed",
         [](F& f, const Tensors& in) { return f.dot(in[0], in[1], {.transpose_a = true}); },
         {{4096, 4096}, {4096}});
  add_on("thin", product, {{8, 65536}, {65536, 8}});
}

}  // namespace bench

// Results narrower than the registers they are computed in: if the last register holds one column, that
// column is stored alone, and nothing after it. (The result overwrites the memory of an operand, so that a
// wider store would change what the next row reads.)
#include "function_net.h"

#include <kiln/version.h>

using namespace kiln;

TEST_CASE("a last column alone leaves the next row as it is") {
  random::seed(5);
  for (const std::string& cpu : target_cpus()) {
    set_target_cpu(cpu);
    for (const std::int64_t columns : {9, 17, 33, 49}) {
      const Tensors in{random::uniform(-4, 4, {2, 7, 5}), random::uniform(-4, 4, {2, 5, columns}),
                       random::uniform(-4, 4, {2, 7, columns})};
      for (const DType dtype :
           {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i8}) {
        CAPTURE(cpu, columns, name_of(dtype));
        const auto product = [](F& f, const Tensors& in) {
          return f.batch_dot(in[0], in[1]) + f.negative(in[2]);
        };
        const Tensors narrow{in[0].astype(dtype), in[1].astype(dtype), in[2].astype(dtype)};
        everywhere([&](F& f, const Tensors& in) { return Tensors{f.negative(product(f, in))}; }, narrow);
        everywhere([&](F& f, const Tensors& in) { return Tensors{product(f, in).astype(dtype)}; }, in);
        everywhere([&](F& f, const Tensors& in) { return Tensors{product(f, in).astype(DType::i8)}; },
                   narrow);
      }
    }
  }
  set_target_cpu("native");
}

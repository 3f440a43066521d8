#include <kiln/dtype.h>

#include <array>

namespace kiln {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
};
constexpr std::array<Row, 9> rows{{{DType::f32, "float32"},
                                   {DType::f64, "float64"},
                                   {DType::f16, "float16"},
                                   {DType::u8, "uint8"},
                                   {DType::i32, "int32"},
                                   {DType::i8, "int8"},
                                   {DType::i64, "int64"},
                                   {DType::boolean, "bool"},
                                   {DType::bf16, "bfloat16"}}};

}  // namespace

std::string_view name_of(DType d) {
  for (const Row& r : rows)
    if (r.dtype == d) return r.name;
  return "unknown";
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Row& r : rows)
    if (r.name == name) return r.dtype;
  return {};
}

std::optional<DType> dtype_from_flag(std::int64_t flag) {
  for (const Row& r : rows)
    if (static_cast<std::int64_t>(r.dtype) == flag) return r.dtype;
  return {};
}

}  // namespace kiln

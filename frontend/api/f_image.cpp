// F's operators on images, and the operators of MXNet's contrib.
#include "frontend/api/f_call.h"

namespace kiln {
namespace {

template <OpName op>
Tensor with_integer(std::initializer_list<const Tensor*> inputs, std::string_view name, std::int64_t value,
                    std::source_location where) {
  CallAttributes<1> given;
  given.set(name, ir::AttrValue(value));
  return call<op>(inputs, given, where);
}

CallAttributes<6> attributes(const BilinearResize2DOptions& o) {
  CallAttributes<6> given;
  given.set("height", o.height);
  given.set("width", o.width);
  given.set("scale_height", o.scale_height);
  given.set("scale_width", o.scale_width);
  given.set("mode", o.mode);
  given.set("align_corners", o.align_corners);
  return given;
}

}  // namespace

Tensor F::depth_to_space(const Tensor& x, std::int64_t block_size, Where where) {
  return with_integer<"depth_to_space">({&x}, "block_size", block_size, where);
}
Tensor F::space_to_depth(const Tensor& x, std::int64_t block_size, Where where) {
  return with_integer<"space_to_depth">({&x}, "block_size", block_size, where);
}

Tensor F::contrib_operators::AdaptiveAvgPooling2D(const Tensor& x, const Shape& output_size, Where where) {
  CallAttributes<1> given;
  given.set_tuple("output_size", output_size);
  return call<"_contrib_AdaptiveAvgPooling2D">({&x}, given, where);
}

Tensor F::contrib_operators::BilinearResize2D(const Tensor& x, const BilinearResize2DOptions& o,
                                              Where where) {
  return call<"_contrib_BilinearResize2D">({&x}, attributes(o), where, o.name);
}
Tensor F::contrib_operators::BilinearResize2D(const Tensor& x, const Tensor& like,
                                              const BilinearResize2DOptions& o, Where where) {
  return call<"_contrib_BilinearResize2D">({&x, &like}, attributes(o), where, o.name);
}

Tensor F::contrib_operators::gradientmultiplier(const Tensor& x, Number scalar, Where where) {
  CallAttributes<1> given;
  given.set("scalar", scalar);
  return call<"_contrib_gradientmultiplier">({&x}, given, where);
}

Tensor F::contrib_operators::interleaved_matmul_selfatt_qk(const Tensor& x, std::int64_t heads, Where where) {
  return with_integer<"_contrib_interleaved_matmul_selfatt_qk">({&x}, "heads", heads, where);
}
Tensor F::contrib_operators::interleaved_matmul_selfatt_valatt(const Tensor& x, const Tensor& attention,
                                                               std::int64_t heads, Where where) {
  return with_integer<"_contrib_interleaved_matmul_selfatt_valatt">({&x, &attention}, "heads", heads, where);
}

}  // namespace kiln

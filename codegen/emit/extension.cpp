// Divides extended arrays into strided boxes.
#include "codegen/emit/extension.h"

#include "ir/views.h"

namespace kiln::codegen {

std::array<AxisPart, 3> parts_of(const ExtendedAxis& axis, ir::Extend how) {
  const bool reflects = how == ir::Extend::reflect;
  const std::int64_t behind = axis.low + axis.inner, step = reflects ? -1 : 0;
  return {{{0, axis.low, reflects ? axis.low : 0, step},
           {axis.low, axis.inner, 0, 1},
           {behind, axis.high(), axis.inner - (reflects ? 2 : 1), step}}};
}

std::vector<StridedBox> parts_of(ir::ExtendOp extend) {
  const ir::View x = ir::View::whole(extend.getX()), y = ir::View::whole(extend.getResult());
  std::vector<StridedBox> boxes(1);
  for (std::size_t i = 0; i < y.shape.size(); ++i) {
    std::vector<StridedBox> longer;
    for (const auto& [to, count, from, step] :
         parts_of({y.shape[i], extend.getLow()[i], x.shape[i], x.strides[i]}, extend.getKind())) {
      if (count == 0) continue;
      for (StridedBox box : boxes) {
        box.shape.push_back(count);
        box.from_strides.push_back(step * x.strides[i]);
        box.to_strides.push_back(y.strides[i]);
        box.from_offset += from * x.strides[i];
        box.to_offset += to * y.strides[i];
        longer.push_back(std::move(box));
      }
    }
    boxes = std::move(longer);
  }
  return boxes;
}

}  // namespace kiln::codegen

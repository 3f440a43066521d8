// Elements of constants and tables in the order of memory.
#include "codegen/driver/plan_constants.h"

#include <llvm/ADT/STLExtras.h>

#include <cstring>

namespace kiln::codegen {
namespace {

std::shared_ptr<const Buffer> constant_buffer(ir::ConstantOp op) {
  auto value = llvm::cast<mlir::DenseElementsAttr>(op.getValue());
  TensorType type = ir::to_tensor_type(op.getType());
  auto buffer = std::make_shared<Buffer>(static_cast<std::size_t>(type.bytes()));
  std::byte* out = buffer->data();
  auto count = static_cast<std::size_t>(type.elements());
  if (type.dtype == DType::boolean) {
    std::size_t i = 0;
    for (bool b : value.getValues<bool>()) out[i++] = std::byte{b};
    return buffer;
  }
  llvm::ArrayRef<char> raw = value.getRawData();
  std::size_t size = size_of(type.dtype);
  if (value.isSplat())
    for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * size, raw.data(), size);
  else
    std::memcpy(out, raw.data(), raw.size());
  return buffer;
}

}  // namespace

PlanConstants::PlanConstants(mlir::func::FuncOp function) {
  for (mlir::Operation& op : function.front()) count_ += llvm::isa<ir::ConstantOp>(op);
}

void PlanConstants::add(ir::ConstantOp op) { constants_.push_back(constant_buffer(op)); }

BufferRef PlanConstants::add_table(const std::vector<std::int64_t>& values) {
  auto buffer = std::make_shared<Buffer>(values.size() * sizeof(std::int64_t));
  std::memcpy(buffer->data(), values.data(), values.size() * sizeof(std::int64_t));
  tables_.push_back(buffer);
  return {BufferRef::Space::constant, count_ + static_cast<std::uint32_t>(tables_.size()) - 1, 0};
}

const Buffer& PlanConstants::operator[](std::uint32_t number) const {
  return number < count_ ? *constants_[number] : *tables_[number - count_];
}

std::vector<std::shared_ptr<const Buffer>> PlanConstants::take() {
  llvm::append_range(constants_, tables_);
  return std::move(constants_);
}

}  // namespace kiln::codegen

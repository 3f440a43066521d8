// Reads places from attributes, and follows aliases.
#include "codegen/driver/value_places.h"

#include "ir/stages.h"
#include "runtime/fail.h"

namespace kiln::codegen {

namespace {

using Space = BufferRef::Space;

}  // namespace

ValuePlaces::ValuePlaces(mlir::func::FuncOp function) : name_(function.getName()) {
  std::uint32_t inputs = 0;
  for (mlir::BlockArgument a : function.getArguments()) {
    if (auto saved = function.getArgAttrOfType<mlir::IntegerAttr>(a.getArgNumber(), ir::saved_attr)) {
      places_[a] = {Space::arena, 0, saved.getInt()};
      continue;
    }
    if (a.getArgNumber() != inputs++)
      fail_internal("input {} of '{}' follows a saved value", a.getArgNumber(), name_);
    places_[a] = {Space::input, a.getArgNumber(), 0};
  }
}

void ValuePlaces::add_results(mlir::Operation& op) {
  // The dialect has verified that there is a place for each result, and for the scratch memory of bodies.
  auto list = op.getAttrOfType<mlir::ArrayAttr>(ir::buffers_attr);
  if (!list) fail_internal("{} has no buffer for its results", op.getName().getStringRef().str());
  const auto places = list.getAsRange<ir::PlaceAttr>();
  for (auto [place, result] : llvm::zip(places, op.getResults())) places_[result] = buffer_ref(op, place);
  if (llvm::isa<ir::RunLoopOp, ir::RunIfOp>(op))
    scratch_[&op] = buffer_ref(op, llvm::cast<ir::PlaceAttr>(list.getValue().back()));
}

BufferRef ValuePlaces::of(mlir::Value v) const {
  auto found = places_.find(v);
  if (found == places_.end()) fail_internal("a value of '{}' has no buffer", name_);
  return found->second;
}

BufferRef ValuePlaces::buffer_ref(mlir::Operation& op, ir::PlaceAttr where) const {
  const auto number = static_cast<std::uint32_t>(where.getNumber());
  switch (where.getSpace()) {
    case ir::Space::arena:
      return {Space::arena, 0, where.getNumber()};
    case ir::Space::output:
      return {Space::output, number, where.getOffset()};
    case ir::Space::alias:
      return of(op.getOperand(number));
    case ir::Space::constant:
      return {Space::constant, number, where.getOffset()};
    case ir::Space::prepacked:
      return {Space::prepacked, number, where.getOffset()};
    case ir::Space::input:
      return {Space::input, number, where.getOffset()};
  }
  llvm_unreachable("all spaces are listed");
}

}  // namespace kiln::codegen

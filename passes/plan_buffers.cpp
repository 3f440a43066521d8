// Buffer assignment: results in the call's memory, in place, or in the arena.
#include "passes/plan_buffers.h"

#include "ir/prepacked.h"
#include "ir/views.h"
#include "passes/arena.h"
#include "passes/fuse_rows.h"
#include "runtime/control.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/SymbolTable.h>

namespace kiln::passes {
namespace {

/// Whether every element that the users of `v` compute in a fusion depends only on the element of `v` at the
/// same place.
bool used_in_place(mlir::Value v) {
  return llvm::all_of(v.getUsers(), [](mlir::Operation* user) {
    if (ir::is_view_op(user))
      return ir::view_of(user->getResult(0)).is_contiguous() && used_in_place(user->getResult(0));
    return ir::is_pointwise(user) || llvm::isa<ir::YieldOp>(user);
  });
}

/// The memory of a result, of a saved value or of an input of the call.
struct CallMemory {
  ir::Space space;
  std::int64_t number;  ///< as in ir::PlaceAttr
};

class Planner {
 public:
  explicit Planner(mlir::func::FuncOp function) : function_(function), builder_(function.getContext()) {}

  void run() {
    assign_results();
    number_steps();
    write_inputs_in_place();
    reuse_call_memory();
    place_saved();
    for (mlir::Operation& op : block().without_terminator()) place(&op);
    set_attributes();
  }

 private:
  mlir::Block& block() { return function_.front(); }

  /// Whether a step of the call writes the value, so that this pass chooses its memory.
  bool is_written(mlir::Value memory) const {
    mlir::Operation* op = memory.getDefiningOp();
    return op && !llvm::isa<ir::ConstantOp>(op) && !ir::is_prepacked(op);
  }

  //===--- results of the call --------------------------------------------===//

  /// Assigns each visible result of the call a value that one operation writes and that is no other visible
  /// result; inserts copies where needed.
  void assign_results() {
    mlir::Operation* ret = block().getTerminator();
    builder_.setInsertionPoint(ret);
    std::size_t written_back = 0;
    if (auto writes = function_->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::writes_attr))
      written_back = writes.size();
    std::size_t visible = ret->getNumOperands() - written_back;
    for (auto& use : ret->getOpOperands()) {
      const unsigned number = use.getOperandNumber();
      mlir::Value memory = roots_.of(use.get());
      if (!is_written(memory) || call_memory_.contains(memory)) {
        use.set(ir::create_copy(builder_, use.get().getLoc(), use.get()));
        memory = use.get();
      }
      // A further result in the memory of a visible one is copied. Written-back results may share memory.
      if (auto saved = function_.getResultAttrOfType<mlir::IntegerAttr>(number, ir::saved_attr))
        call_memory_[memory] = {ir::Space::arena, saved.getInt()};
      else if (number < visible)
        call_memory_[memory] = {ir::Space::output, number};
    }
  }

  //===--- lifetimes ------------------------------------------------------===//

  /// The kernels of a row fusion run interleaved: they are one step.
  void number_steps() {
    std::size_t step = 0;
    std::optional<std::int64_t> row_fusion;
    for (mlir::Operation& op : block()) {
      if (!llvm::isa<ir::ReshapeOp, ir::ConstantOp, ir::EmptyOp>(op) && !ir::is_prepacked(&op)) {
        auto attr = op.getAttrOfType<mlir::DenseI64ArrayAttr>(row_fusion_attr);
        auto number = attr ? std::optional(attr[0]) : std::nullopt;
        if (!number || number != row_fusion) ++step;
        row_fusion = number;
      }
      for (mlir::Value v : op.getOperands()) {
        mlir::Value memory = roots_.of(v);
        mlir::Operation*& last = last_user_[memory];
        mlir::Operation* made_by = memory.getDefiningOp();
        if (last != &op)
          shared_[memory] = last && step_.lookup(last) == step && !(made_by && step_.lookup(made_by) == step);
        last = &op;
        last_use_[memory] = step;
      }
      for (mlir::Value v : op.getResults()) last_use_.try_emplace(v, step);
      if (llvm::isa<ir::CheckBoundsOp, ir::RunLoopOp, ir::RunIfOp>(op)) last_fallible_step_ = step;
      step_[&op] = step;
    }
    last_step_ = step;
  }

  /// Saved values of a forward entry live to its end, of a backward entry to their last use.
  void place_saved() {
    llvm::DenseMap<std::int64_t, std::size_t> slots;  // by offset
    for (mlir::Operation& op : block())
      for (mlir::Value v : op.getResults()) {
        const auto found = call_memory_.find(v);
        if (found == call_memory_.end() || found->second.space != ir::Space::arena || ir::bytes_of(v) == 0)
          continue;
        const std::int64_t offset = found->second.number;
        if (slots.try_emplace(offset, slots_.size()).second)
          slots_.push_back({ir::bytes_of(v), step_.lookup(&op), last_step_, offset});
      }
    for (mlir::BlockArgument v : function_.getArguments()) {
      const auto offset = function_.getArgAttrOfType<mlir::IntegerAttr>(v.getArgNumber(), ir::saved_attr);
      if (!offset) continue;
      slot_[v] = slots_.size();
      held_by_[slots_.size()] = v;
      slots_.push_back({ir::bytes_of(v), 0, last_use_.lookup(v), offset.getInt()});
    }
  }

  void place(mlir::Operation* op) {
    if (llvm::isa<ir::ReshapeOp>(op)) return;
    if (llvm::isa<ir::RunLoopOp, ir::RunIfOp>(op)) {
      std::size_t step = step_.lookup(op);
      scratch_[op] = slots_.size();
      slots_.push_back({scratch_bytes(op), step, step});
    }
    for (mlir::Value v : op->getResults()) {
      if (!is_written(v) || call_memory_.contains(v) || roots_.of(v) != v) continue;
      std::size_t step = step_.lookup(op);
      auto reused = dying_operand(llvm::dyn_cast<ir::FusionOp>(op), v);
      if (reused) {
        slots_[*reused].end = last_use_.lookup(v);
      } else {
        reused = slots_.size();
        slots_.push_back({ir::bytes_of(v), step, last_use_.lookup(v)});
      }
      slot_[v] = *reused;
      held_by_[*reused] = v;
    }
  }

  /// Bytes that the bodies need besides operands and results: the arena of the body that runs, and in a loop
  /// the second copy of each loop-carried value and the condition.
  std::int64_t scratch_bytes(mlir::Operation* op) {
    auto arena_of = [&](mlir::FlatSymbolRefAttr name) -> std::int64_t {
      auto body = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(op, name);
      auto bytes = body ? body->getAttrOfType<mlir::IntegerAttr>(ir::arena_bytes_attr) : nullptr;
      if (!bytes) llvm::report_fatal_error("a body stands in front of the function that runs it");
      return bytes.getInt();
    };
    if (auto branch = llvm::dyn_cast<ir::RunIfOp>(op))
      return std::max(arena_of(branch.getThenAttr()), arena_of(branch.getOtherwiseAttr()));
    auto loop = llvm::cast<ir::RunLoopOp>(op);
    std::int64_t bytes = arena_of(loop.getBodyAttr());
    for (mlir::Value v : loop.getCarries()) bytes += aligned_bytes(ir::bytes_of(v));
    return loop.getCondition() ? bytes + aligned_bytes(1) : bytes;
  }

  /// The slot of an operand that the result may overwrite.
  std::optional<std::size_t> dying_operand(ir::FusionOp fusion, mlir::Value result) {
    if (!fusion) return std::nullopt;
    for (mlir::Value v : fusion.getOperands()) {
      const mlir::Value memory = roots_.of(v);
      auto slot = slot_.find(memory);
      // Another result of this kernel may have taken the slot. The slot's lifetime does not show it: in a row
      // fusion both values may end in one step.
      if (slot == slot_.end() || held_by_.lookup(slot->second) != memory) continue;
      if (may_overwrite(fusion, memory, result)) return slot->second;
    }
    return std::nullopt;
  }

  //===--- memory of the call's results and inputs -------------------------===//

  /// Computes new contents of inputs in the memory of the inputs where possible. A value that several inputs
  /// get is computed in the first; write-back copies it to the others.
  void write_inputs_in_place() {
    auto writes = function_->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::writes_attr);
    if (!writes) return;
    const auto values = block().getTerminator()->getOperands().take_back(writes.size());
    for (auto [v, input] : llvm::zip(values, writes.asArrayRef())) {
      const CallMemory place{ir::Space::input, input};
      if (const mlir::Value memory = roots_.of(v); !call_memory_.contains(memory) && fits(memory, place))
        call_memory_[memory] = place;
    }
  }

  /// A value that a kernel may overwrite with a value in the call's memory is computed there too.
  void reuse_call_memory() {
    for (mlir::Operation& op : llvm::reverse(block())) {
      auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
      if (!fusion) continue;
      for (mlir::Value result : fusion.getResults()) {
        auto found = call_memory_.find(result);
        if (found == call_memory_.end()) continue;
        const CallMemory place = found->second;
        for (mlir::Value v : fusion.getOperands()) {
          mlir::Value memory = roots_.of(v);
          if (!is_written(memory) || call_memory_.contains(memory) || !fits(memory, place) ||
              !may_overwrite(fusion, memory, result))
            continue;
          call_memory_[memory] = place;
          break;
        }
      }
    }
  }

  /// Whether the value may be computed at the place. The memory of a result or of a saved value has no
  /// earlier contents. That of an input is overwritten when its old contents are no longer needed. Thus all
  /// reads precede the step, or the step is a kernel that reads each element where it writes it; and no later
  /// step may fail, nor the step itself after it has begun to write.
  bool fits(mlir::Value memory, CallMemory place) {
    if (place.space != ir::Space::input) return true;
    const mlir::Value input = function_.getArgument(static_cast<unsigned>(place.number));
    mlir::Operation* op = memory.getDefiningOp();
    // The users of an empty array write parts of it.
    if (llvm::isa<ir::EmptyOp>(op) || step_.lookup(op) <= last_fallible_step_) return false;
    if (ir::ranked(memory).getElementType() != ir::ranked(input).getElementType() ||
        ir::bytes_of(memory) != ir::bytes_of(input))
      return false;
    if (!last_user_.contains(input) || last_use_.lookup(input) < step_.lookup(op)) return true;
    auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
    return fusion && may_overwrite(fusion, input, memory);
  }

  /// Whether the kernel is the last reader of the memory and reads each element at the place where it writes
  /// one, before it writes there. This holds for pointwise kernels and for the epilogue of a contraction.
  bool may_overwrite(ir::FusionOp fusion, mlir::Value memory, mlir::Value result) {
    if (last_user_.lookup(memory) != fusion.getOperation() || shared_.lookup(memory) ||
        ir::bytes_of(memory) != ir::bytes_of(result))
      return false;
    for (mlir::Operation& op : fusion.getBody().front().without_terminator())
      if (!ir::is_pointwise(&op) && !ir::is_view_op(&op) && !ir::is_product(&op) &&
          !llvm::isa<ir::ConstantOp, ir::IotaOp, ir::RandomUniformOp, ir::PackOp>(op))
        return false;
    for (auto [operand, argument] : llvm::zip(fusion.getOperands(), fusion.getBody().getArguments()))
      if (roots_.of(operand) == memory && !used_in_place(argument)) return false;
    return true;
  }

  //===--- the plan as attributes -----------------------------------------===//

  ir::PlaceAttr place_attr(ir::Space space, std::int64_t number, std::int64_t offset = 0) {
    return ir::PlaceAttr::get(function_.getContext(), space, number, offset);
  }

  void set_attributes() {
    const auto saved = function_->getAttrOfType<mlir::IntegerAttr>(ir::saved_bytes_attr);
    ArenaPlan arena = plan_arena(slots_, saved ? saved.getInt() : 0);
    std::int64_t constants = 0, prepacked = 0;
    for (mlir::Operation& op : block().without_terminator()) {
      llvm::SmallVector<mlir::Attribute, 2> places;
      std::int64_t preceding = 0;  // bytes of the operation's results so far
      for (mlir::Value v : op.getResults()) {
        if (auto operand = ir::aliased_operand(llvm::cast<mlir::OpResult>(v)))
          places.push_back(place_attr(ir::Space::alias, *operand));
        else if (llvm::isa<ir::ConstantOp>(op))
          places.push_back(place_attr(ir::Space::constant, constants++));
        else if (ir::is_prepacked(&op))
          places.push_back(place_attr(ir::Space::prepacked, prepacked,
                                      std::exchange(preceding, preceding + aligned_bytes(ir::bytes_of(v)))));
        else if (auto found = call_memory_.find(v); found != call_memory_.end())
          places.push_back(place_attr(found->second.space, found->second.number));
        else
          places.push_back(place_attr(ir::Space::arena, arena.offsets[slot_.lookup(v)]));
      }
      prepacked += ir::is_prepacked(&op);
      if (auto scratch = scratch_.find(&op); scratch != scratch_.end())
        places.push_back(place_attr(ir::Space::arena, arena.offsets[scratch->second]));
      op.setAttr(ir::buffers_attr, builder_.getArrayAttr(places));
    }
    function_->setAttr(ir::arena_bytes_attr, builder_.getI64IntegerAttr(arena.bytes));
    function_->setAttr(ir::arena_lower_bound_attr, builder_.getI64IntegerAttr(arena.lower_bound));
  }

  mlir::func::FuncOp function_;
  mlir::OpBuilder builder_;
  ir::AliasRoots roots_;
  llvm::DenseMap<mlir::Value, CallMemory> call_memory_;      // of values outside of the arena
  llvm::DenseMap<mlir::Value, std::size_t> last_use_;        // by alias root: the step
  llvm::DenseMap<mlir::Value, mlir::Operation*> last_user_;  // by alias root
  // By alias root: another kernel of the last user's row fusion reads it too, possibly other rows.
  llvm::DenseMap<mlir::Value, bool> shared_;
  llvm::DenseMap<mlir::Operation*, std::size_t> step_;
  std::size_t last_step_ = 0;
  std::size_t last_fallible_step_ = 0;  // of the last operation that can fail, if any
  llvm::DenseMap<mlir::Value, std::size_t> slot_;
  llvm::DenseMap<std::size_t, mlir::Value> held_by_;  // by slot: the value assigned to it last
  llvm::DenseMap<mlir::Operation*, std::size_t> scratch_;
  std::vector<Lifetime> slots_;
};

class PlanBuffers final : public mlir::PassWrapper<PlanBuffers, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanBuffers)
  llvm::StringRef getArgument() const override { return "kiln-plan-buffers"; }
  llvm::StringRef getDescription() const override { return "Assign buffers to all values"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<ir::KilnDialect>();
  }
  void runOnOperation() override {
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) Planner(function).run();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_plan_buffers_pass() { return std::make_unique<PlanBuffers>(); }

}  // namespace kiln::passes

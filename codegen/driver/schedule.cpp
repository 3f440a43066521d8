// The plan of a function: its steps, their kernels, and its prepacked constants.
#include "codegen/driver/schedule.h"

#include "codegen/driver/debug_info.h"
#include "codegen/driver/kernel_cache.h"
#include "codegen/driver/kernel_work.h"
#include "codegen/driver/operand_memory.h"
#include "codegen/driver/packing.h"
#include "codegen/driver/plan_constants.h"
#include "codegen/driver/value_places.h"
#include "codegen/emit/row_fusion.h"
#include "ir/stages.h"
#include "ir/views.h"
#include "passes/fuse_rows.h"
#include "runtime/disk_cache.h"
#include "runtime/fail.h"

#include <llvm/ADT/TypeSwitch.h>

#include <fmt/ranges.h>

namespace kiln::codegen {
namespace {

using Space = BufferRef::Space;

llvm::StringRef word_of_control(mlir::Operation* op) {
  return llvm::TypeSwitch<mlir::Operation*, llvm::StringRef>(op)
      .Case([](ir::RunLoopOp) { return "loop"; })
      .Case([](ir::RunIfOp) { return "branch"; })
      .Default([](mlir::Operation*) { return "check"; });
}

/// Lists all steps first, so that their kernels can be made at once.
class Scheduler {
 public:
  Scheduler(mlir::func::FuncOp function, const Backend& backend, LoadedKernels& loaded, Stages* stages)
      : function_(function),
        backend_(backend),
        loaded_(loaded),
        stages_(stages),
        places_(function),
        constants_(function) {}

  ExecutablePlan run() {
    plan_.name = function_.getName().str();
    plan_.target = kernel_stamp(backend_);
    const auto number = [&](llvm::StringRef attr) -> std::int64_t {
      const auto value = function_->getAttrOfType<mlir::IntegerAttr>(attr);
      return value ? value.getInt() : 0;
    };
    plan_.saved_bytes = number(ir::saved_bytes_attr);
    plan_.arena_bytes = number(ir::arena_bytes_attr);
    plan_.arena_lower_bound = number(ir::arena_lower_bound_attr);
    plan_.random_draws = number(ir::draws_attr);
    for (mlir::Value a : function_.getArguments())
      if (place(a).space == Space::input) plan_.inputs.push_back(ir::to_tensor_type(a.getType()));
    auto writes = function_->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::writes_attr);
    std::size_t write_count = writes ? writes.size() : 0;
    std::size_t first_write = function_.getNumResults() - write_count;
    for (unsigned i = 0; i < first_write; ++i)
      if (!function_.getResultAttr(i, ir::saved_attr))
        plan_.outputs.push_back(ir::to_tensor_type(function_.getResultTypes()[i]));

    for (mlir::Operation& op : function_.front().without_terminator()) {
      places_.add_results(op);
      const std::size_t first = planned_.size();
      schedule(op);
      if (is_prepacked(op)) keep(op, first);
    }
    plan_.constants = constants_.take();
    finish_steps();
    mlir::Operation* end = function_.front().getTerminator();
    for (std::size_t i = 0; i < write_count; ++i) {
      mlir::Value v = end->getOperand(static_cast<unsigned>(first_write + i));
      plan_.write_backs.push_back(
          {static_cast<std::size_t>(writes[i]), place(v), ir::to_tensor_type(v.getType()).bytes()});
    }
    return std::move(plan_);
  }

 private:
  BufferRef place(mlir::Value v) const { return places_.of(v); }

  void schedule(mlir::Operation& op) {
    llvm::TypeSwitch<mlir::Operation*>(&op)
        .Case([&](ir::ConstantOp c) { constants_.add(c); })
        .Case<ir::ReshapeOp, ir::EmptyOp>([](mlir::Operation*) {})
        .Case([&](ir::FusionOp f) {
          for (mlir::OpResult r : f.getResults())
            if (auto pad = ir::yielded_as(r).get().getDefiningOp<ir::PadOp>()) add_border(pad, r);
          add_kernels(f);
        })
        .Case([&](ir::ConcatenateOp c) { schedule_concatenate(c); })
        .Case([&](ir::PadOp p) { schedule_pad(p); })
        .Case([&](ir::InsertOp i) { schedule_insert(i); })
        .Case([&](ir::RunLoopOp l) { schedule_loop(l); })
        .Case([&](ir::RunIfOp i) { schedule_branch(i); })
        .Case([&](ir::ScatterOp s) { schedule_scatter(s); })
        .Case([&](ir::CheckBoundsOp c) { schedule_check(c); })
        .Default([&](mlir::Operation* o) {
          if (!ir::may_stand(o, ir::Stage::kernels))
            fail_internal("{} reached code generation", o->getName().getStringRef().str());
          add_kernels(o);
        });
  }

  /// The kernels of an operation on all its operands and results.
  void add_kernels(mlir::Operation* op) {
    llvm::SmallVector<mlir::Value> all(op->getOperands());
    llvm::append_range(all, op->getResults());
    add_kernels(op, all);
  }
  void add_kernels(mlir::Operation* op, llvm::ArrayRef<mlir::Value> operands) {
    for (Launch& launch : backend_.launch(op)) add(std::move(launch), operands, op);
  }
  /// The kernels of a pad's border, which write into `result`.
  void add_border(ir::PadOp pad, mlir::Value result) {
    for (Launch& launch : backend_.launch(pad))
      add(std::move(launch), {result}, pad, ir::bytes_of(result) - ir::bytes_of(pad.getX()));
  }

  /// `moved_bytes` as PlannedStep's.
  void add(Launch launch, llvm::ArrayRef<mlir::Value> operands, mlir::Operation* op,
           std::int64_t moved_bytes = -1) {
    if (launch.extent == 0) return;
    if (launch.request.words.empty()) launch.request.words = words_of(op);
    if (launch.generic) launch.generic->request.words = launch.request.words;
    Step step;
    std::vector<std::int64_t> bytes;
    for (mlir::Value v : operands) {
      step.operands.push_back(place(v));
      bytes.push_back(ir::to_tensor_type(v.getType()).bytes());
    }
    if (launch.uses_random) step.operands.push_back({Space::rng, 0, 0});
    if (!launch.table.empty()) step.operands.push_back(constants_.add_table(launch.table));
    bytes.resize(step.operands.size());  // nothing overlaps the rest
    step.locations = lines_of(op->getLoc());
    planned_.push_back({std::move(step),
                        std::move(bytes),
                        std::nullopt,
                        std::nullopt,
                        op->getAttrOfType<mlir::DenseI64ArrayAttr>(passes::row_fusion_attr),
                        op->getAttrOfType<mlir::DenseI64ArrayAttr>(passes::next_rows_attr),
                        std::move(launch.generic),
                        {op},
                        moved_bytes});
    set_kernel(planned_.back(), std::move(launch));
  }

  static void set_kernel(PlannedStep& p, Launch launch) {
    p.step.params = std::move(launch.params);
    p.step.extent = launch.extent;
    p.step.grain = launch.grain;
    p.step.scratch_bytes = launch.scratch_bytes;
    p.step.name = launch.request.name;
    p.request = std::move(launch.request);
  }

  /// Generic kernels that a step could have had are remembered for later plans only.
  void choose_generic() {
    llvm::SmallVector<PlannedStep*> chosen;
    for (PlannedStep& p : planned_)
      if (p.generic && runs_generic(*p.request, p.generic->request, backend_, loaded_.generic))
        chosen.push_back(&p);
    for (const PlannedStep& p : planned_)
      if (p.generic) remember_generic(p.generic->request, backend_);
    for (PlannedStep* p : chosen) {
      set_kernel(*p, std::move(*p->generic));
      p->step.name += " (generic)";  // a Profile may see the special one, too
    }
    loaded_.are_generic |= !chosen.empty();
  }

  /// The name of a step: its operators and its computation, "fc1+relu.dot_add_max". Further steps of the same
  /// name get a number: "fc1+relu.dot_add_max#2".
  std::string step_name(const std::string& operators, std::string_view computation) {
    std::string name = fmt::format("{}.{}", operators, computation);
    if (const int number = ++loaded_.names[name]; number > 1) name += fmt::format("#{}", number);
    return name;
  }

  void name_kernels() {
    for (PlannedStep& p : planned_) {
      if (!p.request) continue;
      p.step.name = p.request->name = step_name(p.request->name, p.request->words);
      if (p.generic) p.generic->request.name = p.step.name;
    }
  }

  void finish_steps() {
    planned_ = fuse_rows(std::move(planned_), *backend_.code().machine);
    name_kernels();
    choose_generic();
    std::vector<KernelRequest> requests;
    std::vector<std::string> numbers;  // of lines; for reports
    for (PlannedStep& p : planned_) {
      if (!p.request) continue;
      numbers.push_back(describe(p));
      const bool has_scratch = p.step.scratch_bytes > 0;
      p.request->arguments = {p.step.operands.size() + has_scratch, p.step.params.size(), has_scratch};
      if (backend_.traits().code_depends_on_memory) {
        p.request->arguments.memory = memory_of(p.step.operands, p.operand_bytes);
        p.request->key += fmt::format(" memory {}", fmt::join(p.request->arguments.memory, ","));
      }
      requests.push_back(std::move(*p.request));
    }
    auto kernels = get_kernels(*function_.getContext(), requests, backend_, plan_.name, stages_, numbers,
                               loaded_.counts);
    auto kernel = kernels.begin();
    for (PlannedStep& p : planned_) {
      if (p.request) p.step.kernel = kernel_number(*kernel++, p.step.name);
      (p.prepacked ? plan_.prepacked[*p.prepacked].steps : plan_.steps).push_back(std::move(p.step));
    }
  }

  /// Adds the work of a step to the report, if there is one. Returns the numbers of its operations' lines.
  std::string describe(const PlannedStep& p) {
    if (!stages_ || !stages_->report()) return {};
    KernelReport& report = stages_->report()->kernels[p.step.name];
    report = work_.of(p.operations, p.moved_bytes);
    report.lines = lines_of(p.request->location);
    return line_numbers(p.operations, report.lines);
  }

  /// `name`: of the step. The kernel itself may have been made for another network.
  std::uint32_t kernel_number(const std::shared_ptr<const Kernel>& kernel, const std::string& name) {
    const auto [at, unseen] =
        kernel_numbers_.try_emplace(kernel.get(), static_cast<std::uint32_t>(plan_.kernels.size()));
    if (unseen) {
      plan_.kernels.push_back({name, kernel->key, kernel->symbol, kernel->object, kernel->gpu});
      loaded_.by_key.emplace(kernel->key, kernel);
    }
    return at->second;
  }

  bool is_prepacked(mlir::Operation& op) const {
    return op.getNumResults() > 0 && !llvm::isa<ir::ReshapeOp>(op) &&
           place(op.getResult(0)).space == Space::prepacked;
  }

  /// Moves the steps of `op`, from `first` on, out of the call.
  void keep(mlir::Operation& op, std::size_t first) {
    const auto number = static_cast<std::uint32_t>(plan_.prepacked.size());
    PrepackedPlan prepacked{};
    for (mlir::Value v : op.getResults())
      prepacked.bytes = std::max(prepacked.bytes, place(v).offset + ir::to_tensor_type(v.getType()).bytes());
    // Key of the prepacked constant, independent of the executable: its inputs, and the kernels that derive
    // it with their parameters and constants.
    std::string text;
    for (mlir::Value v : op.getOperands()) text += ";" + identity(place(v), number, prepacked.inputs);
    for (PlannedStep& p : llvm::MutableArrayRef(planned_).drop_front(first)) {
      p.prepacked = number;
      text += p.request->key;
      for (std::int64_t n : p.step.params) text += "," + std::to_string(n);
      for (const BufferRef& r : p.step.operands) text += ";" + identity(r, number, prepacked.inputs);
    }
    prepacked.key = cache_key(text).lo;
    prepacked.packing = packing_of(&op);
    plan_.prepacked.push_back(std::move(prepacked));
  }

  /// The identity of memory that a step of prepacked constant `number` reads or writes. Parameters are
  /// numbered by their place in `inputs`, which grows.
  std::string identity(const BufferRef& ref, std::uint32_t number, std::vector<std::size_t>& inputs) {
    const auto input = [&](std::size_t i) {
      if (!llvm::is_contained(inputs, i)) inputs.push_back(i);
      return std::to_string(llvm::find(inputs, i) - inputs.begin());
    };
    const std::string at = "+" + std::to_string(ref.offset);
    if (ref.space == Space::input) return "input" + input(ref.index) + at;
    if (ref.space == Space::constant) {
      const Buffer& data = constants_[ref.index];
      const CacheKey key =
          cache_key({reinterpret_cast<const char*>(data.data()), static_cast<std::size_t>(data.bytes())});
      return "constant" + std::to_string(key.lo) + at;
    }
    if (ref.index == number) return "here" + at;
    const PrepackedPlan& other = plan_.prepacked[ref.index];
    std::string text = "prepacked" + std::to_string(other.key) + at;
    for (std::size_t i : other.inputs) text += "," + input(i);
    return text;
  }

  /// `x` into the part of another array.
  void copy_into(mlir::Value x, const ir::View& part, mlir::Operation* op) {
    const ir::View from = ir::View::whole(x);
    const StridedBox box{from.shape, from.strides, part.strides, 0, part.offset};
    const DType dtype = ir::to_tensor_type(x.getType()).dtype;
    add(backend_.launch_copy(box, dtype, op->getLoc()), {x, part.base}, op, 2 * ir::bytes_of(x));
  }

  void schedule_concatenate(ir::ConcatenateOp concat) {
    ir::View part = ir::View::whole(concat.getResult());
    const auto axis = static_cast<unsigned>(concat.getAxis());
    for (mlir::Value v : concat.getParts()) {
      copy_into(v, part, concat);
      part.offset += ir::ranked(v).getDimSize(axis) * part.strides[axis];
    }
  }

  void schedule_pad(ir::PadOp pad) {
    add_border(pad, pad.getResult());
    copy_into(pad.getX(), ir::inner_of(pad), pad);
  }

  /// The result of an operation that then writes into it, as a copy of x unless it lies there.
  void schedule_copy(mlir::Value x, mlir::Value result) {
    const BufferRef from = place(x), to = place(result);
    if (from.space == to.space && from.index == to.index && from.offset == to.offset) return;
    copy_into(x, ir::View::whole(result), result.getDefiningOp());
  }

  void schedule_scatter(ir::ScatterOp scatter) {
    schedule_copy(scatter.getX(), scatter.getResult());
    add_kernels(scatter, {scatter.getUpdates(), scatter.getIndices(), scatter.getResult()});
  }

  void schedule_insert(ir::InsertOp insert) {
    schedule_copy(insert.getX(), insert.getResult());
    copy_into(insert.getUpdate(), ir::replaced_by(insert), insert);
  }

  std::uint32_t body(mlir::Operation* op, mlir::FlatSymbolRefAttr name) {
    auto function = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(op, name);
    plan_.bodies.push_back(make_plan(function, backend_, loaded_, stages_));
    return static_cast<std::uint32_t>(plan_.bodies.size() - 1);
  }

  template <class Control>
  void add_body(mlir::Operation* op, Control control, std::vector<BufferRef> operands) {
    for (mlir::Value v : op->getResults()) operands.push_back(place(v));
    operands.push_back(places_.scratch_of(op));
    operands.push_back({Space::rng, 0, 0});
    add(op, std::move(control), std::move(operands));
  }

  template <class Control>
  void add(mlir::Operation* op, Control control, std::vector<BufferRef> operands) {
    Step step;
    step.control = std::move(control);
    step.operands = std::move(operands);
    step.name = step_name(name_of_location(op->getLoc()), word_of_control(op));
    step.locations = lines_of(op->getLoc());
    planned_.push_back({std::move(step), {}});
  }

  void schedule_loop(ir::RunLoopOp op) {
    const LoopPlan loop{.body = body(op, op.getBodyAttr()),
                        .steps = static_cast<std::int64_t>(op.getSteps()),
                        .draws = static_cast<std::int64_t>(op.getDraws()),
                        .carries = op.getCarries().size(),
                        .rows = op.getRows().size(),
                        .invariants = op.getInvariants().size(),
                        .outputs = op.getNumResults() - op.getCarries().size(),
                        .conditional = op.getCondition() != nullptr};
    std::vector<BufferRef> operands;
    for (mlir::Value v : op.getOperands()) operands.push_back(place(v));
    add_body(op, loop, std::move(operands));
  }

  void schedule_branch(ir::RunIfOp op) {
    std::vector<BufferRef> operands;
    for (mlir::Value v : op.getArguments()) operands.push_back(place(v));
    operands.push_back(place(op.getCondition()));
    const std::uint32_t then = body(op, op.getThenAttr()), otherwise = body(op, op.getOtherwiseAttr());
    add_body(op, BranchPlan{then, otherwise}, std::move(operands));
  }

  void schedule_check(ir::CheckBoundsOp check) {
    const auto at = check.getLoc()->findInstanceOf<mlir::FileLineColLoc>();
    add(check,
        BoundsCheck{.shape = ir::to_tensor_type(check.getIndices().getType()).shape,
                    .extent = static_cast<std::int64_t>(check.getExtent()),
                    .node = check.getNode().str(),
                    .line = at ? SourceLocation(at.getFilename().str(), at.getLine(), at.getColumn()).str()
                               : std::string()},
        {place(check.getIndices())});
  }

  mlir::func::FuncOp function_;
  const Backend& backend_;
  LoadedKernels& loaded_;
  Stages* stages_;
  ExecutablePlan plan_;
  llvm::DenseMap<const Kernel*, std::uint32_t> kernel_numbers_;
  ValuePlaces places_;
  PlanConstants constants_;
  KernelWork work_{function_};
  std::vector<PlannedStep> planned_;
};

}  // namespace

ExecutablePlan make_plan(mlir::func::FuncOp function, const Backend& backend, LoadedKernels& loaded,
                         Stages* stages) {
  return Scheduler(function, backend, loaded, stages).run();
}

}  // namespace kiln::codegen

// Reductions. If partial results are interleaved, a warp reduces blocks of 1024 elements. Lane j has the
// partial results j and j + 32, so that neighbouring lanes read neighbouring elements; shuffles combine all
// lanes in the order that kiln.reduce in ir/KilnOps.td defines. The results of blocks are interleaved partial
// results again: warps of a block compute 64 of them at a time, which meet in shared memory. A single thread
// computes a result of chains, or of few elements far apart.
#include "codegen/cuda/division.h"
#include "codegen/emit/reduction_body.h"

namespace kiln::codegen {
namespace {

/// One result of interleaved64 by a warp or a block.
class TeamReduction : ReductionEmitter {
 public:
  using Value = mlir::Value;

  TeamReduction(KernelBuilder& e, const Reduction& red, Value params, Team team)
      : ReductionEmitter(e, red, params), team_(team), lane_(team_.lane()) {
    if (shares(red, team))
      for (std::size_t i = 0; i < count(); ++i) shared_.push_back(team_.shared(red.dtype, partials));
  }

  /// Whether all warps of the team have a part of each result; else each warp has separate results.
  static bool shares(const Reduction& red, const Team& team) { return team.warps() > 1 && red.levels > 1; }

  /// The results at a point, in lane 0 of each warp that reduces it.
  Values reduce(LoopPoint& at) {
    const Value zero = e_.index(0);
    return red_.levels == 1 ? block(at, zero, extent_) : block_of_results(at, red_.levels, zero, extent_);
  }

 private:
  /// Partial results j and j + 32 of lane j, of all reductions.
  static constexpr std::size_t halves = 2;

  /// p[j] op p[j + 32], p[j + 16] and so on.
  Values tree(mlir::ValueRange p) {
    Values v = combine(group(p, 0), group(p, 1));
    for (int apart = static_cast<int>(Team::warp) / 2; apart > 0; apart /= 2)
      v = combine(v, each_of(v, [&](Value own) { return team_.from_further(own, apart); }));
    return v;
  }

  /// The elements [begin, end) of a block of elements, by the warp.
  Values block(LoopPoint& at, Value begin, Value end) {
    // Loads of several stripes are in flight at once.
    const int stripes = is_light(red_.before) ? 4 : 1;
    const Value step = e_.index(stripes * partials), stripe = e_.index(partials);
    const Value whole = e_.add(begin, e_.mul(e_.div(e_.sub(end, begin), step), step));
    const mlir::ValueRange most =
        e_.loop(begin, whole, step, identities(1, halves), [&](Value r, mlir::ValueRange carried) {
          llvm::SmallVector<Values> x;
          for (int i = 0; i < 2 * stripes; ++i)
            x.push_back(element(at, {e_.add(e_.add(r, lane_), e_.index(i * Team::warp)), 1}));
          Values p[] = {Values(group(carried, 0)), Values(group(carried, 1))};
          for (std::size_t i = 0; i < x.size(); ++i) p[i % halves] = accumulate(p[i % halves], x[i]);
          return llvm::to_vector(llvm::concat<Value>(p[0], p[1]));
        });
    return tree(e_.loop(whole, end, stripe, most, [&](Value r, mlir::ValueRange carried) {
      return of_halves([&](std::size_t half, Value place) {
        const Value own = e_.add(r, place);
        const mlir::ValueRange old = group(carried, half);
        return if_else(
            e_.less(own, end),
            [&] {
              return accumulate(old, element(at, {own, 1}));
            },
            old);
      });
    }));
  }

  /// `body(half, number)` for both partial results of this lane.
  Values of_halves(llvm::function_ref<Values(std::size_t, Value)> body) {
    Values all;
    for (std::size_t half = 0; half < halves; ++half)
      all.append(body(half, e_.add(lane_, e_.index(static_cast<std::int64_t>(half) * Team::warp))));
    return all;
  }

  /// A block of results of the level below. All lanes of all warps that reduce it go through the same loops.
  Values block_of_results(LoopPoint& at, int level, Value begin, Value end) {
    const Value one = e_.index(1), length = e_.index(elements_of(level)), all = e_.index(partials);
    const Value results = e_.div(e_.add(e_.sub(end, begin), e_.sub(length, one)), length);
    const auto result = [&](Value i) {
      const Value from = e_.add(begin, e_.mul(i, length)), to = e_.min(e_.add(from, length), end);
      return level == 2 ? block(at, from, to) : block_of_results(at, level - 1, from, to);
    };
    return tree(
        e_.loop(e_.index(0), results, all, identities(1, halves), [&](Value first, mlir::ValueRange p) {
          const Value last = e_.min(e_.add(first, all), results);
          return !shared_.empty() && level == 2 ? by_warps(first, last, p, result)
                                                : in_turn(first, last, p, result);
        }));
  }

  using Result = llvm::function_ref<Values(Value)>;

  /// Adds the results [first, last) of 64 to the partial results; warp w computes w, w + 8 and so on.
  Values by_warps(Value first, Value last, mlir::ValueRange p, Result result) {
    e_.loop(e_.add(first, team_.warp_number()), last, e_.index(team_.warps()), [&](Value i) {
      const Values r = result(i);
      e_.when(e_.less(lane_, e_.index(1)), [&] {
        for (auto [value, array] : llvm::zip(r, shared_))
          e_.store_scalar(value, team_.shared_element(array, e_.sub(i, first), red_.dtype), red_.dtype);
      });
    });
    team_.barrier();
    const Values next = of_halves([&](std::size_t half, Value own) {
      const mlir::ValueRange old = group(p, half);
      const auto load = [&](Value array) {
        return e_.load_scalar(team_.shared_element(array, own, red_.dtype), red_.dtype);
      };
      return if_else(
          e_.less(e_.add(first, own), last), [&] { return combine(old, each_of(shared_, load)); }, old);
    });
    team_.barrier();
    return next;
  }

  /// The same, one after the other, by each warp.
  Values in_turn(Value first, Value last, mlir::ValueRange p, Result result) {
    return Values(e_.loop(first, last, e_.index(1), p, [&](Value i, mlir::ValueRange carried) {
      const Values r = each_of(result(i), [&](Value v) { return team_.from_first(v); });
      return of_halves([&](std::size_t half, Value own) {
        const mlir::ValueRange old = group(carried, half);
        const Value is_own = equal(e_.add(first, own), i);
        Values next;
        for (auto [sum, before] : llvm::zip(combine(old, r), old))
          next.push_back(e_.select(is_own, sum, before));
        return next;
      });
    }));
  }

  Value equal(Value x, Value y) {
    return mlir::arith::CmpIOp::create(e_.b, e_.loc, mlir::arith::CmpIPredicate::eq, x, y);
  }

  Team team_;
  Value lane_;
  Values shared_;  // an array of partial results of each reduction, if warps share results
};

/// One result of pairwise32 by a thread.
class ThreadChains : ReductionEmitter {
 public:
  using Value = mlir::Value;
  ThreadChains(KernelBuilder& e, const Reduction& red, Value params) : ReductionEmitter(e, red, params) {}

  Values reduce(LoopPoint& at) { return halves(at, red_.halvings(), e_.index(0), extent_); }

 private:
  /// The elements [begin, end), at most 2^level chains. A loop goes through both halves, so that the code of
  /// all levels is a nest of loops. (The identity op a chain's result changes nothing.)
  Values halves(LoopPoint& at, int level, Value begin, Value end) {
    if (level == 0) return chain(at, begin, end);
    const Value half = e_.index(chain_length << (level - 1));
    return Values(e_.loop(begin, end, half, identities(1), [&](Value from, mlir::ValueRange sum) {
      return combine(sum, halves(at, level - 1, from, e_.min(e_.add(from, half), end)));
    }));
  }
  /// Elements are loaded four at a time, so that their loads are in flight at once.
  Values chain(LoopPoint& at, Value begin, Value end) {
    const int together = is_light(red_.before) ? 4 : 1;
    const Value step = e_.index(together), one = e_.index(1);
    const Value whole = e_.add(begin, e_.mul(e_.div(e_.sub(end, begin), step), step));
    const auto add = [&](int count) {
      return [&, count](Value r, mlir::ValueRange sum) {
        llvm::SmallVector<Values> x;
        for (int i = 0; i < count; ++i) x.push_back(element(at, {e_.add(r, e_.index(i)), 1}));
        Values next(sum);
        for (const Values& v : x) next = accumulate(next, v);
        return next;
      };
    };
    const mlir::ValueRange most = e_.loop(begin, whole, step, identities(1), add(together));
    return Values(together == 1 ? most : e_.loop(whole, end, one, most, add(1)));
  }
};

/// Emits the kernel with a thread per result.
template <class Way>
void emit_by_threads(KernelBuilder& e, const Reduction& red, const Division& division,
                     const KernelArgs& args) {
  division.emit_by_threads(
      e, args, [&](LoopPoint& at) { emit_epilogue(e, red, at, Way(e, red, args.params).reduce(at)); });
}

/// Emits the kernel with a team per result.
void emit_by_teams(KernelBuilder& e, const Reduction& red, const Division& division, unsigned threads,
                   const KernelArgs& args) {
  Team team(e, threads);
  const bool shares = TeamReduction::shares(red, team);
  TeamReduction reduction(e, red, args.params, team);
  const auto result = [&](LoopPoint& at) {
    const Values results = reduction.reduce(at);
    const mlir::Value number = shares ? team.thread() : team.lane();
    e.when(e.less(number, e.index(1)), [&] { emit_epilogue(e, red, at, results); });
  };
  if (!division.by_rows()) return division.emit_single(e, args, result);
  // Without a part in each result, each warp has separate results.
  const mlir::Value first = shares ? e.index(0) : team.warp_number();
  division.emit(e, args, first, e.index(shares ? 1 : team.warps()), result);
}

/// The plan of a kernel's code: equal plans, equal code.
struct GpuReductionPlan {
  bool by_teams;     // a team has a result, otherwise a thread
  unsigned threads;  // of the team
  DivisionPlan division;
  ReductionPlan reduction;
  static constexpr auto fields() {
    return std::tuple(PlanField{"by_teams", &GpuReductionPlan::by_teams},
                      PlanField{"threads", &GpuReductionPlan::threads},
                      PlanField{"division", &GpuReductionPlan::division},
                      PlanField{"reduction", &GpuReductionPlan::reduction});
  }
};

/// The team of a kernel that is in no row fusion: of a result.
unsigned team_for(const Reduction& red) {
  constexpr std::int64_t long_row = 8 * block_length, many_rows = 1024;
  const bool block = red.extent > long_row || (red.levels > 1 && red.nest.elements() < many_rows);
  return block ? Team::most : Team::warp;
}

}  // namespace

Launch launch_gpu_reduce(ir::FusionOp fusion, const CpuTarget& code) {
  Reduction red = plan_reduction(fusion, code);
  const bool by_teams = red.interleaved64 && !red.register_tree;
  red.along_reduced = by_teams;
  const auto rows = Rows::of(fusion);
  Division division(red.nest, rows);
  const unsigned threads = rows ? rows->threads : by_teams ? team_for(red) : 1;
  const GpuReductionPlan plan{by_teams, threads, division.plan(), red.plan()};
  Launch launch{{name_of_location(fusion.getLoc()), plan_key("reduce by threads", plan), fusion.getLoc(), {}},
                {}};
  if (rows)
    division.set(launch.request);
  else if (!by_teams)
    launch.request.gpu.schedule = "a thread per result";
  else
    launch.request.gpu = threads == Team::warp ? warp_per_row() : block_per_row(threads);
  launch.extent = division.extent();
  append_params(launch.params, red);
  division.append_params(launch.params);
  launch.request.emit = [=](KernelBuilder& e, const KernelArgs& args) {
    if (by_teams)
      emit_by_teams(e, red, division, threads, args);
    else if (red.register_tree)
      emit_by_threads<RegisterTree>(e, red, division, args);
    else
      emit_by_threads<ThreadChains>(e, red, division, args);
  };
  return launch;
}

}  // namespace kiln::codegen

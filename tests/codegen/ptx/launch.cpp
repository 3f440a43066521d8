// Runs the threads of a launch and checks their accesses and barriers.
#include "launch.h"

#include "fiber.h"
#include "tests/support/flushing.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <stdexcept>

namespace kiln::ptx {
namespace {

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}
std::uint64_t seed() {
  static const std::uint64_t seed = number_of("KILN_PTX_SEED", 1);
  return seed;
}

/// Each has a mark.
constexpr std::uint64_t max_threads = std::uint64_t{1} << 31;

/// The numbers below `count` in an order that the seed chooses.
class Order {
 public:
  explicit Order(std::uint64_t count) : count_(count) {
    first_ = seed() % count;
    stride_ = (seed() * 2654435761U) % count;
    while (std::gcd(stride_, count) != 1) ++stride_;
  }
  std::uint64_t operator[](std::uint64_t i) const { return (first_ + i * stride_) % count_; }

 private:
  std::uint64_t count_, first_, stride_;
};

}  // namespace

/// Memory that successive launches reuse: the device runs one at a time.
struct Machine {
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;
  std::vector<std::unique_ptr<Fiber>> fibers;  // by thread of a block
  std::vector<std::byte> local, shared;        // with room for alignment
  std::unique_ptr<Shadow> shared_shadow;
  Launch* launch = nullptr;

  static Machine& get() {
    static auto& machine = *new Machine;
    return machine;
  }
  std::byte* local_of(std::size_t i, std::size_t bytes) {
    return aligned(local) + i * ((bytes + 15) / 16 * 16);
  }
  static std::byte* aligned(std::vector<std::byte>& v) {
    return v.data() + (128 - reinterpret_cast<std::uintptr_t>(v.data()) % 128) % 128;
  }

  /// Fiber i for each thread i, over and over.
  static void run_thread(void* number) {
    const auto i = reinterpret_cast<std::uintptr_t>(number);
    for (;;) {
      Launch& l = *get().launch;
      l.kernel_.run(&l.threads_[i]);
      l.waiting_[i].kind = Launch::Waiting::ended;
      l.waiting_[i].is_ready = false;
      get().fibers[i]->leave();
    }
  }
  static void run_all(void* fiber) {
    get().launch->run_plain();
    static_cast<Fiber*>(fiber)->leave();
  }
};

Launch::Launch(const Kernel& kernel, Extent grid, Extent block, std::size_t shared_bytes,
               const void* parameters, Memory& memory)
    : kernel_(kernel),
      grid_(grid),
      block_(block),
      shared_bytes_(kernel.entry.shared_bytes + shared_bytes),
      parameters_(parameters),
      memory_(memory) {}

Launch::Result Launch::run() {
  if (grid_.count() > max_threads / block_.count()) {
    std::fprintf(stderr, "ptx device: a launch of more than 2^31 threads is too large to be followed\n");
    return failed;
  }
  // The device rounds to nearest and keeps subnormals, whatever the host does.
  std::fenv_t of_host;
  std::fegetenv(&of_host);
  std::fesetenv(FE_DFL_ENV);
  Machine& m = Machine::get();
  m.launch = this;
  const bool has_threads = kernel_.entry.waits || kernel_.entry.shared_bytes > 0 || shared_bytes_ > 0;
  const std::size_t threads = has_threads ? block_.count() : 1;
  const std::size_t local_bytes = (kernel_.entry.local_bytes + 15) / 16 * 16;
  m.local.resize(std::max(m.local.size(), local_bytes * threads + 128));
  m.shared.resize(std::max(m.shared.size(), shared_bytes_ + 128));
  if (memory_.renew_marks() || !m.shared_shadow)
    m.shared_shadow = std::make_unique<Shadow>(std::size_t{256} << 10);
  period_ = {host, memory_.next_mark, 0, 0};
  memory_.next_mark += Period::of_launch;
  threads_.resize(threads);
  if (has_threads) {
    while (m.fibers.size() < threads) {
      const std::size_t i = m.fibers.size();
      m.fibers.push_back(std::make_unique<Fiber>(Machine::stack_bytes));
      m.fibers.back()->start(&Machine::run_thread, reinterpret_cast<void*>(i));
    }
    run_blocks();
    // Their unfinished functions are given up.
    if (result_ != done) m.fibers.clear();
  } else {
    // A fiber as well, so that a defect can end it.
    Fiber fiber(Machine::stack_bytes);
    fiber.start(&Machine::run_all, &fiber);
    running_ = &fiber;
    fiber.enter();
  }
  m.launch = nullptr;
  std::fesetenv(&of_host);
  return result_;
}

/// State that is the same for all threads; `t` is one of the threads that exist at once.
void Launch::prepare(Thread& t, std::size_t slot) {
  Machine& m = Machine::get();
  t.parameters = parameters_;
  t.local = m.local_of(slot, kernel_.entry.local_bytes);
  t.shared = reinterpret_cast<std::uint64_t>(Machine::aligned(m.shared));
  t.ntid[0] = block_.x, t.ntid[1] = block_.y, t.ntid[2] = block_.z;
  t.nctaid[0] = grid_.x, t.nctaid[1] = grid_.y, t.nctaid[2] = grid_.z;
  t.launch = this;
}

void Launch::place(Thread& t, std::uint32_t block, std::uint32_t number) {
  static const std::uint64_t loops = number_of("KILN_PTX_LOOPS", std::uint64_t{1} << 32);
  t.loops = loops;
  const auto set = [](std::uint32_t* to, std::uint32_t i, const Extent& e) {
    if (i < e.x) {
      to[0] = i, to[1] = to[2] = 0;
    } else {
      to[0] = i % e.x, to[1] = i / e.x % e.y, to[2] = i / e.x / e.y;
    }
  };
  set(t.tid, number, block_);
  set(t.ctaid, block, grid_);
  t.lane = number % warp_size;
  t.warp = number / warp_size;
  t.number = number;
  std::memset(t.local, Memory::poison, kernel_.entry.local_bytes);
}

void Launch::run_plain() {
  const std::uint64_t count = grid_.count() * block_.count();
  period_.block = period_.epoch = memory_.next_mark;
  memory_.next_mark += static_cast<Mark>(count) + 1;
  epochs_.push_back({period_.epoch, 0});
  const Order order(count);
  Thread& t = threads_[0];
  prepare(t, 0);
  const auto of_block = static_cast<std::uint32_t>(block_.count());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto thread = static_cast<std::uint32_t>(order[i]);
    place(t, thread / of_block, thread % of_block);
    t.me = period_.epoch + 1 + thread;
    kernel_.run(&t);
  }
}

void Launch::run_blocks() {
  for (std::size_t i = 0; i < threads_.size(); ++i) prepare(threads_[i], i);
  const std::uint64_t blocks = grid_.count();
  const Order order(blocks);
  for (std::uint64_t i = 0; i < blocks && result_ == done; ++i) run_block(order[i]);
}

/// From here on all threads of the block know what was done before.
void Launch::start_epoch() {
  const auto threads = static_cast<Mark>(threads_.size());
  if (memory_.next_mark + threads + 1 < memory_.next_mark)
    return fail(threads_[0], "has too many barriers in this launch to be followed", 0);
  period_.epoch = memory_.next_mark;
  memory_.next_mark += threads + 1;
  for (Mark i = 0; i < threads; ++i) threads_[i].me = period_.epoch + 1 + i;
  epochs_.push_back({period_.epoch, epochs_.empty() ? 0 : epochs_.back().block});
  shared_period_ = {period_.block, period_.block, period_.block, period_.epoch};
  is_new_epoch_ = true;
}

void Launch::run_block(std::uint64_t block) {
  Machine& m = Machine::get();
  running_ = nullptr;
  std::memset(Machine::aligned(m.shared), Memory::poison, shared_bytes_);
  waiting_.assign(threads_.size(), {});
  for (std::uint32_t i = 0; i < threads_.size(); ++i)
    place(threads_[i], static_cast<std::uint32_t>(block), i);
  period_.block = memory_.next_mark;
  epochs_.push_back({memory_.next_mark, block});
  start_epoch();
  if (result_ != done) return;
  order_.resize(threads_.size());
  std::iota(order_.begin(), order_.end(), 0);
  random_.seed(static_cast<std::uint32_t>(seed() + block));
  for (;;) {
    if (is_new_epoch_) std::shuffle(order_.begin(), order_.end(), random_);
    is_new_epoch_ = false;
    bool has_run = false;
    for (const std::uint32_t i : order_) {
      if (!waiting_[i].is_ready) continue;
      has_run = true;
      running_ = m.fibers[i].get();
      running_->enter();
      if (result_ != done) return;
    }
    if (has_run) continue;
    if (std::all_of(waiting_.begin(), waiting_.end(),
                    [](const Waiting& w) { return w.kind == Waiting::ended; }))
      return;
    running_ = nullptr;
    return tell_deadlock();
  }
}

void Launch::leave() { running_->leave(); }

//===--- messages ---------------------------------------------------------===//

std::string Launch::name_of(std::uint64_t block, std::uint64_t thread) const {
  const auto point = [](std::uint64_t i, const Extent& e) {
    return fmt::format("({}, {}, {})", i % e.x, i / e.x % e.y, i / e.x / e.y);
  };
  return fmt::format("thread {} of block {}", point(thread, block_), point(block, grid_));
}

std::string Launch::name_of(Mark mark) const {
  if (mark == period_.many_blocks()) return "threads of several blocks";
  const auto after = std::upper_bound(epochs_.begin(), epochs_.end(), mark,
                                      [](Mark m, const Epoch& e) { return m < e.first; });
  const Epoch& e = *std::prev(after);
  if (mark == e.first) return "several threads";
  const std::uint64_t i = mark - e.first - 1;
  return name_of(e.block + i / block_.count(), i % block_.count());
}

void Launch::print(const Thread& t, std::uint32_t line) const {
  std::string text(kernel_.entry.lines[line].text);
  std::replace(text.begin(), text.end(), '\t', ' ');
  const std::uint64_t block =
      t.ctaid[0] + std::uint64_t{grid_.x} * (t.ctaid[1] + std::uint64_t{grid_.y} * t.ctaid[2]);
  std::fprintf(stderr, "ptx device: kernel %s, %s: %s: '%s'\n", std::string(kernel_.entry.name).c_str(),
               name_of(block, t.number).c_str(), message_.c_str(), text.c_str());
}

void Launch::fail(const Thread& t, std::uint32_t line, Result result) {
  print(t, line);
  result_ = result;
  if (running_) leave();
}
void Launch::fail(const Thread& t, const char* what, std::uint32_t line) {
  message_ = what;
  fail(t, line);
}

void Launch::describe(const Thread& t, const Found& found, const char* memory, std::uint64_t address,
                      std::uint32_t bytes, bool writes) {
  std::string why;
  if (found.clash == Clash::unwritten)
    why = "nobody wrote";
  else if (found.other == period_.read_only())
    why = "this launch reads by ld.global.nc";
  else if (found.other == t.me)
    why = "the thread wrote before";
  else
    why = fmt::format("{} {} without a barrier between them", name_of(found.other),
                      found.clash == Clash::read ? "reads" : "writes");
  message_ = fmt::format("{} {} bytes of {} memory at {:#x}, which {}", writes ? "writes" : "reads", bytes,
                         memory, address, why);
}

//===--- memory -----------------------------------------------------------===//

void* Launch::access(Thread& t, std::uint64_t address, std::uint32_t bytes, bool writes, Space space,
                     std::uint32_t line) {
  if ((address & (bytes - 1)) != 0) {
    message_ = fmt::format("{} {} bytes at {:#x}, which is not aligned", writes ? "writes" : "reads", bytes,
                           address);
    fail(t, line, illegal_address);
  }
  if (space == Space::global || space == Space::global_nc)
    return access_global(t, address, bytes, writes, space == Space::global_nc, line);
  if (space == Space::shared) return access_shared(t, address, bytes, writes, line);
  const auto local = reinterpret_cast<std::uint64_t>(t.local);
  if (address >= local && address + bytes <= local + kernel_.entry.local_bytes)
    return reinterpret_cast<void*>(address);
  if (space == Space::local) {
    message_ = fmt::format("{} {} bytes at {:#x}, which is outside of local memory",
                           writes ? "writes" : "reads", bytes, address);
    fail(t, line, illegal_address);
  }
  if (address >= t.shared && address < t.shared + shared_bytes_)
    return access_shared(t, address - t.shared, bytes, writes, line);
  return access_global(t, address, bytes, writes, false, line);
}

void* Launch::access_shared(Thread& t, std::uint64_t offset, std::uint32_t bytes, bool writes,
                            std::uint32_t line) {
  if (offset >= shared_bytes_ || shared_bytes_ - offset < bytes) {
    message_ = fmt::format("{} {} bytes at {:#x} of shared memory, which has {} bytes",
                           writes ? "writes" : "reads", bytes, offset, shared_bytes_);
    fail(t, line, illegal_address);
  }
  Shadow& shadow = *Machine::get().shared_shadow;
  const Found found = writes ? shadow.write(offset, bytes, t.me, shared_period_)
                             : shadow.read(offset, bytes, t.me, shared_period_);
  if (found.clash != Clash::none) [[unlikely]] {
    describe(t, found, "shared", offset, bytes, writes);
    fail(t, line, illegal_address);
  }
  return reinterpret_cast<void*>(t.shared + offset);
}

void* Launch::access_global(Thread& t, std::uint64_t address, std::uint32_t bytes, bool writes,
                            bool is_constant, std::uint32_t line) {
  Allocation*& a = allocations_[line % allocations_.size()];
  if (!a || !a->has(address, bytes)) {
    a = memory_.find(address, bytes);
    if (!a) {
      message_ = fmt::format("{} {} bytes at {:#x}, which is outside of all allocations",
                             writes ? "writes" : "reads", bytes, address);
      fail(t, line, illegal_address);
    }
  }
  const std::size_t at = address - a->begin;
  const Found found = writes        ? a->shadow.write(at, bytes, t.me, period_)
                      : is_constant ? a->shadow.read_constant(at, bytes, period_)
                                    : a->shadow.read(at, bytes, t.me, period_);
  if (found.clash != Clash::none) [[unlikely]] {
    describe(t, found, "global", address, bytes, writes);
    fail(t, line, illegal_address);
  }
  return reinterpret_cast<void*>(address);
}

}  // namespace kiln::ptx

//===--- what kernels call ------------------------------------------------===//

namespace {

/// The result of `operation`, computed while the thread flushes subnormals.
template <class Operation>
float flushing(const Operation& operation, float a, float b, float c = 0) {
  const Flushing mode;
  const volatile float x = a, y = b, z = c;  // read in that mode
  const volatile float result = operation(x, y, z);
  return result;
}

}  // namespace

extern "C" {
using namespace kiln::ptx;

void* kiln_ptx_access(Thread* t, std::uint64_t address, std::uint32_t bytes, bool writes, Space space,
                      std::uint32_t line) {
  return t->launch->access(*t, address, bytes, writes, space, line);
}
void kiln_ptx_barrier(Thread* t, std::uint32_t id, bool is_aligned, std::uint32_t line) {
  t->launch->barrier(*t, id, is_aligned, line);
}
std::uint64_t kiln_ptx_shuffle(Thread* t, std::uint32_t value, std::uint32_t by, std::uint32_t clamp,
                               std::uint32_t mask, Shuffle mode, std::uint32_t line) {
  return t->launch->shuffle(*t, value, by, clamp, mask, mode, line);
}
std::uint32_t kiln_ptx_vote(Thread* t, bool value, std::uint32_t mask, Vote mode, std::uint32_t line) {
  return t->launch->vote(*t, value, mask, mode, line);
}
void kiln_ptx_mma(Thread* t, MmaFragments* registers, Mma form, std::uint32_t line) {
  t->launch->mma(*t, *registers, form, line);
}
float kiln_ptx_add_flushed(Thread*, float x, float y, std::uint32_t) {
  return flushing([](float a, float b, float) { return a + b; }, x, y);
}
float kiln_ptx_fma_flushed(Thread*, float a, float b, float c, std::uint32_t) {
  return flushing([](float x, float y, float z) { return std::fma(x, y, z); }, a, b, c);
}
void kiln_ptx_endless(Thread* t, std::uint32_t line) {
  t->launch->fail(*t, "goes on for ever (KILN_PTX_LOOPS says for how long)", line);
}
void kiln_ptx_divides_by_zero(Thread* t, std::uint32_t line) { t->launch->fail(*t, "divides by zero", line); }
}

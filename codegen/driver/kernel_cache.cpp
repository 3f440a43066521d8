// The tables of kernels, and the threads that compile them.
#include "codegen/driver/kernel_cache.h"

#include "codegen/driver/debug_info.h"
#include "codegen/driver/jit.h"
#include "codegen/driver/key_check.h"
#include "codegen/driver/progress.h"
#include "codegen/driver/stats.h"
#include "codegen/emitters_hash.h"
#include "ir/numerics.h"
#include "runtime/disk_cache.h"
#include "runtime/env.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"
#include "runtime/threads.h"

#include <kiln/error.h>
#include <kiln/threads.h>

#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <atomic>
#include <fmt/ranges.h>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <span>

namespace kiln::codegen {
namespace {

/// Changes when the same request would give other code: new emitters, another LLVM.
constexpr std::string_view code_version = "kiln-kernels " KILN_EMITTERS_HASH " llvm-" LLVM_VERSION_STRING
#ifdef KILN_SANITIZE_ADDRESS
                                          " asan"
#endif
    ;

/// Kernels with symbols are of one place of one program: they are told apart by names and lines.
CacheKey key_of(const KernelRequest& request, const Backend& backend) {
  std::string text = fmt::format("{}|{}", kernel_stamp(backend), request.key);
  if (debug_symbols() && backend.traits().links_kernels)
    text += fmt::format("|symbols {} at {}", request.name, fmt::join(lines_of(request.location), ", "));
  return cache_key(text);
}

std::string symbol_of(const KernelRequest& request, const CacheKey& key) {
  std::string symbol = "kiln_";
  for (char c : request.name) symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("{}_{:016x}", symbol, key.hi);
}

// On disk an object is its symbol, a newline, and the ELF bytes or the PTX.
std::vector<std::byte> pack(const KernelObject& object) {
  const auto symbol = std::as_bytes(std::span(object.symbol));
  std::vector<std::byte> bytes(symbol.begin(), symbol.end());
  bytes.push_back(std::byte{'\n'});
  bytes.insert(bytes.end(), object.bytes->begin(), object.bytes->end());
  return bytes;
}

std::optional<KernelObject> unpack(const std::vector<std::byte>& bytes) {
  const auto newline = std::find(bytes.begin(), bytes.end(), std::byte{'\n'});
  if (newline == bytes.end()) return std::nullopt;
  return KernelObject{std::string(reinterpret_cast<const char*>(bytes.data()),
                                  static_cast<std::size_t>(newline - bytes.begin())),
                      std::make_shared<const std::vector<std::byte>>(newline + 1, bytes.end())};
}

using Future = std::shared_future<std::shared_ptr<const Kernel>>;

/// KILN_KERNELS_MAX_COUNT. A kernel takes two or three mappings of memory. Linux gives a process 65,530 of
/// them unless vm.max_map_count is another number.
std::size_t max_kernels() {
  static const std::size_t limit = count_from_env("KILN_KERNELS_MAX_COUNT", 8192);
  return limit;
}

/// The kernels of this process. Each is linked once: while it is loaded it is in this table, and whoever
/// needs it shares it.
class KnownKernels {
 public:
  struct Entry {
    Future future;                         // while a thread makes it
    std::shared_ptr<const Kernel> kernel;  // from then on
    std::uint64_t requested = 0;           // clock of the latest request
  };
  Mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Entry> kernels;

  Entry& request(const CacheKey& key) {
    Entry& entry = kernels[{key.hi, key.lo}];
    entry.requested = ++clock_;
    return entry;
  }
  bool contains(const CacheKey& key) {
    std::lock_guard lock(mutex);
    return kernels.contains({key.hi, key.lo});
  }
  /// Whether a plan could have had generic kernel `key`. They are forgotten when they are as many as kernels
  /// may be.
  bool remembers(const CacheKey& key) {
    std::lock_guard lock(mutex);
    return generic_.contains({key.hi, key.lo});
  }
  void remember(const CacheKey& key) {
    std::lock_guard lock(mutex);
    if (generic_.size() >= max_kernels()) generic_.clear();
    generic_.insert({key.hi, key.lo});
  }

  /// Unloads kernels that nothing uses until `limit` are left, the one that was requested longest ago first.
  /// Under the lock: a thread that needs one of them again links it when its symbol is free. References are
  /// copied under the lock too, or from one that somebody has, so that the table's alone stays alone.
  std::size_t drop_unused(std::size_t limit) {
    if (kernels.size() <= limit) return 0;
    std::vector<decltype(kernels)::iterator> unused;
    for (auto it = kernels.begin(); it != kernels.end(); ++it)
      if (it->second.kernel.use_count() == 1) unused.push_back(it);
    const std::size_t count = std::min(unused.size(), kernels.size() - limit);
    std::nth_element(unused.begin(), unused.begin() + static_cast<std::ptrdiff_t>(count), unused.end(),
                     [](auto a, auto b) { return a->second.requested < b->second.requested; });
    for (std::size_t i = 0; i < count; ++i) kernels.erase(unused[i]);
    if (count > 0) forget_unloaded_symbols();
    stats().kernels_dropped += count;
    return count;
  }

 private:
  std::uint64_t clock_ = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> generic_;
};
KnownKernels& known() {
  return once<[] { return KnownKernels(); }>();
}

/// Maps the code, or keeps it for the driver of a device. Where linking fails, since threads that link at
/// once took the room of each other, it is tried again without the kernels that nothing uses.
std::shared_ptr<Kernel> link(const KernelObject& object, const Backend& backend, bool symbols) {
  if (!backend.traits().links_kernels) {
    auto kernel = std::make_shared<Kernel>();
    kernel->symbol = object.symbol;
    kernel->object = object.bytes;
    return kernel;
  }
  try {
    return load_object(object, symbols);
  } catch (const Error&) {
    if (drop_unused_kernels() == 0) throw;
  }
  return load_object(object, symbols);
}

std::shared_ptr<const Kernel> make_kernel(mlir::MLIRContext& context, const KernelRequest& request,
                                          const Backend& backend, const CacheKey& key, Stages* stages,
                                          KernelCounts& counts) {
  const bool symbols =
      backend.traits().links_kernels && (debug_symbols() || (stages && stages->writes_files()));
  std::shared_ptr<Kernel> kernel;
  for (DiskCache* const cache : {&precompiled_kernels(), &disk_cache()}) {
    if (kernel || stages) break;
    if (auto bytes = cache->load(key, kernel_stamp(backend))) {
      if (auto object = unpack(*bytes)) {
        kernel = link(*object, backend, symbols);
        stats().kernels_loaded++;
        counts.loaded++;
      }
    }
  }
  if (!kernel) {
    if (stages) stages->add("plan", fmt::format("kernel {:016x}{:016x}: {}\n", key.hi, key.lo, request.key));
    const std::string symbol = symbol_of(request, key);
    if (stages) stages->begin_kernel(symbol);
    KernelObject object = lower_kernel(context, request, symbol, backend, symbols, stages);
    if (stages) stages->end_kernel();
    kernel = link(object, backend, symbols);
    stats().kernels_compiled++;
    counts.compiled++;
    if (!stages)
      disk_cache().store(key, kernel_stamp(backend), pack(object),
                         request.name + ": " + request.key.substr(0, 160));
  }
  kernel->name = request.name;
  kernel->key = {key.hi, key.lo};
  if (!backend.traits().links_kernels) kernel->gpu = request.gpu;
  return kernel;
}

std::shared_ptr<const Kernel> get_kernel(mlir::MLIRContext& context, const KernelRequest& request,
                                         const Backend& backend, KernelCounts& counts) {
  const CacheKey key = key_of(request, backend);
  if (checks_kernels()) check_key(context, request, backend.code(), key);
  KnownKernels& table = known();
  std::promise<std::shared_ptr<const Kernel>> promise;
  {
    std::unique_lock lock(table.mutex);
    KnownKernels::Entry& entry = table.request(key);
    if (entry.kernel || entry.future.valid()) {
      stats().kernels_shared++;
      counts.shared++;
      if (entry.kernel) return entry.kernel;
      const Future future = entry.future;
      lock.unlock();
      return future.get();
    }
    entry.future = promise.get_future().share();
  }
  std::shared_ptr<const Kernel> kernel;
  try {
    kernel = make_kernel(context, request, backend, key, nullptr, counts);
  } catch (...) {
    // Waiting threads get the error too; the next request tries again.
    promise.set_exception(std::current_exception());
    std::lock_guard lock(table.mutex);
    table.kernels.erase({key.hi, key.lo});
    throw;
  }
  promise.set_value(kernel);
  const std::lock_guard lock(table.mutex);
  KnownKernels::Entry& entry = table.request(key);
  entry.kernel = kernel;
  entry.future = {};
  // A few more than one, so that not every new kernel looks at all others.
  if (table.kernels.size() > max_kernels()) table.drop_unused(max_kernels() - max_kernels() / 64);
  return kernel;
}

/// A copy for the stages, under another symbol than the shared one and all other copies.
std::shared_ptr<const Kernel> get_kernel(mlir::MLIRContext& context, const KernelRequest& request,
                                         const Backend& backend, Stages& stages,
                                         const std::string& line_numbers, KernelCounts& counts) {
  static std::atomic<std::uint64_t> copies = 0;
  CacheKey key = key_of(request, backend);
  std::shared_ptr<const Kernel>* const shared =
      stages.shared_kernel(fmt::format("{:016x}{:016x} {}", key.hi, key.lo, line_numbers));
  if (shared && *shared) {
    stats().kernels_shared++;
    counts.shared++;
    return *shared;
  }
  key.hi ^= ++copies;
  auto kernel = make_kernel(context, request, backend, key, &stages, counts);
  if (shared) *shared = kernel;
  return kernel;
}

/// The first request of each kernel that is not in memory.
std::vector<std::size_t> missing_of(llvm::ArrayRef<KernelRequest> requests, const Backend& backend) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::vector<std::size_t> missing;
  for (auto [i, request] : llvm::enumerate(requests))
    if (const CacheKey key = key_of(request, backend);
        !known().contains(key) && seen.insert({key.hi, key.lo}).second)
      missing.push_back(i);
  return missing;
}

/// Calls get(i) for every i of `work`, on the threads that a call may use; throws the first exception.
void get_at_once(mlir::MLIRContext& context, llvm::ArrayRef<std::size_t> work,
                 llvm::function_ref<void(std::size_t)> get) {
  const int threads = num_threads();
  if (work.size() < 2 || threads < 2) {
    for (const std::size_t i : work) get(i);
    return;
  }
  struct Job {
    llvm::ArrayRef<std::size_t> work;
    llvm::function_ref<void(std::size_t)> get;
    std::vector<std::exception_ptr> errors;
  } job{work, get, std::vector<std::exception_ptr>(work.size())};
  const auto piece = [](void* j, int /*worker*/, std::int64_t begin, std::int64_t end) {
    auto& [work, get, errors] = *static_cast<Job*>(j);
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      try {
        get(work[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  context.enableMultithreading();
  parallel_pieces(static_cast<std::int64_t>(work.size()), 1, threads, piece, &job);
  context.disableMultithreading();
  for (const std::exception_ptr& error : job.errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace

std::string kernel_stamp(const Backend& backend) {
  return fmt::format("{} numerics-{} {}", code_version, ir::numerics_version, backend.id());
}

bool runs_generic(const KernelRequest& special, const KernelRequest& generic, const Backend& backend,
                  GenericKernels which) {
  if (which != GenericKernels::shared) return which == GenericKernels::always;
  const auto exists = [](const CacheKey& key) {
    return known().contains(key) || precompiled_kernels().contains(key) || disk_cache().contains(key);
  };
  if (exists(key_of(special, backend))) return false;
  const CacheKey shared = key_of(generic, backend);
  return known().remembers(shared) || exists(shared);
}

void remember_generic(const KernelRequest& generic, const Backend& backend) {
  known().remember(key_of(generic, backend));
}

std::size_t drop_unused_kernels() {
  const std::lock_guard lock(known().mutex);
  return known().drop_unused(0);
}

std::vector<std::shared_ptr<const Kernel>> get_kernels(
    mlir::MLIRContext& context, llvm::ArrayRef<KernelRequest> requests, const Backend& backend,
    llvm::StringRef graph, Stages* stages, llvm::ArrayRef<std::string> line_numbers, KernelCounts& counts) {
  std::vector<std::shared_ptr<const Kernel>> kernels(requests.size());
  if (stages && stages->wants_code()) {
    for (auto [kernel, request, numbers] : llvm::zip_equal(kernels, requests, line_numbers))
      kernel = get_kernel(context, request, backend, *stages, numbers, counts);
    return kernels;
  }
  const std::vector<std::size_t> missing = missing_of(requests, backend);
  Progress progress(graph.str(), missing.size());
  get_at_once(context, missing, [&](std::size_t i) {
    kernels[i] = get_kernel(context, requests[i], backend, counts);
    progress.kernel_done();
  });
  for (auto [kernel, request] : llvm::zip(kernels, requests))
    if (!kernel) kernel = get_kernel(context, request, backend, counts);
  return kernels;
}

}  // namespace kiln::codegen

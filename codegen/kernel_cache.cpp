#include "codegen/kernel_cache.h"

#include "codegen/jit.h"
#include "codegen/progress.h"
#include "codegen/stats.h"
#include "runtime/disk_cache.h"
#include "runtime/threads.h"

#include <kiln/threads.h>

#include <llvm/Config/llvm-config.h>

#include <fmt/format.h>
#include <future>
#include <map>
#include <mutex>

namespace kiln::codegen {
namespace {

/// Changes when the same request would give other code: new emitters, another LLVM.
constexpr std::string_view code_version = "kiln-kernels-6 llvm-" LLVM_VERSION_STRING
#ifdef KILN_SANITIZE_ADDRESS
                                          " asan"
#endif
    ;

std::string stamp_of(const Target& target) { return fmt::format("{} {}", code_version, target.id()); }

CacheKey key_of(const KernelRequest& request, const Target& target) {
  return cache_key(fmt::format("{}|{}", stamp_of(target), request.key));
}

std::string symbol_of(const KernelRequest& request, const CacheKey& key) {
  std::string symbol = "kiln_";
  for (char c : request.name) symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("{}_{:016x}", symbol, key.hi);
}

// On disk an object is its symbol, a newline, and the ELF bytes.
std::vector<std::byte> pack(const KernelObject& object) {
  std::vector<std::byte> bytes;
  auto append = [&](const char* data, std::size_t n) {
    bytes.insert(bytes.end(), reinterpret_cast<const std::byte*>(data),
                 reinterpret_cast<const std::byte*>(data) + n);
  };
  append(object.symbol.data(), object.symbol.size());
  append("\n", 1);
  append(object.bytes.data(), object.bytes.size());
  return bytes;
}

std::optional<KernelObject> unpack(const std::vector<std::byte>& bytes) {
  const char* data = reinterpret_cast<const char*>(bytes.data());
  const char* newline = std::find(data, data + bytes.size(), '\n');
  if (newline == data + bytes.size()) return std::nullopt;
  return KernelObject{{data, newline}, {newline + 1, data + bytes.size()}};
}

std::shared_ptr<const Kernel> make_kernel(mlir::MLIRContext& context, const KernelRequest& request,
                                          const Target& target, const CacheKey& key, KernelTexts* texts) {
  std::shared_ptr<Kernel> kernel;
  DiskCache& disk = disk_cache();
  if (!texts) {
    if (auto bytes = disk.load(key, stamp_of(target))) {
      if (auto object = unpack(*bytes)) {
        kernel = load_object(*object);
        stats().kernels_loaded++;
      }
    }
  }
  if (!kernel) {
    KernelObject object = lower_kernel(context, request, symbol_of(request, key), target, texts);
    kernel = load_object(object);
    stats().kernels_compiled++;
    if (!texts)
      disk.store(key, stamp_of(target), pack(object), request.name + ": " + request.key.substr(0, 160));
  }
  kernel->name = request.name;
  kernel->key[0] = key.hi;
  kernel->key[1] = key.lo;
  return kernel;
}

using Future = std::shared_future<std::shared_ptr<const Kernel>>;

/// The kernels of this process.
struct Known {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Future> kernels;

  bool contains(const CacheKey& key) {
    std::lock_guard lock(mutex);
    return kernels.contains({key.hi, key.lo});
  }
};
Known& known() {
  static auto& k = *new Known;
  return k;
}

}  // namespace

std::shared_ptr<const Kernel> get_kernel(mlir::MLIRContext& context, const KernelRequest& request,
                                         const Target& target, KernelTexts* texts) {
  CacheKey key = key_of(request, target);
  // A dump wants every stage's text, so it compiles a private copy under another symbol than the shared one.
  if (texts)
    return make_kernel(context, request, target, {key.hi ^ reinterpret_cast<std::uintptr_t>(texts), key.lo},
                       texts);

  auto& [mutex, kernels] = known();
  std::promise<std::shared_ptr<const Kernel>> promise;
  {
    std::unique_lock lock(mutex);
    if (auto found = kernels.find({key.hi, key.lo}); found != kernels.end()) {
      auto future = found->second;
      lock.unlock();
      stats().kernels_shared++;
      return future.get();
    }
    kernels.emplace(std::pair(key.hi, key.lo), promise.get_future().share());
  }
  try {
    auto kernel = make_kernel(context, request, target, key, nullptr);
    promise.set_value(kernel);
    return kernel;
  } catch (...) {
    // Those who wait get the error too; the next request tries again.
    promise.set_exception(std::current_exception());
    std::lock_guard lock(mutex);
    kernels.erase({key.hi, key.lo});
    throw;
  }
}

void prepare_kernels(mlir::MLIRContext& context, llvm::ArrayRef<KernelRequest> requests, const Target& target,
                     llvm::StringRef graph) {
  struct Job {
    const KernelRequest* request;
    std::exception_ptr error;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Job> missing;
  for (const KernelRequest& r : requests)
    if (const CacheKey key = key_of(r, target); !known().contains(key))
      missing.try_emplace({key.hi, key.lo}, Job{&r, nullptr});
  if (missing.size() < 2) return;

  prepare_lowering(context);
  Progress progress(graph.str(), missing.size());
  struct Work {
    mlir::MLIRContext& context;
    const Target& target;
    Progress& progress;
    std::vector<Job*> jobs;
  } work{context, target, progress, {}};
  for (auto& [key, job] : missing) work.jobs.push_back(&job);
  const auto compile = [](void* w, int /*worker*/, std::int64_t begin, std::int64_t end) {
    auto& [context, target, progress, jobs] = *static_cast<Work*>(w);
    for (; begin < end; ++begin) {
      Job& job = *jobs[static_cast<std::size_t>(begin)];
      try {
        get_kernel(context, *job.request, target, nullptr);
      } catch (...) {
        job.error = std::current_exception();
      }
      progress.kernel_done();
    }
  };
  const auto count = static_cast<std::int64_t>(work.jobs.size());
  if (const int threads = num_threads(); threads > 1) {
    context.enableMultithreading();
    parallel_pieces(count, 1, threads, compile, &work);
    context.disableMultithreading();
  } else {
    compile(&work, 0, 0, count);
  }
  for (const Job* job : work.jobs)
    if (job->error) std::rethrow_exception(job->error);
}

}  // namespace kiln::codegen

// Keeps measurements of the machine in the disk cache.
#include "codegen/target/kept_streams.h"

#include "codegen/target/measure.h"
#include "runtime/disk_cache.h"
#include "runtime/fork_gate.h"
#include "runtime/once.h"

#include <kiln/error.h>

#include <llvm/TargetParser/Host.h>

#include <fmt/format.h>
#include <fstream>
#include <span>
#include <unistd.h>

namespace kiln::codegen {
namespace {

/// Changes with the measured numbers, or with their method.
constexpr std::string_view measurement = "machine model 2";

/// The processor as Linux names it: a home folder may be of several machines.
std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line;
  return llvm::sys::getHostCPUName().str();
}

CacheKey key_of(const Machine& m) {
  return cache_key(fmt::format("{}|{}|{}|{}|{}|{}", measurement, model_name(), sysconf(_SC_NPROCESSORS_CONF),
                               m.l1.bytes, m.l2.bytes, m.l3 ? m.l3->bytes : 0));
}

std::optional<Streams> load(const CacheKey& key) {
  const auto bytes = disk_cache().load(key, measurement);
  if (!bytes) return std::nullopt;
  try {
    Streams streams =
        Machine::of_text({reinterpret_cast<const char*>(bytes->data()), bytes->size()}).streams();
    streams.source = Source::kept;
    return streams;
  } catch (const Error&) {
    return std::nullopt;  // of another version of Kiln: it is measured again
  }
}

Streams load_or_measure() {
  const Machine m = Machine::of_host();  // also where KILN_MACHINE describes another
  const CacheKey key = key_of(m);
  if (const auto kept = load(key)) return *kept;
  const Streams measured = measure_streams(m);
  // Another process may have measured meanwhile: the first to finish decides.
  if (auto kept = load(key)) return *kept;
  // Numbers that could not be measured are not kept.
  const std::string text = text_of(measured);
  if (measured.source == Source::measured)
    disk_cache().store(key, measurement, std::as_bytes(std::span(text.data(), text.size())),
                       "the machine's bandwidths: " + text);
  return measured;
}

}  // namespace

Streams streams_of_host() {
  struct Once {
    Mutex mutex;
    std::optional<Streams> streams;
  };
  Once& state = once<[] { return Once(); }>();
  const std::lock_guard lock(state.mutex);
  if (!state.streams) state.streams = load_or_measure();
  return *state.streams;
}

}  // namespace kiln::codegen

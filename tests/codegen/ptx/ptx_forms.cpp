// The versions and targets that PTX instructions need.
#include "ptx_forms.h"

#include <fmt/format.h>
#include <stdexcept>

namespace kiln::ptx {
namespace {

/// An instruction with these parts, among others, needs this .version and this .target.
struct Form {
  std::string_view parts;
  unsigned version, arch;
};

// By the PTX manual's notes on each instruction.
constexpr Form forms[] = {
    {"abs.bf16", 70, 80},    {"activemask", 62, 30}, {"add.bf16", 78, 90},   {"add.f32x2", 86, 100},
    {"bar.warp", 60, 30},    {"barrier", 60, 30},    {"bmsk", 76, 70},       {"cp.async", 70, 80},
    {"cp.bulk", 80, 90},     {"cvt.bf16", 70, 80},   {"cvt.bf16x2", 70, 80}, {"cvt.tf32", 70, 80},
    {"elect", 80, 90},       {"fence", 60, 70},      {"fma.bf16", 70, 80},   {"fma.bf16x2", 70, 80},
    {"fma.f32x2", 86, 100},  {"ld.acquire", 60, 70}, {"ld.b128", 83, 70},    {"ld.nc", 31, 32},
    {"ld.relaxed", 60, 70},  {"ld.v8", 88, 100},     {"ldmatrix", 65, 75},   {"lop3", 43, 50},
    {"mapa", 78, 90},        {"match", 60, 70},      {"max.NaN", 70, 80},    {"max.bf16", 70, 80},
    {"max.xorsign", 72, 86}, {"mbarrier", 70, 80},   {"min.NaN", 70, 80},    {"min.bf16", 70, 80},
    {"min.xorsign", 72, 86}, {"mma.sync", 64, 70},   {"mma.bf16", 70, 80},   {"mma.m16n8k16", 70, 80},
    {"mma.tf32", 70, 80},    {"mul.bf16", 78, 90},   {"mul.f32x2", 86, 100}, {"nanosleep", 63, 70},
    {"neg.bf16", 70, 80},    {"redux", 70, 80},      {"shf", 31, 32},        {"shfl.sync", 60, 30},
    {"st.b128", 83, 70},     {"st.relaxed", 60, 70}, {"st.release", 60, 70}, {"stmatrix", 78, 90},
    {"sub.bf16", 78, 90},    {"szext", 76, 70},      {"tanh", 70, 75},       {"vote.sync", 60, 30},
    {"wgmma", 80, 90},
};

/// The first .version with a .target.
struct Target {
  unsigned arch, version;
};
constexpr Target targets[] = {{50, 40}, {52, 41}, {53, 42},  {60, 50}, {61, 50}, {62, 50},
                              {70, 60}, {72, 61}, {75, 63},  {80, 70}, {86, 71}, {87, 74},
                              {89, 78}, {90, 78}, {100, 86}, {120, 87}};

constexpr std::size_t max_parameter_bytes = 4096, max_shared_bytes = std::size_t{48} << 10,
                      max_local_bytes = std::size_t{512} << 10;

/// Takes the first part off.
std::string_view take_part(std::string_view& s) {
  const std::string_view part = s.substr(0, s.find('.'));
  s.remove_prefix(std::min(part.size() + 1, s.size()));
  return part;
}

/// Whether the opcode begins with the form's first part and has the others.
bool has(std::string_view opcode, std::string_view parts) {
  if (take_part(opcode) != take_part(parts)) return false;
  while (!parts.empty()) {
    const std::string_view wanted = take_part(parts);
    bool found = false;
    for (std::string_view rest = opcode; !rest.empty() && !found;) found = take_part(rest) == wanted;
    if (!found) return false;
  }
  return true;
}

template <class... A>
[[noreturn]] void refuse(fmt::format_string<A...> format, A&&... arguments) {
  throw std::runtime_error("PTX: " + fmt::format(format, std::forward<A>(arguments)...));
}

}  // namespace

void check_forms(const Entry& e) {
  const Target* target = nullptr;
  for (const Target& t : targets)
    if (t.arch == e.arch) target = &t;
  if (!target) refuse(".target sm_{} is not known", e.arch);
  const unsigned version = e.arch_suffix.empty() ? target->version : std::max(target->version, 80U);
  if (e.version < version)
    refuse(".target sm_{}{} needs .version {}.{}: this is {}.{}", e.arch, e.arch_suffix, version / 10,
           version % 10, e.version / 10, e.version % 10);
  for (const Line& line : e.lines)
    for (const Form& f : forms)
      if ((e.version < f.version || e.arch < f.arch) && has(line.opcode, f.parts))
        refuse("'{}' needs .version {}.{} and .target sm_{}: this is {}.{} for sm_{}", line.text,
               f.version / 10, f.version % 10, f.arch, e.version / 10, e.version % 10, e.arch);
  if (e.parameter_bytes > max_parameter_bytes)
    refuse("{} bytes of parameters: an entry has at most {}", e.parameter_bytes, max_parameter_bytes);
  if (e.shared_bytes > max_shared_bytes)
    refuse("{} bytes of shared memory: an entry declares at most {}", e.shared_bytes, max_shared_bytes);
  if (e.local_bytes > max_local_bytes)
    refuse("{} bytes of local memory: a thread has at most {}", e.local_bytes, max_local_bytes);
}

}  // namespace kiln::ptx

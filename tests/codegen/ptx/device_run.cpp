// Runs kernels written by hand on the emulated device.
#include "device_run.h"

#include "driver_functions.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace kiln::ptx {

std::string stderr_of(const std::function<void()>& body) {
  std::fflush(stderr);
  std::FILE* const file = std::tmpfile();
  const int saved = dup(2);
  if (!file || saved < 0 || dup2(fileno(file), 2) < 0)
    throw std::runtime_error("stderr cannot be redirected");
  body();
  std::fflush(stderr);
  dup2(saved, 2);
  close(saved);
  std::string text(static_cast<std::size_t>(std::ftell(file) < 0 ? 0 : lseek(fileno(file), 0, SEEK_END)),
                   '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

Outcome run(const Sample& s) {
  Outcome outcome;
  const std::string said = stderr_of([&] {
    void *module = nullptr, *function = nullptr;
    if (cuModuleLoadData(&module, s.ptx.c_str()) != 0) return;
    if (cuModuleGetFunction(&function, module, "k") == 0) {
      std::uint64_t in = 0, out = 0;
      outcome.out.resize(s.out_words);
      if (!s.in.empty()) {
        cuMemAlloc_v2(&in, 4 * s.in.size());
        cuMemcpyHtoD_v2(in, s.in.data(), 4 * s.in.size());
      }
      cuMemAlloc_v2(&out, 4 * s.out_words);
      std::uint32_t n = s.n;
      void* parameters[] = {&in, &out, &n};
      const int result = cuLaunchKernel(function, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1],
                                        s.block[2], s.shared_bytes, nullptr, parameters, nullptr);
      outcome.how = result == 0 ? Outcome::done : Outcome::failed;
      cuMemcpyDtoH_v2(outcome.out.data(), out, 4 * s.out_words);
      if (in != 0) cuMemFree_v2(in);
      cuMemFree_v2(out);
    }
    cuModuleUnload(module);
  });
  // Sanitizers write there too.
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("ptx device:")) outcome.message += line + "\n";
  return outcome;
}

std::string kernel(std::string_view body, std::string_view module_variables) {
  constexpr std::string_view format = R"(.version 7.0
.target sm_80
.address_size 64
{}
.visible .entry k(
.param .u64 .ptr .global .align 4 in,
.param .u64 .ptr .global .align 4 out,
.param .u32 n
)
{{
.reg .pred %p<17>;
.reg .b16 %rs<9>;
.reg .b32 %r<65>;
.reg .b64 %rd<33>;
ld.param.b64 %rd1, [in];
ld.param.b64 %rd2, [out];
ld.param.b32 %r1, [n];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
{}
}}
)";
  return fmt::format(format, module_variables, body);
}

}  // namespace kiln::ptx

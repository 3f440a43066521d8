#include "device_run.h"

#include "driver_functions.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
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
  outcome.message = stderr_of([&] {
    void *module = nullptr, *function = nullptr;
    if (cuModuleLoadData(&module, std::string(s.ptx).c_str()) != 0) return;
    if (cuModuleGetFunction(&function, module, std::string(s.kernel).c_str()) == 0) {
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
  return outcome;
}

std::string entry(std::string_view name, std::string_view body) {
  return fmt::format(
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry {}(\n.param .u64 .ptr .global .align 4 "
      "in,\n"
      ".param .u64 .ptr .global .align 4 out,\n.param .u32 n\n)\n{{\n{}\n}}\n",
      name, body);
}

}  // namespace kiln::ptx

# How lit runs the text tests: each file's RUN lines in bash, from a separate folder.
#
#   kiln       the command of this build
#   FileCheck  LLVM's; also `not` and `count`
#   %golden    tests/golden
#   %bench     bench
#   %ptx_device the library that stands for a GPU (codegen/ptx); %ptx_lookup_only, %ptx_lookup_none: how its functions are found
#   %exit N    runs what follows and demands the exit status N
import os

import lit.formats

config.test_format = lit.formats.ShTest(execute_external=True, preamble_commands=[])
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]

here = os.path.dirname(config.kiln)
config.environment["PATH"] = os.pathsep.join([here, config.llvm_tools, os.environ["PATH"]])
for name in os.environ:
    if name.startswith("KILN_") or name in ("XDG_CACHE_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        config.environment[name] = os.environ[name]

config.substitutions.append(("%golden", config.golden))
for library in ("device", "lookup_only", "lookup_none"):
    config.substitutions.append((f"%ptx_{library}", f"{config.ptx_folder}/libkiln_ptx_{library}.so"))
tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
config.substitutions.append(("%bench", os.path.join(os.path.dirname(tests), "bench")))
config.substitutions.append(("%exit", os.path.join(tests, "command", "exit")))

# tools/bless: what compares, rewrites.
if os.environ.get("KILN_BLESS"):
    expectations = os.path.join(os.path.dirname(tests), "tools", "expectations")
    config.environment["PATH"] = os.pathsep.join([expectations, config.environment["PATH"]])
    config.substitutions.append((r"kiln opt (?=.*-verify-diagnostics)", f"python3 -B {expectations}/diagnostics.py kiln opt "))

# The features of this machine's processor, for REQUIRES lines.
with open("/proc/cpuinfo") as cpuinfo:
    flags = set(cpuinfo.read().split())
if {"avx2", "fma", "f16c", "bmi2"} <= flags:
    config.available_features.add("avx2")
if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
    config.available_features.add("avx512")
# NVIDIA's tools where the command finds them even with a short PATH.
tools = [os.path.join(f, t) for t in ("ptxas", "nvdisasm", "cuobjdump") for f in ("/usr/bin", "/bin", "/usr/local/cuda/bin")]
found = {os.path.basename(t) for t in tools if os.path.exists(t)}
if "ptxas" in found and len(found) > 1:
    config.available_features.add("cuda-toolkit")
# Sanitizers are in generated kernels too: tests that read assembly may not know it again.
if config.sanitizers:
    config.available_features.add("instrumented")

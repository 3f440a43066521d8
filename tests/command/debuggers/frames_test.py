"""The frames of kernels (KILN_DEBUG=symbols) in gdb and lldb, and their names in perf.

usage: frames_test.py gdb|lldb|perf PROGRAM
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

NAMES = {"gdb": ["gdb"], "lldb": ["lldb", "lldb-22", "lldb-19", "lldb-16"], "perf": ["perf"]}
# The scripts stop where the kernel is loaded, then in the kernel.
GDB = ["set breakpoint pending on", "set confirm off", "break loaded", "run", r"rbreak ^kiln_.*_dot_", "continue", "backtrace", "kill"]
LLDB = ["settings set plugin.jit-loader.gdb.enable on", "breakpoint set --name loaded", "run",
        "breakpoint set --func-regex ^kiln_.*_dot_", "continue", "thread backtrace", "kill"]


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit()


def run(command):
    # A program that waits for ever would leave processes: they are told to end.
    done = subprocess.run(["timeout", "--kill-after=10", "300", *command], capture_output=True, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, env=dict(os.environ, KILN_DEBUG="symbols"))
    return done.returncode, f"{done.stdout}\n{done.stderr}"


def remove_map(output):
    """The map of perf stays after its process has ended."""
    for process in re.findall(r"^process (\d+)$", output, re.M):
        pathlib.Path(f"/tmp/perf-{process}.map").unlink(missing_ok=True)


def line_of_kernel():
    """The program's line that the kernel is of."""
    source = pathlib.Path(__file__).with_name("frames.cpp")
    return next(n for n, line in enumerate(source.read_text().splitlines(), 1) if "the line of the kernel" in line)


def check_debugger(kind, tool, program):
    script = pathlib.Path(f"frames.{kind}")
    script.write_text("\n".join(GDB if kind == "gdb" else LLDB) + "\n")
    batch = ["-nx", "-batch", "-x", script] if kind == "gdb" else ["--no-lldbinit", "--batch", "--source", script]
    _, output = run([tool, *batch, program])
    remove_map(output)
    if re.search(r"ptrace: Operation not permitted|personality set failed|not allowed to attach", output):
        skip(f"{kind} may not trace a program on this machine")
    # "#0  0x00007f in kiln_..._dot_add_max_0123456789abcdef () at .../frames.cpp:15"; lldb: "frame #0: ... at frames.cpp:15".
    kernel = re.search(r"#0:?[ ].*kiln_\w*dot0\w*_dot_add_max_[0-9a-f]{16}.*? at (\S*frames\.cpp):(\d+)", output)
    main = re.search(r"#\d+:?[ ].*\bmain\b.* at \S*frames\.cpp:\d+", output)
    errors = []
    if not kernel:
        errors.append("no frame of a kernel")
    elif int(kernel[2]) not in (line_of_kernel(), line_of_kernel() + 1):
        errors.append(f"the kernel is at line {kernel[2]}, not {line_of_kernel()}")
    if not main or (kernel and main.start() < kernel.start()):
        errors.append("the backtrace does not reach main")
    return errors, output


def check_perf(tool, program):
    data = pathlib.Path("frames.perf")
    status, output = run([tool, "record", "-q", "-o", data, program, "2"])
    if status != 0 or not data.is_file():
        skip("perf may not record a program on this machine: " + " ".join(output.split())[:200])
    recorded = output
    _, output = run([tool, "report", "-i", data, "--stdio", "--percent-limit", "5"])
    remove_map(recorded)
    found = re.search(r"(\d+\.\d+)%.*kiln_\w*_dot_add_max_[0-9a-f]{16}", output)
    return ([] if found else ["perf report has no name of a kernel"]), output


def main():
    kind, program = sys.argv[1:]
    tool = next(filter(None, map(shutil.which, NAMES[kind])), None)
    if tool is None:
        skip(f"{kind} is not installed")
    errors, output = check_perf(tool, program) if kind == "perf" else check_debugger(kind, tool, program)
    if errors:
        print(output)
    return "\n".join(errors) or None


if __name__ == "__main__":
    sys.exit(main())

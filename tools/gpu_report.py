"""The table of tools/test-gpu: whether a GPU has the CPU's bits, and what compute-sanitizer says.

usage: gpu_report.py BUILD_FOLDER [--only REGEX]

A row is a test program of ctest's label gpu, and of gpu_long unless the device is the emulated one, a network of
tests/golden/models or a sample of a family of kernels. The first GPU is that of the CUDA driver, or of KILN_CUDA_DRIVER if that is
set; without one, it is the emulated device of tests/codegen/ptx.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = SOURCE / "tests" / "golden"
SANITIZERS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SANITIZER_ERROR = 99  # exit status
EMULATED = "libkiln_ptx_device.so"
LIMIT = 1800  # seconds of a command
WIDTHS = [28, 8, 8, 9, 9, 9]

# A sample of each family of kernels: a case of the reference data, with other inputs or in training where it needs that.
FAMILIES = [
    ("pointwise", "ops/broadcast_add__r5", []),
    ("pointwise, functions", "ops/gammaln__f32_a", []),
    ("pointwise, f16", "ops/elemwise_add__f16", []),
    ("transpose", "ops/transpose__big", []),
    ("concatenate", "ops/Concat__neg", []),
    ("gather", "ops/take__wrap", []),
    ("random", "ops/Dropout__a_infer", ["--train"]),
    ("reduce, long rows", "ops/sum__long", []),
    ("reduce, columns", "ops/sum__ax0", []),
    ("row fusion", "ops/softmax__a", ["--shape", "x=300,301"]),
    ("product, pack", "ops/dot__odd", []),
    ("product, prepacked", "ops/FullyConnected__odd", []),
    ("product, batched", "ops/batch_dot__tab", []),
    ("convolution", "ops/Convolution__c3", []),
    ("convolution, depthwise", "ops/Convolution__dw", []),
    ("convolution, transposed", "ops/Deconvolution__k3", []),
    ("convolution, Winograd", "models/tiny_resnet", []),
    ("pooling", "ops/Pooling__max_k3s2p1", []),
    ("pad", "ops/Pad__constant_r4", []),
    ("sort", "ops/sort__desc", []),
    ("scatter", "ops/scatter_nd__a", []),
    ("cumulative", "ops/cumsum__flat", []),
    ("loop", "ops/i_foreach__multi", []),
    ("conditional loop", "ops/i_while_loop__a", []),
    ("branch", "ops/i_cond__then", []),
]


class Run:
    """A command that ran to its end, or to the limit."""

    def __init__(self, command, environment, folder=None, limit=LIMIT):
        self.command = command
        started = time.monotonic()
        try:
            done = subprocess.run(
                command, env=environment, cwd=folder, timeout=limit, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.status, self.output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as e:
            self.status, self.output = None, (e.stdout or b"").decode(errors="replace")
        except OSError as e:
            self.status, self.output = 127, str(e)
        self.seconds = time.monotonic() - started


def row(*cells):
    return " ".join(f"{c[:w]:{'<' if i == 0 else '>'}{w}}" for i, (c, w) in enumerate(zip(cells, WIDTHS)))


def say(text):
    print(textwrap.fill(text, 80), flush=True)


def verify(build, case, extra):
    """The command that compares a case's outputs on the GPU and on the CPU."""
    folder, name = case.split("/")
    entry = next(c for c in json.loads((GOLDEN / folder / "manifest.json").read_text())["cases"] if c["name"] == name)

    def path(key, ending):
        return str(GOLDEN / folder / entry.get(key, name + ending))

    command = [str(build / "kiln"), "verify", path("symbol", "-symbol.json"), "--device", "cuda", "--against", "cpu"]
    if "--shape" not in extra:
        command += ["--input", path("io", "-io.params")]
    if os.path.exists(path("params", "-0000.params")):
        command += ["--params", path("params", "-0000.params")]
    if entry["train"]:
        command += ["--train"]
    return command + extra


def programs(build, long):
    """(name, command, folder, environment) of each test with the label gpu; long: and gpu_long."""
    select = ["-C", "long", "-L", "^gpu(_long)?$"] if long else ["-L", "^gpu$"]
    listing = subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1", *select], check=True, text=True, stdout=subprocess.PIPE)
    for test in json.loads(listing.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        variables = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []))
        # A program that is not built has no command.
        yield test["name"], test.get("command"), properties.get("WORKING_DIRECTORY"), variables


class Report:
    def __init__(self, build, only):
        self.build, self.only = build, re.compile(only)
        self.environment = dict(os.environ)
        self.failures = []
        self.find_gpu()
        self.sanitizer = shutil.which("compute-sanitizer")
        for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
            if home and not self.sanitizer:
                self.sanitizer = shutil.which("compute-sanitizer", path=f"{home}/bin")

    def find_gpu(self):
        """Sets what the commands run on, and prints it."""
        self.emulated = False
        if driver := os.environ.get("KILN_CUDA_DRIVER"):
            say(f"On the GPU of KILN_CUDA_DRIVER={driver}.")
            return
        probe = Run(verify(self.build, "models/mlp", []), self.environment)
        absent = re.search("there is no CUDA driver on this machine|the CUDA driver finds no GPU on this machine", probe.output)
        if not absent:
            name = Run(["nvidia-smi", "--id=0", "--query-gpu=name,driver_version", "--format=csv,noheader"], self.environment)
            say(f"On {name.output.strip() if name.status == 0 else 'the first GPU'}.")
            return
        self.emulated = True
        self.environment["KILN_CUDA_DRIVER"] = str(self.build / "tests" / EMULATED)
        say(f"No GPU: {absent[0]}. What follows ran on the emulated device (tests/codegen/ptx): it is no test of a GPU.")

    def bits(self, name, run):
        """The cell of a comparison; keeps what a failed one printed."""
        if run.status == 0:
            return "same"
        self.failures.append((name, run))
        return "timeout" if run.status is None else "other" if "differs from" in run.output or "has other bits" in run.output else "failed"

    def sanitized(self, name, command):
        """A cell for each of compute-sanitizer's tools."""
        for tool in SANITIZERS:
            if self.emulated or not self.sanitizer:
                yield "-"
                continue
            run = Run([self.sanitizer, "--tool", tool, "--error-exitcode", str(SANITIZER_ERROR), *command], self.environment)
            if run.status == 0:
                yield "ok"
                continue
            self.failures.append((f"{name}, {tool}", run))
            found = re.search(r"SUMMARY: (\d+)", run.output)
            yield "timeout" if run.status is None else f"{found[1]} found" if found and run.status == SANITIZER_ERROR else "failed"

    def print_rows(self):
        print(row("", "bits", *SANITIZERS))
        emulated = pathlib.Path(self.environment.get("KILN_CUDA_DRIVER", "")).name == EMULATED
        for name, command, folder, variables in programs(self.build, long=not emulated):
            if self.only.search(name):
                if not command:
                    sys.exit(f"the program of {name} is not built; tools/test-gpu builds it")
                variables["KILN_CUDA_DRIVER"] = self.environment.get("KILN_CUDA_DRIVER", "")
                run = Run(command, self.environment | variables, folder)
                print(row(name, self.bits(name, run)), flush=True)
        for case in json.loads((GOLDEN / "models" / "manifest.json").read_text())["cases"]:
            name = f"network {case['name']}"
            if self.only.search(name):
                run = Run(verify(self.build, "models/" + case["name"], []), self.environment)
                print(row(name, self.bits(name, run)), flush=True)
        for name, case, extra in FAMILIES:
            if self.only.search(name):
                command = verify(self.build, case, extra)
                cells = [self.bits(name, Run(command, self.environment)), *self.sanitized(name, command)]
                print(row(name, *cells), flush=True)

    def print_failures(self):
        for name, run in self.failures:
            print(f"\n{name}: {' '.join(run.command)}\n{textwrap.indent(run.output.strip(), '  ')}")
        if self.emulated:
            say("compute-sanitizer was not run: it needs a GPU.")
        elif not self.sanitizer:
            say("compute-sanitizer was not run: it is not installed; tools/setup --cuda installs it.")
        print(f"{len(self.failures)} failed" if self.failures else "all the same")


def main():
    parser = argparse.ArgumentParser(description="Compares a GPU's results with the CPU's, bit by bit.")
    parser.add_argument("build", type=pathlib.Path, help="a build folder with the target gpu_tests")
    parser.add_argument("--only", default="", metavar="REGEX", help="the rows whose names match")
    arguments = parser.parse_args()
    try:
        re.compile(arguments.only)
    except re.error as e:
        parser.error(f"--only {arguments.only}: {e}")
    if not (arguments.build / "kiln").exists():
        parser.error(f"{arguments.build / 'kiln'} is not built; tools/test-gpu builds it")
    report = Report(arguments.build.resolve(), arguments.only)
    report.print_rows()
    report.print_failures()
    sys.exit(1 if report.failures else 0)


main()

"""Shared by the peers' programs: the command line, the timing, runs of kiln-bench in between, and the printed rows.

A workload is a function without arguments that returns a step; a step returns when all that it computes is
computed: the result, or the loss and the updates of parameters. Where calls are asynchronous it waits.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time

THREADS = int(os.environ.get("THREADS", "1"))
SECONDS = float(os.environ.get("SECONDS", "5"))
COMPILED = os.environ.get("COMPILED") == "1"  # for a peer with both forms
workloads = {}
kinds = {}


def workload(name):
    """Decorator: the function makes the step of this workload."""
    def register(make):
        workloads[name] = make
        return make
    return register


def kind(*names):
    """Decorator: the function makes the step of a workload of these kinds from the sizes that kiln-bench drew."""
    def register(make):
        for name in names:
            kinds[name] = make
        return make
    return register


def minima(step):
    """Wall time and CPU time of the process, in us, over samples of 2 ms or one step, as kiln-bench's; before them
    two steps that compile and allocate."""
    def sample(steps):
        cpu, begin = time.process_time(), time.perf_counter()
        for _ in range(steps):
            step()
        return (time.perf_counter() - begin) / steps, (time.process_time() - cpu) / steps

    for _ in range(2):
        step()
    steps = 1 + int(2e-3 / max(sample(1)[0], 1e-8))
    samples, end = [], time.perf_counter() + SECONDS
    while not samples or time.perf_counter() < end:
        samples.append(sample(steps))
    wall, cpu = (min(times) * 1e6 for times in zip(*samples))
    return {"min_us": wall, "min_cpu_us": cpu}


def counted(step):
    """The numbers that compare checks, if the step tells them: elements of its (first) result, and of its parameters."""
    result = step()
    while isinstance(result, (tuple, list)):
        result = result[0]
    sizes = {"elements": result.numel() if hasattr(result, "numel") else getattr(result, "size", None),
             "parameters": getattr(step, "parameters", None)}
    return {name: size for name, size in sizes.items() if size is not None}


def measured(name):
    """The numbers of a workload's row."""
    step = workloads[name]()
    return {**minima(step), **counted(step)}


def fail(message):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


def arguments(description):
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("workloads", nargs="*", help="a workload, or a kind for all of its workloads; all unless given")
    p.add_argument("--kiln", metavar="KILN_BENCH", help="alternate with this kiln-bench, and print its rows too")
    p.add_argument("--rounds", type=int, default=1, help="passes over all workloads")
    if kinds:
        p.add_argument("--seed", type=int, default=1, help="of the sizes of kinds; needs --kiln, which draws them")
    return p.parse_args()


def group_of(name):
    """The kind of a workload, which kiln-bench runs in one process."""
    return name.split("/")[0]


def kiln_rows(program, group, options):
    """The rows of kiln-bench for the workloads of a group, eager and compiled."""
    wanted = f"^{re.escape(group)}/(.*/)?(eager|compiled)/threads:{THREADS}(/|$)"
    command = [program, *options, f"--benchmark_filter={wanted}", f"--benchmark_min_time={SECONDS}",
               "--benchmark_format=json"]
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return json.loads(output)["benchmarks"] if output else []


def draw(program, seed):
    """Makes workloads of the kinds that this peer has."""
    lines = subprocess.run([program, f"--kinds={seed}", "--shapes"], stdout=subprocess.PIPE, text=True, check=True)
    for line in lines.stdout.splitlines():
        sizes = json.loads(line)
        name, make = sizes.pop("workload"), kinds.get(sizes.pop("kind"))
        if make:
            workloads[name] = lambda make=make, sizes=sizes: make(**sizes)


def run(peer, description=None, measure=measured):
    a = arguments(description)
    options = []
    if kinds:
        if not a.kiln:
            fail("the sizes of kinds are drawn by --kiln")
        options = [f"--kinds={a.seed}"]
        draw(a.kiln, a.seed)
        print(f"sizes of seed {a.seed}", file=sys.stderr)
    groups = {}
    for name in workloads:
        groups.setdefault(group_of(name), []).append(name)
    unknown = [n for n in a.workloads if n not in workloads and n not in groups]
    if unknown:
        fail(f"no workload {unknown[0]}; there are {', '.join(groups)}")
    wanted = {g: [n for n in names if not a.workloads or n in a.workloads or g in a.workloads]
              for g, names in groups.items()}
    for _ in range(a.rounds):
        for group, names in wanted.items():
            if not names:
                continue
            for row in kiln_rows(a.kiln, group, options) if a.kiln else []:
                print(json.dumps(row), flush=True)
            for name in names:
                row = {"workload": name, "peer": peer, "threads": THREADS, **measure(name)}
                print(json.dumps(row), flush=True)

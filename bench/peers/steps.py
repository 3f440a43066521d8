"""What the peers' training steps share: the command line, the timing and the printed rows.

A workload is a function without arguments that returns a step; a step returns when its loss and the updates of
its parameters are computed; where calls are asynchronous, it waits for all of them.
"""
import json
import os
import sys
import time

THREADS = int(os.environ.get("THREADS", "1"))
SECONDS = float(os.environ.get("SECONDS", "5"))
workloads = {}


def workload(name):
    """Decorator: the function makes the step of this workload."""
    def register(make):
        workloads[name] = make
        return make
    return register


def minimum_us(step):
    """Of samples of one step, after two that compile and allocate."""
    for _ in range(2):
        step()
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - begin)
    return best * 1e6


def run(peer):
    names = sys.argv[1:] or list(workloads)
    unknown = [n for n in names if n not in workloads]
    if unknown:
        sys.exit(f"{os.path.basename(sys.argv[0])}: no workload {unknown[0]}; there are {', '.join(workloads)}")
    for name in names:
        row = {"workload": name, "peer": peer, "threads": THREADS, "min_us": minimum_us(workloads[name]())}
        print(json.dumps(row), flush=True)

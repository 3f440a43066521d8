#!/usr/bin/env python3
"""The first calls of bench/calls.cpp, and the memory of their processes, by PyTorch, eager.

    bench/peers/first_calls_torch.py --kiln build/kiln-bench > first.jsonl      needs torch and torchvision
    bench/compare first.jsonl
    bench/compare --measure memory first.jsonl

Prints JSON lines, as training_torch.py does; each is of a new process, whose start and imports are not timed.
COMPILED=1 in the environment: by torch.compile, with an empty cache except in the rows named cached.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import torch
from torchvision import models

import steps
from small_torch import lenet, mlp
from transformer_torch import Bert


def batches(count, *shape):
    return [(torch.randn(batch, *shape),) for batch in range(1, count + 1)]


def image():
    return batches(1, 3, 224, 224)


def words():
    return [(torch.arange(128)[None], torch.zeros(1, 128, dtype=torch.int64))]


networks = {
    "mlp": (mlp, lambda: batches(1, 512)),
    "mlp_200_batches": (mlp, lambda: batches(200, 512)),
    "lenet_200_batches": (lenet, lambda: batches(200, 1, 28, 28)),
    "resnet18": (models.resnet18, image),
    "resnet50": (models.resnet50, image),
    "mobilenet_v2": (models.mobilenet_v2, image),
    "densenet201": (models.densenet201, image),
    "bert_base": (Bert, words),
}
for network in networks:
    for name in f"first_call_{network}", f"first_call_{network}_cached":
        steps.workload(name)(network)


def first_calls(net, calls):
    """Seconds."""
    with torch.inference_mode():
        begin = time.perf_counter()
        if steps.COMPILED:
            net = torch.compile(net)
        for call in calls:
            net(*call)
        return time.perf_counter() - begin


def print_first_calls(network, seconds_of):
    """The main function of a new process: prints its numbers."""
    torch.set_num_threads(steps.THREADS)
    make, inputs = networks[network]
    seconds = seconds_of(make().eval(), inputs())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"min_us": seconds * 1e6, "peak_rss_mib": peak}))


def in_new_process(program, name):
    command = [sys.executable, program, "--first-call", steps.workloads[name]]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": cache}
        runs = 2 if steps.COMPILED and name.endswith("_cached") else 1
        for _ in range(runs):
            output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(output)


def main(arguments, program, peer, description, seconds_of):
    """Of a program that measures `seconds_of` the network and its calls."""
    if arguments[1:2] == ["--first-call"]:
        print_first_calls(arguments[2], seconds_of)
    else:
        steps.run(peer, description, lambda name: in_new_process(program, name))


if __name__ == "__main__":
    main(sys.argv, __file__, "PyTorch, compiled" if steps.COMPILED else "PyTorch", __doc__, first_calls)

#!/usr/bin/env python3
"""The operators of bench/operators.cpp by PyTorch, eager.

    bench/peers/operators_torch.py [WORKLOAD...] > torch.jsonl     needs torch
    bench/compare kiln.json torch.jsonl

Prints a JSON line for each workload, as training_torch.py does: a sample is one call.
"""
import torch
import torch.nn.functional as F

import steps


def add(name, shapes, call):
    """A workload of one operator on standard normal numbers."""
    def make():
        arrays = [torch.randn(s) for s in shapes]
        return lambda: call(*arrays)
    steps.workload(f"{name}_{'x'.join(map(str, shapes[0]))}")(make)


def top(count):
    return lambda x: torch.topk(x, count)


def batch_norm(x):
    channels = x.shape[1]
    one, zero = torch.ones(channels), torch.zeros(channels)
    mean, variance = torch.zeros(channels), torch.ones(channels)
    return lambda: F.batch_norm(x, mean, variance, one, zero, training=True)


for shape, count in [((1, 1000000), 10), ((1, 1000000), 1000), ((64, 1000), 5), ((32, 50257), 50), ((128, 4096), 100)]:
    add(f"top{count}", [shape], top(count))
for length in (1, 2, 3, 5, 8, 10, 16, 21, 32):
    rows = (400000 // length, length)
    add("sum", [rows], lambda x: x.sum(1))
    add("max", [rows], lambda x: x.amax(1))
    add("softmax", [rows], lambda x: F.softmax(x, 1))
    add("layernorm", [rows, rows[1:], rows[1:]], lambda x, g, b: F.layer_norm(x, x.shape[1:], g, b))
for axis in (0, 1):
    add(f"argmax{axis}", [(4096, 1000)], lambda x, axis=axis: x.argmax(axis))
    add(f"cumsum{axis}", [(2000, 2000)], lambda x, axis=axis: x.cumsum(axis))
for function in ("sin", "cos", "expm1"):
    add(function, [(1000000,)], getattr(torch, function))
for function in ("log1p", "log2", "log10"):
    add(function, [(1000000,)], lambda x, f=getattr(torch, function): f(x.abs()))
add("tan", [(1000000,)], torch.tan)
for function in ("arcsin", "arccos"):
    add(function, [(1000000,)], lambda x, f=getattr(torch, function): f(x.clip(-1, 1)))
add("arctan", [(1000000,)], torch.arctan)
images = (8, 64, 56, 56)
add("reflect3", [images], lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"))
add("instancenorm", [images, (64,), (64,)], lambda x, g, b: F.instance_norm(x, weight=g, bias=b))
add("groupnorm", [images, (64,), (64,)], lambda x, g, b: F.group_norm(x, 8, g, b))
for shape in (images, (32, 256, 14, 14), (16, 32, 112, 112)):
    steps.workload(f"batchnorm_training_{'x'.join(map(str, shape))}")(lambda s=shape: batch_norm(torch.randn(s)))
add("matvec", [(4096, 4096), (4096,)], torch.mv)
add("matvec_transposed", [(4096, 4096), (4096,)], lambda a, x: a.t() @ x)
add("thin", [(8, 65536), (65536, 8)], torch.mm)

if __name__ == "__main__":
    torch.set_num_threads(steps.THREADS)
    with torch.no_grad():
        steps.run("PyTorch")

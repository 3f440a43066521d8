#!/usr/bin/env python3
"""The kinds of bench/kinds.h by PyTorch, eager, alternating with Kiln.

    bench/peers/kinds_torch.py --kiln build/kiln-bench --seed 7 --rounds 3 > kinds.jsonl        needs torch
    bench/compare --by-kind kinds.jsonl

Prints JSON lines, as training_torch.py does. THREADS and SECONDS as there; 0.1 seconds suffice.
"""
import torch
import torch.nn.functional as F

import kinds
import steps
from steps import kind

randn = torch.randn


def unary(name, call):
    """A kind with one input of standard normal numbers."""
    def make(shape):
        x = randn(shape)
        return lambda: call(x)
    kind(name)(make)


for name, method in kinds.METHODS.items():
    unary(name, method)
unary("max_short", lambda x: x.amax(1))
unary("softmax_short", lambda x: F.softmax(x, 1))
unary("softmax_long", lambda x: F.softmax(x, 1))
unary("sort", lambda x: torch.sort(x, 1))
unary("max_channels", lambda x: x.amax((0, 2, 3)))
unary("transpose", lambda x: x.t().contiguous())
unary("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1))


@kind("topk")
def topk(shape, k):
    x = randn(shape)
    return lambda: torch.topk(x, k)


@kind("layer_norm_short")
def layer_norm(shape):
    x, gamma, beta = randn(shape), randn(shape[1]), randn(shape[1])
    return lambda: F.layer_norm(x, shape[1:], gamma, beta)


def function(name):
    def make(shape, range):
        low, high = range
        x, call = torch.rand(shape) * (high - low) + low, getattr(torch, name)
        return lambda: call(x)
    kind(name)(make)


for name in kinds.FUNCTIONS:
    function(name)


@kind("power")
def power(shape, range):
    low, high = range
    x = torch.rand(shape) * (high - low) + low
    y = 2 - x
    return lambda: torch.pow(x, y)


@kind("stream")
def stream(shape):
    x, y = torch.rand(shape), torch.rand(shape)
    return lambda: x + y


@kind("reflect_pad")
def reflect_pad(shape, pad):
    x = randn(shape)
    return lambda: F.pad(x, (pad,) * 4, mode="reflect")


@kind(*kinds.PERMUTATIONS)
def permute(shape, axes):
    x = randn(shape)
    return lambda: x.permute(axes).contiguous()


@kind("gather")
def gather(table, rows):
    indices, weight = torch.arange(rows) * 7919 % table[0], randn(table)
    return lambda: F.embedding(indices, weight)


@kind("batch_norm_training")
def batch_norm(shape):
    x, channels = randn(shape), shape[1]
    one, zero = torch.ones(channels), torch.zeros(channels)
    mean, variance = torch.zeros(channels), torch.ones(channels)
    return lambda: F.batch_norm(x, mean, variance, one, zero, training=True)


@kind("instance_norm")
def instance_norm(shape):
    x, gamma, beta = randn(shape), randn(shape[1]), randn(shape[1])
    return lambda: F.instance_norm(x, weight=gamma, bias=beta)


@kind("group_norm")
def group_norm(shape, groups):
    x, gamma, beta = randn(shape), randn(shape[1]), randn(shape[1])
    return lambda: F.group_norm(x, groups, gamma, beta)


def product(name, call):
    def make(a, b):
        x, y = randn(a), randn(b)
        return lambda: call(x, y)
    kind(name)(make)


product("matrix_vector", torch.mv)
product("transposed_matrix_vector", lambda a, b: torch.mv(a.t(), b))
product("thin", torch.mm)
product("matmul", torch.mm)
product("attention_scores", lambda a, b: torch.bmm(a, b.transpose(1, 2)))
product("attention_values", torch.bmm)


@kind(*kinds.DENSE)
def dense(x, units):
    data, weight, bias = randn(x), randn(units, x[1]), randn(units)
    return lambda: F.linear(data, weight, bias)


@kind(*kinds.CONVOLUTIONS)
def convolution(x, filters, kernel, stride, pad, dilation, groups):
    net = torch.nn.Conv2d(x[1], filters, kernel, stride, pad, dilation, groups)
    data = randn(x)
    return lambda: net(data)


@kind("transposed_convolution")
def transposed_convolution(x, filters, kernel, stride, pad, dilation, groups):
    net = torch.nn.ConvTranspose2d(x[1], filters, kernel, stride, pad, groups=groups, dilation=dilation)
    data = randn(x)
    return lambda: net(data)


if __name__ == "__main__":
    torch.set_num_threads(steps.THREADS)
    with torch.inference_mode():
        steps.run("PyTorch", __doc__)

#!/usr/bin/env python3
"""The kinds of bench/kinds.h by PyTorch, eager, alternating with Kiln.

    bench/peers/kinds_torch.py --kiln build/kiln-bench --seed 7 --rounds 3 > kinds.jsonl        needs torch
    bench/compare --by-kind kinds.jsonl

Prints JSON lines, as training_torch.py does. THREADS and SECONDS as there; 0.1 seconds suffice. In int8, results of
layers are rounded to 8 bits, and then converted to float32. Kinds of Precision::bf16 are left out.
"""
from functools import partial

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


def dense(x, units, dtype=torch.float32):
    data, weight, bias = (randn(shape, dtype=dtype) for shape in (x, (units, x[1]), (units,)))
    return lambda: F.linear(data, weight, bias)


def convolution(x, filters, kernel, stride, pad, dilation, groups, dtype=torch.float32):
    net = torch.nn.Conv2d(x[1], filters, kernel, stride, pad, dilation, groups, dtype=dtype)
    data = randn(x, dtype=dtype)
    return lambda: net(data)


for of_layer, names, names_in_bf16 in zip((dense, convolution), (kinds.DENSE, kinds.CONVOLUTIONS), kinds.BF16):
    kind(*names)(of_layer)
    kind(*names_in_bf16)(partial(of_layer, dtype=torch.bfloat16))


def int8_weight(*shape):
    weight = randn(shape)
    steps = weight.abs().flatten(1).amax(1) / 127
    return torch.quantize_per_channel(weight, steps, torch.zeros(len(steps), dtype=torch.long), 0, torch.qint8)


def int8_step(x, call):
    """Integers from 0 to 255 stand for 5 standard deviations on either side: of x, and of the results of the call."""
    data, step = randn(x), 5 / 127
    return lambda: call(torch.quantize_per_tensor(data, step, 128, torch.quint8), step, 128).dequantize()


@kind(*kinds.INT8[0])
def int8_dense(x, units):
    packed = torch.ops.quantized.linear_prepack(int8_weight(units, x[1]), randn(units))
    return int8_step(x, lambda data, step, zero: torch.ops.quantized.linear(data, packed, step * x[1] ** 0.5, zero))


@kind(*kinds.INT8[1])
def int8_convolution(x, filters, kernel, stride, pad, dilation, groups):
    weight = int8_weight(filters, x[1] // groups, kernel, kernel)
    packed = torch.ops.quantized.conv2d_prepack(weight, randn(filters), [stride] * 2, [pad] * 2, [dilation] * 2, groups)
    deviation = weight[0].numel() ** 0.5
    return int8_step(x, lambda data, step, zero: torch.ops.quantized.conv2d(data, packed, step * deviation, zero))


@kind("transposed_convolution")
def transposed_convolution(x, filters, kernel, stride, pad, dilation, groups):
    net = torch.nn.ConvTranspose2d(x[1], filters, kernel, stride, pad, groups=groups, dilation=dilation)
    data = randn(x)
    return lambda: net(data)


if __name__ == "__main__":
    torch.set_num_threads(steps.THREADS)
    torch.backends.quantized.engine = "x86"
    with torch.inference_mode():
        steps.run("PyTorch", __doc__)

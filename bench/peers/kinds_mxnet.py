#!/usr/bin/env python3
"""The kinds of bench/kinds.h by MXNet 1.9.1, alternating with Kiln.

    bench/peers/kinds_mxnet.py --kiln build/kiln-bench --seed 7 --rounds 3 > mxnet.jsonl        needs mxnet==1.9.1
    bench/compare --by-kind mxnet.jsonl

Prints JSON lines, as training_mxnet.py does. THREADS and SECONDS as there; 0.1 seconds suffice.
"""
import os

import kinds
import steps

os.environ["OMP_NUM_THREADS"] = str(steps.THREADS)

import mxnet as mx
from mxnet import autograd, nd

from steps import kind


def randn(shape):
    return nd.random.normal(shape=tuple(shape))


def step_of(call, *arrays):
    """A step ends when its result is computed: calls are asynchronous."""
    nd.waitall()

    def step():
        result = call(*arrays)
        (result[0] if isinstance(result, list) else result).wait_to_read()
        return result
    return step


def unary(name, call):
    """A kind with one input of standard normal numbers."""
    kind(name)(lambda shape: step_of(call, randn(shape)))


unary("sum_short", lambda x: nd.sum(x, axis=1))
unary("max_short", lambda x: nd.max(x, axis=1))
unary("softmax_short", nd.softmax)
unary("softmax_long", nd.softmax)
unary("sort", nd.sort)
unary("argmax_first", lambda x: nd.argmax(x, axis=0))
unary("argmax_last", lambda x: nd.argmax(x, axis=1))
unary("argmin_first", lambda x: nd.argmin(x, axis=0))
unary("argmin_last", lambda x: nd.argmin(x, axis=1))
unary("cumsum_first", lambda x: nd.cumsum(x, axis=0))
unary("cumsum_middle", lambda x: nd.cumsum(x, axis=1))
unary("sum_channels", lambda x: nd.sum(x, axis=(0, 2, 3)))
unary("max_channels", lambda x: nd.max(x, axis=(0, 2, 3)))
unary("transpose", nd.transpose)
unary("max_pool", lambda x: nd.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max"))


@kind("topk")
def topk(shape, k):
    return step_of(lambda x: nd.topk(x, k=k, ret_typ="both"), randn(shape))


@kind("layer_norm_short")
def layer_norm(shape):
    return step_of(nd.LayerNorm, randn(shape), randn(shape[1:]), randn(shape[1:]))


def function(name):
    def make(shape, range):
        return step_of(getattr(nd, name), nd.random.uniform(*range, shape=tuple(shape)))
    kind(name)(make)


for name in kinds.FUNCTIONS:
    function(name)


@kind("power")
def power(shape, range):
    x = nd.random.uniform(*range, shape=tuple(shape))
    return step_of(nd.power, x, 2 - x)


@kind("stream")
def stream(shape):
    return step_of(nd.elemwise_add, randn(shape), randn(shape))


@kind("reflect_pad")
def reflect_pad(shape, pad):
    return step_of(lambda x: nd.pad(x, mode="reflect", pad_width=(0,) * 4 + (pad,) * 4), randn(shape))


@kind(*kinds.PERMUTATIONS)
def permute(shape, axes):
    return step_of(lambda x: nd.transpose(x, axes=axes), randn(shape))


@kind("gather")
def gather(table, rows):
    return step_of(lambda indices, weight: nd.Embedding(indices, weight, input_dim=table[0], output_dim=table[1]),
                   nd.arange(rows) * 7919 % table[0], randn(table))


@kind("batch_norm_training")
def batch_norm(shape):
    def call(*arrays):
        with autograd.train_mode():
            return nd.BatchNorm(*arrays)
    zero, one = nd.zeros(shape[1]), nd.ones(shape[1])
    return step_of(call, randn(shape), one, zero, nd.zeros(shape[1]), nd.ones(shape[1]))


@kind("instance_norm")
def instance_norm(shape):
    return step_of(nd.InstanceNorm, randn(shape), randn(shape[1:2]), randn(shape[1:2]))


@kind("group_norm")
def group_norm(shape, groups):
    return step_of(lambda *arrays: nd.GroupNorm(*arrays, num_groups=groups), randn(shape), randn((groups,)),
                   randn((groups,)))


def product(name, call):
    kind(name)(lambda a, b: step_of(call, randn(a), randn(b)))


product("matrix_vector", nd.dot)
product("transposed_matrix_vector", lambda a, b: nd.dot(a, b, transpose_a=True))
product("thin", nd.dot)
product("matmul", nd.dot)
product("attention_scores", lambda a, b: nd.batch_dot(a, b, transpose_b=True))
product("attention_values", nd.batch_dot)


@kind(*kinds.DENSE)
def dense(x, units):
    return step_of(lambda *arrays: nd.FullyConnected(*arrays, num_hidden=units), randn(x), randn((units, x[1])),
                   randn((units,)))


def window(kernel, stride, pad, dilation):
    return {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (pad,) * 2, "dilate": (dilation,) * 2}


@kind(*kinds.CONVOLUTIONS)
def convolution(x, filters, kernel, stride, pad, dilation, groups):
    options = window(kernel, stride, pad, dilation)
    return step_of(lambda *arrays: nd.Convolution(*arrays, **options, num_filter=filters, num_group=groups), randn(x),
                   randn((filters, x[1] // groups, kernel, kernel)), randn((filters,)))


@kind("transposed_convolution")
def transposed_convolution(x, filters, kernel, stride, pad, dilation, groups):
    options = window(kernel, stride, pad, dilation)
    return step_of(lambda *arrays: nd.Deconvolution(*arrays, **options, num_filter=filters, num_group=groups,
                                                    no_bias=False),
                   randn(x), randn((x[1], filters // groups, kernel, kernel)), randn((filters,)))


if __name__ == "__main__":
    mx.random.seed(1)
    steps.run("MXNet", __doc__)

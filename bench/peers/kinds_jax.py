#!/usr/bin/env python3
"""The kinds of bench/kinds.h by JAX, each in one jit, alternating with Kiln.

    bench/peers/kinds_jax.py --kiln build/kiln-bench --seed 7 --rounds 3 > jax.jsonl            needs jax
    bench/compare --by-kind jax.jsonl

Prints JSON lines, as training_jax.py does. THREADS and SECONDS as there; 0.1 seconds suffice.
"""
import kinds
import jax_threads  # before JAX, which reads the environment
import steps

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from jax.scipy import special

from steps import kind

random = np.random.default_rng(0)


def randn(shape):
    return jnp.asarray(random.standard_normal(shape, np.float32))


def step_of(call, *arrays):
    compiled = jax.jit(call)
    return lambda: jax.block_until_ready(compiled(*arrays))


def unary(name, call):
    """A kind with one input of standard normal numbers."""
    kind(name)(lambda shape: step_of(call, randn(shape)))


for name, method in kinds.METHODS.items():
    unary(name, method)
unary("max_short", lambda x: x.max(1))
unary("softmax_short", lambda x: nn.softmax(x, 1))
unary("softmax_long", lambda x: nn.softmax(x, 1))
unary("sort", lambda x: jnp.sort(x, 1))
unary("max_channels", lambda x: x.max((0, 2, 3)))
unary("transpose", lambda x: x.T)
unary("max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2),
                                              ((0, 0), (0, 0), (1, 1), (1, 1))))


@kind("topk")
def topk(shape, k):
    return step_of(lambda x: lax.top_k(x, k), randn(shape))


def normalized(x, axes):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(axes, keepdims=True) + 1e-5)


def per_channel(p):
    return p[None, :, None, None]


@kind("layer_norm_short")
def layer_norm(shape):
    return step_of(lambda x, gamma, beta: normalized(x, 1) * gamma + beta, *map(randn, (shape, shape[1:], shape[1:])))


def function(name, call):
    def make(shape, range):
        return step_of(call, jnp.asarray(random.uniform(*range, shape), jnp.float32))
    kind(name)(make)


of_other_modules = {"sigmoid": nn.sigmoid, "erf": special.erf}
for name in kinds.FUNCTIONS:
    function(name, of_other_modules.get(name) or getattr(jnp, name))


@kind("power")
def power(shape, range):
    x = jnp.asarray(random.uniform(*range, shape), jnp.float32)
    return step_of(jnp.power, x, 2 - x)


@kind("stream")
def stream(shape):
    return step_of(jnp.add, randn(shape), randn(shape))


@kind("reflect_pad")
def reflect_pad(shape, pad):
    return step_of(lambda x: jnp.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode="reflect"), randn(shape))


@kind(*kinds.PERMUTATIONS)
def permute(shape, axes):
    return step_of(lambda x: x.transpose(axes), randn(shape))


@kind("gather")
def gather(table, rows):
    return step_of(lambda indices, weight: weight[indices], jnp.arange(rows) * 7919 % table[0], randn(table))


@kind("batch_norm_training")
def batch_norm(shape):
    def call(x, gamma, beta, moving_mean, moving_variance):
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
        scale = gamma * lax.rsqrt(variance + 1e-5)
        y = x * per_channel(scale) + per_channel(beta - mean * scale)
        return y, 0.9 * moving_mean + 0.1 * mean, 0.9 * moving_variance + 0.1 * variance
    zero, one = jnp.zeros(shape[1]), jnp.ones(shape[1])
    return step_of(call, randn(shape), one, zero, zero, one)


@kind("instance_norm")
def instance_norm(shape):
    return step_of(lambda x, gamma, beta: normalized(x, (2, 3)) * per_channel(gamma) + per_channel(beta),
                   *map(randn, (shape, shape[1:2], shape[1:2])))


@kind("group_norm")
def group_norm(shape, groups):
    def call(x, gamma, beta):
        y = normalized(x.reshape(shape[0], groups, -1), 2).reshape(shape)
        return y * per_channel(gamma) + per_channel(beta)
    return step_of(call, *map(randn, (shape, shape[1:2], shape[1:2])))


def product(name, call):
    kind(name)(lambda a, b: step_of(call, randn(a), randn(b)))


product("matrix_vector", jnp.matmul)
product("transposed_matrix_vector", lambda a, b: a.T @ b)
product("thin", jnp.matmul)
product("matmul", jnp.matmul)
product("attention_scores", lambda a, b: a @ b.transpose(0, 2, 1))
product("attention_values", jnp.matmul)


@kind(*kinds.DENSE)
def dense(x, units):
    return step_of(lambda x, weight, bias: x @ weight.T + bias, randn(x), randn((units, x[1])), randn((units,)))


@kind(*kinds.CONVOLUTIONS)
def convolution(x, filters, kernel, stride, pad, dilation, groups):
    def call(x, weight, bias):
        y = lax.conv_general_dilated(x, weight, (stride, stride), [(pad, pad)] * 2, rhs_dilation=(dilation, dilation),
                                     feature_group_count=groups)
        return y + per_channel(bias)
    return step_of(call, randn(x), randn((filters, x[1] // groups, kernel, kernel)), randn((filters,)))


@kind("transposed_convolution")
def transposed_convolution(x, filters, kernel, stride, pad, dilation, groups):
    border = dilation * (kernel - 1) - pad

    def call(x, weight, bias):
        y = lax.conv_general_dilated(x, weight, (1, 1), [(border, border)] * 2, lhs_dilation=(stride, stride),
                                     rhs_dilation=(dilation, dilation), feature_group_count=groups)
        return y + per_channel(bias)
    return step_of(call, randn(x), randn((filters, x[1] // groups, kernel, kernel)), randn((filters,)))


if __name__ == "__main__":
    steps.run("JAX", __doc__)

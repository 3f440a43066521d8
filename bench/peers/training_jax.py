#!/usr/bin/env python3
"""Training steps of bench/trainer.cpp and bench/language.cpp by JAX: loss, gradients and update in one jit.

    bench/peers/training_jax.py [WORKLOAD...] > jax.jsonl          needs jax
    bench/compare kiln.json jax.jsonl

Prints a JSON line for each workload: the minimum of samples of one step, in us. THREADS (1; any other number:
all) and SECONDS in the environment: 1 thread and 5 seconds of samples unless given. Images have their channels
last, which is the faster form on a CPU.
"""
import jax_threads  # before JAX, which reads the environment
import steps

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

random = np.random.default_rng(0)


def draw(*shape):
    return jnp.asarray(random.normal(0, 0.05, shape), jnp.float32)


def normal(*shape):
    return jnp.asarray(random.normal(size=shape), jnp.float32)


def labels(count, classes):
    return jnp.arange(count) * 7 % classes


# Optimizers: (state of a parameter, update of parameter, state, gradient and step).
def sgd(rate, momentum=0.0):
    if momentum == 0.0:
        return (lambda p: (), lambda p, s, g, t: (p - rate * g, ()))

    def update(p, s, g, t):
        v = momentum * s[0] - rate * g
        return p + v, (v,)
    return (lambda p: (jnp.zeros_like(p),), update)


def adam(rate, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.0):
    def update(p, s, g, t):
        m, v = beta1 * s[0] + (1 - beta1) * g, beta2 * s[1] + (1 - beta2) * g * g
        step = rate * jnp.sqrt(1 - beta2**t) / (1 - beta1**t)
        return p - step * m / (jnp.sqrt(v) + epsilon) - rate * decay * p, (m, v)
    return (lambda p: (jnp.zeros_like(p), jnp.zeros_like(p)), update)


def update_all(optimizer, params, states, gradients, t):
    flat, tree = jax.tree.flatten(params)
    results = [optimizer[1](p, s, g, t) for p, s, g in zip(flat, states, jax.tree.leaves(gradients))]
    return jax.tree.unflatten(tree, [p for p, _ in results]), [s for _, s in results]


def states_of(optimizer, params):
    return [optimizer[0](p) for p in jax.tree.leaves(params)]


def step_of(params, optimizer, loss, *data):
    """`loss(params, key, *data)`; parameters and states are donated, so they are updated in place."""
    def compute(params, states, t, *data):
        value, gradients = jax.value_and_grad(loss)(params, jax.random.key(t.astype(jnp.int32)), *data)
        return (value, *update_all(optimizer, params, states, gradients, t))

    compute = jax.jit(compute, donate_argnums=(0, 1))
    now = [params, states_of(optimizer, params), 0]

    def step():
        now[2] += 1
        value, now[0], now[1] = compute(now[0], now[1], jnp.float32(now[2]), *data)
        return value.block_until_ready()
    return step


def cross_entropy(scores, y):
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(scores), y[:, None], 1))


def sigmoid_loss(scores, y):
    return jnp.mean(nn.relu(scores) - scores * y + jnp.log1p(jnp.exp(-jnp.abs(scores))))


def classifier(params, network, x, classes, optimizer):
    return step_of(params, optimizer, lambda p, key, x, y: cross_entropy(network(p, x), y), x,
                   labels(x.shape[0], classes))


def dense_params(outputs, inputs):
    return draw(inputs, outputs), jnp.zeros(outputs)


def dense(p, x):
    return x @ p[0] + p[1]


def convolve(w, x, stride=1, pad=0, groups=1):
    return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(x, size, stride, pad=0):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1),
                             [(0, 0), (pad, pad), (pad, pad), (0, 0)])


def norm_params(channels):
    return jnp.ones(channels), jnp.zeros(channels)


def batch_norm(p, x, epsilon=1e-5):
    mean = jnp.mean(x, (0, 1, 2))
    variance = jnp.mean(jnp.square(x), (0, 1, 2)) - jnp.square(mean)
    return (x - mean) * (lax.rsqrt(variance + epsilon) * p[0]) + p[1]


def layer_norm(p, x, epsilon=1e-5):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + epsilon) * p[0] + p[1]


@steps.workload("train_mlp_b64")
def mlp():
    params = [dense_params(256, 512), dense_params(128, 256), dense_params(2, 128)]
    return classifier(params, lambda p, x: dense(p[2], nn.relu(dense(p[1], nn.relu(dense(p[0], x))))),
                      normal(64, 512), 2, sgd(0.01))


@steps.workload("train_lenet_b64")
def lenet():
    params = [(draw(5, 5, 1, 6), jnp.zeros(6)), (draw(5, 5, 6, 16), jnp.zeros(16)), dense_params(120, 256),
              dense_params(84, 120), draw(84, 10)]

    def network(p, x):
        for w, b in p[:2]:
            x = max_pool(nn.relu(convolve(w, x) + b), 2, 2)
        x = nn.relu(dense(p[3], nn.relu(dense(p[2], x.reshape(x.shape[0], -1)))))
        return x @ p[4]
    return classifier(params, network, normal(64, 28, 28, 1), 10, sgd(0.01))


RESNET18 = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
            (512, 512, 1)]


def resnet18_params(is_small, classes):
    blocks = []
    for inputs, outputs, _ in RESNET18:
        block = {"w1": draw(3, 3, inputs, outputs), "w2": draw(3, 3, outputs, outputs),
                 "n1": norm_params(outputs), "n2": norm_params(outputs)}
        if inputs != outputs:
            block |= {"w3": draw(1, 1, inputs, outputs), "n3": norm_params(outputs)}
        blocks.append(block)
    stem = {"w": draw(3, 3, 3, 64)} if is_small else {"w": draw(7, 7, 3, 64), "n": norm_params(64)}
    return {"stem": stem, "blocks": blocks, "out": dense_params(classes, 512)}


def resnet18_network(p, x):
    if "n" in p["stem"]:
        x = max_pool(nn.relu(batch_norm(p["stem"]["n"], convolve(p["stem"]["w"], x, 2, 3))), 3, 2, 1)
    else:
        x = convolve(p["stem"]["w"], x, 1, 1)
    for b, (_, _, stride) in zip(p["blocks"], RESNET18):
        y = nn.relu(batch_norm(b["n1"], convolve(b["w1"], x, stride, 1)))
        y = batch_norm(b["n2"], convolve(b["w2"], y, 1, 1))
        x = nn.relu(y + (batch_norm(b["n3"], convolve(b["w3"], x, stride)) if "w3" in b else x))
    return dense(p["out"], jnp.mean(x, (1, 2)))


@steps.workload("train_resnet18_cifar_b32")
def resnet18_cifar():
    return classifier(resnet18_params(True, 10), resnet18_network, normal(32, 32, 32, 3), 10, sgd(0.01, 0.9))


@steps.workload("train_resnet18_b8")
def resnet18():
    return classifier(resnet18_params(False, 1000), resnet18_network, normal(8, 224, 224, 3), 1000, sgd(0.01, 0.9))


@steps.workload("train_mobilenet_v2_b8")
def mobilenet():
    plan, inputs = [], 32
    for expansion, channels, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                               (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(count):
            plan.append((inputs, inputs * expansion, channels, stride if i == 0 else 1))
            inputs = channels
    blocks = []
    for first, inner, last, _ in plan:
        block = {"wd": draw(3, 3, 1, inner), "nd": norm_params(inner), "wp": draw(1, 1, inner, last),
                 "np": norm_params(last)}
        if first != inner:
            block |= {"we": draw(1, 1, first, inner), "ne": norm_params(inner)}
        blocks.append(block)
    params = {"stem": (draw(3, 3, 3, 32), norm_params(32)), "blocks": blocks,
              "head": (draw(1, 1, 320, 1280), norm_params(1280)), "out": dense_params(1000, 1280)}

    def network(p, x):
        relu6 = lambda x: jnp.clip(x, 0, 6)
        x = relu6(batch_norm(p["stem"][1], convolve(p["stem"][0], x, 2, 1)))
        for b, (first, inner, last, stride) in zip(p["blocks"], plan):
            y = relu6(batch_norm(b["ne"], convolve(b["we"], x))) if "we" in b else x
            y = relu6(batch_norm(b["nd"], convolve(b["wd"], y, stride, 1, inner)))
            y = batch_norm(b["np"], convolve(b["wp"], y))
            x = x + y if stride == 1 and first == last else y
        x = relu6(batch_norm(p["head"][1], convolve(p["head"][0], x)))
        return dense(p["out"], jnp.mean(x, (1, 2)))
    return classifier(params, network, normal(8, 224, 224, 3), 1000, sgd(0.01, 0.9))


@steps.workload("train_vae_b128")
def vae():
    params = {"hidden": dense_params(400, 784), "mean": dense_params(20, 400), "variance": dense_params(20, 400),
              "back": dense_params(400, 20), "pixels": dense_params(784, 400)}

    def loss(p, key, x):
        h = nn.relu(dense(p["hidden"], x))
        m, v = dense(p["mean"], h), dense(p["variance"], h)
        code = m + jnp.exp(v * 0.5) * jax.random.normal(key, m.shape)
        y = dense(p["pixels"], nn.relu(dense(p["back"], code)))
        of_pixels = jnp.sum(nn.relu(y) - y * x + jnp.log1p(jnp.exp(-jnp.abs(y))))
        return (of_pixels - 0.5 * jnp.sum(1 + v - m * m - jnp.exp(v))) / x.shape[0]
    return step_of(params, adam(0.001), loss, jnp.asarray(random.random((128, 784)), jnp.float32))


@steps.workload("train_dcgan_b32")
def dcgan():
    make, inputs = [], 100
    for channels in (256, 128, 64, 3):
        make.append({"w": draw(4, 4, inputs, channels)} | ({} if channels == 3 else {"n": norm_params(channels)}))
        inputs = channels
    judge, inputs = [], 3
    for channels in (64, 128, 256):
        judge.append({"w": draw(4, 4, inputs, channels)} | ({"n": norm_params(channels)} if channels > 64 else {}))
        inputs = channels
    judge.append({"w": draw(4, 4, 256, 1)})

    def made(p, x):
        for i, layer in enumerate(p):
            stride, pad = (1, 3) if i == 0 else (2, 2)
            x = lax.conv_general_dilated(x, layer["w"], (1, 1), [(pad, pad)] * 2, lhs_dilation=(stride, stride),
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = nn.relu(batch_norm(layer["n"], x)) if "n" in layer else jnp.tanh(x)
        return x

    def judged(p, x):
        for layer in p[:-1]:
            x = convolve(layer["w"], x, 2, 1)
            x = nn.leaky_relu(batch_norm(layer["n"], x) if "n" in layer else x, 0.2)
        return convolve(p[-1]["w"], x).reshape(x.shape[0], 1)

    optimizer = adam(0.0002, 0.5)

    def compute(make, judge, states, t, real, noise):
        images = made(make, noise)
        g = jax.grad(lambda p: sigmoid_loss(judged(p, real), 1.0) + sigmoid_loss(judged(p, images), 0.0))(judge)
        judge, of_judge = update_all(optimizer, judge, states[1], g, t)
        value, g = jax.value_and_grad(lambda p: sigmoid_loss(judged(judge, made(p, noise)), 1.0))(make)
        make, of_make = update_all(optimizer, make, states[0], g, t)
        return value, make, judge, (of_make, of_judge)

    compute = jax.jit(compute, donate_argnums=(0, 1, 2))
    now = [make, judge, (states_of(optimizer, make), states_of(optimizer, judge)), 0]
    real, noise = normal(32, 32, 32, 3), normal(32, 1, 1, 100)

    def step():
        now[3] += 1
        value, now[0], now[1], now[2] = compute(now[0], now[1], now[2], jnp.float32(now[3]), real, noise)
        return value.block_until_ready()
    return step


def layer(is_gpt, width=768, heads=12, inner=3072):
    params = {"qkv": dense_params(3 * width, width), "out": dense_params(width, width),
              "up": dense_params(inner, width), "down": dense_params(width, inner),
              "norm1": norm_params(width), "norm2": norm_params(width)}
    rate = 0.0 if is_gpt else 0.1

    def dropout(key, x):
        return x if rate == 0.0 else jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)

    def attention(p, keys, x):
        b, t, w = x.shape
        q, k, v = (y.reshape(b, t, heads, -1).transpose(0, 2, 1, 3) for y in jnp.split(dense(p["qkv"], x), 3, 2))
        scores = q @ k.transpose(0, 1, 3, 2) * 0.125
        if is_gpt:
            scores = jnp.where(jnp.tri(t, dtype=bool), scores, -1e9)
        mixed = dropout(keys[0], nn.softmax(scores)) @ v
        return dropout(keys[1], dense(p["out"], mixed.transpose(0, 2, 1, 3).reshape(b, t, w)))

    def perceptron(p, key, x):
        return dropout(key, dense(p["down"], nn.gelu(dense(p["up"], x), approximate=False)))

    def loss(p, key, x, y):
        keys = jax.random.split(key, 3)
        if is_gpt:
            x = x + attention(p, keys, layer_norm(p["norm1"], x))
            x = x + perceptron(p, keys[2], layer_norm(p["norm2"], x))
        else:
            x = layer_norm(p["norm1"], x + attention(p, keys, x))
            x = layer_norm(p["norm2"], x + perceptron(p, keys[2], x))
        return 0.5 * jnp.mean(jnp.square(x - y))
    return step_of(params, adam(0.0001, epsilon=1e-6, decay=0.01), loss, normal(4, 128, 768), normal(4, 128, 768))


@steps.workload("train_bert_layer_b4")
def bert_layer():
    return layer(is_gpt=False)


@steps.workload("train_gpt_block_b4")
def gpt_block():
    return layer(is_gpt=True)


@steps.workload("train_lstm_lm_b32")
def lstm_lm(words=10_000, hidden=200, time=35, batch=32):
    cells = [{"x": draw(hidden, 4 * hidden), "h": draw(hidden, 4 * hidden), "b": jnp.zeros(4 * hidden)}
             for _ in range(2)]
    params = {"embedding": draw(words, hidden), "cells": cells, "scores": dense_params(words, hidden)}

    def lstm(p, x):
        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x + h @ p["h"], 4, 1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zeros = jnp.zeros((batch, hidden))
        return lax.scan(cell, (zeros, zeros), x @ p["x"] + p["b"])[1]  # the inputs' part is one product

    def loss(p, key, x, y):
        h = p["embedding"][x]
        for cell in p["cells"]:
            h = lstm(cell, h)
        return cross_entropy(dense(p["scores"], h.reshape(-1, hidden)), y)
    y = labels(time * batch, words)
    return step_of(params, sgd(1.0), loss, y.reshape(time, batch), y)


@steps.workload("train_skip_gram_b512")
def skip_gram(words=50_000, size=128):
    params = [draw(words, size), draw(words, size)]

    def loss(p, key, word, contexts, y):
        return sigmoid_loss(jnp.einsum("bcd,bd->bc", p[1][contexts], p[0][word]), y)
    y = jnp.zeros((512, 6)).at[:, 0].set(1)
    return step_of(params, adam(0.001), loss, labels(512, words), labels(3072, words).reshape(512, 6), y)


if __name__ == "__main__":
    steps.run("JAX")

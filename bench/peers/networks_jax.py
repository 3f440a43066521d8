#!/usr/bin/env python3
"""Networks of networks_torch.py by JAX, each in one jit.

    bench/peers/networks_jax.py --kiln build/kiln-bench > networks.jsonl            needs jax
    bench/compare networks.jsonl

Prints JSON lines, as training_jax.py does. Images have their channels last, which is the faster form on a CPU.
"""
import jax_threads  # before JAX, which reads the environment
import steps

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

random = np.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape, np.float32)


def forward(network, *inputs):
    """A network has `p`, which gives it its parameters in the order of their use. A pass over shapes alone draws
    them; the jit has them as arguments."""
    parameters, trained = [], []

    def draw(*shape, value=0, is_trained=True):
        scale = np.float32(np.sqrt(2 / np.prod(shape[:-1])))  # such that activations neither vanish nor overflow
        parameters.append(normal(*shape) * scale if len(shape) > 1 else np.full(shape, value, np.float32))
        trained.append(is_trained)
        return jnp.zeros(shape)
    jax.eval_shape(lambda *inputs: network(draw, *inputs), *inputs)

    def call(parameters, *inputs):
        given = iter(parameters)
        return network(lambda *shape, **options: next(given), *inputs)
    compiled = jax.jit(call)
    parameters, inputs = jax.device_put((parameters, inputs), jax.devices()[0])

    def step():
        return jax.block_until_ready(compiled(parameters, *inputs))
    step.parameters = sum(p.size for p, is_trained in zip(parameters, trained) if is_trained)
    return step


def dense(p, x, outputs):
    return x @ p(x.shape[-1], outputs) + p(outputs)


def convolve(p, x, outputs, size, stride=1, pad=0, groups=1, upscale=1):
    """A transposed one of stride s and padding p has `upscale` s, and `pad` size - 1 - p."""
    return lax.conv_general_dilated(x, p(size, size, x.shape[-1] // groups, outputs), (stride, stride),
                                    [(pad, pad)] * 2, (upscale, upscale), feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(p, x):
    shape = x.shape[-1:]
    mean, variance = p(*shape, is_trained=False), p(*shape, value=1, is_trained=False)
    scale = p(*shape, value=1) * lax.rsqrt(variance + 1e-5)
    return x * scale + (p(*shape) - mean * scale)


def normalized(p, x, outputs, size=1, stride=1, groups=1):
    return batch_norm(p, convolve(p, x, outputs, size, stride, size // 2, groups))


def pool(x, size, stride, pad=0, initial=-jnp.inf, combine=lax.max):
    return lax.reduce_window(x, initial, combine, (1, size, size, 1), (1, stride, stride, 1),
                             [(0, 0), (pad, pad), (pad, pad), (0, 0)])


def layer_norm(p, x, epsilon=1e-5):
    return nn.standardize(x, epsilon=epsilon) * p(x.shape[-1], value=1) + p(x.shape[-1])


def perceptron(p, x):
    return dense(p, nn.gelu(dense(p, x, 4 * x.shape[-1]), approximate=False), x.shape[-1])


def attention(p, x, heads, *cache):
    """The result, and the new keys and values, which follow the cached ones."""
    width, split = x.shape[-1], (*x.shape[:2], heads, -1)
    q, k, v = (y.reshape(split).transpose(0, 2, 1, 3) for y in jnp.split(dense(p, x, 3 * width), 3, 2))
    keys, values = (jnp.concatenate(pair, 2) for pair in zip(cache, (k, v))) if cache else (k, v)
    mixed = nn.softmax(q @ keys.transpose(0, 1, 3, 2) * (width // heads) ** -0.5) @ values
    return dense(p, mixed.transpose(0, 2, 1, 3).reshape(x.shape), width), k, v


def bert(p, x, types, width=768):
    x = layer_norm(p, p(30_522, width)[x] + p(2, width)[types] + p(512, width)[:x.shape[1]])
    for _ in range(12):
        x = layer_norm(p, x + attention(p, x, 12)[0])
        x = layer_norm(p, x + perceptron(p, x))
    return jnp.tanh(dense(p, x[:, 0], width))


def gpt2(p, word, position, *caches, width=768):
    words, new = p(50_257, width), []
    x = words[word] + p(1024, width)[position]
    for cache in zip(caches[::2], caches[1::2]):
        mixed, *pair = attention(p, layer_norm(p, x), 12, *cache)
        x = x + mixed
        x = x + perceptron(p, layer_norm(p, x))
        new += pair
    return layer_norm(p, x)[:, 0] @ words.T, *new


def vit(p, x, width=384):
    x = (convolve(p, x, width, 16, 16) + p(width)).reshape(x.shape[0], -1, width)
    x = jnp.concatenate((jnp.broadcast_to(p(1, 1, width), (x.shape[0], 1, width)), x), 1) + p(1, 197, width)
    for _ in range(12):
        x = x + attention(p, layer_norm(p, x, 1e-6), 6)[0]
        x = x + perceptron(p, layer_norm(p, x, 1e-6))
    return dense(p, layer_norm(p, x, 1e-6)[:, 0], 1000)


def lstm_cell(of_x, of_h, h, c):
    i, f, g, o = (x + y for x, y in zip(of_x, of_h))
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    return nn.sigmoid(o) * jnp.tanh(c), c


def gru_cell(of_x, of_h, h):
    r, z = (nn.sigmoid(x + y) for x, y in zip(of_x[:2], of_h))
    return ((1 - z) * jnp.tanh(of_x[2] + r * of_h[2]) + z * h,)


def recurrent(cell, gates, states, directions, hidden=256):
    """Two layers; `cell` has the inputs' part of the gates, the part of h, and the states; h is the first."""
    def scan(p, x, backward):
        zeros = (jnp.zeros((x.shape[1], hidden)),) * states
        x, w, b = dense(p, x, gates * hidden), p(hidden, gates * hidden), p(gates * hidden)

        def step(state, x):
            new = cell(jnp.split(x, gates, 1), jnp.split(state[0] @ w + b, gates, 1), *state)
            return new, new[0]
        return lax.scan(step, zeros, x, reverse=backward)

    def network(p, x):
        last = []
        for _ in range(2):
            of_directions, results = zip(*(scan(p, x, i == 1) for i in range(directions)))
            x = jnp.concatenate(results, -1)
            last += of_directions
        return x, last
    return network


def basic(p, x, width, stride):
    return normalized(p, nn.relu(normalized(p, x, width, 3, stride)), width, 3)


def bottleneck(p, x, width, stride):
    x = nn.relu(normalized(p, x, width, 1, stride))
    return normalized(p, nn.relu(normalized(p, x, width, 3)), 4 * width)


def resnet(block, *counts):
    def network(p, x):
        x = pool(nn.relu(normalized(p, x, 64, 7, 2)), 3, 2, 1)
        for stage, count in enumerate(counts):
            for i in range(count):
                stride = 2 if stage and not i else 1
                y = block(p, x, 64 << stage, stride)
                x = nn.relu(y + (x if x.shape == y.shape else normalized(p, x, y.shape[-1], 1, stride)))
        return dense(p, x.mean((1, 2)), 1000)
    return network


def vgg16(p, x):
    for count, width in (2, 64), (2, 128), (3, 256), (3, 512), (3, 512):
        for _ in range(count):
            x = nn.relu(convolve(p, x, width, 3, 1, 1) + p(width))
        x = pool(x, 2, 2)
    x = nn.relu(dense(p, x.reshape(x.shape[0], -1), 4096))
    return dense(p, nn.relu(dense(p, x, 4096)), 1000)


def mobilenet_v2(p, x):
    x = nn.relu6(normalized(p, x, 32, 3, 2))
    for expansion, outputs, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                              (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(count):
            inner = expansion * x.shape[-1]
            y = nn.relu6(normalized(p, x, inner)) if expansion > 1 else x
            y = nn.relu6(normalized(p, y, inner, 3, 1 if i else stride, inner))
            x = (x if i else 0) + normalized(p, y, outputs)
    return dense(p, nn.relu6(normalized(p, x, 1280)).mean((1, 2)), 1000)


def squeezenet(p, x):
    def rectified(x, outputs, size=1, stride=1, pad=0):
        return nn.relu(convolve(p, x, outputs, size, stride, pad) + p(outputs))
    x = rectified(x, 64, 3, 2)
    for stage in [(16, 64), (16, 64)], [(32, 128), (32, 128)], [(48, 192), (48, 192), (64, 256), (64, 256)]:
        x = pool(x, 3, 2)
        for inner, outputs in stage:
            x = rectified(x, inner)
            x = jnp.concatenate((rectified(x, outputs), rectified(x, outputs, 3, 1, 1)), -1)
    return rectified(x, 1000).mean((1, 2))


def densenet121(p, x):
    x = pool(nn.relu(normalized(p, x, 64, 7, 2)), 3, 2, 1)
    for count in 6, 12, 24, 16:
        if count > 6:
            x = pool(convolve(p, x, x.shape[-1] // 2, 1), 2, 2, 0, 0.0, lax.add) / 4
        for _ in range(count):
            y = nn.relu(normalized(p, nn.relu(batch_norm(p, x)), 128))
            x = jnp.concatenate((x, convolve(p, y, 32, 3, 1, 1)), -1)
        x = nn.relu(batch_norm(p, x))
    return dense(p, x.mean((1, 2)), 1000)


def level(p, x, width):
    """As Level of bench/images.cpp."""
    def two(x):
        return nn.relu(normalized(p, nn.relu(normalized(p, x, width, 3)), width, 3))
    x = two(x)
    if width == 1024:
        return x
    y = convolve(p, level(p, pool(x, 2, 2), 2 * width), width, 2, 1, 1, upscale=2) + p(width)
    return two(jnp.concatenate((x, y), -1))


def generator(p, x):
    for width, stride in (512, 1), (256, 2), (128, 2), (64, 2):
        x = nn.relu(batch_norm(p, convolve(p, x, width, 4, 1, 4 - stride, upscale=stride)))
    return jnp.tanh(convolve(p, x, 3, 4, 1, 2, upscale=2))


for batch, tokens in (1, 128), (1, 384), (8, 128):
    words = np.arange(batch * tokens, dtype=np.int32).reshape(batch, tokens) * 7919 % 30_522
    steps.workload(f"bert_base_b{batch}_s{tokens}")(lambda words=words: forward(bert, words, 0 * words))
steps.workload("gpt2_step_512")(lambda: forward(gpt2, np.array([[17]]), np.array([[512]]),
                                                *(normal(1, 12, 512, 64) for _ in range(24))))
for name, network in {
        "vit_s": vit, "resnet18_v1": resnet(basic, 2, 2, 2, 2), "resnet50_v1": resnet(bottleneck, 3, 4, 6, 3),
        "vgg16": vgg16, "mobilenet_v2": mobilenet_v2, "squeezenet1.1": squeezenet, "densenet121": densenet121,
        "unet_224": lambda p, x: convolve(p, level(p, x, 64), 2, 1) + p(2)}.items():
    steps.workload(name)(lambda network=network: forward(network, normal(1, 224, 224, 3)))
for batch in 1, 16:
    for name, network, shape in (("bilstm2", recurrent(lstm_cell, 4, 2, 2), (35, batch, 128)),
                                 ("gru2", recurrent(gru_cell, 3, 1, 1), (35, batch, 128)),
                                 ("dcgan_generator", generator, (batch, 1, 1, 100))):
        steps.workload(f"{name}_b{batch}")(lambda network=network, shape=shape: forward(network, normal(*shape)))

if __name__ == "__main__":
    steps.run("JAX", __doc__)

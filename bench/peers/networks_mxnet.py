#!/usr/bin/env python3
"""The networks of bench/vision.cpp, mobile.cpp, images.cpp and recurrent.cpp that MXNet 1.9.1 has, hybridized with
static memory.

    bench/peers/networks_mxnet.py --kiln build/kiln-bench > networks.jsonl      needs mxnet==1.9.1 and numpy<1.24
    bench/compare networks.jsonl

Prints JSON lines, as training_mxnet.py does.
"""
import os

import steps

os.environ["OMP_NUM_THREADS"] = str(steps.THREADS)

import mxnet as mx
from mxnet import nd
from mxnet.gluon import HybridBlock, nn, rnn
from mxnet.gluon.model_zoo import vision


def forward(net, x):
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    net(x).wait_to_read()

    def step():
        result = net(x)
        result.wait_to_read()
        return result
    step.parameters = sum(p.data().size for p in net.collect_params().values() if p.grad_req != "null")
    return step


def image():
    return nd.random.normal(shape=(1, 3, 224, 224))


for name, make in {
        "resnet18_v1": vision.resnet18_v1, "resnet50_v1": vision.resnet50_v1, "mobilenet_v2": vision.mobilenet_v2_1_0,
        "squeezenet1.1": vision.squeezenet1_1, "densenet121": vision.densenet121, "vgg16": vision.vgg16}.items():
    steps.workload(name)(lambda make=make: forward(make(), image()))


def sequence(*layers):
    net = nn.HybridSequential()
    net.add(*layers)
    return net


def two_convolutions(out):
    return sequence(*(layer for _ in range(2)
                      for layer in (nn.Conv2D(out, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))))


class Level(HybridBlock):
    """As Level of bench/images.cpp."""

    def __init__(self, out, deepest):
        super().__init__()
        self.before, self.inner = two_convolutions(out), out < deepest
        if self.inner:
            self.smaller = sequence(nn.MaxPool2D(2), Level(2 * out, deepest), nn.Conv2DTranspose(out, 2, 2))
            self.after = two_convolutions(out)

    def hybrid_forward(self, F, x):
        x = self.before(x)
        return self.after(F.concat(x, self.smaller(x), dim=1)) if self.inner else x


@steps.workload("unet_224")
def unet():
    return forward(sequence(Level(64, 1024), nn.Conv2D(2, 1)), image())


for batch in 1, 16:
    @steps.workload(f"dcgan_generator_b{batch}")
    def generator(batch=batch):
        layers = []
        for out in 512, 256, 128, 64:
            stride, pad = (1, 0) if not layers else (2, 1)
            layers += [nn.Conv2DTranspose(out, 4, stride, pad, use_bias=False), nn.BatchNorm(), nn.Activation("relu")]
        layers += [nn.Conv2DTranspose(3, 4, 2, 1, use_bias=False), nn.Activation("tanh")]
        return forward(sequence(*layers), nd.random.normal(shape=(batch, 100, 1, 1)))

    @steps.workload(f"bilstm2_b{batch}")
    def bilstm(batch=batch):
        return forward(rnn.LSTM(256, 2, bidirectional=True, input_size=128), nd.random.normal(shape=(35, batch, 128)))

    @steps.workload(f"gru2_b{batch}")
    def gru(batch=batch):
        return forward(rnn.GRU(256, 2, input_size=128), nd.random.normal(shape=(35, batch, 128)))


if __name__ == "__main__":
    steps.run("MXNet", __doc__)

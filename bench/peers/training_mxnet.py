#!/usr/bin/env python3
"""Training steps of bench/trainer.cpp and bench/language.cpp by MXNet 1.9.1, hybridized with static memory.

    bench/peers/training_mxnet.py [WORKLOAD...] > mxnet.jsonl      needs mxnet==1.9.1 and numpy<1.24
    bench/compare kiln.json mxnet.jsonl

Prints a JSON line for each workload: the minimum of samples of one step, in us. THREADS and SECONDS in the
environment: 1 thread and 5 seconds of samples unless given. MXNet has no AdamW: the transformer layers take
Adam, which reads and writes the same arrays.
"""
import os

import steps

os.environ["OMP_NUM_THREADS"] = str(steps.THREADS)

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn
from mxnet.gluon.model_zoo import vision


def labels(count, classes):
    return nd.array([i * 7 % classes for i in range(count)])


def hybridized(net):
    net.hybridize(static_alloc=True, static_shape=True)
    return net


def step_of(net, optimizer, options, loss, *data):
    """`loss(net, *data)`, of each sample."""
    net.initialize(mx.init.Xavier())
    net(data[0]) if len(data) < 3 else net(*data[:-1])
    hybridized(net)
    trainer = gluon.Trainer(net.collect_params(), optimizer, options)

    def step():
        with autograd.record():
            value = loss(net, *data)
        value.backward()
        trainer.step(data[0].shape[0])
        nd.waitall()
        return value.asnumpy()
    return step


def cross_entropy():
    loss = hybridized(gluon.loss.SoftmaxCrossEntropyLoss())
    return lambda net, x, y: loss(net(x), y)


def classifier(net, x, classes, momentum=0.0):
    options = {"learning_rate": 0.01, "momentum": momentum}
    return step_of(net, "sgd", options, cross_entropy(), x, labels(x.shape[0], classes))


def sequential(*layers):
    net = nn.HybridSequential()
    net.add(*layers)
    return net


@steps.workload("train_mlp_b64")
def mlp():
    net = sequential(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    return classifier(net, nd.random.normal(shape=(64, 512)), 2)


@steps.workload("train_lenet_b64")
def lenet():
    net = sequential(nn.Conv2D(6, 5, activation="relu"), nn.MaxPool2D(), nn.Conv2D(16, 5, activation="relu"),
                     nn.MaxPool2D(), nn.Flatten(), nn.Dense(120, activation="relu"),
                     nn.Dense(84, activation="relu"), nn.Dense(10, use_bias=False))
    return classifier(net, nd.random.normal(shape=(64, 1, 28, 28)), 10)


@steps.workload("train_resnet18_cifar_b32")
def resnet18_cifar():
    net = vision.get_resnet(1, 18, classes=10, thumbnail=True)
    return classifier(net, nd.random.normal(shape=(32, 3, 32, 32)), 10, 0.9)


@steps.workload("train_resnet18_b8")
def resnet18():
    return classifier(vision.resnet18_v1(), nd.random.normal(shape=(8, 3, 224, 224)), 1000, 0.9)


@steps.workload("train_mobilenet_v2_b8")
def mobilenet():
    return classifier(vision.mobilenet_v2_1_0(), nd.random.normal(shape=(8, 3, 224, 224)), 1000, 0.9)


class Autoencoder(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.hidden = nn.Dense(400, activation="relu", in_units=784)
            self.mean, self.log_variance = nn.Dense(20, in_units=400), nn.Dense(20, in_units=400)
            self.back, self.pixels = nn.Dense(400, activation="relu", in_units=20), nn.Dense(784, in_units=400)

    def hybrid_forward(self, F, x):
        h = self.hidden(x)
        m, v = self.mean(h), self.log_variance(h)
        y = self.pixels(self.back(m + F.exp(v * 0.5) * F.random.normal_like(m)))
        of_pixels = F.relu(y) - y * x + F.Activation(-F.abs(y), act_type="softrelu")
        return F.sum(of_pixels, axis=1) - F.sum(v - F.square(m) - F.exp(v) + 1, axis=1) * 0.5


@steps.workload("train_vae_b128")
def vae():
    x = nd.random.uniform(0, 1, shape=(128, 784))
    return step_of(Autoencoder(), "adam", {"learning_rate": 0.001}, lambda net, x: net(x), x)


@steps.workload("train_dcgan_b32")
def dcgan():
    make, inputs = nn.HybridSequential(), 100
    for channels in (256, 128, 64, 3):
        stride, pad = (1, 0) if inputs == 100 else (2, 1)
        make.add(nn.Conv2DTranspose(channels, 4, stride, pad, use_bias=False, in_channels=inputs))
        make.add(*[nn.Activation("tanh")] if channels == 3 else [nn.BatchNorm(), nn.Activation("relu")])
        inputs = channels
    judge = nn.HybridSequential()
    for channels in (64, 128, 256):
        judge.add(nn.Conv2D(channels, 4, 2, 1, use_bias=False))
        judge.add(*([nn.BatchNorm()] if channels > 64 else []), nn.LeakyReLU(0.2))
    judge.add(nn.Conv2D(1, 4, use_bias=False), nn.Flatten())
    real, noise = nd.random.normal(shape=(32, 3, 32, 32)), nd.random.normal(shape=(32, 100, 1, 1))
    yes, no = nd.ones((32, 1)), nd.zeros((32, 1))
    for net in (make, judge):
        net.initialize()
    judge(make(noise))
    for net in (make, judge):
        hybridized(net)
    loss = hybridized(gluon.loss.SigmoidBCELoss())
    options = {"learning_rate": 0.0002, "beta1": 0.5}
    maker, judging = (gluon.Trainer(n.collect_params(), "adam", options) for n in (make, judge))

    def step():
        with autograd.record():
            value = loss(judge(real), yes) + loss(judge(make(noise).detach()), no)
        value.backward()
        judging.step(32)
        with autograd.record():
            value = loss(judge(make(noise)), yes)
        value.backward()
        maker.step(32)
        nd.waitall()
        return value.asnumpy()
    return step


class TransformerLayer(gluon.HybridBlock):
    def __init__(self, is_gpt, width=768, heads=12, inner=3072):
        super().__init__()
        self.is_gpt, self.heads = is_gpt, heads
        with self.name_scope():
            dense = lambda units, inputs: nn.Dense(units, flatten=False, in_units=inputs)
            self.qkv, self.out = dense(3 * width, width), dense(width, width)
            self.up, self.down = dense(inner, width), dense(width, inner)
            self.norm1, self.norm2 = nn.LayerNorm(in_channels=width), nn.LayerNorm(in_channels=width)
            self.dropout = nn.Dropout(0.0 if is_gpt else 0.1)
            if is_gpt:
                mask = nd.array([[[-1e9 if j > i else 0.0 for j in range(128)] for i in range(128)]])
                self.mask = self.params.get_constant("mask", mask)

    def attention(self, F, x, mask):
        split = lambda t: F.reshape(F.transpose(F.reshape(t, (0, 0, self.heads, -1)), (0, 2, 1, 3)), (-3, 0, 0))
        q, k, v = (split(t) for t in F.split(self.qkv(x), num_outputs=3, axis=2))
        scores = F.batch_dot(q, k, transpose_b=True) * 0.125
        if self.is_gpt:
            scores = F.broadcast_add(scores, mask)
        mixed = F.batch_dot(self.dropout(F.softmax(scores, axis=-1)), v)
        mixed = F.reshape(F.transpose(F.reshape(mixed, (-4, -1, self.heads, 0, 0)), (0, 2, 1, 3)), (0, 0, -3))
        return self.dropout(self.out(mixed))

    def perceptron(self, F, x):
        return self.dropout(self.down(F.LeakyReLU(self.up(x), act_type="gelu")))

    def hybrid_forward(self, F, x, mask=None):
        if self.is_gpt:
            x = x + self.attention(F, self.norm1(x), mask)
            return x + self.perceptron(F, self.norm2(x))
        x = self.norm1(x + self.attention(F, x, mask))
        return self.norm2(x + self.perceptron(F, x))


def layer(is_gpt):
    loss = hybridized(gluon.loss.L2Loss())
    x, y = nd.random.normal(shape=(4, 128, 768)), nd.random.uniform(shape=(4, 128, 768))
    return step_of(TransformerLayer(is_gpt), "adam", {"learning_rate": 0.0001, "wd": 0.01},
                   lambda net, x, y: loss(net(x), y), x, y)


@steps.workload("train_bert_layer_b4")
def bert_layer():
    return layer(is_gpt=False)


@steps.workload("train_gpt_block_b4")
def gpt_block():
    return layer(is_gpt=True)


class LanguageModel(gluon.HybridBlock):
    def __init__(self, words=10_000, hidden=200):
        super().__init__()
        self.hidden = hidden
        with self.name_scope():
            self.embedding = nn.Embedding(words, hidden)
            self.lstm = rnn.LSTM(hidden, num_layers=2, input_size=hidden)
            self.scores = nn.Dense(words, in_units=hidden)

    def hybrid_forward(self, F, x):
        return self.scores(F.reshape(self.lstm(self.embedding(x)), (-1, self.hidden)))


@steps.workload("train_lstm_lm_b32")
def lstm_lm():
    y = labels(35 * 32, 10_000)
    return step_of(LanguageModel(), "sgd", {"learning_rate": 1.0}, cross_entropy(), y.reshape((35, 32)), y)


class SkipGram(gluon.HybridBlock):
    def __init__(self, words=50_000, size=128):
        super().__init__()
        with self.name_scope():
            self.of_words, self.of_contexts = nn.Embedding(words, size), nn.Embedding(words, size)

    def hybrid_forward(self, F, words, contexts):
        word = F.expand_dims(self.of_words(words), axis=2)
        return F.reshape(F.batch_dot(self.of_contexts(contexts), word), (0, -1))


@steps.workload("train_skip_gram_b512")
def skip_gram():
    loss = hybridized(gluon.loss.SigmoidBCELoss())
    y = nd.zeros((512, 6))
    y[:, 0] = 1
    return step_of(SkipGram(), "adam", {"learning_rate": 0.001}, lambda net, w, c, y: loss(net(w, c), y),
                   labels(512, 50_000), labels(3072, 50_000).reshape((512, 6)), y)


if __name__ == "__main__":
    steps.run("MXNet")

#!/usr/bin/env python3
"""Training steps of bench/trainer.cpp and bench/language.cpp by PyTorch, eager.

    bench/peers/training_torch.py [WORKLOAD...] > torch.jsonl      needs torch and torchvision
    bench/compare kiln.json torch.jsonl

Prints a JSON line for each workload: the minimum of samples of one step, in us. THREADS and SECONDS in the
environment: 1 thread and 5 seconds of samples unless given.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

import steps
from small_torch import last, lenet, mlp


def labels(count, classes):
    return (torch.arange(count) * 7) % classes


def step_of(net, optimizer, loss):
    def step():
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        optimizer.step()
        return value.item()
    net.train()
    return step


def classifier(net, x, classes, momentum=0.0):
    y = labels(x.shape[0], classes)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=momentum)
    return step_of(net, optimizer, lambda: F.cross_entropy(net(x), y))


@steps.workload("train_mlp_b64")
def train_mlp():
    return classifier(mlp(), torch.randn(64, 512), 2)


@steps.workload("train_lenet_b64")
def train_lenet():
    return classifier(lenet(), torch.randn(64, 1, 28, 28), 10)


@steps.workload("train_resnet18_cifar_b32")
def resnet18_cifar():
    net = torchvision.models.resnet18(num_classes=10)
    net.conv1, net.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    net.bn1, net.relu = nn.Identity(), nn.Identity()  # as MXNet's network for small images
    return classifier(last(net), last(torch.randn(32, 3, 32, 32)), 10, momentum=0.9)


@steps.workload("train_resnet18_b8")
def resnet18():
    return classifier(last(torchvision.models.resnet18()), last(torch.randn(8, 3, 224, 224)), 1000, 0.9)


@steps.workload("train_mobilenet_v2_b8")
def mobilenet():
    net = torchvision.models.mobilenet_v2(dropout=0.0)
    return classifier(last(net), last(torch.randn(8, 3, 224, 224)), 1000, 0.9)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.back = nn.Linear(784, 400), nn.Linear(20, 400)
        self.mean, self.log_variance, self.pixels = nn.Linear(400, 20), nn.Linear(400, 20), nn.Linear(400, 784)

    def forward(self, x):
        h = F.relu(self.hidden(x))
        m, v = self.mean(h), self.log_variance(h)
        y = self.pixels(F.relu(self.back(m + torch.exp(v * 0.5) * torch.randn_like(m))))
        of_pixels = F.binary_cross_entropy_with_logits(y, x, reduction="sum")
        return (of_pixels - 0.5 * torch.sum(1 + v - m * m - torch.exp(v))) / x.shape[0]


@steps.workload("train_vae_b128")
def vae():
    net, x = Autoencoder(), torch.rand(128, 784)
    return step_of(net, torch.optim.Adam(net.parameters(), lr=0.001), lambda: net(x))


@steps.workload("train_dcgan_b32")
def dcgan():
    layers, inputs = [], 100
    for channels in (256, 128, 64, 3):
        stride, pad = (1, 0) if inputs == 100 else (2, 1)
        layers.append(nn.ConvTranspose2d(inputs, channels, 4, stride, pad, bias=False))
        layers += [nn.Tanh()] if channels == 3 else [nn.BatchNorm2d(channels), nn.ReLU()]
        inputs = channels
    make = nn.Sequential(*layers).train()
    layers, inputs = [], 3
    for channels in (64, 128, 256):
        layers.append(nn.Conv2d(inputs, channels, 4, 2, 1, bias=False))
        layers += ([nn.BatchNorm2d(channels)] if channels > 64 else []) + [nn.LeakyReLU(0.2)]
        inputs = channels
    judge = nn.Sequential(*layers, nn.Conv2d(256, 1, 4, bias=False), nn.Flatten()).train()
    real, noise = torch.randn(32, 3, 32, 32), torch.randn(32, 100, 1, 1)
    yes, no = torch.ones(32, 1), torch.zeros(32, 1)
    maker, judging = (torch.optim.Adam(n.parameters(), lr=0.0002, betas=(0.5, 0.999)) for n in (make, judge))
    loss = F.binary_cross_entropy_with_logits

    def step():
        judging.zero_grad(set_to_none=True)
        (loss(judge(real), yes) + loss(judge(make(noise).detach()), no)).backward()
        judging.step()
        maker.zero_grad(set_to_none=True)
        value = loss(judge(make(noise)), yes)
        value.backward()
        maker.step()
        return value.item()
    return step


class TransformerLayer(nn.Module):
    def __init__(self, is_gpt, width=768, heads=12, inner=3072):
        super().__init__()
        self.is_gpt, self.heads = is_gpt, heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.rate = 0.0 if is_gpt else 0.1

    def attention(self, x):
        b, t, w = x.shape
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in self.qkv(x).chunk(3, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=self.rate, is_causal=self.is_gpt)
        return F.dropout(self.out(mixed.transpose(1, 2).reshape(b, t, w)), self.rate)

    def perceptron(self, x):
        return F.dropout(self.down(F.gelu(self.up(x))), self.rate)

    def forward(self, x):
        if self.is_gpt:
            x = x + self.attention(self.norm1(x))
            return x + self.perceptron(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.perceptron(x))


def layer(is_gpt):
    net, x, y = TransformerLayer(is_gpt), torch.randn(4, 128, 768), torch.rand(4, 128, 768)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.0001, weight_decay=0.01, eps=1e-6)
    return step_of(net, optimizer, lambda: 0.5 * F.mse_loss(net(x), y))


@steps.workload("train_bert_layer_b4")
def bert_layer():
    return layer(is_gpt=False)


@steps.workload("train_gpt_block_b4")
def gpt_block():
    return layer(is_gpt=True)


class LanguageModel(nn.Module):
    def __init__(self, words=10_000, hidden=200):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(words, hidden), nn.LSTM(hidden, hidden, 2)
        self.scores = nn.Linear(hidden, words)

    def forward(self, x):
        return self.scores(self.lstm(self.embedding(x))[0].flatten(0, 1))


@steps.workload("train_lstm_lm_b32")
def lstm_lm():
    net, y = LanguageModel(), labels(35 * 32, 10_000)
    x = y.view(35, 32)
    return step_of(net, torch.optim.SGD(net.parameters(), lr=1.0), lambda: F.cross_entropy(net(x), y))


class SkipGram(nn.Module):
    def __init__(self, words=50_000, size=128):
        super().__init__()
        self.of_words, self.of_contexts = nn.Embedding(words, size), nn.Embedding(words, size)

    def forward(self, words, contexts):
        return torch.bmm(self.of_contexts(contexts), self.of_words(words).unsqueeze(2)).squeeze(2)


@steps.workload("train_skip_gram_b512")
def skip_gram():
    net, words, contexts = SkipGram(), labels(512, 50_000), labels(3072, 50_000).view(512, 6)
    y = torch.zeros(512, 6)
    y[:, 0] = 1
    return step_of(net, torch.optim.Adam(net.parameters(), lr=0.001),
                   lambda: F.binary_cross_entropy_with_logits(net(words, contexts), y))


if __name__ == "__main__":
    torch.set_num_threads(steps.THREADS)
    torch.manual_seed(0)
    steps.run("PyTorch")

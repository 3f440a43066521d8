#!/usr/bin/env python3
"""The networks of bench/transformer.cpp, mobile.cpp, images.cpp, vision.cpp and recurrent.cpp by PyTorch, eager, and the
networks of bench/low_precision.cpp in bfloat16.

    bench/peers/networks_torch.py --kiln build/kiln-bench > networks.jsonl      needs torch and torchvision
    bench/compare networks.jsonl

Prints JSON lines, as training_torch.py does. COMPILED=1 in the environment: by torch.compile.
"""
import torch
import torch.nn as nn
from torchvision import models

import steps
from small_torch import last, mlp
from transformer_torch import Bert, Gpt2Step, Layer


def forward(net, *inputs):
    parameters = sum(p.numel() for p in net.parameters())
    net = torch.compile(net.eval()) if steps.COMPILED else net.eval()

    def step():
        with torch.inference_mode():
            return net(*inputs)
    step.parameters = parameters
    return step


def forward_in_bf16(net, *inputs):
    return forward(net.bfloat16(), *(x.bfloat16() if x.is_floating_point() else x for x in inputs))


def bert(batch, tokens):
    words = (torch.arange(batch * tokens) * 7919 % 30_522).reshape(batch, tokens)
    return Bert(), words, torch.zeros_like(words)


for batch, tokens in (1, 128), (1, 384), (8, 128):
    steps.workload(f"bert_base_b{batch}_s{tokens}")(lambda batch=batch, tokens=tokens: forward(*bert(batch, tokens)))


def gpt2_step(cached=512):
    caches = [torch.randn(1, 12, cached, 64) for _ in range(24)]
    return Gpt2Step(), torch.tensor([[17]]), torch.tensor([[cached]]), *caches


steps.workload("gpt2_step_512")(lambda: forward(*gpt2_step()))


def image():
    return last(torch.randn(1, 3, 224, 224))


def vit_s():
    return models.VisionTransformer(224, 16, 12, 6, 384, 1536), image()


steps.workload("vit_s")(lambda: forward(*vit_s()))


def stride_first(net):
    """The first version of ResNet, Kiln's: the first 1x1 convolution of a bottleneck has the stride."""
    for block in net.modules():
        if isinstance(block, models.resnet.Bottleneck):
            block.conv1.stride, block.conv2.stride = block.conv2.stride, (1, 1)
    return net


def resnet50():
    return stride_first(models.resnet50())


for name, make in {
        "resnet18_v1": models.resnet18, "resnet50_v1": resnet50,
        "mobilenet_v2": models.mobilenet_v2, "squeezenet1.1": models.squeezenet1_1,
        "densenet121": models.densenet121, "vgg16": models.vgg16,
        "googlenet": lambda: models.googlenet(aux_logits=False, init_weights=False),
        "resnext50": models.resnext50_32x4d, "efficientnet_b0": models.efficientnet_b0,
        "mobilenet_v3": models.mobilenet_v3_large}.items():
    steps.workload(name)(lambda make=make: forward(last(make()), image()))


def two_convolutions(channels, out):
    return [part for c in (channels, out)
            for part in (nn.Conv2d(c, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))]


class Level(nn.Module):
    """As Level of bench/images.cpp."""

    def __init__(self, channels, out, deepest):
        super().__init__()
        self.before = nn.Sequential(*two_convolutions(channels, out))
        self.inner = out < deepest
        if self.inner:
            self.smaller = nn.Sequential(nn.MaxPool2d(2), Level(out, 2 * out, deepest),
                                         nn.ConvTranspose2d(2 * out, out, 2, 2))
            self.after = nn.Sequential(*two_convolutions(2 * out, out))

    def forward(self, x):
        x = self.before(x)
        return self.after(torch.cat((x, self.smaller(x)), 1)) if self.inner else x


def unet():
    return last(nn.Sequential(Level(3, 64, 1024), nn.Conv2d(64, 2, 1))), image()


steps.workload("unet_224")(lambda: forward(*unet()))


for batch in 1, 16:
    @steps.workload(f"dcgan_generator_b{batch}")
    def generator(batch=batch):
        parts, channels = [], 100
        for out in 512, 256, 128, 64:
            stride, pad = (1, 0) if channels == 100 else (2, 1)
            parts += [nn.ConvTranspose2d(channels, out, 4, stride, pad, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
            channels = out
        net = nn.Sequential(*parts, nn.ConvTranspose2d(channels, 3, 4, 2, 1, bias=False), nn.Tanh())
        return forward(last(net), torch.randn(batch, 100, 1, 1))

    @steps.workload(f"bilstm2_b{batch}")
    def bilstm(batch=batch):
        return forward(nn.LSTM(128, 256, 2, bidirectional=True), torch.randn(35, batch, 128))

    @steps.workload(f"gru2_b{batch}")
    def gru(batch=batch):
        return forward(nn.GRU(128, 256, 2), torch.randn(35, batch, 128))


# The networks of bench/low_precision.cpp, and their inputs.
LOW_PRECISION = {
    "mlp_b64": lambda: (mlp(), torch.randn(64, 512)), "encoder_s128": lambda: (Layer(), torch.randn(1, 128, 768)),
    "bert_base_b1_s128": lambda: bert(1, 128), "bert_base_b8_s128": lambda: bert(8, 128), "gpt2_step_512": gpt2_step,
    "vit_s": vit_s, "unet_224": unet, "vgg16": lambda: (last(models.vgg16()), image()),
    "efficientnet_b0": lambda: (last(models.efficientnet_b0()), image()),
    "bilstm2_b16": lambda: (nn.LSTM(128, 256, 2, bidirectional=True), torch.randn(35, 16, 128)),
    "resnet50_v1": lambda: (last(resnet50()), image()),
    "mobilenet_v2": lambda: (last(models.mobilenet_v2()), image())}
for name, make in LOW_PRECISION.items():
    steps.workload(f"{name}_bf16")(lambda make=make: forward_in_bf16(*make()))

if __name__ == "__main__":
    torch.set_num_threads(steps.THREADS)
    steps.run("PyTorch, compiled" if steps.COMPILED else "PyTorch", __doc__)

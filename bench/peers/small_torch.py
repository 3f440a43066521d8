"""Shared by several of PyTorch's programs: small networks, and the order of images in memory."""
import torch
import torch.nn as nn


def mlp():
    return nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, 10, bias=False))


def last(x):
    """Channels last in memory, which is the faster form on a CPU."""
    return x.to(memory_format=torch.channels_last)

"""The networks of bench/transformer.h by PyTorch."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    """As TransformerLayer of bench/transformer.h."""

    def __init__(self, width=768, heads=12, norm_first=False):
        super().__init__()
        self.heads, self.norm_first = heads, norm_first
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def attention(self, x, cache):
        q, k, v = (t.unflatten(2, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, 2))
        keys, values = (torch.cat(pair, 2) for pair in zip(cache, (k, v))) if cache else (k, v)
        mixed = F.scaled_dot_product_attention(q, keys, values)
        return self.out(mixed.transpose(1, 2).flatten(2)), k, v

    def perceptron(self, x):
        return self.down(F.gelu(self.up(x)))

    def forward(self, x, *cache):
        if self.norm_first:
            mixed, k, v = self.attention(self.norm1(x), cache)
            x = x + mixed
            x = x + self.perceptron(self.norm2(x))
        else:
            mixed, k, v = self.attention(x, cache)
            x = self.norm1(x + mixed)
            x = self.norm2(x + self.perceptron(x))
        return (x, k, v) if cache else x


class Bert(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.words, self.types, self.positions = (nn.Embedding(n, width) for n in (30_522, 2, 512))
        self.norm = nn.LayerNorm(width)
        self.layers = nn.Sequential(*(Layer() for _ in range(12)))
        self.pooler = nn.Linear(width, width)

    def forward(self, x, types):
        x = self.words(x) + self.types(types) + self.positions.weight[:x.shape[1]]
        return torch.tanh(self.pooler(self.layers(self.norm(x))[:, 0]))


class Gpt2Step(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.words, self.positions = nn.Embedding(50_257, width), nn.Embedding(1024, width)
        self.layers = nn.ModuleList(Layer(norm_first=True) for _ in range(12))
        self.norm = nn.LayerNorm(width)

    def forward(self, word, position, *caches):
        x, new = self.words(word) + self.positions(position), []
        for layer, keys, values in zip(self.layers, caches[::2], caches[1::2]):
            x, k, v = layer(x, keys, values)
            new += [k, v]
        return F.linear(self.norm(x)[:, 0], self.words.weight), *new

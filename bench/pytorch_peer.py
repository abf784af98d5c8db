#!/usr/bin/python3
"""Times PyTorch (eager, CPU) on training steps: pytorch_peer.py NETWORK BATCH THREADS WARMUP RUNS.

A step is what `trainyard bench --train` does: forward, cross-entropy, backward and an SGD update with
momentum 0.9, on the same random images each time. Prints one line of JSON.
"""
import json
import resource
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """Two 3x3 convolutions; `shortcut` is what the sum adds."""

    def __init__(self, channels_in, channels_out, stride, shortcut):
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels_out)
        self.second = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels_out)
        self.shortcut = shortcut

    def forward(self, x):
        y = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(y)) + self.shortcut(x))


class PadChannels(nn.Module):
    """The parameter-free shortcut of the CIFAR networks: every second pixel, zeros for new channels."""

    def __init__(self, added):
        super().__init__()
        self.added = added

    def forward(self, x):
        return functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.added // 2, self.added // 2))


def projection(channels_in, channels_out, stride):
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, 1, stride, bias=False),
                         nn.BatchNorm2d(channels_out))


def cifar_resnet(widths, blocks, projects):
    channels = widths[0]
    layers = [nn.Conv2d(3, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
    for stage, width in enumerate(widths):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            if stride == 1:
                shortcut = nn.Identity()
            elif projects:
                shortcut = projection(channels, width, stride)
            else:
                shortcut = PadChannels(width - channels)
            layers.append(Residual(channels, width, stride, shortcut))
            channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
        nn.Linear(84, 10))


class Transformer(nn.Module):
    """The encoder of ViT (`images`) or BERT with a classifier on the first row."""

    def __init__(self, images, length, classes):
        super().__init__()
        self.images = images
        width = 768
        self.embed = nn.Conv2d(3, width, 16, 16) if images else nn.Embedding(30522, width)
        self.places = nn.Parameter(torch.randn(1, length + images, width) * 0.02)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        layer = nn.TransformerEncoderLayer(width, 12, 3072, 0.0 if images else 0.1, "gelu",
                                           batch_first=True, norm_first=images)
        self.encoder = nn.TransformerEncoder(layer, 12)
        self.norm = nn.LayerNorm(width)
        self.pool = nn.Identity() if images else nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.embed(x)
        if self.images:
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x.flatten(2).transpose(1, 2)], 1)
        else:
            x = self.norm(x)
        x = self.encoder(x + self.places)
        x = self.norm(x) if self.images else x
        return self.head(self.pool(x[:, 0]))


def build(name):
    """The network, the shape of an input and the number of classes."""
    if name == "vit_b_16":
        return Transformer(True, 196, 1000), (3, 224, 224), 1000
    if name == "bert-base":
        return Transformer(False, 128, 2), (128,), 2
    if name == "lenet5":
        return lenet5(), (1, 28, 28), 10
    if name == "resnet18-cifar":
        return cifar_resnet([64, 128, 256, 512], 2, True), (3, 32, 32), 10
    if name == "resnet20-cifar":
        return cifar_resnet([16, 32, 64], 3, False), (3, 32, 32), 10
    import torchvision
    return getattr(torchvision.models, name)(), (3, 224, 224), 1000


def blas_library():
    """The folder and file of the matrix products PyTorch was started with: they differ sixfold."""
    with open("/proc/self/maps") as maps:
        files = {line.split()[-1] for line in maps}
    paths = [path for path in files if "blas" in path.split("/")[-1] or "libmkl" in path]
    # What is only an alias of the library comes last.
    paths.sort(key=lambda path: ("libblas" in path, path))
    return "/".join(paths[0].split("/")[-2:]) if paths else "its own"


def main():
    name, (batch, threads, warmup, runs) = sys.argv[1], map(int, sys.argv[2:6])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    network, shape, classes = build(name)
    network.train()
    images = torch.rand(batch, *shape) * 2 - 1
    if len(shape) == 1:
        images = torch.zeros(batch, *shape, dtype=torch.long)
    labels = torch.randint(0, classes, (batch,))
    optimizer = torch.optim.SGD(network.parameters(), 1e-4, momentum=0.9)
    times = []
    for run in range(warmup + runs):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(network(images), labels).backward()
        optimizer.step()
        if run >= warmup:
            times.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps({"version": torch.__version__, "blas": blas_library(), "median_ms": statistics.median(times),
                      "min_ms": min(times),
                      "peak_memory_bytes":
                          resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()

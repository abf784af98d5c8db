#!/usr/bin/python3
"""Times PyTorch (eager, CPU) on training steps of SSD300 MobileNet v1: pytorch_ssd_peer.py BATCH THREADS WARMUP RUNS.

A step is what `trainyard train` computes once the batch is there: forward, multibox loss with hard-negative mining,
backward and an SGD update with momentum 0.9, on the same random pictures and matches each time. Prints one line of JSON.
"""
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

CLASSES, PRIORS_PER_PLACE = 4, 6
BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
EXTRAS = [(256, 512), (128, 256), (128, 256), (128, 256)]


def unit(channels_in, channels_out, kernel, stride, groups=1):
    return [nn.Conv2d(channels_in, channels_out, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True)]


class Ssd(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [nn.Sequential(*unit(3, 32, 3, 2))], 32
        for out, stride in BLOCKS:
            layers.append(nn.Sequential(*unit(channels, channels, 3, stride, channels), *unit(channels, out, 1, 1)))
            channels = out
        self.first, self.second = nn.Sequential(*layers[:12]), nn.Sequential(*layers[12:])
        self.extras = nn.ModuleList()
        for reduced, out in EXTRAS:
            self.extras.append(nn.Sequential(nn.Conv2d(channels, reduced, 1), nn.ReLU(inplace=True),
                                             nn.Conv2d(reduced, out, 3, 2, 1), nn.ReLU(inplace=True)))
            channels = out
        widths = [512, 1024] + [out for _, out in EXTRAS]
        self.locations = nn.ModuleList(nn.Conv2d(w, PRIORS_PER_PLACE * 4, 3, padding=1) for w in widths)
        self.scores = nn.ModuleList(nn.Conv2d(w, PRIORS_PER_PLACE * CLASSES, 3, padding=1) for w in widths)

    def forward(self, x):
        maps = [self.first(x)]
        maps.append(self.second(maps[0]))
        for extra in self.extras:
            maps.append(extra(maps[-1]))

        def rows(heads, numbers):
            return torch.cat([h(m).permute(0, 2, 3, 1).reshape(x.shape[0], -1, numbers) for h, m in zip(heads, maps)], 1)

        return rows(self.locations, 4), rows(self.scores, CLASSES)


def multibox_loss(locations, scores, labels, offsets):
    positive = labels > 0
    with torch.no_grad():
        background = -functional.log_softmax(scores, 2)[:, :, 0]
        background[positive] = -torch.inf
        order = background.sort(1, descending=True)[1].sort(1)[1]
        counted = positive | (order < 3 * positive.sum(1, keepdim=True))
    classes = functional.cross_entropy(scores[counted], labels[counted], reduction="sum")
    places = functional.smooth_l1_loss(locations[positive], offsets[positive], reduction="sum")
    return (classes + places) / max(1, int(positive.sum()))


def main():
    batch, threads, warmup, runs = map(int, sys.argv[1:5])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    network = Ssd().train()
    images = torch.rand(batch, 3, 300, 300) * 2 - 1
    labels = torch.randint(1, CLASSES, (batch, 3000)) * (torch.rand(batch, 3000) < 0.005)
    offsets = torch.randn(batch, 3000, 4)
    optimizer = torch.optim.SGD(network.parameters(), 1e-4, momentum=0.9)
    times = []
    for run in range(warmup + runs):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        multibox_loss(*network(images), labels, offsets).backward()
        optimizer.step()
        if run >= warmup:
            times.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps({"version": torch.__version__, "median_ms": statistics.median(times), "min_ms": min(times)}))


if __name__ == "__main__":
    main()

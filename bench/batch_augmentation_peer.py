#!/usr/bin/python3
"""Times PyTorch (eager, CPU) on training with batch augmentation:
batch_augmentation_peer.py CIFAR_DIR NETWORK BATCH COPIES THREADS WORKERS STEPS.

What `trainyard train --batch-augment` does: every picture of a batch is cropped, flipped, cut and
normalized in COPIES ways by the loader's workers, and the step is forward, cross-entropy, backward and an
SGD update with momentum. Prints one line of JSON with the times of steps, waiting for data included.
"""
import json
import random
import statistics
import sys
import time
from pathlib import Path

import numpy
import torch
import torchvision
from torch.nn import functional
from torch.utils import data

from pytorch_peer import build

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def cutout(picture, length=16):
    height, width = picture.shape[1:]
    y, x = random.randrange(height), random.randrange(width)
    picture[:, max(0, y - length // 2):y + length // 2, max(0, x - length // 2):x + length // 2] = 0
    return picture


class Copies(data.Dataset):
    def __init__(self, folder, copies):
        raw = numpy.fromfile(Path(folder) / "data_batch_1.bin", numpy.uint8).reshape(-1, 3073)
        self.labels = raw[:, 0].astype(numpy.int64)
        self.pictures = torch.from_numpy(raw[:, 1:].reshape(-1, 3, 32, 32).copy())
        self.copies = copies
        transforms = torchvision.transforms
        self.steps = transforms.Compose([
            transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(),
            transforms.ConvertImageDtype(torch.float32), transforms.Normalize(MEAN, STD), cutout])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        copies = torch.stack([self.steps(self.pictures[index]) for _ in range(self.copies)])
        return copies, torch.full((self.copies,), self.labels[index])


def main():
    folder, name = sys.argv[1:3]
    batch, copies, threads, workers, steps = map(int, sys.argv[3:8])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    network = build(name)[0]
    network.train()
    optimizer = torch.optim.SGD(network.parameters(), 0.05, momentum=0.9)
    loader = data.DataLoader(Copies(folder, copies), batch, shuffle=True, num_workers=workers,
                             drop_last=True)
    times, waits = [], []
    begin = time.perf_counter()
    for pictures, labels in loader:
        waits.append((time.perf_counter() - begin) * 1e3)
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(network(pictures.flatten(0, 1)), labels.flatten()).backward()
        optimizer.step()
        now = time.perf_counter()
        times.append((now - begin) * 1e3)
        begin = now
        if len(times) == steps:
            break
    # The first steps warm up.
    print(json.dumps({"version": torch.__version__, "median_ms": statistics.median(times[2:]),
                      "wait_ms": statistics.median(waits[2:])}))


if __name__ == "__main__":
    main()

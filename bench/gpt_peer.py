#!/usr/bin/env python3
"""Trains nanoGPT's character model in PyTorch on the processor: gpt_peer.py FOLDER SEED STEPS THREADS.

FOLDER has train.bin and val.bin, characters as numbers of two bytes. Network, start, decay, clipping and rates
are those of `compare_loss_curve`, which runs this. Prints one line of JSON: the loss of each step, and the
held-out loss.
"""
import json
import math
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, LENGTH, BATCH = 4, 128, 4, 64, 12
RATE, END, WARMUP, WARMUP_FROM, DECAY, CLIP = 1e-3, 0.1, 100, 0.1, 0.1, 1.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.split, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.rise, self.fall = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        heads = [part.unflatten(2, (HEADS, -1)).transpose(1, 2)
                 for part in self.split(self.norms[0](x)).chunk(3, dim=2)]
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.join(mixed.transpose(1, 2).flatten(2))
        return x + self.fall(functional.gelu(self.rise(self.norms[1](x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                last = name.endswith(("join.weight", "fall.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * LAYERS) if last else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, rows):
        x = self.words(rows) + self.places.weight
        return functional.linear(self.norm(self.blocks(x)), self.words.weight)


def windows(path):
    ids = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.int16).long()
    count = (len(ids) - 1) // LENGTH
    return (ids[:count * LENGTH].view(count, LENGTH), ids[1:count * LENGTH + 1].view(count, LENGTH))


def loss_of(network, rows, targets):
    return functional.cross_entropy(network(rows).flatten(0, 1), targets.flatten())


def rate(step, steps):
    if step < WARMUP:
        return RATE * (WARMUP_FROM + (1 - WARMUP_FROM) * step / WARMUP)
    progress = (step - WARMUP) / (steps - WARMUP)
    return RATE * (END + (1 - END) * (1 + math.cos(math.pi * progress)) / 2)


def main():
    folder, seed, steps, threads = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    rows, targets = windows(folder / "train.bin")
    held_rows, held_targets = windows(folder / "val.bin")
    network = Gpt(int(max(held_rows.max(), targets.max())) + 1)
    weights = list(network.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": [w for w in weights if w.dim() == 2], "weight_decay": DECAY},
         {"params": [w for w in weights if w.dim() < 2], "weight_decay": 0}], lr=RATE)
    losses, order = [], []
    for step in range(steps):
        if len(order) < BATCH:
            order = torch.randperm(len(rows))
        chosen, order = order[:BATCH], order[BATCH:]
        optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = rate(step, steps)
        loss = loss_of(network, rows[chosen], targets[chosen])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, CLIP)
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        parts = [loss_of(network, r, t).item() * len(r)
                 for r, t in zip(held_rows.split(64), held_targets.split(64))]
    print(json.dumps({"torch": torch.__version__, "losses": losses,
                      "held_out": sum(parts) / len(held_rows)}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Prints what optimizer_values_test.cpp expects: parameters after three updates in float64. Needs PyTorch 2.9 or newer, whose own AdamW and
Adafactor are used; Lion, LAMB and Muon are written out from their papers."""
import math

import torch

SHAPES = [(3, 4), (4, 2), (3,)]
RATE, DECAY, UPDATES = 0.01, 0.1, 3


def start(k, shape):
    n = math.prod(shape)
    return torch.tensor([math.cos(0.5 * i + k) for i in range(n)], dtype=torch.float64).reshape(shape)


def gradient(k, shape, t):
    n = math.prod(shape)
    return torch.tensor([math.sin(0.3 * i + 0.7 * t + k) for i in range(n)], dtype=torch.float64).reshape(shape)


def by_torch(make):
    values = [start(k, s).requires_grad_() for k, s in enumerate(SHAPES)]
    optimizer = make(values)
    for t in range(1, UPDATES + 1):
        for k, (x, s) in enumerate(zip(values, SHAPES)):
            x.grad = gradient(k, s, t)
        optimizer.step()
    return [x.detach() for x in values]


def lion(x, g, state, t):
    m = state.setdefault("m", torch.zeros_like(x))
    move = torch.sign(0.9 * m + 0.1 * g)
    state["m"] = 0.99 * m + 0.01 * g
    return x * (1 - RATE * DECAY) - RATE * move


def lamb(x, g, state, t):
    state["m"] = 0.9 * state.get("m", torch.zeros_like(x)) + 0.1 * g
    state["v"] = 0.999 * state.get("v", torch.zeros_like(x)) + 0.001 * g * g
    move = state["m"] / (1 - 0.9**t) / ((state["v"] / (1 - 0.999**t)).sqrt() + 1e-6) + DECAY * x
    return x - RATE * (x.norm() / move.norm()) * move


def muon(x, g, state, t):
    state["m"] = 0.9 * state.get("m", torch.zeros_like(x)) + 0.1 * g
    y = 0.9 * state["m"] + 0.1 * g
    y = y / y.norm()
    for _ in range(5):
        a = y @ y.T
        y = 3.4445 * y + (-4.7750 * a + 2.0315 * a @ a) @ y
    return x * (1 - RATE * DECAY) - RATE * 0.2 * math.sqrt(max(x.shape)) * y


def written_out(step, which):
    result = []
    for k, s in enumerate(SHAPES):
        x, state = start(k, s), {}
        for t in range(1, UPDATES + 1):
            x = step(x, gradient(k, s, t), state, t)
        result.append(x)
        if k + 1 == which:
            break
    return result


def show(name, values):
    numbers = ", ".join(f"{v:.7f}" for x in values for v in x.flatten().tolist())
    print(f'    {{"{name}", {{{numbers}}}}},')


adamw = by_torch(lambda p: torch.optim.AdamW(p, lr=RATE, weight_decay=DECAY))
show("adamw", adamw)
show("lion", written_out(lion, 3))
show("lamb", written_out(lamb, 3))
# The last matrix and the vector are AdamW's.
show("muon", written_out(muon, 1) + adamw[1:])
show("adafactor", by_torch(lambda p: torch.optim.Adafactor(p, lr=RATE, weight_decay=DECAY, eps=(torch.finfo(torch.float32).eps, 1e-3))))

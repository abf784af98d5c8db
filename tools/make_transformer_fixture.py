#!/usr/bin/env python3
"""Losses and gradients of tiny transformers by PyTorch in float64: tests/train/transformers.json.

Needs PyTorch 2 (any build), which neither the program nor its tests do:
    python3 tools/make_transformer_fixture.py > tests/train/transformers.json
Parameters are filled by a formula of their name's place in the alphabet, so that the file holds
figures alone: of each gradient its sum, the sum of its squares and its first two elements.
"""

import json
import math
import struct

import torch

F = torch.nn.functional
VOCABULARY, LENGTH, BATCH, HIDDEN, HEADS, LAYERS = 11, 6, 2, 8, 2, 2
EXPERTS, ACTIVE, BALANCE_WEIGHT = 4, 2, 0.01


def as_float32(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def fill(shapes):
    parameters = {}
    for place, name in enumerate(sorted(shapes)):
        shape = shapes[name]
        index = torch.arange(math.prod(shape), dtype=torch.float64)
        values = 0.2 * torch.sin(1 + 0.37 * index + 1.3 * place)
        if len(shape) == 1 and name.endswith(".weight"):
            values = values + 1
        parameters[name] = values.reshape(shape).requires_grad_()
    return parameters


def linear(p, name, x):
    return F.linear(x, p[name + ".weight"], p.get(name + ".bias"))


def layer_norm(p, name, x, epsilon):
    return F.layer_norm(x, (HIDDEN,), p[name + ".weight"], p[name + ".bias"], as_float32(epsilon))


def rms_norm(p, name, x):
    scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + as_float32(1e-5))
    return x * scale * p[name + ".weight"]


def attend(q, k, v, mask, heads, kv_heads):
    def split(x, count):
        return x.reshape(BATCH, LENGTH, count, -1).transpose(1, 2)

    q, k, v = split(q, heads), split(k, kv_heads), split(v, kv_heads)
    k = k.repeat_interleave(heads // kv_heads, 1)
    v = v.repeat_interleave(heads // kv_heads, 1)
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~mask, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(BATCH, LENGTH, -1)


def causal(tokens, end):
    """Who sees whom, and positions from the beginning of each document."""
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril().expand(BATCH, 1, LENGTH, LENGTH)
    positions = torch.arange(LENGTH).expand(BATCH, LENGTH)
    if end is None:
        return mask, positions
    document = (tokens == end).cumsum(1)
    same = document[:, :, None] == document[:, None, :]
    start = (document[:, None, :] < document[:, :, None]).sum(2)
    return mask & same[:, None], positions - start


def gpt(tokens, end):
    shapes = {"wte.weight": (VOCABULARY, HIDDEN), "wpe.weight": (LENGTH, HIDDEN),
              "ln_f.weight": (HIDDEN,), "ln_f.bias": (HIDDEN,)}
    for i in range(LAYERS):
        h = f"h.{i}."
        for name in ("ln_1", "ln_2"):
            shapes |= {h + name + ".weight": (HIDDEN,), h + name + ".bias": (HIDDEN,)}
        for name, rows, columns in (("attn.c_attn", 3 * HIDDEN, HIDDEN), ("attn.c_proj", HIDDEN, HIDDEN),
                                    ("mlp.c_fc", 16, HIDDEN), ("mlp.c_proj", HIDDEN, 16)):
            shapes |= {h + name + ".weight": (rows, columns), h + name + ".bias": (rows,)}
    p = fill(shapes)
    mask, positions = causal(tokens, end)
    x = p["wte.weight"][tokens] + p["wpe.weight"][positions]
    for i in range(LAYERS):
        h = f"h.{i}."
        q, k, v = linear(p, h + "attn.c_attn", layer_norm(p, h + "ln_1", x, 1e-5)).split(HIDDEN, -1)
        x = x + linear(p, h + "attn.c_proj", attend(q, k, v, mask, HEADS, HEADS))
        y = F.gelu(linear(p, h + "mlp.c_fc", layer_norm(p, h + "ln_2", x, 1e-5)), approximate="tanh")
        x = x + linear(p, h + "mlp.c_proj", y)
    return p, layer_norm(p, "ln_f", x, 1e-5) @ p["wte.weight"].T


def mixture(p, name, x):
    """Experts, all computed and weighted by a router; and how unevenly it chooses."""
    rows = x.reshape(-1, HIDDEN)
    share = linear(p, name + ".gate", rows).softmax(-1)
    best = share.topk(ACTIVE, -1).indices
    chosen = torch.zeros_like(share).scatter(1, best, 1.0)
    weight = share * chosen
    weight = weight / weight.sum(-1, keepdim=True)
    gate, up = (linear(p, f"{name}.experts.{n}_proj", rows).reshape(-1, EXPERTS, 12) for n in ("gate", "up"))
    down = p[name + ".experts.down_proj.weight"].reshape(HIDDEN, EXPERTS, 12)
    out = torch.einsum("nei,dei,ne->nd", F.silu(gate) * up, down, weight)
    balance = EXPERTS / ACTIVE * (chosen.mean(0) * share.mean(0)).sum()
    return out.reshape(x.shape), balance


def llama(tokens, end, experts=False):
    depth, inner = HIDDEN // HEADS, 12
    shapes = {"embed_tokens.weight": (VOCABULARY, HIDDEN), "lm_head.weight": (VOCABULARY, HIDDEN),
              "norm.weight": (HIDDEN,)}
    for i in range(LAYERS):
        h = f"layers.{i}."
        shapes |= {h + "input_layernorm.weight": (HIDDEN,), h + "post_attention_layernorm.weight": (HIDDEN,),
                   h + "self_attn.q_proj.weight": (HIDDEN, HIDDEN), h + "self_attn.k_proj.weight": (depth, HIDDEN),
                   h + "self_attn.v_proj.weight": (depth, HIDDEN), h + "self_attn.o_proj.weight": (HIDDEN, HIDDEN)}
        if experts:
            m = h + "block_sparse_moe."
            shapes |= {m + "gate.weight": (EXPERTS, HIDDEN), m + "experts.gate_proj.weight": (EXPERTS * inner, HIDDEN),
                       m + "experts.up_proj.weight": (EXPERTS * inner, HIDDEN),
                       m + "experts.down_proj.weight": (HIDDEN, EXPERTS * inner)}
        else:
            shapes |= {h + "mlp.gate_proj.weight": (inner, HIDDEN), h + "mlp.up_proj.weight": (inner, HIDDEN),
                       h + "mlp.down_proj.weight": (HIDDEN, inner)}
    p = fill(shapes)
    mask, positions = causal(tokens, end)
    angle = positions[..., None] / 10000 ** (torch.arange(depth // 2, dtype=torch.float64) / (depth // 2))
    # The file holds the tables in float32.
    cos, sin = (t.float().double()[:, :, None, :] for t in (angle.cos(), angle.sin()))

    def rotate(x):
        a, b = x.reshape(BATCH, LENGTH, -1, depth).chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).reshape(BATCH, LENGTH, -1)

    x = p["embed_tokens.weight"][tokens]
    balance = 0
    for i in range(LAYERS):
        h = f"layers.{i}."
        y = rms_norm(p, h + "input_layernorm", x)
        q, k, v = (linear(p, h + f"self_attn.{n}_proj", y) for n in "qkv")
        x = x + linear(p, h + "self_attn.o_proj", attend(rotate(q), rotate(k), v, mask, HEADS, 1))
        y = rms_norm(p, h + "post_attention_layernorm", x)
        if experts:
            made, uneven = mixture(p, h + "block_sparse_moe", y)
            x, balance = x + made, balance + uneven / LAYERS
            continue
        x = x + linear(p, h + "mlp.down_proj",
                       F.silu(linear(p, h + "mlp.gate_proj", y)) * linear(p, h + "mlp.up_proj", y))
    scores = linear(p, "lm_head", rms_norm(p, "norm", x))
    return (p, scores, balance) if experts else (p, scores)


def bert(tokens, _):
    longest, inner = 512, 16
    e, c = "embeddings.", "cls.predictions."
    shapes = {e + "word_embeddings.weight": (VOCABULARY, HIDDEN), e + "position_embeddings.weight": (longest, HIDDEN),
              e + "token_type_embeddings.weight": (2, HIDDEN), e + "LayerNorm.weight": (HIDDEN,),
              e + "LayerNorm.bias": (HIDDEN,), c + "transform.dense.weight": (HIDDEN, HIDDEN),
              c + "transform.dense.bias": (HIDDEN,), c + "transform.LayerNorm.weight": (HIDDEN,),
              c + "transform.LayerNorm.bias": (HIDDEN,), c + "bias": (VOCABULARY,)}
    for i in range(LAYERS):
        h = f"encoder.layer.{i}."
        for name, rows, columns in (("attention.self.query", HIDDEN, HIDDEN), ("attention.self.key", HIDDEN, HIDDEN),
                                    ("attention.self.value", HIDDEN, HIDDEN),
                                    ("attention.output.dense", HIDDEN, HIDDEN),
                                    ("intermediate.dense", inner, HIDDEN), ("output.dense", HIDDEN, inner)):
            shapes |= {h + name + ".weight": (rows, columns), h + name + ".bias": (rows,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {h + name + ".weight": (HIDDEN,), h + name + ".bias": (HIDDEN,)}
    p = fill(shapes)
    mask = torch.ones(BATCH, 1, LENGTH, LENGTH, dtype=torch.bool)
    x = p[e + "word_embeddings.weight"][tokens] + p[e + "position_embeddings.weight"][:LENGTH]
    x = layer_norm(p, e + "LayerNorm", x + p[e + "token_type_embeddings.weight"][0], 1e-12)
    for i in range(LAYERS):
        h = f"encoder.layer.{i}."
        q, k, v = (linear(p, h + "attention.self." + n, x) for n in ("query", "key", "value"))
        y = linear(p, h + "attention.output.dense", attend(q, k, v, mask, HEADS, HEADS))
        x = layer_norm(p, h + "attention.output.LayerNorm", x + y, 1e-12)
        y = linear(p, h + "output.dense", F.gelu(linear(p, h + "intermediate.dense", x)))
        x = layer_norm(p, h + "output.LayerNorm", x + y, 1e-12)
    x = layer_norm(p, c + "transform.LayerNorm", F.gelu(linear(p, c + "transform.dense", x)), 1e-12)
    return p, F.linear(x, p[e + "word_embeddings.weight"], p[c + "bias"])


def figures(model, network, inner, end):
    ids = [(i * i + 7 * i) % VOCABULARY for i in range(BATCH * LENGTH + 1)]
    tokens = torch.tensor(ids[:-1]).reshape(BATCH, LENGTH)
    following = torch.tensor(ids[1:])
    # Two of three are wanted: the others do not count.
    wanted = torch.where(torch.arange(BATCH * LENGTH) % 3 == 0, -1, following)
    parameters, scores, *balance = network(tokens, end)
    loss = F.cross_entropy(scores.reshape(-1, VOCABULARY), wanted, ignore_index=-1)
    for uneven in balance:
        # The weight is a number of four bytes in the graph.
        loss = loss + as_float32(BALANCE_WEIGHT) * uneven
    loss.backward()
    gradients = {}
    for name, value in sorted(parameters.items()):
        g = value.grad.reshape(-1)
        gradients[name] = [g.sum().item(), g.square().sum().item(), g[0].item(), g[1].item()]
    return {"model": model, "inner": inner, "end_of_text": -1 if end is None else end,
            "tokens": ids[:-1], "wanted": wanted.tolist(), "loss": loss.item(), "gradients": gradients}


def main():
    cases = [figures("gpt-nano", gpt, 16, None), figures("gpt-nano", gpt, 16, 7),
             figures("llama", llama, 12, None), figures("llama", llama, 12, 7),
             figures("bert-tiny", bert, 16, None),
             figures("llama-moe", lambda tokens, end: llama(tokens, end, experts=True), 12, None)]
    print(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}).replace("{", "\n{"))


main()

#!/usr/bin/env python3
"""Networks for PyTorch that the comparisons time and export: build(NAME) gives (module, inputs(batch)).

NAME is one of `trainyard models` (so that both programs compute the same layers), a name of
torchvision, or one of FILES, networks as people write and export them.
"""
import math
import sys

import torch
from torch import nn
from torch.nn import functional


class CausalAttention(nn.Module):
    """Attention with heads of keys that several heads of queries share, and rotary positions."""

    def __init__(self, hidden, heads, kv_heads, bias, rotary, length):
        super().__init__()
        self.heads, self.kv_heads, self.depth = heads, kv_heads, hidden // heads
        self.widths = [hidden, kv_heads * self.depth, kv_heads * self.depth]
        self.inputs = nn.Linear(hidden, sum(self.widths), bias)
        self.output = nn.Linear(hidden, hidden, bias)
        self.rotary = rotary
        if rotary:
            speed = 10000.0 ** (-torch.arange(0, self.depth, 2) / self.depth)
            angle = torch.outer(torch.arange(length), speed).repeat(1, 2)
            self.register_buffer("cos", angle.cos())
            self.register_buffer("sin", angle.sin())

    def turn(self, x):
        half = self.depth // 2
        swapped = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * self.cos[:x.shape[2]] + swapped * self.sin[:x.shape[2]]

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = self.inputs(x).split(self.widths, -1)
        q = q.view(batch, length, self.heads, self.depth).transpose(1, 2)
        k = k.view(batch, length, self.kv_heads, self.depth).transpose(1, 2)
        v = v.view(batch, length, self.kv_heads, self.depth).transpose(1, 2)
        if self.rotary:
            q, k = self.turn(q), self.turn(k)
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, 1)
            v = v.repeat_interleave(self.heads // self.kv_heads, 1)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(y.transpose(1, 2).reshape(batch, length, hidden))


class RmsNorm(nn.Module):
    """As Llama's authors write it."""

    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class GptBlock(nn.Module):
    def __init__(self, hidden, heads, inner, length, dropout):
        super().__init__()
        self.first = nn.LayerNorm(hidden)
        self.attention = CausalAttention(hidden, heads, heads, True, False, length)
        self.second = nn.LayerNorm(hidden)
        self.mlp = nn.Sequential(nn.Linear(hidden, inner), nn.GELU("tanh"), nn.Linear(inner, hidden))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.drop(self.attention(self.first(x)))
        return x + self.drop(self.mlp(self.second(x)))


class LlamaBlock(nn.Module):
    def __init__(self, hidden, heads, kv_heads, inner, length):
        super().__init__()
        self.first, self.second = RmsNorm(hidden), RmsNorm(hidden)
        self.attention = CausalAttention(hidden, heads, kv_heads, False, True, length)
        self.gate = nn.Linear(hidden, inner, False)
        self.up = nn.Linear(hidden, inner, False)
        self.down = nn.Linear(inner, hidden, False)

    def forward(self, x):
        x = x + self.attention(self.first(x))
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """GPT-2 or Llama: scores of the next token at each place."""

    def __init__(self, blocks, hidden, vocabulary, length, places, norm, dropout=0.0):
        super().__init__()
        self.words = nn.Embedding(vocabulary, hidden)
        self.places = nn.Embedding(length, hidden) if places else None
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*blocks)
        self.norm = norm
        self.head = nn.Linear(hidden, vocabulary, False)
        if places:
            self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens)
        if self.places is not None:
            x = x + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(self.drop(x))))


def gpt(hidden, heads, layers, vocabulary, length, longest, dropout):
    blocks = [GptBlock(hidden, heads, 4 * hidden, longest, dropout) for _ in range(layers)]
    return Decoder(blocks, hidden, vocabulary, longest, True, nn.LayerNorm(hidden), dropout), length


def llama(hidden, heads, kv_heads, layers, inner, vocabulary, length):
    blocks = [LlamaBlock(hidden, heads, kv_heads, inner, length) for _ in range(layers)]
    return Decoder(blocks, hidden, vocabulary, length, False, RmsNorm(hidden)), length


class Bert(nn.Module):
    def __init__(self, length):
        super().__init__()
        width = 768
        self.words = nn.Embedding(30522, width)
        self.places = nn.Parameter(torch.randn(1, length, width) * 0.02)
        self.norm = nn.LayerNorm(width)
        layer = nn.TransformerEncoderLayer(width, 12, 3072, 0.1, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        self.pool = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.head = nn.Linear(width, 2)

    def forward(self, tokens):
        x = self.encoder(self.norm(self.words(tokens) + self.places))
        return self.head(self.pool(x[:, 0]))


class PlainAttention(nn.Module):
    """Spelled out, with a mask that is added: what most older code exports."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.depth = heads, hidden // heads
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.depth).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        scores = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2)
        scores = scores / math.sqrt(self.depth) + mask
        y = scores.softmax(-1) @ self.split(self.v(x))
        return self.o(y.permute(0, 2, 1, 3).reshape(x.shape))


class MaskedEncoder(nn.Module):
    """BERT as its first public code has it: tokens and a mask of ones and zeros."""

    def __init__(self, layers, hidden, heads):
        super().__init__()
        self.words, self.places = nn.Embedding(30522, hidden), nn.Embedding(512, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.layers = nn.ModuleList(
            nn.ModuleDict({"attention": PlainAttention(hidden, heads), "first": nn.LayerNorm(hidden),
                           "up": nn.Linear(hidden, 4 * hidden), "down": nn.Linear(4 * hidden, hidden),
                           "second": nn.LayerNorm(hidden)}) for _ in range(layers))

    def forward(self, tokens, mask):
        x = self.norm(self.words(tokens) + self.places(torch.arange(tokens.shape[1]))[None])
        bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer["first"](x + layer["attention"](x, bias))
            y = layer["up"](x)
            y = y * 0.5 * (1.0 + torch.erf(y / math.sqrt(2.0)))
            x = layer["second"](x + layer["down"](y))
        return x.mean(1)


class Style(nn.Module):
    """Fast style transfer: reflected padding, instance normalization, residual blocks."""

    def __init__(self):
        super().__init__()

        def part(inputs, outputs, size, stride):
            return [nn.ReflectionPad2d(size // 2), nn.Conv2d(inputs, outputs, size, stride),
                    nn.InstanceNorm2d(outputs, affine=True), nn.ReLU()]

        self.front = nn.Sequential(*part(3, 32, 9, 1), *part(32, 64, 3, 2), *part(64, 128, 3, 2))
        self.residual = nn.ModuleList(
            nn.Sequential(*part(128, 128, 3, 1), *part(128, 128, 3, 1)[:-1]) for _ in range(5))
        self.back = nn.Sequential(nn.Upsample(scale_factor=2), *part(128, 64, 3, 1),
                                  nn.Upsample(scale_factor=2), *part(64, 32, 3, 1),
                                  nn.ReflectionPad2d(4), nn.Conv2d(32, 3, 9))

    def forward(self, x):
        x = self.front(x)
        for block in self.residual:
            x = x + block(x)
        return self.back(x)


def face_network():
    """Convolutions with PReLU, as networks for faces have them."""
    layers, channels = [], 3
    for width, stride in ((64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)):
        layers += [nn.Conv2d(channels, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width),
                   nn.PReLU(width)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 128))


class Speech(nn.Module):
    """Convolutions over a spectrum, then a bidirectional GRU."""

    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(80, 256, 3, 2, 1), nn.GELU(), nn.Conv1d(256, 256, 3, 1, 1),
                                   nn.GELU())
        self.rnn = nn.GRU(256, 256, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(512, 64)

    def forward(self, x):
        return self.head(self.rnn(self.front(x).transpose(1, 2))[0]).log_softmax(-1)


def standard_layers(kind, width, layers):
    """PyTorch's own layers as they come: the batch is the second dimension."""
    if kind == "encoder":
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, "gelu")
        return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(width, 8, 4 * width, 0.0), layers)


# Name: the opset of its export. 18 is written by torch.export, older ones by tracing; PyTorch 2 has lost
# the first three, which 1.13 writes.
FILES = {"encoder_11": 11, "decoder_11": 11, "decoder_16": 16, "encoder_17": 17, "bertlike_12": 12,
         "bertlike_18": 18, "llama_16": 16, "llama_18": 18, "swin_t_16": 16, "mobilenet_v3_large_11": 11,
         "style_13": 13, "face_13": 13, "speech_14": 14, "efficientnet_b0_18": 18}


def floats(*shape, count=1):
    return lambda batch: tuple(
        torch.rand([batch if dim is None else dim for dim in shape]) * 2 - 1 for _ in range(count))


def tokens(length, vocabulary):
    return lambda batch: (torch.randint(0, vocabulary, (batch, length)),)


def build_file(kind):
    if kind in ("encoder", "decoder"):
        return standard_layers(kind, 256, 4), floats(64, None, 256, count=1 + (kind == "decoder"))
    if kind == "bertlike":
        return MaskedEncoder(6, 384, 12), lambda batch: (
            torch.randint(0, 30522, (batch, 128)), torch.ones(batch, 128, dtype=torch.long))
    if kind == "llama":
        module, length = llama(256, 8, 4, 4, 688, 8000, 64)
        return module, tokens(length, 8000)
    if kind == "style":
        return Style(), floats(None, 3, 128, 128)
    if kind == "face":
        return face_network(), floats(None, 3, 112, 112)
    if kind == "speech":
        return Speech(), floats(None, 80, 200)
    import torchvision
    return getattr(torchvision.models, kind)(), floats(None, 3, 224, 224)


def build(name, length=None):
    """`length` is that of networks that read tokens; None: the usual one."""
    torch.manual_seed(0)
    if name in FILES:
        return build_file(name.rsplit("_", 1)[0])
    if name == "bert-base":
        length = length or 128
        return Bert(length), tokens(length, 30522)
    if name == "gpt2-small":
        module, length = gpt(768, 12, 12, 50257, length or 128, 1024, 0.1)
        return module, tokens(length, 50257)
    if name == "gpt-nano":
        length = length or 256
        module, length = gpt(384, 6, 6, 256, length, length, 0.2)
        return module, tokens(length, 256)
    if name == "llama":
        module, length = llama(512, 8, 4, 8, 1408, 32000, length or 256)
        return module, tokens(length, 32000)
    if name in ("lenet5", "resnet18-cifar", "resnet20-cifar"):
        from pytorch_peer import build as build_small
        module, shape, _ = build_small(name)
        return module, floats(None, *shape)
    import torchvision
    if name == "googlenet-bn":  # torchvision's has batch normalization and no second classifier
        return torchvision.models.googlenet(aux_logits=False, init_weights=False), floats(None, 3, 224, 224)
    return getattr(torchvision.models, name)(), floats(None, 3, 224, 224)


def export(name, path, batch=1):
    module, inputs = build(name)
    options = {"dynamo": FILES[name] >= 18} if torch.__version__ >= "2" else {}
    if options.get("dynamo"):
        options["external_data"] = False
    torch.onnx.export(module.eval(), inputs(batch), path, opset_version=FILES[name], **options)


def main():
    """peer_networks.py FOLDER [NAME...]: writes FOLDER/NAME.onnx, of which this PyTorch can."""
    folder, names = sys.argv[1], sys.argv[2:] or list(FILES)
    for name in names:
        try:
            export(name, f"{folder}/{name}.onnx")
        except Exception as error:  # of many kinds
            print(f"{name}: {str(error).splitlines()[-1][:200]}", file=sys.stderr)


if __name__ == "__main__":
    main()

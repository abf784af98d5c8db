#!/usr/bin/env python3
"""Compares logits of tiny random GPT-2 and Llama networks with those of the transformers library, both ways.

    python3 tools/compare_hugging_face.py PROGRAM

Needs torch and transformers, which neither the program nor its tests do. Their folders are read by PROGRAM, and folders
that PROGRAM writes are read by them. Prints the largest difference of each; exit code 1 if one exceeds 1e-4.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

BATCH, LENGTH = 2, 12
WORST = 1e-4
failed = False


def run(program, *words):
    subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def ours(program, model, tokens, folder):
    np.save(folder / "tokens.npy", tokens)
    run(program, "run", model, "--batch", BATCH, "--length", LENGTH, "--input", f"tokens={folder / 'tokens.npy'}",
        "--output", folder / "out", "--threads", 1)
    return np.load(folder / "out" / "logits.npy")


def theirs(model, tokens):
    with torch.no_grad():
        return model.eval()(torch.from_numpy(tokens)).logits.numpy()


def report(name, a, b):
    global failed
    worst = float(np.abs(a - b).max())
    failed |= not worst <= WORST
    print(f"{name}: largest difference {worst:.1e} of logits up to {float(np.abs(b).max()):.2f}")


def read_theirs(program, folder):
    configs = {
        "gpt2": GPT2Config(vocab_size=97, n_positions=32, n_embd=24, n_layer=2, n_head=3, initializer_range=0.3),
        "llama": LlamaConfig(vocab_size=97, hidden_size=32, intermediate_size=44, num_hidden_layers=2,
                             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
                             rms_norm_eps=1e-6, rope_theta=500000.0, initializer_range=0.3),
        "llama, tied": LlamaConfig(vocab_size=97, hidden_size=32, intermediate_size=44, num_hidden_layers=2,
                                   num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=32,
                                   tie_word_embeddings=True, initializer_range=0.3),
    }
    tokens = np.random.default_rng(1).integers(0, 97, (BATCH, LENGTH))
    for number, (name, config) in enumerate(configs.items()):
        torch.manual_seed(number)
        model = (GPT2LMHeadModel if name == "gpt2" else LlamaForCausalLM)(config)
        for dtype in (torch.float32, torch.bfloat16):
            own = folder / f"theirs-{number}-{str(dtype)[6:]}"
            model.to(dtype).save_pretrained(own)
            expected = theirs(AutoModelForCausalLM.from_pretrained(own).float(), tokens)
            report(f"{name} of transformers in {str(dtype)[6:]}", ours(program, own, tokens, folder), expected)


def write_ours(program, folder):
    sizes = {"gpt-nano": [], "llama": ["--kv-heads", 1]}
    (folder / "text.txt").write_text("a line of a small text, and another one. " * 40)
    for name, more in sizes.items():
        run(program, "train", "--quiet", "--model", name, "--data", f"tokens:{folder / 'text.txt'},type=u8", "--length", 16,
            "--layers", 2, "--hidden", 16, "--heads", 2, *more, "--epochs", 1, "--batch", 8, "--threads", 1,
            "--sample-tokens", 0, "--runs-dir", folder, "--name", name)
        own = folder / f"{name}-folder"
        run(program, "export", folder / name, "--layout", "hugging-face", "-o", own)
        model = AutoModelForCausalLM.from_pretrained(own)
        tokens = np.random.default_rng(2).integers(0, 256, (BATCH, LENGTH))
        report(f"{name} of a run", ours(program, own, tokens, folder), theirs(model, tokens))


def main():
    with tempfile.TemporaryDirectory() as folder:
        read_theirs(sys.argv[1], Path(folder))
        write_ours(sys.argv[1], Path(folder))
    sys.exit(1 if failed else 0)


main()

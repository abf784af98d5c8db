#!/usr/bin/env python3
"""Compares `trainyard tokenizer` with Hugging Face's tokenizers and with tiktoken on 10,000 strings of all scripts.

    tools/compare_tokenizers.py PROGRAM CORPUS [SEED]

Needs Python's packages tokenizers and tiktoken. Tokenizers are learned from CORPUS here (BPE, by PROGRAM) and there (WordPiece);
every string must have the same tokens in both. Prints a line for each tokenizer and ends with 1 if a string differs.
"""
import array
import base64
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

import tiktoken
import tokenizers

COUNT = 10_000
CODES = [code for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co")]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\x0b", "\x85", "\u200b", "\u200d"]
WORDS = ["the", "The", "don't", "I'LL", "we'Ve", "it's", "'S", "\u017fet", "'\u017f", "HTTPServer", "camelCase", "na\u00efve", "Stra\u00dfe",
         "\u0130stanbul", "e\u0301te\u0301", "\u0645\u0631\u062d\u0628\u0627", "\u0928\u092e\u0938\u094d\u0924\u0947", "\ud55c\uad6d\uc5b4", "\u4f60\u597d", "\u3053\u3093\u306b\u3061\u306f", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\u05e9\u05c1\u05dc\u05d5\u05dd",
         "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "3.14159", "1234567", "\u0663\u0664\u0665", "\u00bd\u00b2", "foo_bar()", "->", "...", "://", "#!/", "\u2014", "\u00ab", "\u201cq\u201d", "/path/to", "a\n", ".\n\n", "\ufffd"]


def string(draw):
    """One string: words, characters of one script, of all scripts, runs of one character."""
    parts = []
    for _ in range(draw.randint(1, 12)):
        kind = draw.random()
        if kind < 0.35:
            parts.append(draw.choice(WORDS))
        elif kind < 0.65:
            parts.append(draw.choice(SPACES) * draw.choice([1, 1, 1, 2, 3, 30]))
        elif kind < 0.8:
            first = draw.randrange(len(CODES))
            parts += [chr(code) for code in draw.choices(CODES[first:first + 60], k=draw.randint(1, 8))]
        elif kind < 0.9:
            parts += [chr(code) for code in draw.choices(CODES, k=draw.randint(1, 6))]
        elif kind < 0.98:
            parts += [chr(draw.randint(0, 127)) for _ in range(draw.randint(1, 10))]
        else:
            parts.append(draw.choice(["a", " ", "\n", "ab", "1", "!", "\u4e00", "e\u0301"]) * draw.randint(50, 700))
    return "".join(parts)


def is_steady(text):
    """Without marks, punctuation and controls that came to Unicode, or changed, after the tables of BERT's reference."""
    for character in text:
        now, before = unicodedata.category(character), unicodedata.ucd_3_2_0.category(character)
        if now != before and (now[0] in "MPC" or before[0] in "MP"):
            return False
    return True


class Ours:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments):
        subprocess.run([self.program, "tokenizer", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def encode(self, strings, tokenizer, end, vocabulary, *flags):
        texts, tokens = self.folder / "strings.jsonl", self.folder / "tokens.bin"
        texts.write_text("".join(json.dumps({"text": text}) + "\n" for text in strings))
        self.run("encode", texts, "--tokenizer", tokenizer, "-o", tokens, *flags)
        numbers = array.array("H" if vocabulary <= 65536 else "I", tokens.read_bytes())
        rows, row = [], []
        for number in numbers:
            if number == end:
                rows.append(row)
                row = []
            else:
                row.append(number)
        return rows


def report(name, strings, ours, theirs):
    differing = [i for i in range(len(strings)) if i >= len(ours) or ours[i] != theirs[i]]
    print(f"{name}: {len(strings) - len(differing):,} of {len(strings):,} strings have the same tokens")
    for i in differing[:3]:
        print("  ", ascii(strings[i])[:300], "\n   ours  ", ours[i][:40] if i < len(ours) else None, "\n   theirs", theirs[i][:40])
    return bool(differing)


def compare_bpe(ours, corpus, strings, pattern):
    file = ours.folder / f"{pattern}.json"
    ours.run("train", corpus, "--vocab", 4096, "--pattern", pattern, "-o", file)
    end = 4095
    failed = False
    mine = ours.encode(strings, file, end, 4096)
    if pattern != "cl100k":  # its end of texts is written in a way that only tiktoken's engine reads
        reference = tokenizers.Tokenizer.from_file(str(file))
        failed |= report(f"{pattern}, tokenizer.json", strings, mine, [e.ids for e in reference.encode_batch(strings)])
    ranks = ours.folder / f"{pattern}.tiktoken"
    ours.run("train", corpus, "--vocab", 4096, "--pattern", pattern, "-o", ranks)
    table = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in ranks.read_text().splitlines()}
    steps = json.loads(file.read_text())["pre_tokenizer"]
    regex = steps["pretokenizers"][0]["pattern"]["Regex"] if "pretokenizers" in steps else (
        r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")
    encoding = tiktoken.Encoding(pattern, pat_str=regex, mergeable_ranks=table, special_tokens={})
    mine = ours.encode(strings, ranks, end, 4096, "--pattern", pattern)
    return failed | report(f"{pattern}, tiktoken", strings, mine, encoding.encode_ordinary_batch(strings))


def compare_word_piece(ours, corpus, strings, lower_case):
    file = ours.folder / "bert.json"
    reference = tokenizers.BertWordPieceTokenizer(lowercase=lower_case)
    with open(corpus, encoding="utf-8") as lines:
        reference.train_from_iterator((line for _, line in zip(range(100_000), lines)), vocab_size=4000, show_progress=False)
    reference.save(str(file))
    reference = tokenizers.Tokenizer.from_file(str(file))
    expected = [e.ids for e in reference.encode_batch(strings, add_special_tokens=False)]
    end = reference.token_to_id("[SEP]")
    return report(f"WordPiece, {'small letters' if lower_case else 'cased'}", strings, ours.encode(strings, file, end, 4000), expected)


def compare_characters(ours, strings):
    file, texts = ours.folder / "chars.json", ours.folder / "strings.jsonl"
    texts.write_text("".join(json.dumps({"text": text}) + "\n" for text in strings))
    ours.run("train", texts, "--kind", "chars", "-o", file)
    reference = tokenizers.Tokenizer.from_file(str(file))
    size = reference.get_vocab_size()
    return report("characters", strings, ours.encode(strings, file, size - 1, size), [e.ids for e in reference.encode_batch(strings)])


def compare_training(ours, corpus):
    """The merges that are learned, with the words of lines as the reference's reader has them."""
    file, lines = ours.folder / "trained.json", ours.folder / "lines.jsonl"
    texts = [line for _, line in zip(range(60_000), open(corpus, encoding="utf-8", newline="\n"))]
    lines.write_text("".join(json.dumps({"text": line}) + "\n" for line in texts))
    ours.run("train", lines, "--vocab", 4097, "-o", file)
    reference = tokenizers.ByteLevelBPETokenizer()
    reference.train_from_iterator(texts, vocab_size=4096, min_frequency=2, show_progress=False)
    theirs = json.loads(reference._tokenizer.to_str())["model"]
    mine = json.loads(file.read_text())["model"]
    same = sum(list(a) == list(b) for a, b in zip(mine["merges"], theirs["merges"]))
    print(f"training: {same:,} of {len(theirs['merges']):,} merges are the same, ids {'too' if mine['vocab'] == theirs['vocab'] else 'not'}")
    return mine["merges"] != [list(pair) for pair in theirs["merges"]]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    strings = []
    while len(strings) < COUNT:
        strings.append(string(draw))
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(sys.argv[1], pathlib.Path(folder))
        failed = False
        for pattern in ("gpt2", "llama3", "cl100k", "qwen2", "o200k"):
            failed |= compare_bpe(ours, sys.argv[2], strings, pattern)
        failed |= compare_characters(ours, strings)
        for lower_case in (True, False):
            failed |= compare_word_piece(ours, sys.argv[2], [text for text in strings if is_steady(text)], lower_case)
        failed |= compare_training(ours, sys.argv[2])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes tests/data/text/tokenizers.json: small tokenizers of each kind, and the tokens that the reference gives for strings.

    tools/make_tokenizer_fixture.py

Needs Python's package tokenizers (Hugging Face).
"""
import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/data/text/tokenizers.json"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CORPUS = ["the quick brown fox jumps over the lazy dog, and the dog's owner doesn't mind the fox; the end.\n",
          "there were 1234 foxes in 2026, weren't there?  They'll be back.\n\n\tover the lazy river the fox sees the other fox\n",
          "\u00e9t\u00e9, na\u00efve caf\u00e9 \u4f60\u597d \u4f60\u597d \u0645\u0631\u062d\u0628\u0627 \u043f\u0440\u0438\u0432\u0435\u0442 \u043f\u0440\u0438\u0432\u0435\u0442\n"] * 3
STRINGS = ["", "the fox", " the  fox ", "The Dog'S dog's DON'T don't we'll 'tis '\u017f", "a\n\nb \r\n c\t\td   ", "12345 1 \u0663\u0664\u0665\u0666 \u00bd",
           "na\u00efve cafe\u0301 \u0130 \u01c5 \u1e9e", "\u4f60\u597d\uff0c\u4e16\u754c\u3002 \ud55c\uad6d\uc5b4 \u3053\u3093", "\u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947 \u05e9\u05c1\u05dc\u05d5\u05dd",
           "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd!!", "x = foo_bar(1)//2\n  return\n", " " * 70 + "end", "the" * 40, "\u00a0\u2003\u3000 \u2028 \x0b\x85",
           "HTTPServer camelCase aB\u0301c\u0301D", "[SEP] <|endoftext|>the fox<|endoftext|>", "quick-brown...fox\x00\ufffd", "a <mask> b <mask>"]


def byte_level_model():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=320, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer.model


def byte_level(model, pre_tokenizer, specials):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(specials)
    return tokenizer


def split(regex):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=160, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def prefixed(model):
    """As RoBERTa: a space before the text, a mask that takes the space before it, tokens around."""
    tokenizer = byte_level(model, pre_tokenizers.ByteLevel(add_prefix_space=True), ["<s>", "</s>", AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")))
    return tokenizer


def cases(tokenizer):
    for text in STRINGS:
        plain, framed = tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.encode(text).ids
        case = {"text": text, "ids": plain}
        if framed != plain:
            case["framed"] = framed
        if isinstance(tokenizer.model, models.WordPiece):
            case["decoded"] = tokenizer.decode(plain, skip_special_tokens=False)
        yield case


def parts(tokenizer):
    """The file without its model, of which only the name is kept: several have one."""
    return json.loads(tokenizer.to_str()) | {"model": type(tokenizer.model).__name__}


def row(name, tokenizer):
    return (f'"{name}": {{"tokenizer": {json.dumps(parts(tokenizer), separators=(",", ":"))},\n"cases": [\n' +
            ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases(tokenizer)) + "]}")


def main():
    model, end = byte_level_model(), ["<|endoftext|>"]
    kinds = {"gpt2": byte_level(model, pre_tokenizers.ByteLevel(add_prefix_space=False), end), "llama3": byte_level(model, split(LLAMA3), end),
             "o200k": byte_level(model, split(O200K), end), "prefixed": prefixed(model), "bert": word_piece()}
    shared = {type(t.model).__name__: json.loads(t.to_str())["model"] for t in kinds.values()}
    OUTPUT.write_text('{"models": ' + json.dumps(shared, separators=(",", ":")) + ',\n"tokenizers": {' +
                      ",\n".join(row(name, tokenizer) for name, tokenizer in kinds.items()) + "}}\n")


if __name__ == "__main__":
    main()

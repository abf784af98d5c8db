#!/usr/bin/env python3
"""How hard the documentation is to read: tools/readability.py [--base COMMIT] [FILE…]

Prints a row for each page of docs/ and of the root: words, words in a sentence, share of sentences above 25 words, and the grade of
Flesch and Kincaid (0.39 words per sentence + 11.8 syllables per word - 15.59). Code, tables and links' addresses do not count.
--base COMMIT: the figures of that commit beside those of today.
"""
import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def prose(text):
    """The sentences of a Markdown page."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if not re.match(r"\s*(\||#|!\[|<)", line)]
    # A list item or an empty line ends a sentence.
    text = "\n".join(re.sub(r"^\s*([*-]|\d+\.) ", "\n", line) for line in lines)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"[*_]", "", text)
    parts = []
    for paragraph in re.split(r"\n\s*\n", text):
        parts += re.split(r"(?<=[.!?:])\s+(?=[A-Z0-9(])", " ".join(paragraph.split()))
    return [part for part in parts if len(words_of(part)) > 1]


def words_of(sentence):
    return re.findall(r"[A-Za-z][A-Za-z'-]*", sentence)


def syllables(word):
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    silent = word.lower().endswith("e") and not word.lower().endswith("le") and groups > 1
    return max(1, groups - silent)


def figures(text):
    sentences = [words_of(sentence) for sentence in prose(text)]
    words = [word for sentence in sentences for word in sentence]
    if not words:
        return None
    per_sentence = len(words) / len(sentences)
    grade = 0.39 * per_sentence + 11.8 * sum(map(syllables, words)) / len(words) - 15.59
    return len(words), per_sentence, 100 * sum(len(sentence) > 25 for sentence in sentences) / len(sentences), grade


def text_at(commit, name):
    shown = subprocess.run(["git", "show", f"{commit}:{name}"], cwd=ROOT, capture_output=True, text=True)
    return shown.stdout if shown.returncode == 0 else None


def cells(found):
    return f"{found[0]:,} | {found[1]:.1f} | {found[2]:.0f} % | {found[3]:.1f}" if found else " | | | "


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    names = options.files or sorted(str(file.relative_to(ROOT)) for pattern in ("*.md", "docs/*.md", "docs/decisions/*.md")
                                    for file in ROOT.glob(pattern))
    heading = "words | in a sentence | above 25 | grade"
    print(f"| page | {'' if not options.base else ' | '.join(word + ' before' for word in heading.split(' | ')) + ' | '}{heading} |")
    print("|---|" + "--:|" * (8 if options.base else 4))
    for name in names:
        now = figures((ROOT / name).read_text())
        before = ""
        if options.base:
            old = text_at(options.base, name)
            before = cells(figures(old) if old else None) + " | "
        print(f"| {name} | {before}{cells(now)} |")


if __name__ == "__main__":
    main()

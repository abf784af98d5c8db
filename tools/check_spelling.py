#!/usr/bin/env python3
"""Checks that words are spelled the American way: in names, comments, messages, keys, flags and docs of all files.

Exits 1 and lists file, line and word of each that is not.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Locked packages, and the words that are looked for.
SKIPPED = {"web/package-lock.json", "tools/check_spelling.py"}
# Names that others gave.
# Keys that others gave, and one of `schedule --json` that is read under this name.
ALLOWED = {"objective_min_normalised_throughput", '"utilisation"', ".utilisation"}
STEMS = [
    r"(?:behavi|col|endeav|fav|flav|harb|hon|hum|lab|neighb|rum|sav|vap)our",
    r"(?:cent|fib|lit|theat)re(?:s|d)?(?![a-z])",
    r"met(?:re|res)(?![a-z])",
    r"(?:author|categor|character|critic|custom|digit|emphas|equal|final|general|initial|ital|local|maxim|memor|minim|"
    r"normal|optim|organ|parallel|parametr|penal|polar|priorit|quant|random|raster|real|recogn|regular|serial|special|stabil|"
    r"standard|summar|symbol|synchron|token|util|vector|visual)is(?:e|ed|er|ers|es|ing|able|ation|ations)(?![a-z])",
    r"(?:an|cat|par)alys(?:e|ed|er|ing)(?![a-z])|catalys(?:e|ed|ing)(?![a-z])",
    r"(?:cancel|channel|dial|equal|fuel|initial|label|level|marshal|model|parallel|signal|total|travel|tunnel)"
    r"l(?:ed|er|ers|ing)(?![a-z])",
    r"(?:ana|cata|dia)logue",
    r"(?:artefact|defence|fulfil(?!l)|grey|judgement|learnt|licence|offence|practis|skilful|spelt|whilst|amongst)",
    r"programmes?(?![a-z])",
]
# Words in the middle of a name begin after an underscore or with a capital letter; constants that others gave are all capitals.
WORD = re.compile("|".join(f"(?:{stem})" for stem in STEMS))
CAPITAL = re.compile(r"(?<![A-Z])[A-Z](?=[a-z])")


def wrong_words(line):
    for name in ALLOWED:
        line = line.replace(name, "")
    plain = CAPITAL.sub(lambda letter: " " + letter.group().lower(), line)
    return [match.group() for match in WORD.finditer(plain)]


def main():
    failed = False
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in sorted(set(names.split("\0")) - SKIPPED - {""}):
        found = [(0, word) for word in wrong_words(name)]
        try:
            lines = (ROOT / name).read_text().splitlines()
        except (UnicodeDecodeError, FileNotFoundError):  # pictures; files that are about to be removed
            lines = []
        # Nearly all files have none, so they are looked at as a whole first.
        lines = lines if wrong_words("\n".join(lines)) else []
        found += [(number, word) for number, line in enumerate(lines, 1) for word in wrong_words(line)]
        for number, word in found:
            failed = True
            print(f"{name}:{number}: '{word}' is not spelled the American way")
    if not failed:
        print("spelling: ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

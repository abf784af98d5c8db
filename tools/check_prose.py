#!/usr/bin/env python3
"""Checks the language of pages: phrases that docs/style-guide.md replaced, and words that neither the dictionary nor tools/words.txt has.

check_prose.py [--words]: --words prints the unknown words with the pages that have them, and ends with 0. Without hunspell (tools/setup
test installs it) words are not looked up.
"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs" / "style-guide.md"
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)|<[^>\n]*>|https?://\S+|\$[^$\n]*\$", re.MULTILINE | re.DOTALL)
# Words with a capital inside, with digits or underscores are names.
WORD = re.compile(r"(?<![\w/.-])[A-Za-z][a-z]+(?:['’][a-z]+)?(?![\w/]|\.\w)")


def pages():
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return [ROOT / name for name in names if not name.startswith((".github/", "python/"))]


def replaced_phrases():
    table = GUIDE.read_text().split("## Before and after")[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    return [row.removesuffix(", …").removeprefix("... ") for row in rows[1:]]


def plain(text):
    """C++ and Markdown as one line of words: literals that a line break divides are joined."""
    return re.sub(r"\s+", " ", re.sub(r'"\s*\n\s*"', "", text))


def phrase_problems():
    phrases = replaced_phrases()
    sources = subprocess.run(["git", "ls-files", "src/*.cpp", "labs/*", "docs/*.md", "README.md"], cwd=ROOT, check=True, capture_output=True,
                             text=True).stdout.split()
    for name in sources:
        file = ROOT / name
        if file == GUIDE or not file.exists():
            continue
        text = plain(file.read_text())
        yield from (f"{name}: '{phrase}' was replaced; see docs/style-guide.md" for phrase in phrases if phrase in text)


def unknown_words():
    """{word: the first page that has it}"""
    where = {}
    for page in pages():
        for word in WORD.findall(CODE.sub(" ", page.read_text())):
            where.setdefault(word.replace("’", "'"), page.relative_to(ROOT).as_posix())
    known = {line.strip().lower() for line in (ROOT / "tools" / "words.txt").read_text().splitlines()}
    told = subprocess.run(["hunspell", "-l", "-d", "en_US"], input="\n".join(where), check=True, capture_output=True, text=True).stdout
    return {word: where[word] for word in told.split() if word.lower() not in known and word in where}


def main():
    problems = list(phrase_problems())
    if shutil.which("hunspell"):
        unknown = unknown_words()
        if "--words" in sys.argv:
            print("\n".join(f"{word}\t{page}" for word, page in sorted(unknown.items(), key=lambda item: item[0].lower())))
            return 0
        problems += [f"{page}: '{word}' is in no dictionary; if it is right, add it to tools/words.txt" for word, page in unknown.items()]
    print("\n".join(problems) if problems else "prose: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

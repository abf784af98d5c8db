#!/usr/bin/env python3
"""Writes src/data/text/unicode_table.cpp: what tokenizers need to know of Unicode's characters.

    tools/make_unicode_table.py

Needs Python's package unicodedata2, of which the version is Unicode's: 16.0.0 is what the Hugging Face tokenizers know. Small
letters are those of Python itself.
"""
import pathlib

import unicodedata2 as unicodedata

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "src/data/text/unicode_table.cpp"
# As enum Category in unicode.h.
CATEGORIES = ["Cn", "Cc", "Cf", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl", "No", "Pc", "Pd", "Pe",
              "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"]
LAST = 0x10FFFF


def without_accents(code):
    """The characters that are left of the canonical decomposition without its nonspacing marks."""
    return [ord(c) for c in unicodedata.normalize("NFD", chr(code)) if unicodedata.category(c) != "Mn"]


def is_hangul(code):  # decomposed by a formula
    return 0xAC00 <= code <= 0xD7A3


def category_runs():
    previous = None
    for code in range(LAST + 1):
        category = CATEGORIES.index(unicodedata.category(chr(code)))
        if category != previous:
            yield f"0x{code << 8 | category:x}"
        previous = category


def mappings(rule):
    """Pairs of code points; where there are several for one, a pair each."""
    for code in range(LAST + 1):
        if 0xD800 <= code < 0xE000:
            continue
        for to in rule(code):
            yield f"{{0x{code:x}, 0x{to:x}}}"


def stripped(code):
    return [] if is_hangul(code) or unicodedata.category(chr(code)) == "Mn" or without_accents(code) == [code] else without_accents(code)


def small_letter_runs():
    """{first, last, step, distance}: every `step`-th character from first to last has its small letter at that distance."""
    runs = []
    for code in range(LAST + 1):
        small = chr(code).lower()
        if small == chr(code) or len(small) > 1:  # of several characters there is one, and it is handled in code
            continue
        distance = ord(small) - code
        if runs and runs[-1][3] == distance and code - runs[-1][1] in ((1, 2) if runs[-1][2] == 0 else (runs[-1][2],)):
            runs[-1][1:3] = [code, code - runs[-1][1]]
        else:
            runs.append([code, code, 0, distance])
    return [f"{{0x{first:x}, 0x{last:x}, {max(step, 1)}, {distance}}}" for first, last, step, distance in runs]


def table(name, type_name, items):
    items = list(items)
    lines, line = [f"const {type_name} {name}[] = {{"], "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return lines + [line, "};", f"const size_t {name}Size = {len(items)};", ""]


def main():
    lines = [f"// A table of data, made by tools/make_unicode_table.py from Unicode {unicodedata.unidata_version}.",
             '#include "data/text/unicode_table.h"', "", "namespace trainyard::data {", "", "// clang-format off"]
    lines += table("kCategoryRuns", "uint32_t", category_runs())
    lines += table("kWithoutAccents", "CodePair", mappings(stripped))
    lines += table("kSmallLetters", "SmallLetterRun", small_letter_runs())
    lines += ["// clang-format on", "", "}  // namespace trainyard::data", ""]
    OUTPUT.write_text("\n".join(lines))


if __name__ == "__main__":
    main()

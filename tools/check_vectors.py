#!/usr/bin/env python3
"""Checks that what only x86-64 has stays where other processors do not compile it: intrinsics, their headers, questions to the processor.

They may stand in files of ty_x86_only() (src/CMakeLists.txt) and headers that only these include, and behind `#if defined(__x86_64__)`. Files of
src/engine/kernels/native may also name what portable_vectors.h defines for others.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
NATIVE = "engine/kernels/native/"
NAME = re.compile(r"\b(?:_mm\d*_\w+|__m(?:128|256|512)[a-z]*|_CMP_\w+|_MM_\w+)\b")
ALWAYS = re.compile(r"<\w+mmintrin\.h>|<x86intrin\.h>|<cpuid\.h>|__builtin_ia32_\w+|__builtin_cpu_\w+|__rdtsc|__get_cpuid|target\(\"(?:avx|sse|bmi)")
GUARD = re.compile(r"#\s*if(?:def)?\b.*(?:__x86_64__|__AVX512F__)")


def x86_files(texts):
    """Files that are compiled for x86-64 alone, and headers that none but these include."""
    cmake = (SRC / "CMakeLists.txt").read_text()
    found = {name for call in re.findall(r"ty_x86_only\(FILES ([^)]*)\)", cmake) for name in call.split() if name.endswith(".cpp")}
    includers = {}
    for name, text in texts.items():
        for header in re.findall(r'#include "([^"]+)"', text):
            includers.setdefault(header, set()).add(name)
    grown = True
    while grown:
        more = {header for header, by in includers.items() if header.startswith(NATIVE) and by <= found} - found
        # A header of a file that others include too is for all.
        more = {header for header in more if NAME.search(texts[header])}
        found |= more
        grown = bool(more)
    return found


def unguarded(text):
    """Yields (number, line) of the lines that every processor compiles, without comments."""
    stack = []
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*#\s*if", line):
            stack.append(bool(GUARD.match(line.strip())) and "!" not in line)
        elif re.match(r"\s*#\s*(else|elif)", line) and stack:
            stack[-1] = bool(re.search(r"elif.*__x86_64__", line))
        elif re.match(r"\s*#\s*endif", line) and stack:
            stack.pop()
        elif not any(stack):
            yield number, line.split("//")[0]


def main():
    texts = {path.relative_to(SRC).as_posix(): path.read_text() for path in sorted(SRC.rglob("*")) if path.suffix in (".h", ".cpp")}
    portable = set(NAME.findall(texts[NATIVE + "portable_vectors.h"]))
    allowed = x86_files(texts)
    failed = False
    for name, text in texts.items():
        if name in allowed or name == NATIVE + "portable_vectors.h":
            continue
        known = portable if name.startswith(NATIVE) else set()
        for number, line in unguarded(text):
            wrong = ALWAYS.findall(line) + [word for word in NAME.findall(line) if word not in known]
            if wrong:
                print(f"src/{name}:{number}: {', '.join(wrong)}: only x86-64 has this; guard it, or add it to portable_vectors.h")
                failed = True
    if failed:
        sys.exit(1)
    print(f"vectors: ok ({len(allowed)} files for x86-64 alone, {len(portable)} names for all)")


if __name__ == "__main__":
    main()

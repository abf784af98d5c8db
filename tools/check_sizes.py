#!/usr/bin/env python3
"""Checks that files and functions stay small: a file at most 800 lines, a function at most 100.

--warn also lists those above 400 and 60. A file whose first line says "table of data" may be longer.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LIMIT, FILE_WARN = 800, 400
FUNCTION_LIMIT, FUNCTION_WARN = 100, 60
# clang-format puts the closing brace of a function under its first line, so indentation finds the ends.
OPENING = re.compile(r"^( {0,4})\S.*\{$")
CONTAINER = re.compile(r"^\s*(namespace|class|struct|enum|union|extern|using|template|static constexpr|constexpr)\b")


def functions(lines):
    """Yields (line number, length) of what looks like a function body."""
    start = None
    for number, line in enumerate(lines, 1):
        if start is None:
            match = OPENING.match(line)
            if match and ")" in line and not CONTAINER.match(line):
                start, indent = number, match.group(1)
        elif line.lstrip().startswith("}") and len(line) - len(line.lstrip()) <= len(indent):
            yield start, number - start + 1
            start = None


def main():
    warn = "--warn" in sys.argv
    failed = False
    for folder in ("src", "tests", "bench"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp"):
                continue
            lines = file.read_text().splitlines()
            name = file.relative_to(ROOT).as_posix()
            found = []
            if "table of data" not in (lines[0] if lines else ""):
                found.append((1, len(lines), "file", FILE_LIMIT, FILE_WARN))
            found += [(n, size, "function", FUNCTION_LIMIT, FUNCTION_WARN) for n, size in functions(lines)]
            for number, size, what, limit, soft in found:
                if size > limit:
                    failed = True
                    print(f"{name}:{number}: {what} of {size} lines, at most {limit}")
                elif warn and size > soft:
                    print(f"{name}:{number}: {what} of {size} lines, better {soft}")
    if not failed:
        print("sizes: ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Queries in labs/*.yaml are short: longer logic is a function in labs/NAME.jq, with cases in tests/program/lab/functions.

tools/long_queries.txt says how many longer ones each lab still has; these numbers may only shrink."""
import pathlib
import sys

MOST = 120  # characters
PROGRAM_KEYS = {"rows", "when", "points", "series", "columns", "that"}
ALLOWED = pathlib.Path("tools/long_queries.txt")


def end_of_query(text: str, at: int) -> int:
    """Where the "}}" of the query is that begins at `at`, braces of objects and strings left out."""
    objects, quoted = 0, 0  # parentheses of "\\(…)" are inside strings and may hold strings again
    stack = []
    while at < len(text):
        c = text[at]
        if quoted:
            if c == "\\" and text[at + 1:at + 2] == "(":
                stack.append((objects, 1))
                quoted, objects = 0, 0
                at += 1
            elif c == "\\":
                at += 1
            elif c == '"':
                quoted = 0
        elif c == '"':
            quoted = 1
        elif stack and c in "()":
            outer, open_ = stack.pop()
            open_ += 1 if c == "(" else -1
            if open_:
                stack.append((outer, open_))
            else:
                quoted, objects = 1, outer
        elif c == "{":
            objects += 1
        elif c == "}":
            if objects == 0 and not stack and text.startswith("}}", at):
                return at
            objects -= 1
        at += 1
    return len(text)


def queries(value, key=""):
    if isinstance(value, list):
        for item in value:
            yield from queries(item, key)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from queries(item, name)
    elif isinstance(value, str) and key in PROGRAM_KEYS:
        yield value
    elif isinstance(value, str):
        at = value.find("{{")
        while at >= 0:
            end = end_of_query(value, at + 2)
            yield value[at + 2:end]
            at = value.find("{{", end)


def main() -> int:
    try:
        import yaml
    except ImportError:
        print("labs: skipped, Python has no yaml (Debian: python3-yaml)")
        return 0
    allowed = {}
    for line in ALLOWED.read_text().splitlines():
        if line and not line.startswith("#"):
            name, count = line.split()
            allowed[name] = int(count)
    wrong = []
    for file in sorted(pathlib.Path("labs").glob("*.yaml")):
        found = [" ".join(q.split()) for q in queries(yaml.safe_load(file.read_text()))]
        long = [q for q in found if len(q) > MOST]
        limit = allowed.pop(file.stem, 0)
        if len(long) > limit:
            longest = max(long, key=len)
            wrong.append(f"{file}: {len(long)} queries have more than {MOST} characters, {limit} are allowed; make functions of them in "
                         f"labs/{file.stem}.jq. The longest: {longest[:90]}…")
        elif len(long) < limit:
            wrong.append(f"{ALLOWED}: {file.stem} has {len(long)} long queries, not {limit}: write {len(long)}" if long else
                         f"{ALLOWED}: {file.stem} has no long query any more: remove its line")
    wrong += [f"{ALLOWED}: there is no lab {name}" for name in allowed]
    for line in wrong:
        print(line)
    if not wrong:
        print("labs: ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

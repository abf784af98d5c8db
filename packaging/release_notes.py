#!/usr/bin/env python3
"""Writes the part of CHANGELOG.md that belongs to a version: release_notes.py VERSION OUTPUT.md. A version without a heading is an error."""
import pathlib
import re
import sys

CHANGELOG = pathlib.Path(__file__).resolve().parent.parent / "CHANGELOG.md"


def notes(text, version):
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        if heading.split()[0] == version:
            return f"# Trainyard {version}\n\n{body.strip()}\n"
    return None


if __name__ == "__main__":
    wanted, output = sys.argv[1:]
    found = notes(CHANGELOG.read_text(), wanted)
    if found is None:
        sys.exit(f"release_notes.py: {CHANGELOG.name} has no heading '## {wanted}'")
    pathlib.Path(output).write_text(found)

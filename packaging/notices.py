#!/usr/bin/env python3
"""Writes the licenses of everything that a package hands on besides our own code.

    notices.py PROGRAM OUTPUT [--libraries] [--debian] [--strict]

--libraries: the shared libraries come with it too, as in the archive. --debian: as the file `copyright` of a Debian package, which names
the common licenses that every system has instead of repeating them. --strict: a text that is not on this machine is an error; else the
file names the license alone.
"""
import argparse
import re
import sys

import third_party

OURS = "Trainyard is distributed under the Apache License, Version 2.0 (see LICENSE). It contains the works below, each under its own license.\n"
DEBIAN = (third_party.ROOT / "packaging/debian/copyright").read_text() + """Comment:
 The program contains the works below, each under its own license.
 .
"""
RULE = "=" * 80


def notices(chosen, strict):
    """(heading, text) of each work; works of one package stand together."""
    by_package = {}
    for part in chosen:
        by_package.setdefault(part.package, []).append(part)
    for package, works in by_package.items():
        text = third_party.license_text(works[0])
        if text is None:
            problem = f"notices.py: no license text of {package}: install it, or correct its row of third_party.csv"
            if strict:
                sys.exit(problem)
            print(problem, file=sys.stderr)
            text = f"SPDX-License-Identifier: {works[0].license}\n"
        names = ", ".join(sorted({work.project for work in works}))
        version = third_party.version(works[0]) or "unknown"
        yield f"{names} ({package} {version}): {works[0].license}", text


def without_apache_terms(text):
    """Every Debian system has them, and packages must not repeat them."""
    return re.sub(r"TERMS AND CONDITIONS FOR USE, REPRODUCTION.*?END OF TERMS AND CONDITIONS",
                  "(terms and conditions: /usr/share/common-licenses/Apache-2.0)", text, flags=re.DOTALL)


def as_debian(sections):
    lines = [line for heading, text in sections for line in (RULE, heading, RULE, *without_apache_terms(text).splitlines(), "")]
    return DEBIAN + "".join(f" {line}\n" if line.strip() else " .\n" for line in lines)


def as_text(sections):
    body = "".join(f"\n{RULE}\n{heading}\n{RULE}\n\n{text.rstrip()}\n" for heading, text in sections)
    commons = third_party.common_licenses(text for _, text in sections)
    return OURS + body + "".join(f"\n{RULE}\n/usr/share/common-licenses/{name}\n{RULE}\n\n{text.rstrip()}\n" for name, text in commons.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("output")
    parser.add_argument("--libraries", action="store_true")
    parser.add_argument("--debian", action="store_true")
    parser.add_argument("--strict", action="store_true")
    given = parser.parse_args()
    sections = list(notices(third_party.passed_on(given.program, given.libraries), given.strict))
    with open(given.output, "w") as file:
        file.write(as_debian(sections) if given.debian else as_text(sections))


if __name__ == "__main__":
    main()

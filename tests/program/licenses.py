#!/usr/bin/env python3
"""Every shared library that the program loads is listed in third_party.csv, with a license that Apache-2.0 may be combined with.

    licenses.py PROGRAM third_party.csv

A library under the GPL alone would put the whole program under the GPL. The text of each license must be at hand, whichever package the
library is from: an archive that brings it has to bring the text.
"""
import csv
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging"))
sys.dont_write_bytecode = True
import third_party

program, table = sys.argv[1:]
with open(table, newline="") as file:
    licenses = {row["library"]: row["license"] for row in csv.DictReader(file)}

# A library's own exception (GCC's) or a choice of licenses frees its users; the LGPL and the AGPL are other words.
gpl_alone = [name for name, text in licenses.items()
             if re.search(r"\b(A?GPL)-", text) and " WITH " not in text and " OR " not in text]
loaded = {pathlib.Path(line.split()[0]).name for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()}
loaded = {name for name in loaded if not name.startswith("linux-vdso")}
unknown = sorted(loaded - licenses.keys())
if not loaded:
    sys.exit(f"{program} loads nothing: is it the program?")
if gpl_alone:
    sys.exit(f"under the GPL alone: {', '.join(gpl_alone)}")
if unknown:
    sys.exit(f"not in {table}: {', '.join(unknown)}. Look up the license and add a row.")
shared = [part for part in third_party.passed_on(program, libraries_too=True) if part.library in loaded]
if len(shared) != len(loaded) or not all(map(third_party.license_text, shared)):
    sys.exit(f"no license text of {', '.join(part.library for part in shared if not third_party.license_text(part))}")
print(f"{len(loaded)} shared libraries, none under the GPL alone")

#!/usr/bin/env python3
"""Checks that a header has two users, and that names within a folder differ.

A header of src/ that one file alone includes, besides the .cpp of its own name, belongs into that file. It may stay where the user lies in
another folder, for which the header is the face of its own; where both together would be too long for one file; where the build compiles
them with flags of their own; and where REASONS says why. Names without linkage differ in the files of a module, since release builds compile many of them at once.
"""
import collections
import pathlib
import re
import sys

import check_layers

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST = 500
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)

REASONS = {
    "src/api/c/trainyard.h": "programs outside include it",
    "src/api/prediction/prediction.h": "programs outside include it",
    "src/api/training/training.h": "programs outside include it",
    "src/cluster/jobs/formats/ibm_manifest.h": "a namespace of its own",
    "src/cluster/predict/exchange_fit.h": "to be folded",
    "src/cluster/predict/hierarchy.h": "to be folded",
    "src/cluster/predict/paleo/conv_shape.h": "to be folded",
    "src/engine/kernels/device/matmul.h": "two kernels launch the same text",
    "src/engine/kernels/torch/plugin/accelerator.h": "alone sees headers of CUDA",
    "src/models/detection/label_font.h": "its .cpp is a table of data",
    "src/models/zoo/mobilenet_v1.h": "a network and the backbone of another",
    "src/runs/recordings/mlflow_recording.h": "one file for each format",
    "src/runs/weights/torch_file.h": "one file for each format",
}


def users_of_headers():
    """{header: the files that include it}, paths from the root."""
    users = collections.defaultdict(set)
    for folder in ("src", "tests", "bench", "examples"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".h", ".cpp", ".c"):
                for name in INCLUDE.findall(file.read_text()):
                    users["src/" + name].add(file.relative_to(ROOT).as_posix())
    return users


def length(path):
    file = ROOT / path
    return len(file.read_text().splitlines()) if file.exists() else 0


def compiled_apart():
    """Files of src/ that the build names, with flags of their own or included by generated ones."""
    text = (ROOT / "src/CMakeLists.txt").read_text()
    return {f"src/{name}" for name in re.findall(r"[\w/]+\.(?:cpp|h)", text)}


def measured_folders():
    """Modules whose loops are measured: how much is inlined depends on what else is in the unit."""
    text = (ROOT / "src/CMakeLists.txt").read_text()
    return tuple(f"src/{folder or name}/" for name, folder in re.findall(r"^ty_module\((\w+) OWN_FLAGS(?: DIR (\S+))?", text, re.MULTILINE))


def check_users():
    users, apart, measured, found, used = users_of_headers(), compiled_apart(), measured_folders(), [], set()
    for file in sorted((ROOT / "src").rglob("*.h")):
        header = file.relative_to(ROOT).as_posix()
        own = header[:-2] + ".cpp"
        others = users[header] - {own}
        if len(others) > 1:
            continue
        if header in REASONS:
            used.add(header)
            continue
        if {header, own} & apart or header.startswith(measured):
            continue
        if not others:
            found.append(f"{header}: nobody includes it")
            continue
        user = others.pop()
        same_folder = header.rpartition("/")[0] == user.rpartition("/")[0]
        both = length(header) + length(user) + (0 if user.endswith(".h") else length(own))
        if same_folder and user not in apart and both <= LONGEST:
            found.append(f"{header}: {user} alone includes it; fold it there, or say in tools/check_headers.py why it stays")
    for header in sorted(set(REASONS) - used):
        found.append(f"tools/check_headers.py: {header} needs no reason any more")
    return found


def names_without_linkage(text):
    """Constants, types and functions (with the types of their parameters) in anonymous namespaces."""
    inside = False
    for line in text.splitlines():
        if line == "namespace {":
            inside = True
        elif line == "}  // namespace":
            inside = False
        if not inside or not line or line[0] in " #}/":
            continue
        if match := re.match(r".*?\b(k[A-Z]\w*)\s*(?:=|\[|\{)", line):
            yield match[1]
        elif match := re.match(r"(?:class|struct|enum class|enum)\s+(\w+)", line):
            yield match[1]
        elif not line.startswith("using") and (match := re.match(r"[\w:<>,&*\s\[\]]+?[\s&*>](\w+)\(([^)]*)", line)):
            parameters = re.sub(r"\b\w+(?=,|$)", "", match[2]).replace(" ", "")
            yield f"{match[1]}({parameters})"


def check_names():
    modules, apart, found = check_layers.read_modules(), compiled_apart(), []
    places = collections.defaultdict(set)
    for file in sorted((ROOT / "src").rglob("*.cpp")):
        path = file.relative_to(ROOT / "src").as_posix()
        if f"src/{path}" in apart:
            continue
        text = file.read_text()
        space = tuple(re.findall(r"^namespace ([\w:]+) \{", text, re.MULTILINE))
        for name in names_without_linkage(text):
            places[check_layers.module_of(path, modules), space, name].add(f"src/{path}")
    for (_, _, name), files in sorted(places.items(), key=str):
        if len(files) > 1:
            found.append(f"{name}: in {' and '.join(sorted(files))}, which release builds compile at once")
    return found


def main():
    found = check_users() + check_names()
    print("\n".join(found) if found else "headers: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks that includes point downwards and that each third-party library is seen by its folder only.

The layers are those of docs/architecture.md. Exits 1 and lists file, line and include of each violation.
"""
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"

# Folders of one layer do not include each other.
LAYERS = [
    ["base"],
    ["tensor"],
    ["ir", "dist", "data", "device"],
    ["ops"],
    ["analysis", "autodiff", "passes", "models", "onnx_io"],
    ["kernels", "predict"],
    ["runtime"],
    ["train", "quant", "detect", "rl", "serve", "jobs"],
    ["report"],
    ["lab"],
    ["cli"],
]
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}

# Third-party headers -> the only place that may include them.
THIRD_PARTY = {
    r"dnnl": "kernels/onednn/",
    r"mpi\.h": "dist/mpi/",
    r"(onnx|google)/": "onnx_io/",
    r"(Eigen|ceres)/": "predict/",
    r"(jpeglib|png|zlib)\.h": "data/",
    r"(boost|prometheus)/": "serve/",
    r"CLI/": "cli/args.cpp",
    r"(jq|jv)\.h": "lab/query.cpp",
    r"(nlohmann|yaml-cpp|spdlog|simdjson)": "base/",
    r"(CL/|cuda)": "device/",
    r"torch/": "kernels/torch/",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# predict works without the hardware: it must not see how things are computed.
FORBIDDEN = {("predict", "kernels"), ("predict", "runtime")}


def check_own(folder, target):
    """Why `folder` may not include `target`, or an empty string."""
    if target not in LEVEL:
        return f"'{target}' is no folder of src/"
    if (folder, target) in FORBIDDEN:
        return f"{folder} never sees {target}"
    if folder == target or LEVEL[target] < LEVEL[folder]:
        return ""
    return f"{folder} (layer {LEVEL[folder]}) may not include {target} (layer {LEVEL[target]})"


def check_third_party(path, header):
    for pattern, place in THIRD_PARTY.items():
        if re.match(pattern, header) and not path.startswith(place):
            return f"<{header}> belongs to {place} alone"
    return ""


def main():
    violations = []
    for file in sorted(SRC.rglob("*")):
        if file.suffix not in (".h", ".cpp", ".def"):
            continue
        path = file.relative_to(SRC).as_posix()
        folder = path.split("/")[0]
        if folder not in LEVEL:
            violations.append(f"src/{path}: folder '{folder}' has no layer")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            bracket, header = match.groups()
            own = bracket == '"'
            reason = check_own(folder, header.split("/")[0]) if own else check_third_party(path, header)
            if reason:
                violations.append(f"src/{path}:{number}: {reason}")
    print("\n".join(violations) if violations else "layers: ok")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

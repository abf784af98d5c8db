#!/usr/bin/env python3
"""Checks what the sources include against what src/CMakeLists.txt allows.

A module is a `ty_module` line; its DEPS is the whole list of modules that it may include. The layers of
docs/architecture.md order the folders, so DEPS themselves may only point downwards; modules of one folder
(kernels/api below kernels/native) may depend on each other without cycles. Each third-party library is seen by its
folder only. Exits 1 and lists file, line and include of each violation.
"""
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"

# Folders of one layer do not include each other.
LAYERS = [
    ["base"],
    ["report", "tensor"],
    ["data", "dist", "ir", "runs"],
    ["ops"],
    ["analysis", "engine", "models"],
    ["cluster", "http", "train"],
    ["api", "detect", "quant", "rl", "serve", "studies", "ui"],
    ["program"],
]
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}

# Third-party headers -> the only places that may include them.
THIRD_PARTY = {
    r"dnnl": "engine/kernels/onednn/",
    r"mpi\.h": "dist/mpi/",
    r"onnx/": "models/onnx/",
    r"google/": ("models/onnx/", "serve/grpc/", "serve/models/config_proto.cpp", "serve/protocol/message_types.cpp"),
    r"grpc": "serve/grpc/grpc_server.cpp",
    r"Eigen/": "cluster/",
    r"coin/": "cluster/schedule/policies/",
    r"(ATen|c10|torch)/": "engine/kernels/torch/plugin/",
    r"(jpeglib|png|zlib)\.h|pugi": "data/",
    r"(boost|openssl)/": "http/",
    r"prometheus/": "serve/metrics.cpp",
    r"CLI/": "program/args.cpp",
    r"(jq|jv)\.h": "program/lab/query.cpp",
    r"yaml-cpp": "base/",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# What is predicted works without the hardware: it must not see how things are computed.
FORBIDDEN = {("cluster", "engine")}
KEYWORDS = {"OWN_FLAGS", "COLD", "DIR", "FAMILIES", "DEPS", "LIBS"}


def read_modules():
    """{folder of a module: (name, set of names it may include)}, from the ty_module lines."""
    modules = {}
    for text in re.findall(r"^ty_module\(([^)]*)\)", (SRC / "CMakeLists.txt").read_text(), re.MULTILINE):
        words = text.split()
        name, lists, keyword = words[0], {}, None
        for word in words[1:]:
            if word in KEYWORDS:
                keyword = word
                lists[keyword] = []
            else:
                lists[keyword].append(word)
        folder = lists.get("DIR", [name])[0]
        modules[folder] = (name, set(lists.get("DEPS", [])))
    return modules


def module_of(path, modules):
    """The folder of the module that a file of src/ belongs to: the longest that its path begins with."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in modules:
        parts.pop()
    return "/".join(parts)


def check_dependencies(modules):
    """DEPS that point upwards, sideways or in a circle."""
    folders = {name: folder for folder, (name, _) in modules.items()}
    deps = dict(modules.values())
    found = []
    for name, allowed in sorted(deps.items()):
        top = folders[name].split("/")[0]
        if top not in LEVEL:
            found.append(f"src/CMakeLists.txt: folder '{top}' has no layer")
            continue
        for target in sorted(allowed):
            if target not in folders:
                found.append(f"src/CMakeLists.txt: {name} depends on '{target}', which is no module")
                continue
            below = folders[target].split("/")[0]
            if (top, below) in FORBIDDEN or (top != below and LEVEL.get(below, 99) >= LEVEL[top]):
                found.append(f"src/CMakeLists.txt: {name} (layer {LEVEL[top]}) may not depend on {target}")

    state = {}

    def visit(name, path):
        if state.get(name) == "open":
            found.append("src/CMakeLists.txt: a circle: " + " -> ".join(path[path.index(name):] + [name]))
        if name in state or name not in deps:
            return
        state[name] = "open"
        for target in sorted(deps[name]):
            visit(target, path + [name])
        state[name] = "done"

    for name in sorted(deps):
        visit(name, [])
    return found


def check_own(path, header, modules):
    """Why this file may not include a header of ours, or an empty string."""
    folder, target = module_of(path, modules), module_of(header, modules)
    if not target:
        # Generated headers lie in the folder that includes them; program itself is no ty_module.
        return "" if header.split("/")[0] == path.split("/")[0] else f"'{header}' belongs to no module"
    if not folder or folder == target:
        return ""
    name, allowed = modules[folder]
    if modules[target][0] in allowed:
        return ""
    return f"{name} does not list {modules[target][0]} in its DEPS"


def check_third_party(path, header):
    for pattern, place in THIRD_PARTY.items():
        if re.match(pattern, header) and not path.startswith(place):
            places = place if isinstance(place, str) else " and ".join(place)
            return f"<{header}> belongs to {places} alone"
    return ""


# Below the program there is no command line: what the library says names a setting as `weight_decay`, which the
# program shows as --weight-decay. Whole command lines, ours and of other programs, have flags.
FLAG_IN_TEXT = re.compile(r'"[^"]*(?<![\w-])--[a-z][a-z-]+')
COMMAND_LINES = ("program/", "dist/launch.cpp", "train/job.cpp", "studies/seed_runs.cpp", "studies/search/",
                 "cluster/jobs/", "cluster/schedule/live/", "engine/device/nvrtc.cpp", "ui/answers.cpp",
                 "serve/server.cpp")


def names_a_flag(path, line):
    """Why a text of the library may not stand as it is, or an empty string."""
    if path.startswith(COMMAND_LINES) or line.lstrip().startswith("//") or "trainyard " in line:
        return ""
    match = FLAG_IN_TEXT.search(line)
    return f"{match.group()} … names a flag; write the setting in backquotes" if match else ""


def main():
    modules = read_modules()
    violations = check_dependencies(modules)
    for file in sorted(SRC.rglob("*")):
        if file.suffix not in (".h", ".cpp", ".def"):
            continue
        path = file.relative_to(SRC).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), 1):
            flag = names_a_flag(path, line)
            if flag:
                violations.append(f"src/{path}:{number}: {flag}")
            match = INCLUDE.match(line)
            if not match:
                continue
            bracket, header = match.groups()
            reason = check_own(path, header, modules) if bracket == '"' else check_third_party(path, header)
            if reason:
                violations.append(f"src/{path}:{number}: {reason}")
    print("\n".join(violations) if violations else "layers: ok")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

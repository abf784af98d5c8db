#!/usr/bin/env python3
"""What the program says where the plugin for libtorch is missing or is something else: missing.py TRAINYARD."""
import json
import os
import subprocess
import sys
import tempfile

program = sys.argv[1]


def run(arguments, library):
    return subprocess.run([program, *arguments], env={**os.environ, "TRAINYARD_TORCH": library}, capture_output=True, text=True)


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\nexit code {result.returncode}\n{result.stdout}\n{result.stderr}")


with tempfile.TemporaryDirectory() as folder:
    nowhere = os.path.join(folder, "nowhere.so")
    result = run(["run", "lenet5", "--device", "torch:cpu"], nowhere)
    expect(result.returncode == 2 and "nowhere.so, which is not there" in result.stderr, "a plugin that is not there", result)

    text = os.path.join(folder, "text.so")
    with open(text, "w", encoding="utf-8") as file:
        file.write("no library")
    result = run(["train", "--model", "lenet5", "--device", "torch:cuda"], text)
    expect(result.returncode == 2 and "cannot be opened" in result.stderr, "a plugin that is no library", result)

    # A library, but not ours.
    result = run(["evaluate", "lenet5", "--device", "torch"], "/lib/x86_64-linux-gnu/libm.so.6")
    expect(result.returncode == 2 and "no plugin of ours" in result.stderr, "another library", result)

    result = run(["device", "list", "--json"], nowhere)
    listed = json.loads(result.stdout)
    expect(result.returncode == 0 and "nowhere.so" in listed["torch_missing"], "device list", result)
    expect(not any(d["backend"] == "torch" for d in listed["devices"]), "devices of a plugin that is not there", result)

    result = run(["doctor", "--json"], nowhere)
    found = [f["found"] for f in json.loads(result.stdout)["findings"] if f["what"] == "libtorch"]
    expect(len(found) == 1 and "nowhere.so" in found[0], "doctor", result)

#!/usr/bin/env python3
"""Runs the program over drivers of our own that work or fail as told. Usage: fake_drivers.py TRAINYARD FOLDER WORK"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

PROGRAM, DRIVERS, WORK = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
SMALL = ["--sizes", "1000", "--seconds", "0.001", "--predict", "none", "--json"]
# how the driver fails, exit code, words of the message
CUDA = [
    ("no_device", 2, "CUDA's driver finds no device"),
    ("wrong_driver", 2, "CUDA's driver does not start (code 803: driver mismatch)"),
    ("old_device", 1, "compute capability 3.0, and NVRTC 12.4 compiles for 5.0 and above"),
    ("bad_build", 1, "kernels.cu(1): error: a fake one"),
    ("bad_ptx", 1, "driver and NVRTC do not match"),
    ("out_of_memory", 1, "cuMemAlloc failed with code 2 (CUDA_ERROR_FAKE: out of memory); try fewer elements"),
    ("failed_launch", 1, "cuLaunchKernel vector_"),
    ("lost", 1, "the device is lost to this process"),
]
OPENCL = [
    ("no_device", 2, "the platforms of OpenCL have no device"),
    ("wrong_driver", 2, "OpenCL has no platform"),
    ("unavailable", 1, "clCreateContext failed with code -2: the device is not available"),
    ("bad_build", 1, "kernels.cl:1: error: a fake one"),
    ("out_of_memory", 1, "clCreateBuffer failed with code -4: the device has no memory for it"),
    ("failed_launch", 1, "clEnqueueNDRangeKernel vector_"),
    ("lost", 1, "the device was lost"),
]
# how each device offers memory: what is copied, and the ways to share it
MEMORIES = {"cuda": {None, "prefetched", "managed"}, "opencl": {None, "mapped"}}
OPERATIONS = ["copy", "scale", "add", "triad", "dot"]
LAUNCHES = ["1x1", "1x256", "Nx256"]
problems = []


def run(words, fake=""):
    cache = WORK / ("cache_" + (fake or "works"))
    environment = dict(os.environ, LD_LIBRARY_PATH=DRIVERS, TRAINYARD_OPENCL=f"{DRIVERS}/libfake_opencl.so", TY_FAKE=fake, XDG_CACHE_HOME=str(cache))
    return subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True, timeout=120)


def expect(condition, what):
    if not condition:
        problems.append(what)


shutil.rmtree(WORK, ignore_errors=True)
for kind, failures in (("cuda", CUDA), ("opencl", OPENCL)):
    for fake, code, words in failures:
        done = run(["vecadd", "--device", kind, *SMALL], fake)
        expect(done.returncode == code and words in done.stderr, f"{kind} {fake}: {done.returncode} {done.stderr}")
    done = run(["vecadd", "--device", kind, "--operations", ",".join(OPERATIONS), *SMALL])
    expect(done.returncode == 0, f"{kind}: {done.returncode} {done.stderr}")
    rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
    found = {(row["operation"], row["launch"], row["sharing"]) for row in rows if row["verified"]}
    wanted = {(o, l, m) for o in OPERATIONS for l in LAUNCHES for m in MEMORIES[kind]}
    expect(found == wanted, f"{kind}: of operation, launch and sharing only {sorted(map(str, found))}")
    # Both drivers say that every kernel takes a quarter of a millisecond.
    expect(all(abs(row["kernel_ms"] - 0.25) < 1e-6 for row in rows), f"{kind}: times {[row['kernel_ms'] for row in rows]}")
    listed = run(["device", "list", "--json"])
    names = [device["name"] for device in json.loads(listed.stdout)["devices"]]
    expect(f"{kind}: Fake GPU" in names, f"device list: {names}")
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)

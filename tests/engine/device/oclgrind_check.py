#!/usr/bin/env python3
"""Runs every kernel in oclgrind, which looks for races, accesses out of bounds and uses of numbers that nobody wrote.
Usage: oclgrind_check.py TRAINYARD WORK [STAGED_WRITES]. The last is support/opencl_staged_writes.cpp as a library: without
it oclgrind does not know what the host wrote, and that check is left out. Exits 77 where oclgrind is not installed."""
import os
import pathlib
import subprocess
import sys

LIBRARIES = ["/usr/lib/oclgrind/liboclgrind-rt-icd.so", "/usr/lib/x86_64-linux-gnu/oclgrind/liboclgrind-rt-icd.so"]
program, work = sys.argv[1], pathlib.Path(sys.argv[2])
found = [library for library in LIBRARIES if os.path.exists(library)]
if not found:
    print("skipped: oclgrind is not installed")
    sys.exit(77)
work.mkdir(parents=True, exist_ok=True)
vendor = work / "oclgrind.icd"
vendor.write_text(found[0] + "\n")
environment = dict(os.environ, OCL_ICD_VENDORS=str(vendor), OCL_ICD_FILENAMES="", XDG_CACHE_HOME=str(work / "cache"),
                   OCLGRIND_DATA_RACES="1", OCLGRIND_CHECK_API="1")
if len(sys.argv) > 3:
    environment.update(OCLGRIND_UNINITIALIZED="1", TRAINYARD_OPENCL=sys.argv[3])
else:
    print("not looked for: uses of numbers that nobody wrote (OpenCL's headers were missing when this was built)")
# Its interpreter does not know an instruction (freeze) that its own optimizer makes.
environment["OCLGRIND_BUILD_OPTIONS"] = "-cl-opt-disable"
COMMANDS = [
    ["device", "check", "--device", "Oclgrind"],
    ["vecadd", "--device", "Oclgrind", "--sizes", "1000", "--operations", "copy,scale,add,triad,dot", "--seconds", "0.001",
     "--predict", "none", "--memory", "copies"],
]
wrong = False
for words in COMMANDS:
    log = work / f"{words[0]}.log"  # one each: a second process empties the first one's
    log.unlink(missing_ok=True)
    done = subprocess.run([program, *words], env=dict(environment, OCLGRIND_LOG=str(log)), capture_output=True, text=True)
    if done.returncode != 0:
        wrong = True
        print(" ".join(words), "ended with", done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    said = log.read_text() if log.exists() else ""
    if said.strip():
        wrong = True
        print(said[:6000])
sys.exit(1 if wrong else 0)

#!/usr/bin/env python3
"""Builds examples/vector_add and runs what this machine can; compiles kernels for every architecture that nvcc knows, and
compares our declarations of CUDA with NVIDIA's. What is not installed is skipped with the reason.
Usage: compile_check.py SOURCE WORK COMPILER"""
import os
import pathlib
import shutil
import subprocess
import sys

source, work, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
wrong = []


def run(words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        wrong.append(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done


nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
nvcc = nvcc if os.path.exists(nvcc) else None
build = work / "vector_add"
configured = run(["cmake", "-S", source / "examples/vector_add", "-B", build, f"-DCMAKE_CXX_COMPILER={compiler}",
                  *([f"-DCMAKE_CUDA_COMPILER={nvcc}"] if nvcc else [])])
print("\n".join(line for line in configured.stdout.splitlines() if line.startswith("-- no ")))
run(["cmake", "--build", build, "-j2"])
for name in ("add", "add_opencl"):
    if not (build / name).exists():
        continue
    done = run([build / name, "0.1"])
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and (len(lines) < 3 or not all(line.endswith(",right") for line in lines[1:])):
        wrong.append(f"{name}: {done.stdout}")
if subprocess.run([build / "add", "nothing"], capture_output=True).returncode != 2:
    wrong.append("add takes a wrong number")

texts = source / "src/engine/device/text"
if nvcc:
    # One unit of all: nvcc starts a dozen compilers for each.
    names = ["language", "scalar"] + sorted(text.stem for text in texts.glob("*.cl") if text.stem not in ("language", "scalar"))
    unit = work / "kernels.cu"
    unit.write_text("".join((texts / (name + ".cl")).read_text() for name in names))
    run([nvcc, "-arch=all", "--threads", "2", "-c", unit, "-o", work / "kernels.o"])
    headers = pathlib.Path(nvcc).resolve().parent.parent / "include"
    if (headers / "nvrtc.h").exists():
        run([compiler, "-std=c++20", "-fsyntax-only", f"-I{headers}", f"-I{source / 'src'}",
             source / "tests/support/cuda_declarations.cpp"])
    else:
        print(f"declarations not compared: no nvrtc.h in {headers}")
else:
    print("kernels and declarations not compiled for CUDA: there is no nvcc")
print("\n".join(wrong))
sys.exit(1 if wrong else 0)

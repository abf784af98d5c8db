#!/usr/bin/env python3
"""The shared library from Python's ctypes alone, and what it shows to the outside: ctypes_test.py LIBRARY TRAINYARD FOLDER"""
import array
import ctypes
import subprocess
import sys
from pathlib import Path

LIBRARY, PROGRAM, FOLDER = sys.argv[1], sys.argv[2], Path(sys.argv[3])


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def check(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")
    print("ok:", text)


FOLDER.mkdir(parents=True, exist_ok=True)
model = FOLDER / "net.onnx"
subprocess.run([PROGRAM, "export", "lenet5", "-o", str(model)], check=True, capture_output=True)
library = ctypes.CDLL(LIBRARY)
library.ty_load.restype = ctypes.c_void_p
library.ty_last_error.restype = ctypes.c_char_p
session = library.ty_load(str(model).encode(), 1, None, ctypes.c_size_t(0))
check(session, "the model is loaded")
for threads in (-1, 2**31 - 1):
    none = library.ty_load(str(model).encode(), threads, None, ctypes.c_size_t(0))
    check(not none and b"expected 0" in library.ty_last_error(), f"{threads} threads: {library.ty_last_error().decode()}")
pixels = array.array("f", [i / 784 for i in range(784)])
dims = (ctypes.c_int64 * 4)(1, 1, 28, 28)
given = Tensor(b"image", 1, 4, dims, pixels.buffer_info()[0], len(pixels) * 4)
output = Tensor()
code = library.ty_run(ctypes.c_void_p(session), ctypes.byref(given), ctypes.c_size_t(1), ctypes.byref(output))
check(code == 0, f"it runs: {library.ty_last_error().decode()}")
scores = ctypes.cast(output.data, ctypes.POINTER(ctypes.c_float * (output.bytes // 4))).contents
# The program computes the same from a file of the same numbers.
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 28, 28), }"
header += b" " * (-(len(header) + 11) % 64) + b"\n"
(FOLDER / "image.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + pixels.tobytes())
subprocess.run([PROGRAM, "run", str(model), "--input", str(FOLDER / "image.npy"), "--output", str(FOLDER / "out")], check=True, capture_output=True)
written = next((FOLDER / "out").glob("*.npy")).read_bytes()
wanted = array.array("f")
wanted.frombytes(written[10 + int.from_bytes(written[8:10], "little"):])
check(max(abs(a - b) for a, b in zip(scores, wanted)) < 1e-6 and len(wanted) == len(scores), "the numbers of the program")
library.ty_free(ctypes.c_void_p(session))
names = [line.split()[-1] for line in subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout.splitlines()]
strange = [name for name in names if not name.startswith("ty_")]
check("ty_run" in names and not strange, f"{len(names)} functions are seen from outside, all of ours: {strange[:5]}")

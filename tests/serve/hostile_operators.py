#!/usr/bin/env python3
"""Requests whose numbers do not fit the operators they reach: each is answered with 400, and the server goes on.

usage: hostile_operators.py TRAINYARD FOLDER. Needs Python's standard library.
"""
import http.client
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from onnx_model import FLOAT, INT64, one_operator

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
WORDS = {FLOAT: "FP32", INT64: "INT64"}


def open_dims(rank, first="a"):
    return [chr(ord(first) + i) for i in range(rank)]


# name: model, inputs of a good request, inputs of bad ones; each input is (shape, numbers).
def cases():
    x, axes = ("x", FLOAT, ["n", 3]), ("axes", INT64, [2])
    yield ("reduce", one_operator("ReduceSum", [x, axes], [("y", FLOAT, [])], keepdims=0),
           {"x": ([2, 3], [1] * 6), "axes": ([2], [0, 1])},
           [{"x": ([1000, 3], [1] * 3000), "axes": ([2], [1, 1])}, {"x": ([2, 3], [1] * 6), "axes": ([2], [1, -1])},
            {"x": ([2, 3], [1] * 6), "axes": ([2], [1, 7])}])
    yield ("max", one_operator("ReduceMax", [("x", FLOAT, ["n", 3, 2]), axes], [("y", FLOAT, ["r"])], opset=18, keepdims=0),
           {"x": ([1, 3, 2], [1] * 6), "axes": ([2], [0, 1])}, [{"x": ([1000, 3, 2], [1] * 6000), "axes": ([2], [1, 1])}])
    qkv = [(name, FLOAT, [name + "batch", 1, 1, 4]) for name in "qkv"]
    rows = {name: ([64, 1, 1, 4], [0.5] * 256) for name in "qkv"}
    yield ("attention", one_operator("Attention", qkv, [("y", FLOAT, ["b", 1, 1, 4])], opset=23), rows,
           [{**rows, "v": ([1, 1, 1, 4], [0.5] * 4)}, {**rows, "k": ([1, 1, 1, 4], [0.5] * 4)}])
    yield ("gather", one_operator("GatherND", [("x", FLOAT, ["n", 3]), ("i", INT64, ["m", 1])], [("y", FLOAT, ["m"])], batch_dims=1),
           {"x": ([2, 3], [1] * 6), "i": ([2, 1], [0, 2])},
           [{"x": ([8, 3], [1] * 24), "i": ([2, 1], [0, 0])}, {"x": ([2, 3], [1] * 6), "i": ([2, 1], [0, 3])}])
    cut = [("x", FLOAT, ["n"]), ("starts", INT64, ["s"]), ("ends", INT64, ["s"])]
    yield ("slice", one_operator("Slice", cut, [("y", FLOAT, ["m"])]),
           {"x": ([4], [1] * 4), "starts": ([1], [1]), "ends": ([1], [3])},
           [{"x": ([4], [1] * 4), "starts": ([3], [0, 0, 0]), "ends": ([3], [1, 1, 1])}])
    turned = [("x", FLOAT, [1, 1, "r", 4]), ("c", FLOAT, [8, 2]), ("s", FLOAT, [8, 2]), ("p", INT64, [1, "q"])]
    table = ([8, 2], [0.5] * 16)
    good = {"x": ([1, 1, 2, 4], [1] * 8), "c": table, "s": table, "p": ([1, 2], [0, 1])}
    yield ("rotary", one_operator("RotaryEmbedding", turned, [("y", FLOAT, [1, 1, "r", 4])], opset=23), good,
           [{**good, "p": ([1, 0], [])}, {**good, "p": ([1, 2], [0, 8])}, {**good, "p": ([1, 2], [-1, 0])}])
    yield ("grow", one_operator("Expand", [("x", FLOAT, [1]), ("s", INT64, [2])], [("y", FLOAT, ["a", "b"])]),
           {"x": ([1], [1]), "s": ([2], [2, 3])},
           [{"x": ([1], [1]), "s": ([2], [1 << 31, 1 << 30])}, {"x": ([1], [1]), "s": ([2], [-5, 3])}])


def body(kinds, inputs):
    return json.dumps({"inputs": [{"name": name, "shape": shape, "datatype": kinds[name], "data": data}
                                  for name, (shape, data) in inputs.items()]})


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name, model, _, _ in cases():
        (FOLDER / name / "1").mkdir(parents=True)
        (FOLDER / name / "1/model.onnx").write_bytes(model)
    server = subprocess.Popen([PROGRAM, "serve", "--repository", str(FOLDER), "--port", "0", "--max-batch", "0"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    lines = []
    while not lines or not lines[-1].startswith("page"):
        lines.append(server.stdout.readline())
        if not lines[-1]:
            raise SystemExit("FAILED: the server ended: " + "".join(lines))
    port = int(re.search(r":(\d+)$", lines[0].strip()).group(1))

    def ask(method, path, content=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(method, path, content)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")

    failed = []

    def check(condition, text):
        print("ok:" if condition else "FAILED:", text, flush=True)
        if not condition:
            failed.append(text)

    for name, _, good, bad in cases():
        status, metadata = ask("GET", f"/v2/models/{name}")
        check(status == 200, f"{name} is served: {metadata if status != 200 else ''}")
        if status != 200:
            continue
        kinds = {tensor["name"]: tensor["datatype"] for tensor in metadata["inputs"]}
        for inputs in bad:
            status, answer = ask("POST", f"/v2/models/{name}/infer", body(kinds, inputs))
            check(status == 400 and answer.get("error"), f"{name}: {status} {str(answer)[:200]}")
        status, answer = ask("POST", f"/v2/models/{name}/infer", body(kinds, good))
        check(status == 200, f"{name} goes on: {status} {str(answer)[:200]}")
    check(server.poll() is None, "the server lives")
    server.terminate()
    check(server.wait(timeout=60) == 0, "and ends with 0")
    sys.exit(1 if failed else 0)


main()

#!/usr/bin/env python3
"""Times ONNX Runtime on one model file of any element types and prints one JSON line:
onnxruntime_peer.py MODEL.onnx THREADS WARMUP RUNS [NAME=1,3,224,224 ...]"""
import json
import statistics
import sys
import time

import numpy
import onnxruntime

TYPES = {"float": numpy.float32, "float16": numpy.float16, "double": numpy.float64,
         "int64": numpy.int64, "int32": numpy.int32, "uint8": numpy.uint8, "int8": numpy.int8,
         "bool": numpy.bool_}


def make_input(given, shapes):
    """Floats are uniform in [-1, 1), others zero, as `trainyard bench` has them."""
    shape = shapes.get(given.name, [dim if isinstance(dim, int) else 1 for dim in given.shape])
    kind = TYPES[given.type[len("tensor("):-1]]
    if numpy.issubdtype(kind, numpy.floating):
        return numpy.random.default_rng(1).uniform(-1, 1, shape).astype(kind)
    return numpy.zeros(shape, kind)


def main():
    model, threads, warmup, runs = sys.argv[1], *map(int, sys.argv[2:5])
    shapes = {}
    for text in sys.argv[5:]:
        name, dims = text.rsplit("=", 1)
        shapes[name] = [int(dim) for dim in dims.split(",")]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {given.name: make_input(given, shapes) for given in session.get_inputs()}
    times = []
    for i in range(warmup + runs):
        begin = time.perf_counter()
        session.run(None, feeds)
        if i >= warmup:
            times.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps({"version": onnxruntime.__version__, "median_ms": statistics.median(times),
                      "min_ms": min(times)}))


if __name__ == "__main__":
    main()

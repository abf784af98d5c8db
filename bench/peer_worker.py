#!/usr/bin/env python3
"""One peer with one network, for compare_peers: peer_worker.py PEER THREADS PRECISION.

PEER is onnxruntime, openvino, torch or compile. It reads a line of JSON to load the network ({"network",
"file", "batch", "length", "train"}) and then lines {"runs": N}; it answers each with one line.
"""
import json
import os
import resource
import sys
import time

# The CUDA build of PyTorch runs on the processor.
os.environ["CUDA_VISIBLE_DEVICES"] = ""


def file_inputs(inputs):
    """Floats are uniform in [-1, 1), others ones: (name, shape, NumPy type)."""
    import numpy
    generator = numpy.random.default_rng(1)
    feeds = {}
    for name, shape, kind in inputs:
        is_float = numpy.issubdtype(kind, numpy.floating)
        feeds[name] = (generator.uniform(-1, 1, shape) if is_float else numpy.ones(shape)).astype(kind)
    return feeds


def load_onnxruntime(order, threads, _precision):
    import onnxruntime
    from onnxruntime_peer import TYPES
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(order["file"], options, providers=["CPUExecutionProvider"])
    feeds = file_inputs([(given.name, [dim if isinstance(dim, int) else order["batch"] for dim in given.shape],
                          TYPES[given.type[len("tensor("):-1]])
                         for given in session.get_inputs()])
    return onnxruntime.__version__, begin, lambda: session.run(None, feeds)


def load_openvino(order, threads, precision):
    import openvino
    core = openvino.Core()
    begin = time.perf_counter()
    network = core.read_model(order["file"])
    if network.is_dynamic():
        network.reshape({given.any_name: [order["batch"] if dim.is_dynamic else dim
                                          for dim in given.partial_shape] for given in network.inputs})
    compiled = core.compile_model(network, "CPU",
                                  {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                                   "INFERENCE_PRECISION_HINT": precision})
    feeds = file_inputs([(given.any_name, tuple(given.shape), given.element_type.to_dtype())
                         for given in compiled.inputs])
    request = compiled.create_infer_request()
    return openvino.__version__.split("-")[0], begin, lambda: request.infer(feeds)


def load_torch(order, threads, precision, compiled):
    import torch
    from torch.nn import functional

    from peer_networks import build
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    module, inputs = build(order["network"], order.get("length"))
    given = inputs(order["batch"])
    begin = time.perf_counter()
    module.train(order["train"])
    run_module = torch.compile(module) if compiled else module
    lowered = precision == "bf16"

    def infer():
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=lowered):
            return run_module(*given)

    if not order["train"]:
        return torch.__version__, begin, infer
    scores = module(*given)
    scores = getattr(scores, "logits", scores)
    labels = torch.randint(0, scores.shape[-1], scores.shape[:-1]).flatten()
    optimizer = torch.optim.SGD(module.parameters(), 1e-4, momentum=0.9)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=lowered):
            y = run_module(*given)
            loss = functional.cross_entropy(getattr(y, "logits", y).flatten(0, -2), labels)
        loss.backward()
        optimizer.step()

    return torch.__version__, begin, step


def main():
    peer, threads, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    # What libraries print goes elsewhere.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    run = None
    for line in sys.stdin:
        order = json.loads(line)
        if run is None:
            if peer == "onnxruntime":
                version, begin, run = load_onnxruntime(order, threads, precision)
            elif peer == "openvino":
                version, begin, run = load_openvino(order, threads, precision)
            else:
                version, begin, run = load_torch(order, threads, precision, peer == "compile")
            run()
            answer = {"version": version, "first_ms": (time.perf_counter() - begin) * 1e3}
            run()
        else:
            times = []
            for i in range(order["runs"] + 1):  # the first finds the caches full of another's numbers
                start = time.perf_counter()
                run()
                if i > 0:
                    times.append((time.perf_counter() - start) * 1e3)
            answer = {"ms": times, "peak_memory_bytes":
                      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What clients written for other servers ask of `trainyard serve`, and how: Triton's, ONNX Runtime Server's, MLServer's.

usage: clients_test.py TRAINYARD FOLDER. Needs Python's standard library.
"""
import base64
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

from onnx_writer import BOOL, FLOAT, INT32, TEXT, int64_tensor, node, write_identity, write_model

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])


def check(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")
    print("ok:", text, flush=True)


class Server:
    def __init__(self, *arguments, environment=None):
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})})
        self.lines = []
        while not self.lines or not self.lines[-1].startswith("page"):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("FAILED: the server ended: " + "".join(self.lines))
            self.lines.append(line)
        self.port = int(re.search(r":(\d+)$", self.lines[0].strip()).group(1))

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if not isinstance(body, (bytes, str, type(None))):
            body = json.dumps(body)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    def json(self, method, path, body=None, headers=None):
        status, _, data = self.ask(method, path, body, headers)
        return status, json.loads(data.decode("utf-8", errors="strict"))

    def infer(self, model, inputs, **members):
        return self.json("POST", f"/v2/models/{model}/infer", {"inputs": inputs, **members})

    def raw(self, data):
        """Bytes as they are, and all that comes back until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as own:
            own.sendall(data)
            answer = b""
            while piece := own.recv(4096):
                answer += piece
        return answer

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(timeout=60) == 0, "the server ends")


def tensor(name, datatype, shape, data, **members):
    return {"name": name, "datatype": datatype, "shape": shape, "data": data, **members}


def make_repository():
    shutil.rmtree(FOLDER, ignore_errors=True)
    write_identity(FOLDER / "floats" / "1" / "model.onnx", FLOAT, ["batch", 4])
    write_identity(FOLDER / "square" / "1" / "model.onnx", FLOAT, [2, 2])
    (FOLDER / "square" / "config.pbtxt").write_text('output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2, 2 ] label_filename: "labels.txt" }\n')
    (FOLDER / "square" / "labels.txt").write_text("")
    write_identity(FOLDER / "texts" / "1" / "model.onnx", TEXT, ["batch", 2], ("INPUT0", "INPUT1"), ("OUTPUT0", "OUTPUT1"))
    write_identity(FOLDER / "one_text" / "1" / "model.onnx", TEXT, ["batch", 1])
    # Whether texts are equal, which numbers of texts decide.
    write_model(FOLDER / "equal" / "1" / "model.onnx", [("A", TEXT, ["n"]), ("B", TEXT, ["n"])], [("SAME", BOOL, ["n"])],
                [node("Equal", ["A", "B"], ["SAME"])])
    write_identity(FOLDER / "open" / "1" / "model.onnx", FLOAT, ["rows", "columns", None])
    # What 64, or any other size that a server might try, does not fit; "n" stands at two places.
    write_model(FOLDER / "window" / "1" / "model.onnx", [("x", FLOAT, ["n", "length"]), ("state", FLOAT, [2, "n"]), ("scale", FLOAT, [])],
                [("y", FLOAT, ["n", "rest"])],
                [node("Slice", ["x", "from", "to", "axis"], ["cut"]), node("ReduceSum", ["state", "first"], ["sum"], keepdims=0),
                 node("Reshape", ["sum", "column"], ["sums"]), node("Add", ["cut", "sums"], ["added"]), node("Reshape", ["cut", "even"], ["pairs"]),
                 node("Mul", ["added", "scale"], ["y"])],
                [int64_tensor("from", [100]), int64_tensor("to", [2**40]), int64_tensor("axis", [1]), int64_tensor("first", [0]),
                 int64_tensor("column", [-1, 1]), int64_tensor("even", [-1, 27])])
    write_identity(FOLDER / "scalar" / "1" / "model.onnx", FLOAT, [])
    write_identity(FOLDER / "unknown_rank" / "1" / "model.onnx", FLOAT, None)
    (FOLDER / "unknown_rank" / "config.pbtxt").write_text("""
        input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1, 1 ] }
        output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1, 1 ] }""")
    write_identity(FOLDER / "reshaped" / "1" / "model.onnx", FLOAT, [1, 3, 2, 2])
    (FOLDER / "reshaped" / "config.pbtxt").write_text("""
        platform: "onnxruntime_onnx" max_batch_size: 0
        input { name: "INPUT0" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 3, 2, 2 ] reshape { shape: [ 1, 3, 2, 2 ] } }
        output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 12 ] reshape { shape: [ 1, 3, 2, 2 ] } label_filename: "labels.txt" }
        parameters { key: "note" value { string_value: "kept" } }""")
    (FOLDER / "reshaped" / "labels.txt").write_text("a\nb\nc\n")
    # Numbers in texts, as in Triton's example of texts: what is computed before the first request must be numbers too.
    write_model(FOLDER / "numbers" / "1" / "model.onnx", [("INPUT0", TEXT, ["batch", 2])], [("OUTPUT0", INT32, ["batch", 2])],
                [node("Cast", ["INPUT0"], ["OUTPUT0"], to=INT32)])
    write_identity(FOLDER / "fixed_input" / "1" / "model.onnx", FLOAT, ["batch", "n"])
    (FOLDER / "fixed_input" / "config.pbtxt").write_text("""
        max_batch_size: 8 input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] }
        output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }""")
    for name, dims in (("bad_input", "[ 99 ]"), ("bad_rank", "[ 4, 1 ]"), ("wild", "[ -1 ]")):
        write_identity(FOLDER / name / "1" / "model.onnx", FLOAT, ["batch", 4])
        (FOLDER / name / "config.pbtxt").write_text('max_batch_size: 8 input { name: "INPUT0" data_type: TYPE_FP32 dims: ' + dims + " }")
    write_identity(FOLDER / "bad_output" / "1" / "model.onnx", FLOAT, ["batch", 4])
    (FOLDER / "bad_output" / "config.pbtxt").write_text('max_batch_size: 8 output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 5 ] }')
    for i in range(4):  # so that statistics take more than a kilobyte
        write_identity(FOLDER / f"more{i}" / "1" / "model.onnx", FLOAT, ["batch", 4])


def test_compression(server):
    accepts = {"Accept-Encoding": "gzip, deflate"}
    for path in ("/v2/models/stats", "/v2/models/floats/config", "/openapi.json"):
        status, headers, data = server.ask("GET", path, headers=accepts)
        check(status == 200 and "Content-Encoding" not in headers and json.loads(data), f"{path} is not compressed")
    big = [tensor("INPUT0", "FP32", [1024, 4], [0.5] * 4096)]
    status, headers, data = server.ask("POST", "/v2/models/floats/infer", {"inputs": big}, accepts)
    check(status == 200 and headers["Content-Encoding"] == "gzip" and json.loads(gzip.decompress(data))["outputs"], "inference is")
    bomb = gzip.compress(bytes(100 << 20))
    check(server.ask("POST", "/v2/models/floats/infer", bomb, {"Content-Encoding": "gzip"})[0] == 413, "413 for what becomes too large")


def test_null_members(server):
    given = tensor("INPUT0", "FP32", [1, 4], [1, 2, 3, 4], parameters=None)
    status, answer = server.infer("floats", [given], id=None, parameters=None, outputs=None)
    check(status == 200 and answer["outputs"][0]["data"] == [1, 2, 3, 4] and "id" not in answer, "null members of a request")
    given["parameters"] = {"content_type": None, "binary_data_size": None}
    status, answer = server.infer("floats", [given], parameters={"priority": None}, outputs=[{"name": "OUTPUT0", "parameters": None}])
    check(status == 200, "null members of tensors and parameters")
    check(server.json("POST", "/v2/repository/index", {"ready": None})[0] == 200, "null in the repository's index")
    check(server.json("POST", "/v2/repository/models/floats/load", {"parameters": None})[0] == 200, "null parameters of a load")
    status, answer = server.json("POST", "/v2/repository/index", '{"ready":' + "[" * 200_000 + "]" * 200_000 + "}")
    check(status == 400 and "expected a boolean" in answer["error"], "a nested index request")


def test_texts_of_errors(server):
    for body in (b'{"inputs":\xc3\xa9}', b'{"inputs":[{"name":"\xff\xfe","datatype":"\x80","shape":[1]}]}'):
        status, answer = server.json("POST", "/v2/models/floats/infer", body)
        check(status == 400 and answer["error"], "an error is JSON whatever the request was")
    status, answer = server.infer("floats", [tensor("INPUT0", "FP32", [1, 4], [1, 2])])
    check(status == 400 and answer["error"].count("INPUT0") == 1, "an input is named once")
    deep = 7
    for _ in range(50):
        deep = [deep]
    status, answer = server.infer("scalar", [tensor("INPUT0", "FP32", [], deep)])
    check(status == 200 and answer["outputs"][0]["data"] == [7], "50 brackets around an element")
    for _ in range(70):
        deep = [deep]
    status, answer = server.infer("scalar", [tensor("INPUT0", "FP32", [], deep)])
    check(status == 400 and "nesting depth exceeds maximum allowed limit (100)" in answer["error"], "120 are too many")
    status, answer = server.infer("floats", [tensor("INPUT0", "FP32", [16, 2**60 + 2], [1])])
    check(status == 400 and "byte size overflow for input 'INPUT0'" in answer["error"] and
          "causes total element count to exceed maximum size of" in answer["error"], "a shape that overflows")
    own = [tensor("INPUT0", "FP32", [1, 4], [1, 2, 3, 4])]
    status, answer = server.infer("floats", own, outputs=[{"name": "OUTPUT0"}] * 2)
    check(status == 400 and "output 'OUTPUT0' already exists in request" in answer["error"], "an output asked for twice")
    for kind, text in (("application/json", "request JSON size of"), ("application/octet-stream", "request size of")):
        head = f"POST /v2/models/floats/infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: 3000000000\r\n\r\n"
        answer = server.raw(head.encode())
        check(answer.startswith(b"HTTP/1.1 413") and f"{text} 3000000000 bytes exceeds the maximum allowed input size".encode() in answer,
              f"a body that is too large: {kind}")
    status, answer = server.infer("square", [tensor("INPUT0", "FP32", [2, 2], [[[[1]], [[2]]], [[[3]], [[4]]]])])
    check(status == 200 and answer["outputs"][0]["data"] == [1, 2, 3, 4], "brackets around single elements")


def test_http(server):
    status, headers, _ = server.ask("GET", "/v2/models/floats/infer")
    check(status == 405 and headers["Allow"] == "POST", "405 names the method")
    status, headers, _ = server.ask("PUT", "/v1/models")
    check(status == 405 and headers["Allow"] == "GET, HEAD, POST", "another method")
    absolute = b"GET http://127.0.0.1:%d/v2/health/ready HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % (server.port, server.port)
    check(server.raw(absolute).startswith(b"HTTP/1.1 200"), "a target in absolute form")
    check(server.raw(b"\r\n" + absolute).startswith(b"HTTP/1.1 200"), "an empty line before the request")


def test_classification(server):
    asked = [{"name": "OUTPUT0", "parameters": {"classification": 3}}]
    status, answer = server.infer("square", [tensor("INPUT0", "FP32", [2, 2], [1, 4, 3, 2])], outputs=asked)
    check(status == 200 and answer["outputs"][0]["shape"] == [3] and
          answer["outputs"][0]["data"] == ["4.000000:1", "3.000000:2", "2.000000:3"], "classes of a model without batches")
    status, answer = server.infer("floats", [tensor("INPUT0", "FP32", [2, 4], [1, 4, 3, 2, 8, 7, 6, 5])], outputs=asked)
    check(status == 200 and answer["outputs"][0]["shape"] == [2, 3], "classes of rows")


def test_onnxruntime_server(server):
    status, headers, data = server.ask("GET", "/")
    check(status == 200 and data == b"Healthy", "a probe gets what it expects")
    status, headers, data = server.ask("GET", "/", headers={"Accept": "text/html,*/*"})
    check(status == 200 and b"<!doctype html>" in data, "a browser gets the page")
    raw = base64.b64encode(struct.pack("4f", 1, 2, 3, 4)).decode()
    body = {"inputs": {"INPUT0": {"dims": ["1", "4"], "dataType": 1, "rawData": raw}}}
    headers = {"Content-Type": "application/json", "x-ms-client-request-id": "This~is~my~id"}
    status, got, data = server.ask("POST", "/v1/models/floats/versions/1:predict", body, headers)
    check(status == 200 and json.loads(data)["outputs"]["OUTPUT0"]["rawData"] == raw and got["x-ms-request-id"] and
          got["x-ms-client-request-id"] == "This~is~my~id", "a prediction")
    status, got, data = server.ask("POST", "/v1/models/floats/versions/1:predict", body, {**headers, "Content-Type": "application/abc"})
    check(status == 400 and got["Content-Type"] == "application/json" and got["x-ms-request-id"] and
          got["x-ms-client-request-id"] == "This~is~my~id" and
          data == b'{"error_code": 400, "error_message": "Missing or unknown \'Content-Type\' header field in the request"}\n', "an error, byte by byte")
    status, got, data = server.ask("POST", "/v1/models/floats/versions/-1:predict", "foo=bar", headers)
    check(status == 404 and got["x-ms-request-id"] and json.loads(data)["error_code"] == 404, "the address counts before the body")
    status, got, data = server.ask("POST", "/v1/models/floats:predict", '{"inputs":', headers)
    check(status == 400 and got["x-ms-request-id"] and json.loads(data)["error_message"], "a body that is no JSON")
    body["inputs"]["INPUT0"]["rawData"] = "hello"
    status, _, data = server.ask("POST", "/v1/models/floats:predict", body, headers)
    check(status == 400 and "'INPUT0': rawData" in json.loads(data)["error_message"], "an error names the field")


def pack(texts):
    """Elements of a BYTES tensor in binary form."""
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


def test_texts(server):
    words = ["", "zwölf", "a \"quote\"\n", "x" * 1000]
    given = [tensor("INPUT1", "BYTES", [2, 2], words), tensor("INPUT0", "BYTES", [2, 2], [words[:2], words[2:]])]
    status, answer = server.infer("texts", given)
    check(status == 200 and [output["data"] for output in answer["outputs"]] == [words, words] and
          answer["outputs"][0]["datatype"] == "BYTES" and answer["outputs"][0]["shape"] == [2, 2], "texts in JSON")
    metadata = server.json("GET", "/v2/models/texts")[1]
    config = server.json("GET", "/v2/models/texts/config")[1]
    check(metadata["inputs"][0] == {"name": "INPUT0", "datatype": "BYTES", "shape": [-1, 2]} and config["input"][0]["data_type"] == "TYPE_STRING",
          "the type of texts")
    blob = pack([b"\xff\xfe\x00", b"two"])
    header = json.dumps({"inputs": [{"name": name, "datatype": "BYTES", "shape": [1, 2], "parameters": {"binary_data_size": len(blob)}}
                                    for name in ("INPUT0", "INPUT1")], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(header))}
    status, got, data = server.ask("POST", "/v2/models/texts/infer", header + blob + blob, headers)
    split = int(got["Inference-Header-Content-Length"])
    check(status == 200 and data[split:] == blob + blob, "texts in binary form, UTF-8 or not")
    header = header.replace(b'"binary_data_output": true', b'"binary_data_output": false')
    status, _, data = server.ask("POST", "/v2/models/texts/infer", header + blob + blob, {"Inference-Header-Content-Length": str(len(header))})
    check(status == 400 and "no UTF-8" in json.loads(data)["error"], "what JSON cannot carry")
    status, got, data = server.ask("POST", "/v2/models/one_text/infer", b"427", {"Inference-Header-Content-Length": "0"})
    check(status == 200 and data[int(got["Inference-Header-Content-Length"]):] == pack([b"427"]), "a raw body is a text")
    status, _, data = server.ask("POST", "/v2/models/floats/infer", header + blob + blob, headers)
    check(status == 400, "texts where numbers are wanted")
    status, answer = server.infer("numbers", [tensor("INPUT0", "BYTES", [1, 2], ["17", "-4"])])
    check(status == 200 and answer["outputs"][0]["data"] == [17, -4], "numbers in texts")
    for inputs in ([tensor("INPUT0", "BYTES", [1, 2], ["a"])], [tensor("INPUT0", "FP32", [1, 2], [1, 2]), tensor("INPUT1", "BYTES", [1, 2], ["a", "b"])]):
        check(server.infer("texts", inputs)[0] == 400, "too few texts, or numbers where texts are wanted")
    for i in range(50):
        many = [f"{i} {k}" for k in range(20)]
        status, answer = server.infer("equal", [tensor("A", "BYTES", [20], many), tensor("B", "BYTES", [20], many[:10] + many[:10])])
        if answer["outputs"][0]["data"] != [True] * 10 + [False] * 10:
            check(False, "texts are compared within a request")
    check(True, "texts are compared within a request")
    body = {"inputs": {"INPUT0": {"dims": ["1", "1"], "dataType": 8, "stringData": [base64.b64encode(b"427").decode()]}}}
    status, _, data = server.ask("POST", "/v1/models/one_text:predict", body, {"Content-Type": "application/json"})
    check(status == 200 and json.loads(data)["outputs"]["OUTPUT0"]["stringData"] == [base64.b64encode(b"427").decode()], "texts of PredictRequest")


def test_open_shapes(server):
    metadata = server.json("GET", "/v2/models/open")[1]
    check(metadata["inputs"][0]["shape"] == [-1, -1, -1] and metadata["outputs"][0]["shape"] == [-1, -1, -1], "open dimensions are -1")
    for shape in ([1, 2, 3], [2, 5, 1], [1, 1, 1]):
        count = shape[0] * shape[1] * shape[2]
        status, answer = server.infer("open", [tensor("INPUT0", "FP32", shape, list(range(count)))])
        check(status == 200 and answer["outputs"][0]["shape"] == shape and answer["outputs"][0]["data"] == list(range(count)), f"shape {shape}")
    metadata = server.json("GET", "/v2/models/window")[1]
    check([one["shape"] for one in metadata["inputs"]] == [[-1, -1], [2, -1], []] and metadata["outputs"][0]["shape"] == [-1, -1],
          "a network that fits no shape but those of requests")
    def window(n):
        return [tensor("x", "FP32", [n, 127], [1] * (127 * n)), tensor("state", "FP32", [2, n], [1, 2, 1, 2] if n == 2 else [1, 1]),
                tensor("scale", "FP32", [], [10])]
    status, answer = server.infer("window", window(1))
    check(status == 200 and answer["outputs"][0]["shape"] == [1, 27] and answer["outputs"][0]["data"] == [30] * 27, "it answers them")
    status, answer = server.infer("window", window(2))
    check(status == 200 and answer["outputs"][0]["data"] == [30] * 27 + [50] * 27, "and others")
    wrong = window(2)
    wrong[1] = tensor("state", "FP32", [2, 3], [0] * 6)
    status, answer = server.infer("window", wrong)
    check(status == 400 and "'n'" in answer["error"], "a named dimension has one size")
    status, answer = server.infer("scalar", [tensor("INPUT0", "FP32", [], [2.5])])
    check(status == 200 and answer["outputs"][0]["shape"] == [] and answer["outputs"][0]["data"] == [2.5], "rank 0")
    status, answer = server.infer("unknown_rank", [tensor("INPUT0", "FP32", [1, 1], [[2.5]])])
    check(status == 200 and answer["outputs"][0]["shape"] == [1, 1], "a rank that only the configuration knows")


def test_configurations(server):
    config = server.json("GET", "/v2/models/reshaped/config")[1]
    check(config["input"][0]["format"] == "FORMAT_NCHW" and config["input"][0]["dims"] == [3, 2, 2] and
          config["input"][0]["reshape"] == {"shape": [1, 3, 2, 2]} and config["output"][0]["label_filename"] == "labels.txt" and
          config["parameters"]["note"]["string_value"] == "kept", "a configuration keeps its fields")
    metadata = server.json("GET", "/v2/models/reshaped")[1]
    check(metadata["inputs"][0]["shape"] == [3, 2, 2] and metadata["outputs"][0]["shape"] == [12], "clients see what is reshaped")
    status, answer = server.infer("reshaped", [tensor("INPUT0", "FP32", [3, 2, 2], list(range(12)))])
    check(status == 200 and answer["outputs"][0]["shape"] == [12] and answer["outputs"][0]["data"] == list(range(12)), "reshape is applied")
    status, answer = server.infer("reshaped", [tensor("INPUT0", "FP32", [3, 2, 2], list(range(12)))],
                                  outputs=[{"name": "OUTPUT0", "parameters": {"classification": 2}}])
    check(status == 200 and answer["outputs"][0]["data"] == ["11.000000:11", "10.000000:10"], "and classes are counted")
    status, answer = server.infer("fixed_input", [tensor("INPUT0", "FP32", [2, 1], [1, 2])])
    check(status == 200 and answer["outputs"][0]["data"] == [1, 2] and
          server.json("GET", "/v2/models/fixed_input")[1]["outputs"][0]["shape"] == [-1, -1], "an output that file and configuration leave open")
    states = {entry["name"]: entry for entry in server.json("POST", "/v2/repository/index")[1]}
    for name in ("bad_input", "bad_rank", "bad_output", "wild"):
        check(states[name]["state"] == "UNAVAILABLE" and "in the configuration" in states[name]["reason"], f"dims that do not fit: {name}")


def test_given_shape():
    server = Server(FOLDER / "open" / "1" / "model.onnx", "--name", "fixed", "--shape", "INPUT0=1,2,3")
    check(server.json("GET", "/v2/models/fixed")[1]["inputs"][0]["shape"] == [1, 2, 3] and
          server.infer("fixed", [tensor("INPUT0", "FP32", [1, 2, 3], [0] * 6)])[0] == 200 and
          server.infer("fixed", [tensor("INPUT0", "FP32", [1, 2, 4], [0] * 8)])[0] == 400, "--shape")
    server.end()


def test_probes():
    server = Server("--repository", FOLDER, environment={"TRAINYARD_TOKEN": "secret"})
    check(server.ask("GET", "/v2/health/live")[0] == 200 and server.ask("GET", "/v2/health/ready")[0] == 200 and
          server.ask("GET", "/v2/models/floats")[0] == 401, "probes need no token, all else does")
    server.end()


def test_uploads():
    """A model that the request brings, as Triton's clients write it: Python's in one line, C++'s in lines of 72 letters."""
    server = Server("--repository", FOLDER, "--uploads")
    content = (FOLDER / "square" / "1" / "model.onnx").read_bytes()
    for name, text in (("line", base64.b64encode(content).decode()), ("lines", base64.encodebytes(content).decode())):
        parameters = {"config": '{"max_batch_size": 0}', "file:1/model.onnx": text}
        status, answer = server.json("POST", f"/v2/repository/models/{name}/load", {"parameters": parameters})
        check(status == 200 and server.infer(name, [tensor("INPUT0", "FP32", [2, 2], [1, 2, 3, 4])])[0] == 200, f"an upload as {name}: {answer}")
    server.end()


def test_fixed_models():
    for poll, text in ((["--poll", "5"], "is not allowed if polling is enabled"), ([], "is not allowed: ")):
        server = Server("--repository", FOLDER, "--fixed-models", *poll)
        for action in ("load", "unload"):
            status, answer = server.json("POST", f"/v2/repository/models/floats/{action}", "{}")
            check(status == 403 and "explicit model load / unload " + text in answer["error"], f"nobody may {action}: {answer['error']}")
        check(server.ask("GET", "/v2/models/floats/ready")[0] == 200, "what is there stays")
        server.end()


make_repository()
running = Server("--repository", FOLDER)
test_compression(running)
test_null_members(running)
test_texts_of_errors(running)
test_http(running)
test_classification(running)
test_onnxruntime_server(running)
test_texts(running)
test_open_shapes(running)
test_configurations(running)
running.end()
test_given_shape()
test_probes()
test_fixed_models()
test_uploads()

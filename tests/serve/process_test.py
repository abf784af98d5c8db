#!/usr/bin/env python3
"""`trainyard serve` as a process: start, real clients' calls, TLS, hot reload under load, SIGTERM.

usage: process_test.py TRAINYARD FOLDER. Needs Python's standard library, and openssl for the part with TLS.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

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
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("FAILED: the server ended: " + "".join(self.lines))
            self.lines.append(line)
            if line.startswith("page"):
                break
        self.port = int(re.search(r":(\d+)$", self.lines[0].strip()).group(1))

    def ask(self, method, path, body=None, headers=None, connection=None):
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own.request(method, path, body, headers or {})
        answer = own.getresponse()
        data = answer.read()
        if connection is None:
            own.close()
        return answer.status, data

    def json(self, method, path, body=None, headers=None):
        status, data = self.ask(method, path, body, headers)
        return status, json.loads(data)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


def zeros(metadata):
    inputs = []
    for tensor in metadata["inputs"]:
        shape = [max(size, 1) for size in tensor["shape"]]
        count = 1
        for size in shape:
            count *= size
        inputs.append({**tensor, "shape": shape, "data": [0] * count})
    return json.dumps({"inputs": inputs})


def export(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([PROGRAM, "export", "mlp", "-o", str(path)], check=True, capture_output=True)


def test_one_model():
    server = Server("lenet5")
    check(server.json("GET", "/v2/models/lenet5")[0] == 200, "a network of the zoo is served")
    page = server.ask("GET", "/")
    check(page[0] == 200, "there is a page")
    status, metadata = server.json("GET", "/v2/models/lenet5")
    status, answer = server.json("POST", "/v2/models/lenet5/infer", zeros(metadata))
    check(status == 200 and len(answer["outputs"][0]["data"]) == 10, "it infers")
    check(server.end() == 0, "SIGTERM ends it with 0")


def test_several_models():
    """Two models with names of their own, events and requests as lines of JSON."""
    export(FOLDER / "two/net.onnx")
    log = FOLDER / "two/access.jsonl"
    log.unlink(missing_ok=True)
    server = Server("lenet5", f"digits={FOLDER / 'two/net.onnx'}", "--log-format", "json", "--access-log", log)
    for name in ("lenet5", "digits"):
        status, metadata = server.json("GET", f"/v2/models/{name}")
        check(status == 200 and server.ask("POST", f"/v2/models/{name}/infer", zeros(metadata),
                                           {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})[0] == 200, f"{name} answers")
    server.process.send_signal(signal.SIGHUP)
    event = json.loads(server.process.stdout.readline())
    check("SIGHUP" in event["event"] and event["time"].endswith("Z"), f"an event in JSON: {event}")
    check(server.end() == 0, "SIGTERM ends it with 0")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    check(lines[1]["traceparent"].startswith("00-4bf92f35") and lines[1]["model"] == "lenet5", "the access log has the trace's id")
    for arguments, word in ((("lenet5", "lenet5"), "two models"), (("lenet5", "mlp", "--name", "x"), "of one MODEL"), (("a/b=lenet5",), "slash"),
                            (("lenet5", "http://127.0.0.1:1"), "serve bench"), (("lenet5", "--log-format", "xml"), "text or json")):
        refused = subprocess.run([PROGRAM, "serve", "--port", "0", *arguments], capture_output=True, text=True)
        check(refused.returncode == 2 and word in refused.stderr, f"{arguments}: {refused.stderr.strip()}")


def test_loading():
    """While a network is loaded the server says that it lives and is not ready yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([PROGRAM, "serve", "resnet50", "--port", str(port)], stdout=subprocess.DEVNULL)

    def ask(path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", path)
        return connection.getresponse().status

    while True:
        try:
            live = ask("/v2/health/live")
            break
        except ConnectionError:
            time.sleep(0.002)
    seen = [ask("/v2/health/ready"), ask("/v2/models/resnet50")]
    check(live == 200 and seen == [503, 503], f"live, and not ready while it loads: {live}, {seen}")
    while ask("/v2/health/ready") != 200:
        time.sleep(0.01)
    check(ask("/v2/models/resnet50") == 200, "then ready")
    process.send_signal(signal.SIGTERM)
    check(process.wait(timeout=60) == 0, "and ends with 0")
    broken = subprocess.run([PROGRAM, "serve", "no-such-network", "--port", "0"], capture_output=True, text=True)
    check(broken.returncode == 2 and "no-such-network" in broken.stderr, "what cannot be loaded ends it with 2")


def write_png(path, width, height, gray):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (b"\0" + bytes([gray]) * width) * height
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_run_with_pictures():
    """What was trained is served as it was trained: the classes of `run`, for a picture of another size."""
    folder = FOLDER / "pictures"
    shutil.rmtree(folder, ignore_errors=True)
    for split, count in (("train", 16), ("val", 4)):
        for name, gray in (("boot", 40), ("shoe", 210)):
            for i in range(count):
                write_png(folder / "set" / split / name / f"{i}.png", 28, 28, gray + i)
    write_png(folder / "shoe.png", 60, 40, 205)
    subprocess.run([PROGRAM, "train", "--model", "lenet5", "--data", f"folder:{folder}/set", "--augment",
                    "resize:28x28,channels:1,normalize:0.5:0.25", "--epochs", "3", "--batch", "8", "--threads", "1", "--runs-dir",
                    str(folder / "runs"), "--name", "shoes", "--quiet"], check=True, capture_output=True)
    told = subprocess.run([PROGRAM, "run", str(folder / "runs/shoes"), "--input", str(folder / "shoe.png"), "--json"], check=True,
                          capture_output=True, text=True).stdout
    best = json.loads(told)["outputs"][0]["top"]
    server = Server(folder / "runs/shoes")
    status, answer = server.json("POST", "/v2/models/shoes/infer", (folder / "shoe.png").read_bytes())
    served = [text.split(":") for text in answer["outputs"][0]["data"]] if status == 200 else answer
    check(status == 200 and [entry[2] for entry in served] == [entry["label"] for entry in best],
          f"a picture gets the names of its classes: {served}, run says {best}")
    check(served[0][2] == "shoe", "and the right one first")
    status, drawn = server.ask("POST", "/v2/models/shoes/infer", (folder / "shoe.png").read_bytes(), {"Accept": "image/png"})
    check(status == 200 and drawn.startswith(b"\x89PNG") and drawn[16:24] == struct.pack(">II", 60, 40), "or the picture comes back with it")
    metadata = server.json("GET", "/v2/models/shoes")[1]
    body = json.loads(zeros(metadata))
    body["outputs"] = [{"name": metadata["outputs"][0]["name"], "parameters": {"classification": 1}}]
    status, answer = server.json("POST", "/v2/models/shoes/infer", json.dumps(body))
    check(status == 200 and answer["outputs"][0]["data"][0].split(":")[2] in ("boot", "shoe"), "classification has them too")
    check(server.end() == 0, "the server of a run ends with 0")


def test_drain():
    server = Server("resnet18", "--max-batch", "1")
    metadata = server.json("GET", "/v2/models/resnet18")[1]
    body = zeros(metadata)
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(server.ask("POST", "/v2/models/resnet18/infer", body)[0]))
               for _ in range(6)]
    for thread in threads:
        thread.start()
    while server.json("GET", "/v2/models/resnet18/stats")[1]["model_stats"][0]["inference_count"] == 0:
        time.sleep(0.002)
    code = server.end()
    for thread in threads:
        thread.join()
    check(code == 0 and statuses.count(200) >= 1 and set(statuses) <= {200, 503}, f"requests under way are answered: {statuses}")


def test_repository():
    repository = FOLDER / "repository"
    shutil.rmtree(repository, ignore_errors=True)
    export(repository / "net/1/model.onnx")
    (repository / "broken/1").mkdir(parents=True)
    (repository / "broken/1/model.onnx").write_bytes(b"nonsense")
    server = Server("--repository", repository, "--max-batch", "0", "--poll", "1")
    index = {entry["name"]: entry for entry in server.json("POST", "/v2/repository/index", "")[1]}
    check(index["net"]["state"] == "READY" and index["broken"]["state"] == "UNAVAILABLE" and index["broken"]["reason"],
          "a broken model is in the index with its reason")
    body = zeros(server.json("GET", "/v2/models/net")[1])
    failures, done, ended = [], [0], threading.Event()

    def client():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        while not ended.is_set():
            status, data = server.ask("POST", "/v2/models/net/infer", body, connection=connection)
            done[0] += 1
            if status != 200:
                failures.append(data)

    clients = [threading.Thread(target=client) for _ in range(2)]
    for thread in clients:
        thread.start()
    for _ in range(3):
        check(server.ask("POST", "/v2/repository/models/net/load", "{}")[0] == 200, "a model is loaded anew under load")
    export(repository / "net/2/model.onnx")
    while server.json("GET", "/v2/models/net")[1]["versions"] != ["2"]:
        time.sleep(0.05)
    (repository / "net/3").mkdir()
    (repository / "net/3/model.onnx").write_bytes(b"nonsense")
    status, answer = server.json("POST", "/v2/repository/models/net/load", "{}")
    check(status == 400 and "version 3" in answer["error"], "a broken version says so")
    ended.set()
    for thread in clients:
        thread.join()
    check(not failures and done[0] > 10, f"{done[0]} requests while versions changed, none failed: {failures[:1]}")
    check(server.json("GET", "/v2/models/net")[1]["versions"] == ["2"], "the old version goes on")
    check(server.ask("POST", "/v2/repository/models/net/unload", "{}")[0] == 200, "a model is unloaded")
    check(server.ask("POST", "/v2/models/net/infer", body)[0] == 400, "then it is not ready")
    check(server.ask("POST", "/v2/repository/models/..%2Fnet/load", "{}")[0] == 404, "names cannot leave the repository")
    check(server.end(signal.SIGINT) == 0, "SIGINT ends it with 0")


def test_start_with_a_broken_version():
    repository = FOLDER / "broken_latest"
    shutil.rmtree(repository, ignore_errors=True)
    export(repository / "net/1/model.onnx")
    for version in (2, 3):
        (repository / f"net/{version}").mkdir()
        (repository / f"net/{version}/model.onnx").write_bytes(b"nonsense")
    server = Server("--repository", repository, "--poll", "1")
    check(server.json("GET", "/v2/models/net")[1]["versions"] == ["1"], "an older version serves if the latest are broken")
    states = {entry["version"]: entry["state"] for entry in server.json("POST", "/v2/repository/index", "")[1]}
    check(states == {"1": "READY", "2": "UNAVAILABLE", "3": "UNAVAILABLE"}, f"the index names them all: {states}")
    export(repository / "net/3/model.onnx")
    while server.json("GET", "/v2/models/net")[1]["versions"] != ["3"]:
        time.sleep(0.05)
    check(server.end() == 0, "it ends with 0")


def test_tls_and_token():
    if shutil.which("openssl") is None:
        print("skipped: openssl is missing")
        return
    key, certificate = FOLDER / "key.pem", FOLDER / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout",
                    str(key), "-out", str(certificate)], check=True, capture_output=True)
    server = Server("lenet5", "--tls-certificate", certificate, "--tls-key", key, environment={"TRAINYARD_TOKEN": "secret"})
    context = ssl.create_default_context(cafile=str(certificate))
    context.check_hostname = False

    def status(headers):
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
        connection.request("GET", "/v2", headers=headers)
        return connection.getresponse().status

    check(status({}) == 401, "without a token: 401")
    check(status({"Authorization": "Bearer secret"}) == 200, "TLS with the token: 200")
    check(server.end() == 0, "the TLS server ends with 0")
    refused = subprocess.run([PROGRAM, "serve", "lenet5", "--host", "0.0.0.0"], capture_output=True, text=True)
    check(refused.returncode == 2 and "--token" in refused.stderr, "other addresses want a token")


FOLDER.mkdir(parents=True, exist_ok=True)
test_one_model()
test_several_models()
test_loading()
test_run_with_pictures()
test_drain()
test_repository()
test_start_with_a_broken_version()
test_tls_and_token()
print("all is well")

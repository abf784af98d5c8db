#!/usr/bin/env python3
"""Strangers at the door of `trainyard serve`: what they may cost is bounded, and nobody else notices.

usage: hostile_test.py TRAINYARD FOLDER [TEST…]. Needs Python's standard library. All on loopback, each part bounded.
"""
import gzip
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

from onnx_writer import FLOAT, write_identity
from served import Server as AnyServer, check, read_all, zeros

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
MIB = 1 << 20


def Server(*arguments, **named):
    return AnyServer(PROGRAM, *arguments, **named)


def export(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([PROGRAM, "export", "mlp", "-o", str(path)], check=True, capture_output=True)


def status_of(answer):
    found = re.match(rb"HTTP/1.1 (\d+)", answer)
    return int(found.group(1)) if found else 0


def test_chunks():
    """Extensions and fields of chunks have no end of their own."""
    server = Server("lenet5", environment={"TRAINYARD_TOKEN": "secret"})
    head = b"POST /v2/models/lenet5/infer HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nTransfer-Encoding: chunked\r\n\r\n"
    before = server.memory("VmHWM")
    for name, begin in (("an extension", b"1;"), ("fields behind the last chunk", b"0\r\nA: ")):
        answer = server.raw(head + begin + b"x" * (64 * MIB))
        check(status_of(answer) == 400 and server.memory("VmHWM") - before < 40, f"{name} of 64 MiB: {answer[:24]}")
    many = server.raw(head + b"1;" + b"x" * 4000 + b"\r\na\r\n" + (b"1;" + b"x" * 4000 + b"\r\na\r\n") * 4000)
    check(status_of(many) == 400, "many extensions together")
    begin = time.time()
    answer = server.raw(b"POST /v2/models/lenet5/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n")
    check(status_of(answer) == 401 and time.time() - begin < 4, "without the token no body is read")
    check(server.end() == 0, "the server ends with 0")


def test_slow_bodies():
    server = Server("lenet5", "--connections", "40")
    head = b"POST /v2/models/lenet5/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n"
    begin = time.time()
    slow = [server.connect(timeout=60) for _ in range(30)]
    for connection in slow:
        connection.sendall(head)
    one = server.connect()
    check(status_of(read_all(one)) == 503, "one address has three quarters of the places")
    with server.connect(source="127.0.0.2") as other:
        other.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        check(status_of(read_all(other)) == 200, "others find one")
    answers = {status_of(read_all(connection)) for connection in slow}
    check(answers == {408} and time.time() - begin < 20, f"slow bodies are given up in {time.time() - begin:.0f} s: {answers}")
    for connection in slow:
        connection.close()
    time.sleep(1)
    silent = [server.connect(timeout=60) for _ in range(5)]
    said = [read_all(connection) for connection in silent]
    check(set(said) == {b""} and time.time() - begin < 50, f"and so are connections that ask nothing: {said}")
    check(server.end() == 0, "the server ends with 0")


def test_memory():
    """Bodies that are announced cost nothing, and no memory is no reason to end."""
    limit = 2 << 30
    server = Server("lenet5", "--memory", "128", before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    part = b"POST /v2/models/lenet5/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 67108864\r\n\r\n" + b"[" * MIB
    announced = [server.connect() for _ in range(40)]
    for connection in announced:
        connection.sendall(part)
    time.sleep(1)
    check(server.ask("GET", "/v2/health/live")[0] == 200, "40 announced bodies of 64 MiB in 2 GiB: it lives")
    for connection in announced:
        connection.close()
    answers = []

    def send():
        answers.append(status_of(server.raw(part + b"[" * (63 * MIB))))

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(server.ask("GET", "/v2/health/live")[0] == 200 and set(answers) <= {400, 503, 0} and 503 in answers,
          f"six of 64 MiB where --memory has 128: {answers}")
    check(server.memory("VmHWM") < 500, f"it has {server.memory('VmHWM'):.0f} MiB at most")
    check(server.end() == 0, "the server ends with 0")
    few = 1200 << 20
    broken = subprocess.run([PROGRAM, "serve", "alexnet", "--port", "0", "--threads", "1024"], capture_output=True, text=True,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (few, few)))
    check(broken.returncode == 1 and "thread" in broken.stderr, f"threads that cannot be had: {broken.returncode}, {broken.stderr[-200:]}")


def test_answers():
    server = Server("lenet5")
    metadata = server.json("GET", "/v2/models/lenet5")[1]
    name = metadata["outputs"][0]["name"]
    status, answer = server.json("POST", "/v2/models/lenet5/infer", {**zeros(metadata), "outputs": [{"name": name}] * 1024})
    check(status == 400 and name in answer["error"], f"an output that is asked for 1,024 times: {status}, {str(answer)[:80]}")
    for text in ("1e400", '"\\ud800"', '{"a":1,"a":2}'):
        body = json.dumps(zeros(metadata))[:-1] + f',"parameters":{{"p":{text}}}}}'
        status, answer = server.json("POST", "/v2/models/lenet5/infer", body)
        check(status == 400 and answer["error"], f"{text} is refused: {answer['error'][:80]}")
    body = json.dumps(zeros(metadata)).encode()[:-1] + b',"id":"\xff\xfe"}'
    status, answer = server.json("POST", "/v2/models/lenet5/infer", body)
    check(status == 400 and "UTF-8" in answer["error"], "an id that is not UTF-8 is refused")
    body = {**zeros(metadata), "parameters": {"timeout": 9 * 10**15}}
    check(server.json("POST", "/v2/models/lenet5/infer", body)[0] == 200, "a timeout of 285 years is none")
    check(server.json("GET", "/v2/models/" + "n" * 300)[0] == 404, "a name of 300 bytes is not found")
    check(server.end() == 0, "the server ends with 0")


def bits_png(side):
    """A black picture of one bit a pixel: many pixels in few bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes(1 + (side + 7) // 8) * side, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def pictures_body(name, pictures):
    blob = b"".join(struct.pack("<I", len(picture)) + picture for picture in pictures)
    head = json.dumps({"inputs": [{"name": name, "datatype": "BYTES", "shape": [len(pictures)],
                                   "parameters": {"binary_data_size": len(blob)}}]}).encode()
    return head + blob, {"Inference-Header-Content-Length": str(len(head))}


def test_pictures():
    server = Server("lenet5")
    name = server.json("GET", "/v2/models/lenet5")[1]["inputs"][0]["name"]
    for label, pictures in (("one of 134 million pixels", [bits_png(11585)]), ("60 of 16 million", [bits_png(4000)] * 60)):
        begin = time.time()
        status, data = server.ask("POST", "/v2/models/lenet5/infer", *pictures_body(name, pictures))
        check(status == 413 and time.time() - begin < 3, f"{label}: {status} in {time.time() - begin:.2f} s, {data[:90]}")
    large, small = bits_png(5000), bits_png(28)
    body, headers = pictures_body(name, [large, large])
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(server.ask("POST", "/v2/models/lenet5/infer", body, headers)[0]))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    longest = 0.0
    while any(thread.is_alive() for thread in threads):
        begin = time.time()
        check_small = server.ask("POST", "/v2/models/lenet5/infer", *pictures_body(name, [small]))[0]
        longest = max(longest, time.time() - begin)
        if check_small != 200:
            raise SystemExit(f"FAILED: a small picture got {check_small}")
    check(set(statuses) == {200}, f"pictures within the bounds are computed: {set(statuses)}")
    check(longest < 5, f"small pictures wait for no large ones: {longest:.1f} s at most")
    check(server.end() == 0, "the server ends with 0")


def test_unpacking():
    """A few bytes that become many do not keep a thread of the sockets from its other connections: here it is the only one."""
    one_core = {min(os.sched_getaffinity(0))}
    server = Server("lenet5", before=lambda: os.sched_setaffinity(0, one_core))
    bomb = gzip.compress(bytes(63 * MIB), 9)
    head = b"POST /v2/models/lenet5/infer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Encoding: gzip\r\n"
    ended = {}

    def bombs():
        ended["answer"] = server.raw(head + b"Content-Length: %d\r\n\r\n" % len(bomb) + bomb)
        ended["bomb"] = time.time()

    with server.connect() as other:
        thread = threading.Thread(target=bombs)
        thread.start()
        time.sleep(0.03)  # it is being unpacked
        other.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        check(status_of(read_all(other)) == 200, "another request is answered")
        ended["other"] = time.time()
        thread.join()
    check(status_of(ended["answer"]) == 400, "63 MiB of zeros are no JSON")
    check(ended["other"] < ended["bomb"], f"who comes later need not wait for it: {ended['bomb'] - ended['other']:.3f} s")
    check(server.end() == 0, "the server ends with 0")


def test_browsers():
    """Pages of others change nothing and read nothing; programs may send what they always did."""
    repository = FOLDER / "browsers"
    shutil.rmtree(repository, ignore_errors=True)
    export(repository / "net/1/model.onnx")
    server = Server("--repository", repository, "--allowed-host", "models.example")
    load = "/v2/repository/models/net/load"
    own = f"http://127.0.0.1:{server.port}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    as_json = {"Content-Type": "application/json"}
    for text, headers, wanted in (
            ("curl -d", form, 200), ("tritonclient, without a type", {}, 200), ("a program with JSON", as_json, 200),
            ("our page", {**as_json, "Origin": own, "Sec-Fetch-Site": "same-origin"}, 200),
            ("our page behind a proxy", {**as_json, "Origin": "https://models.example"}, 200),
            ("a form of another page", {**form, "Origin": "http://evil.example"}, 403),
            ("a script of another page", {**as_json, "Origin": "http://evil.example"}, 403),
            ("a page without a name", {**as_json, "Origin": "null"}, 403),
            ("a form without an origin", {**form, "User-Agent": "Mozilla/5.0 (old)"}, 403),
            ("another site", {"Sec-Fetch-Site": "cross-site"}, 403)):
        status = server.ask("POST", load, "{}", headers)[0]
        check(status == wanted, f"load by {text}: {status}")
    status = server.ask("POST", "/v2/repository/models/net/unload", "", {"Origin": "http://evil.example"})[0]
    check(status == 403 and server.ask("GET", "/v2/models/net/ready")[0] == 200, "another page cannot unload")
    for host, wanted in (("localhost:8000", 200), ("[::1]:8000", 200), ("192.168.1.7", 200), ("models.example", 200),
                         (socket.gethostname(), 200), ("evil.example", 421), ("127.0.0.1.evil.example:8000", 421)):
        status = server.ask("GET", "/v2/models/net", headers={"Host": host})[0]
        check(status == wanted, f"Host {host}: {status}")
    check(server.end() == 0, "the server ends with 0")


def test_load_configuration():
    repository = FOLDER / "configuration"
    shutil.rmtree(repository, ignore_errors=True)
    export(repository / "net/1/model.onnx")
    server = Server("--repository", repository, "--poll", "1")
    for text, config in (("warm-up", {"model_warmup": [{"name": "w", "count": 1 << 40}]}),
                         ("threads", {"optimization": {"execution": {"threads": 100000}}}),
                         ("instances", {"instance_group": [{"count": 100000}]}),
                         ("batch", {"max_batch_size": 1 << 30}),
                         ("delay", {"dynamic_batching": {"max_queue_delay_microseconds": 1 << 40}})):
        status, answer = server.json("POST", "/v2/repository/models/net/load", {"parameters": {"config": json.dumps(config)}})
        check(status == 400 and "expected 0 to" in answer["error"], f"{text}: {answer['error']}")
    check(server.ask("POST", "/v2/repository/models/" + "n" * 300 + "/load", "{}")[0] == 404, "a name of 300 bytes is not found")
    check(server.ask("POST", "/v2/repository/models/net/unload", "{}")[0] == 200, "a model is unloaded")
    time.sleep(2.5)
    check(server.ask("GET", "/v2/models/net/ready")[0] == 400, "and stays so while the repository is looked at")
    check(server.ask("POST", "/v2/repository/models/net/load", "{}")[0] == 200, "until it is loaded")
    export(repository / "net/2/model.onnx")
    while server.json("GET", "/v2/models/net")[1]["versions"] != ["2"]:
        time.sleep(0.1)
    check(server.end() == 0, "the server ends with 0")
    said = server.process.stdout.read()
    check("model 'net' version 2 is ready" in said and "model 'net' version 1 goes" in said, f"what happened is said: {said}")
    # A request that computes longer than the server has to end.
    server = Server("resnet50", "--drain", "1", "--instances", "1", "--max-batch", "1")
    metadata = server.json("GET", "/v2/models/resnet50")[1]
    tensor = metadata["inputs"][0]
    blob = bytes(4 * 3 * 224 * 224 * 100)
    head = json.dumps({"inputs": [{"name": tensor["name"], "datatype": "FP32", "shape": [100, *tensor["shape"][1:]],
                                   "parameters": {"binary_data_size": len(blob)}}]}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", "/v2/models/resnet50/infer", head + blob, {"Inference-Header-Content-Length": str(len(head))})
    time.sleep(2)
    begin = time.time()
    code = server.end()
    check(code in (0, 1) and time.time() - begin < 12, f"it ends whatever computes: {code} after {time.time() - begin:.1f} s")


def test_smuggling():
    server = Server("lenet5")
    inner = b"GET /v2/models/lenet5 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    post = b"POST /v2/models/lenet5/infer HTTP/1.1\r\nHost: localhost\r\n"
    for text, headers in (("xchunked", b"Transfer-Encoding: xchunked\r\n"), ("identity", b"Transfer-Encoding: identity\r\n"),
                          ("gzip, chunked", b"Transfer-Encoding: gzip, chunked\r\n"),
                          ("chunked twice", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
                          ("chunked, chunked", b"Transfer-Encoding: chunked, chunked\r\n"),
                          ("a length too", b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
                          ("two lengths", b"Content-Length: 3\r\nContent-Length: 3\r\n")):
        answer = server.raw(post + headers + b"\r\n" + inner)
        check(status_of(answer) == 400 and answer.count(b"HTTP/1.1 ") == 1, f"{text}: one answer, {answer[:24]}")
    for text, head in (("no Host", b"GET /v2 HTTP/1.1\r\n\r\n"), ("two", b"GET /v2 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")):
        check(status_of(server.raw(head)) == 400, f"{text}: refused")
    check(status_of(server.raw(b"GET http://localhost/v2 HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")) == 200,
          "the host of an absolute target holds")
    check(server.end() == 0, "the server ends with 0")


def test_sigterm():
    """40 clients that keep their connection and 40 that do not: what is sent is answered, or nobody was there."""
    for kind, keeps in (("keep-alive", True), ("fresh", False)):
        server = Server("lenet5")
        body = json.dumps(zeros(server.json("GET", "/v2/models/lenet5")[1]))
        lost, answered, stop = [], [0], threading.Event()

        def client():
            connection = None
            while not stop.is_set():
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                    try:
                        connection.connect()
                    except OSError:
                        return  # refused: nothing was sent
                try:
                    connection.request("POST", "/v2/models/lenet5/infer", body)
                    answer = connection.getresponse()
                    answer.read()
                except (OSError, http.client.HTTPException) as problem:
                    lost.append(repr(problem))
                    return
                answered[0] += 1
                if answer.status != 200:
                    lost.append(answer.status)
                if not keeps or answer.will_close:
                    connection.close()
                    connection = None

        threads = [threading.Thread(target=client) for _ in range(40)]
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        code = server.end()
        stop.set()
        for thread in threads:
            thread.join()
        check(code == 0 and not lost and answered[0] > 40, f"SIGTERM with 40 {kind} clients: {answered[0]} answered, lost {lost}")


def test_greeting():
    """Names of a stranger's file are shown as text, and pasting what is printed runs curl alone."""
    folder = FOLDER / "greeting"
    shutil.rmtree(folder, ignore_errors=True)
    for index, name in enumerate(["x';touch RAN;'", "$(touch RAN)`touch RAN`", 'a"b', "\x1b]0;title\x07"]):
        write_identity(folder / f"repository{index}/net/1/model.onnx", FLOAT, [2], names=(name,))
        (folder / f"repository{index}/\x1b[31mred").mkdir()
        server = Server("--repository", folder / f"repository{index}", "--max-batch", "0")
        text = "".join(server.lines)
        check(all(c == "\n" or c >= " " for c in text) and "\\x1b[31mred" in text, "no control characters")
        line = next(line for line in server.lines if line.startswith("try")).split(None, 1)[1]
        ran = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
        check(not (folder / "RAN").exists(), f"nothing ran but curl: {line.strip()}")
        if shutil.which("curl") is not None:
            answer = json.loads(ran.stdout)
            check("outputs" in answer, f"and it works: {ran.stdout[:80]}")
        check(server.end() == 0, "the server ends with 0")


def test_tokens_and_files():
    folder = FOLDER / "tokens"
    folder.mkdir(parents=True, exist_ok=True)
    token = folder / "token"
    for content, word in (("one\ntwo\n", "2 lines"), ("with blank\n", "blank"), (" secret\n", "blank"), ("ge\xe4heim", "ASCII"), ("\n", "empty")):
        token.write_text(content, encoding="latin-1")
        refused = subprocess.run([PROGRAM, "serve", "lenet5", "--port", "0", "--token", str(token)], capture_output=True, text=True,
                                 timeout=60, check=False)
        check(refused.returncode == 2 and word in refused.stderr, f"a token {content!r}: {refused.stderr.strip()[:120]}")

    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))

    for flags in ([], ["--grpc-port", "0"]):
        refused = subprocess.run([PROGRAM, "serve", "lenet5", "--port", "0", *flags], capture_output=True, text=True, preexec_fn=few_files,
                                 timeout=60, check=False)
        check(refused.returncode == 1 and "ulimit -n" in refused.stderr, f"12 files: {refused.returncode}, {refused.stderr.strip()[:120]}")

    token.write_text("first\n", encoding="utf-8")
    server = Server("lenet5", "--token", token)

    def status(word):
        return server.ask("GET", "/v2", headers={"Authorization": "Bearer " + word})[0]

    check(status("first") == 200 and status("second") == 401, "the token of the start holds")
    token.write_text("second\n", encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    for _ in range(100):
        if status("second") == 200:
            break
        time.sleep(0.05)
    check(status("second") == 200 and status("first") == 401, "after SIGHUP the new one")
    token.write_text("two\nlines\n", encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    check(status("second") == 200, "what is no token leaves the old one")
    check(server.end() == 0 and "2 lines" in server.process.stdout.read(), "which is said, and the server ends with 0")


FOLDER.mkdir(parents=True, exist_ok=True)
TESTS = [test_chunks, test_slow_bodies, test_memory, test_answers, test_pictures, test_unpacking, test_browsers, test_load_configuration,
         test_smuggling, test_sigterm, test_greeting, test_tokens_and_files]
for one in TESTS:
    if len(sys.argv) == 3 or one.__name__ in sys.argv[3:]:
        print(f"-- {one.__name__}", flush=True)
        one()
print("all is well")

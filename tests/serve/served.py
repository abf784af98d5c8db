"""A `trainyard serve` process for tests, and the little that its clients need."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess


def check(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")
    print("ok:", text, flush=True)


class Server:
    def __init__(self, program, *arguments, environment=None, before=None):
        """`before` runs in the new process, before the program does."""
        self.process = subprocess.Popen([program, "serve", "--port", "0", *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="surrogateescape",
                                        env={**os.environ, **(environment or {})}, preexec_fn=before)
        self.lines = []
        while not self.lines or not self.lines[-1].startswith("page"):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("FAILED: the server ended: " + "".join(self.lines))
            self.lines.append(line)
        self.port = int(re.search(r":(\d+)$", self.lines[0].strip()).group(1))

    def connect(self, source="127.0.0.1", timeout=60):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout, source_address=(source, 0))

    def raw(self, data, timeout=60):
        """Sends bytes as they are, and reads until the server closes."""
        with self.connect(timeout=timeout) as connection:
            try:
                connection.sendall(data)
            except OSError:
                pass  # it was answered before all was sent
            return read_all(connection)

    def ask(self, method, path, body=None, headers=None, connection=None):
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        own.request(method, path, json.dumps(body) if isinstance(body, (dict, list)) else body, headers or {})
        answer = own.getresponse()
        data = answer.read()
        if connection is None:
            own.close()
        return answer.status, data

    def json(self, method, path, body=None, headers=None):
        status, data = self.ask(method, path, body, headers)
        return status, json.loads(data.decode("utf-8", errors="strict"))

    def memory(self, name="VmRSS"):
        """In MiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(name + r":\s*(\d+) kB", status.read()).group(1)) / 1024

    def end(self, number=signal.SIGTERM, timeout=60):
        self.process.send_signal(number)
        try:
            return self.process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "never"


def read_all(connection):
    data = b""
    try:
        while piece := connection.recv(65536):
            data += piece
    except OSError:
        pass
    return data


def zeros(metadata, rows=1):
    inputs = []
    for tensor in metadata["inputs"]:
        shape = [rows if i == 0 and size < 0 else max(size, 1) for i, size in enumerate(tensor["shape"])]
        count = 1
        for size in shape:
            count *= size
        inputs.append({**tensor, "shape": shape, "data": [0] * count})
    return {"inputs": inputs}

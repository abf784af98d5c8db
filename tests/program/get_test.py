#!/usr/bin/env python3
"""`trainyard data get` and `weights get` against a server on loopback: whole, broken off and gone on with, redirected, damaged, by hand.

usage: get_test.py TRAINYARD FOLDER. Needs Python's standard library, and openssl for the part with TLS.
"""
import gzip
import hashlib
import http.server
import io
import json
import os
import shutil
import ssl
import struct
import subprocess
import sys
import tarfile
import threading
import zlib
from pathlib import Path

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])


def check(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")
    print("ok:", text, flush=True)


def png(color):
    rows = b"".join(b"\0" + bytes(color) * 8 for _ in range(8))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def tar_of(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files, asked = {}, []
    break_after, forget_ranges, redirect = 0, False, ""

    def log_message(self, *_):
        pass

    def do_GET(self):
        kind = type(self)
        kind.asked.append((self.path, self.headers.get("Range")))
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", (kind.redirect or "") + self.path[len("/moved"):])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = kind.files.get(self.path)
        if content is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        begin = 0
        if self.headers.get("Range") and not kind.forget_ranges:
            begin = int(self.headers["Range"][len("bytes="):].rstrip("-"))
        if begin >= len(content) and begin > 0:
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.send_header("ETag", '"one"')
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        if kind.break_after:
            self.wfile.write(content[begin:begin + kind.break_after])
            self.wfile.flush()
            kind.break_after = 0
            self.connection.shutdown(2)
            self.close_connection = True
            return
        self.wfile.write(content[begin:])


def serve(tls=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def run(*arguments, code=0, environment=None):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=FOLDER,
                          env={**os.environ, **(environment or {})})
    if done.returncode != code:
        raise SystemExit(f"FAILED: {arguments} ended with {done.returncode}, expected {code}:\n{done.stdout}{done.stderr}")
    return " ".join((done.stdout + done.stderr).split())  # texts for people are wrapped


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
server = serve()
base = f"http://127.0.0.1:{server.server_port}/"

check("cifar10" in run("data", "get") and "resnet50" in run("weights", "get"), "without a name the sets are listed")
check("Did you mean cifar10" in run("data", "get", "cifar1", code=2), "a wrong name gets the nearest one")
check("does not belong" in run("data", "get", "cifar10", "--augment", "flip", code=2), "flags of other actions are refused")

# A set of our own: an archive with an archive in it, checked by both kinds of digests.
pictures = {f"{split}/{name}/{i}.png": png(color) for split in ("train", "val") for name, color in (("red", (200, 0, 0)), ("blue", (0, 0, 200)))
            for i in range(2)}
archive = gzip.compress(tar_of({"inner.tar": tar_of({f"colors/{name}": content for name, content in pictures.items()})}))
blob = os.urandom(300_000)
Handler.files = {"/set.tar.gz": archive, "/blob.bin": blob, "/plain.bin": b"plain"}
listing = FOLDER / "files.yaml"


def write_listing(archive_digest, where=base):
    listing.write_text(f"""data:
  colors:
    about: red and blue
    from: "{where}"
    checksums: "this test"
    files:
      - {{name: set.tar.gz, bytes: {len(archive)}, md5: "{archive_digest}", unpack: true}}
      - {{name: blob.bin, sha256: "{hashlib.sha256(blob).hexdigest()}"}}
      - {{name: plain.bin}}
    use: "folder:{{to}}/colors"
weights:
  beginning:
    from: "{where}"
    files: [{{name: blob.bin, sha256: "{hashlib.sha256(blob).hexdigest()[:8]}"}}]
""")


def get(*more, code=0, kind="data", name="colors", to="here", environment=None):
    return run(kind, "get", name, "--files", listing, "--to", to, *more, code=code, environment=environment)


write_listing(hashlib.md5(archive).hexdigest())
said = get()
check("as expected; 8 files unpacked" in said and "unverified" in said and hashlib.sha256(b"plain").hexdigest() in said,
      "files are brought, checked and unpacked; what has no checksum is said with its digest")
check("Use it as --data folder:here/colors" in said, "the next command is said")
check(json.loads(run("data", "inspect", "folder:here/colors", "--json"))["samples"] == 4, "the set can be opened")
check("begins as expected" in get(kind="weights", name="beginning"), "the beginning of a digest is enough")
Handler.asked.clear()
get()
check(Handler.asked == [], "what is there is not asked for again")

# A connection that breaks is gone on with, in one call or the next.
Handler.break_after = 1000
get(to="broken")
check((FOLDER / "broken/set.tar.gz").read_bytes() == archive and (FOLDER / "broken/blob.bin").read_bytes() == blob, "a broken connection is resumed")
check(any(asked == "bytes=1000-" for _, asked in Handler.asked) or len(archive) <= 1000, "from the byte at which it broke")
(FOLDER / "resumed").mkdir()
(FOLDER / "resumed/blob.bin.part").write_bytes(blob[:7777])
Handler.asked.clear()
get(to="resumed")
check(("/blob.bin", "bytes=7777-") in Handler.asked and (FOLDER / "resumed/blob.bin").read_bytes() == blob, "a part that is there is gone on with")
Handler.forget_ranges = True
(FOLDER / "whole").mkdir()
(FOLDER / "whole/blob.bin.part").write_bytes(b"x" * 7777)
get(to="whole")
Handler.forget_ranges = False
check((FOLDER / "whole/blob.bin").read_bytes() == blob, "a server without ranges sends all of it")
(FOLDER / "full").mkdir()
(FOLDER / "full/blob.bin.part").write_bytes(b"y" * len(blob))
get(to="full")
check((FOLDER / "full/blob.bin").read_bytes() == blob, "a part that is too long is begun anew")

# Elsewhere, by hand, damaged.
write_listing(hashlib.md5(archive).hexdigest(), base + "moved/")
get(to="redirected")
check((FOLDER / "redirected/blob.bin").read_bytes() == blob, "redirects are followed")
Handler.redirect = "file://"
check("neither with http:// nor" in get(to="nowhere", code=2), "a redirect to a file is refused")
Handler.redirect = "/moved"
check("redirects without end" in get(to="nowhere", code=1), "redirects end")
Handler.redirect = ""
write_listing("0" * 32)
check("damaged or another file" in get(to="wrong", code=2) and not (FOLDER / "wrong/colors").exists(), "another file is refused before it is unpacked")
write_listing(hashlib.md5(archive).hexdigest(), "http://127.0.0.1:9/")
said = get(to="offline", code=1)
check("By hand: put http://127.0.0.1:9/set.tar.gz" in said and str(FOLDER / "offline") in said and hashlib.md5(archive).hexdigest() in said,
      "without a network it is said what to put where")
for name, content in (("set.tar.gz", archive), ("blob.bin", blob), ("plain.bin", b"plain")):
    (FOLDER / "offline" / name).write_bytes(content)
check("8 files unpacked" in get(to="offline"), "files put there by hand are taken")
check("not there any more" in get("--from", base + "gone", to="gone", code=1), "a file that is gone is said")
check("8 files unpacked" in get("--from", base[:-1], to="mirror"), "a mirror is asked instead")

# What leads out of the folder, and what is cut short.
for content, words in ((tar_of({"../out.txt": b"x"}), "leads out"), (archive[:200], "cut short"), (b"no archive" * 100, "no tar archive"),
                       (tar_of({".": b"x"}), "no name of a file"), (tar_of({"a/..": b"x"}), "no name of a file")):
    Handler.files["/set.tar.gz"] = content
    listing.write_text(f'data: {{colors: {{from: "{base}", files: [{{name: set.tar.gz, unpack: true}}]}}}}')
    shutil.rmtree(FOLDER / "bad", ignore_errors=True)
    check(words in get(to="bad", code=2) and not (FOLDER / "out.txt").exists(), f"an archive that is bad: {words}")

Handler.files["/set.tar.gz"] = tar_of({"old/": b"", "old/a.txt": b"x"})
shutil.rmtree(FOLDER / "bad")
check("1 files unpacked" in get(to="bad") and (FOLDER / "bad/old/a.txt").read_bytes() == b"x", "a folder may be marked by its slash alone")

# Two classes of Open Images.
box = "{},xclick,{},1,0.1,0.9,0.2,0.8,0,0,0,{},0\n"
heading = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside\n"
Handler.files["/class-descriptions-boxable.csv"] = b"/m/1,Handgun\n/m/2,Shotgun\n/m/3,Tree\n"
for number, split in enumerate(("train", "validation", "test")):
    ids = [f"{number}a", f"{number}b", f"{number}c", f"{number}d"]
    Handler.files[f"/{split}/{split}-annotations-bbox.csv"] = (
        heading + box.format(ids[0], "/m/1", 0) + box.format(ids[1], "/m/2", 0) + box.format(ids[2], "/m/3", 0) + box.format(ids[3], "/m/1", 1)
        + box.format(ids[0], "/m/2", 0) + box.format(f"{number}e", "/m/1", 0)).encode()
    for name in ids:
        Handler.files[f"/{split}/{name}.jpg"] = png((9, 9, 9))
said = run("data", "get", "open-images", "--classes", "Handgun,Shotgun", "--from", base, "--to", "guns")
check("train: 2 pictures with 3 boxes, 1 are not there any more" in said, "pictures with boxes of the classes are brought; drawings are not")
rows = (FOLDER / "guns/sub-train-annotations-bbox.csv").read_text().splitlines()
check(rows[0].endswith("IsInside,id,ClassName") and len(rows) == 4 and rows[1].endswith(",/m/1,Handgun"), "the table is that of the downloader")
check(not (FOLDER / "guns/train/0c.jpg").exists(), "pictures without such a box stay where they are")
check(json.loads(run("data", "inspect", "openimages:guns", "--json"))["samples"] == 2, "the set can be opened")
check("1 pictures" in run("data", "get", "open-images", "--classes", "Handgun", "--most", "1", "--from", base, "--to", "one"), "--most limits them")
check("Did you mean Handgun" in run("data", "get", "open-images", "--classes", "Handgum", "--from", base, "--to", "guns", code=2), "a wrong class gets the nearest one")
check("say which classes" in run("data", "get", "open-images", code=2), "classes must be said")

# TLS: a certificate that nobody vouches for is refused, one that the system trusts is taken.
key, certificate = FOLDER / "key.pem", FOLDER / "certificate.pem"
subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
secure = serve(context)
Handler.files["/set.tar.gz"] = archive
write_listing(hashlib.md5(archive).hexdigest(), f"https://localhost:{secure.server_port}/")
check("certificate verify failed" in get(to="tls", code=1), "an unknown certificate is refused")
check("8 files unpacked" in get(to="tls", environment={"SSL_CERT_FILE": str(certificate)}), "a trusted one is taken")
write_listing(hashlib.md5(archive).hexdigest(), f"https://127.0.0.1:{secure.server_port}/")
check("certificate verify failed" in get(to="name", code=1, environment={"SSL_CERT_FILE": str(certificate)}), "one of another name is refused")
Handler.redirect = base[:-1]
write_listing(hashlib.md5(archive).hexdigest(), f"https://localhost:{secure.server_port}/moved/")
check("which is not encrypted" in get(to="down", code=1, environment={"SSL_CERT_FILE": str(certificate)}), "https does not lead to http")

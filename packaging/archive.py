#!/usr/bin/env python3
"""Makes an archive that runs where it is unpacked: the program with its shared libraries.

    archive.py PREFIX PROGRAM OUTPUT.tar.gz

PREFIX is what `cmake --install --component program` filled. Libraries are found beside the program ($ORIGIN), whatever the system has. The C
library is the system's if it is new enough, since drivers of devices need that one, and else the one of lib/glibc (packaging/launcher.sh).
"""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import third_party

GLIBC = ("libc6",)
HERE = pathlib.Path(__file__).resolve().parent


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def needed_glibc(files):
    """The newest version of the C library that any of the files asks for."""
    found = {tuple(map(int, version.split("."))) for file in files for version in re.findall(r"GLIBC_([0-9.]+)", run("objdump", "-T", file))}
    return ".".join(map(str, max(found)))


def fill(folder, prefix, program):
    shutil.copytree(prefix, folder, symlinks=True)
    shutil.rmtree(folder / "lib", ignore_errors=True)  # units name /usr/bin
    (folder / "lib/glibc").mkdir(parents=True)
    binary = folder / "lib/trainyard"
    shutil.move(folder / "bin/trainyard", binary)
    packages = {part.library: part.package for part in third_party.parts()}
    ours = [binary]
    for name, file in third_party.loaded_names(program).items():
        system = packages[name] in GLIBC
        target = folder / ("lib/glibc" if system else "lib") / name
        shutil.copy(os.path.realpath(file), target)
        target.chmod(0o755)
        if not system:
            ours.append(target)
    for file in ours:
        run("strip", "--strip-unneeded", file)
        run("patchelf", "--set-rpath", "$ORIGIN", file)
    launcher = folder / "bin/trainyard"
    launcher.write_text((HERE / "launcher.sh").read_text().replace("@GLIBC@", needed_glibc(ours)))
    launcher.chmod(0o755)
    run(sys.executable, "-B", HERE / "notices.py", program, folder / "share/doc/trainyard/THIRD_PARTY_NOTICES", "--libraries", "--strict")


def pack(folder, output):
    """The same files give the same archive: sorted, of nobody, as old as SOURCE_DATE_EPOCH says."""
    date = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = date
        return entry

    with open(output, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=date) as packed, \
            tarfile.open(mode="w", fileobj=packed) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder.parent), recursive=False, filter=plain)


def main():
    prefix, program, output = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / output.name.removesuffix(".tar.gz")
        fill(folder, prefix, program)
        pack(folder, output)
    print(f"{output.stat().st_size / 1e6:.1f} MB {output}")


if __name__ == "__main__":
    main()

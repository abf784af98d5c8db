"""The rows of third_party.csv: what is linked and bundled, where its license and its version are written down."""
import csv
import dataclasses
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMON_LICENSES = pathlib.Path("/usr/share/common-licenses")
# How a row of third_party.csv is part of the program, and what that means for who passes the program on: only what lies in
# the program itself is passed on with a package that depends on Debian's libraries.
IN_THE_PROGRAM = ("static", "headers", "bundled in pages")


@dataclasses.dataclass(frozen=True)
class Part:
    library: str
    project: str
    license: str
    linked: str
    package: str

    @property
    def npm(self):
        """The name in node_modules; empty for Debian's packages."""
        return self.package.removeprefix("npm:") if self.package.startswith("npm:") else ""


def parts(table=ROOT / "third_party.csv"):
    with open(table, newline="") as file:
        return [Part(**row) for row in csv.DictReader(file)]


def _npm_folder(part):
    return ROOT / "web/node_modules" / part.npm


def license_text(part):
    """The license as its authors wrote it, or None where the package is not installed."""
    if not part.npm:
        file = pathlib.Path("/usr/share/doc") / part.package / "copyright"
        return file.read_text(errors="replace") if file.exists() else None
    texts = [file.read_text() for pattern in ("LICENSE*", "NOTICE*") for file in sorted(_npm_folder(part).glob(pattern)) if file.is_file()]
    return "\n".join(texts) or None


def version(part):
    """As Debian's or npm's package says it; None where it is not installed."""
    if part.npm:
        file = _npm_folder(part) / "package.json"
        return json.loads(file.read_text())["version"] if file.exists() else None
    found = subprocess.run(["dpkg-query", "-W", "-f=${Version}", part.package], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def loaded_names(program):
    """The shared libraries of a program, by name, and the file of each."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for line in lines:
        words = line.split()
        if words[0].startswith("linux-vdso"):
            continue
        found[pathlib.Path(words[0]).name] = words[2] if "=>" in words else words[0]
    return found


def installed(part, file):
    """The row with the package that `file` is from, where it is another than the row's: several have libblas.so.3, and some come in flavors."""
    if license_text(part):
        return part
    owner = subprocess.run(["dpkg-query", "-S", pathlib.Path(file).resolve()], capture_output=True, text=True, check=False).stdout
    return dataclasses.replace(part, package=owner.split(":")[0] or part.package)


def passed_on(program, libraries_too):
    """The rows that a package hands on: what is in the program, and its shared libraries if they come with it."""
    loaded = loaded_names(program) if libraries_too else {}
    return [installed(part, loaded[part.library]) if part.library in loaded else part
            for part in parts() if part.linked in IN_THE_PROGRAM or part.library in loaded]


def common_licenses(texts):
    """Files of /usr/share/common-licenses that the texts only name, since Debian has them; others need them with it."""
    named = sorted({match.rstrip(".") for text in texts for match in re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]+)", text)})
    return {name: (COMMON_LICENSES / name).read_text() for name in named if (COMMON_LICENSES / name).is_file()}

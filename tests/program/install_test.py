#!/usr/bin/env python3
"""What `cmake --install` puts in place besides the program: manual, completions, licenses.

    install_test.py BUILD WORK

Pages and completions are read by the tools they are for, where those are installed.
"""
import gzip
import json
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "packaging"))
import third_party  # noqa: E402

build, work = map(pathlib.Path, sys.argv[1:])
share = work / "share"


def output(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def check_manual(program):
    commands = json.loads(output(program, "help", "--json"))["commands"]
    pages = {file.name for file in (share / "man/man1").iterdir()}
    assert pages == {"trainyard.1.gz"} | {f"trainyard-{command['name']}.1.gz" for command in commands}, pages
    if not shutil.which("mandoc"):
        return print("not checked with mandoc, which is not installed")
    for page in sorted(pages):
        text = work / page.removesuffix(".gz")
        text.write_bytes(gzip.decompress((share / "man/man1" / page).read_bytes()))
        found = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", text], capture_output=True, text=True, check=False).stdout
        # Pages have no date, so that they are the same whenever they are written.
        wrong = [line for line in found.splitlines() if "missing date" not in line]
        assert not wrong, wrong[:5]


def check_completions():
    files = {"bash": ("bash-completion/completions/trainyard", "-n"), "zsh": ("zsh/vendor-completions/_trainyard", "-n"),
             "fish": ("fish/vendor_completions.d/trainyard.fish", "--no-execute")}
    for shell, (name, flag) in files.items():
        assert (share / name).stat().st_size > 1000, name
        if shutil.which(shell):
            subprocess.run([shell, flag, share / name], check=True)
    script = f"source {share / files['bash'][0]}; COMP_WORDS=(trainyard analyze --ba); COMP_CWORD=2; _trainyard; echo ${{COMPREPLY[@]}}"
    assert output("bash", "-c", script).split() == ["--batch"]
    if shutil.which("zsh"):  # found in $fpath, and known to the shell's own completion
        script = f"fpath=({(share / files['zsh'][0]).parent} $fpath); autoload -Uz compinit; compinit -u -D; print $_comps[trainyard]"
        assert output("zsh", "-f", "-c", script).strip() == "_trainyard"
    if shutil.which("fish"):
        script = f"source {share / files['fish'][0]}; complete -C 'trainyard analyze --ba'"
        assert output("fish", "--no-config", "-c", script).split()[0] == "--batch"


def check_licenses(program):
    folder = share / "doc/trainyard"
    assert "Apache License" in (folder / "LICENSE").read_text()
    assert "Apache ECharts" in (folder / "NOTICE").read_text()
    text = (folder / "THIRD_PARTY_NOTICES").read_text()
    expected = [part for part in third_party.parts() if part.linked in third_party.IN_THE_PROGRAM]
    assert len(expected) >= 11, expected
    for part in expected:
        assert f"({part.package} " in text, f"no license of {part.package}"
        words = third_party.license_text(part)
        assert words is None or words.rstrip() in text, part.package
    archive = work / "notices"
    output("python3", "-B", SOURCE / "packaging/notices.py", program, archive, "--libraries")
    text = archive.read_text()
    packages = {part.library: part.package for part in third_party.parts()}
    for name in third_party.loaded_names(program):
        assert f"({packages[name]} " in text, f"no license of {name}"


def check_bill_of_materials(program):
    file = work / "sbom.json"
    output("python3", "-B", SOURCE / "packaging/sbom.py", program, file)
    bill = json.loads(file.read_text())
    names = {package["name"] for package in bill["packages"]}
    assert third_party.loaded_names(program).keys() <= names, names
    identifiers = {package["SPDXID"] for package in bill["packages"]} | {"SPDXRef-DOCUMENT"}
    assert len(identifiers) == len(bill["packages"]) + 1, "two packages have one identifier"
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= identifiers, relation


def check_pages():
    """The npm packages of third_party.csv are those that the bundler really puts into pages."""
    web = SOURCE / "web"
    if not (web / "node_modules/esbuild").exists():
        return print("bundles not checked: the packages of web/ are not installed")
    entries = ["src/report.ts", "src/report_basic.ts", "src/serve.tsx", "src/ui.tsx"]
    found = subprocess.run(["node", "test/bundled.mjs", *entries], cwd=web, capture_output=True, text=True, check=True).stdout.split()
    assert found == sorted(part.npm for part in third_party.parts() if part.npm), found


shutil.rmtree(work, ignore_errors=True)
output("cmake", "--install", build, "--prefix", work, "--component", "program")
check_manual(work / "bin/trainyard")
check_completions()
check_licenses(work / "bin/trainyard")
check_pages()
check_bill_of_materials(work / "bin/trainyard")
assert not (work / "include").exists() and not (work / "lib/trainyard").exists(), "the library belongs to another component"
shutil.rmtree(work)
print("manual, completions and licenses are in place")

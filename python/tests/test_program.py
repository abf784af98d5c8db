"""Programs that are missing, of another version, or cut short; and the import, which must be quick."""
import stat
import subprocess
import sys

import pytest

import trainyard as ty
from trainyard import program


def fake(tmp_path, script):
    file = tmp_path / "trainyard"
    file.write_text("#!/bin/sh\n" + script)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def test_missing_program(monkeypatch):
    monkeypatch.setenv("TRAINYARD", "/nowhere/trainyard")
    with pytest.raises(ty.ProgramError, match="/nowhere/trainyard"):
        ty.models()


def test_other_version_names_both(monkeypatch, tmp_path):
    monkeypatch.setenv("TRAINYARD", fake(tmp_path, 'echo \'{"version": "9.9.9", "commands": []}\''))
    with pytest.raises(ty.ProgramError, match=f"9.9.9.*{ty.__version__}"):
        ty.command("models")


def test_version_of_a_program_that_does_not_describe_itself(monkeypatch, tmp_path):
    monkeypatch.setenv("TRAINYARD", fake(tmp_path, 'case $1 in version) echo trainyard 0.0.9;; *) echo unknown command >&2; exit 2;; esac'))
    with pytest.raises(ty.ProgramError, match=f"0.0.9.*{ty.__version__}.*unknown command"):
        ty.command("models")


def test_error_of_several_lines_is_whole(monkeypatch, tmp_path):
    said = "trainyard: these differ:\n  epochs: 3, asked for: 2\n"
    monkeypatch.setenv("TRAINYARD", fake(tmp_path, f"printf 'epoch 1/3\n{said}' >&2; exit 2"))
    with pytest.raises(ty.RequestError) as caught:
        program.call(["train"])
    assert str(caught.value) == "these differ:\n  epochs: 3, asked for: 2"


def test_answer_that_was_cut(monkeypatch, tmp_path):
    monkeypatch.setenv("TRAINYARD", fake(tmp_path, 'echo \'{"title": "x", "blo\''))
    with pytest.raises(ty.ProgramError, match="cut short"):
        program.call(["models"])


def test_signal_is_an_internal_error(monkeypatch, tmp_path):
    monkeypatch.setenv("TRAINYARD", fake(tmp_path, "kill -SEGV $$"))
    with pytest.raises(ty.InternalError, match="signal 11"):
        program.call(["models"])


def test_interrupt_stops_the_program(monkeypatch, tmp_path):
    # The program notes that it was asked to stop; the interrupt comes while its output is read.
    note = tmp_path / "note"
    monkeypatch.setenv("TRAINYARD", fake(tmp_path, f"trap 'echo stopped > {note}; exit 1' TERM\nsleep 0.5\nkill -INT $PPID\nsleep 30 >/dev/null 2>&1 & wait"))
    with pytest.raises(KeyboardInterrupt):
        program.execute(["train"])
    assert note.read_text() == "stopped\n"


def test_import_loads_only_what_it_needs():
    """Below 150 ms: what few need is loaded by who needs it."""
    late = ["numpy", "pandas", "IPython", "matplotlib", "trainyard.native", "trainyard._engine", "trainyard.magic", "asyncio", "ctypes",
            "difflib", "email", "gzip", "html", "http", "inspect", "logging", "multiprocessing", "tempfile", "unittest"]
    # In the order of loading, without what the interpreter loads by itself.
    script = "import sys; before = set(sys.modules); import trainyard; print(*(m for m in sys.modules if m not in before))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "trainyard.program" in loaded
    assert [name for name in late if name in loaded] == []

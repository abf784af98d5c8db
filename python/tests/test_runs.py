"""Training beside the interpreter."""
import os
import signal
import subprocess
import sys
import time

import pytest

import trainyard as ty

SMALL = {"model": "lenet5", "data": "synthetic:1x28x28,classes=4,size=64", "batch": 16, "threads": 1}


def wait_for_steps(run, least):
    deadline = time.monotonic() + 60
    while len(run.metrics()) < least:
        assert time.monotonic() < deadline, run
        time.sleep(0.05)


def test_train_and_compare(tmp_path):
    runs = [ty.train(epochs=1, seed=seed, runs_dir=tmp_path, name=f"s{seed}", **SMALL) for seed in (1, 2)]
    assert all(run.metrics() for run in runs)
    assert ty.compare(runs).charts


def test_stop_and_resume(tmp_path):
    run = ty.train(wait=False, epochs=100000, runs_dir=tmp_path, **SMALL)
    wait_for_steps(run, 3)
    assert run.running
    run.stop()
    steps = run.metrics()[-1]["step"]
    again = run.resume()
    wait_for_steps(again, len(run.metrics()) + 3)
    again.stop()
    assert again.metrics()[-1]["step"] > steps
    assert "ended" in repr(again)


def test_a_cell_shows_a_report_once(tmp_path, monkeypatch):
    """The live curves of a cell become the report; the result of the same cell only points to it."""
    result = ty.train(epochs=1, runs_dir=tmp_path, name="r", **SMALL).result()
    result._shown_in = 7
    monkeypatch.setattr("trainyard.result.cell_number", lambda: 7)
    assert result._repr_mimebundle_() == {"text/plain": "Training run r: see above"}
    monkeypatch.setattr("trainyard.result.cell_number", lambda: 8)
    assert "<iframe" in result._repr_mimebundle_()["text/html"]


def test_wrong_flags_are_said(tmp_path):
    with pytest.raises(ty.RequestError, match="Did you mean epochs"):
        ty.train(epoks=1)
    run = ty.train(wait=False, runs_dir=tmp_path, **{**SMALL, "model": "lenet55"})
    with pytest.raises(ty.RequestError, match="lenet5"):
        run.wait()


@pytest.mark.parametrize("keep", [True, False])
def test_a_killed_interpreter_leaves_or_ends_the_run(tmp_path, keep):
    code = (f"import trainyard as ty, time\nrun = ty.train(wait=False, keep={keep}, epochs=100000, runs_dir={str(tmp_path)!r}, name='r', "
            f"**{SMALL!r})\nprint(run._process.pid, flush=True)\ntime.sleep(60)")
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    wait_for_steps(ty.Run(tmp_path / "r"), 3)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + (20 if not keep else 2)
    while time.monotonic() < deadline and alive(child):
        time.sleep(0.1)
    assert alive(child) == keep
    if keep:
        os.kill(child, signal.SIGTERM)


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().split(") ")[1][0] != "Z"
    except FileNotFoundError:
        return False

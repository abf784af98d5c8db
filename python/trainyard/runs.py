"""Training that goes on beside the notebook: a child process, its directory, its curves."""
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from . import show
from .commands import command_line
from .errors import FailureError, error_of
from .program import STOP_SECONDS, call, description, end_process, execute, find_program, parse
from .progress import cell_number, in_notebook, progress_line
from .result import Result

REFRESH_SECONDS = 2.0
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def find_runs(folder: Any) -> str:
    """The folder of results: `folder` if it is there, else one of its name beside or above the working directory, so that a notebook finds
    them wherever it is executed. Where there is none it is `runs` in the working directory."""
    wanted = pathlib.Path(folder)
    if wanted.is_dir():
        return str(wanted)
    here = pathlib.Path.cwd()
    for place in (here, *here.parents):
        if (place / wanted.name).is_dir():
            return str(place / wanted.name)
    return wanted.name


def _ends_with_parent() -> Callable[[], Any]:
    """What a child calls first. Everything is loaded before it exists: loading could wait for a thread that it does not have."""
    import ctypes
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return lambda: prctl(_DEATH_SIGNAL, signal.SIGTERM)


class Run:
    """A training run: its directory, and the process that fills it if one does."""

    def __init__(self, path: Any, process: "Optional[subprocess.Popen[bytes]]" = None, messages: Any = None) -> None:
        self.path = str(path)
        self._process = process
        self._messages = messages
        self._display: Any = None
        self._shown_in: Optional[int] = None
        self._follower: Optional[threading.Thread] = None
        if process is not None and in_notebook():
            self._show_live()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def metrics(self) -> List[Dict[str, Any]]:
        """The lines of metrics.jsonl so far; a last one that is still being written is left out."""
        file = pathlib.Path(self.path) / "metrics.jsonl"
        if not file.exists():
            return []
        rows = []
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                break
        return rows

    def wait(self) -> Result:
        """Until it ends; its report. An interrupt stops the run (it saves a checkpoint)."""
        if self._process is not None:
            try:
                self._process.wait()
            except BaseException:
                self.stop()
                raise
            self._require_success()
        result = self.result()
        if self._follower is not None:
            # The curves of this cell have become the report: the result of the cell would be the same again.
            self._follower.join()
            result._shown_in = self._shown_in
        return result

    def stop(self, seconds: float = STOP_SECONDS) -> "Run":
        """Asks it to save a checkpoint and end, and waits for that."""
        if self._process is not None:
            end_process(self._process, seconds)
        return self

    def resume(self, wait: bool = False, keep: bool = True, **flags: Any) -> "Run":
        """Goes on from the last checkpoint, with other flags if given (more epochs, other workers)."""
        if self.running:
            raise FailureError(f"{self.path} is still running; stop() it first")
        path = pathlib.Path(self.path)
        run = start(["--resume", path.name, "--runs-dir", str(path.parent)], path, flags, keep)
        if wait:
            run.wait()
        return run

    def result(self) -> Result:
        return Result(call(["report", self.path]))

    def _require_success(self) -> None:
        assert self._process is not None
        code = self._process.returncode
        # 1: stopped on request; what it has is there.
        if code not in (0, 1) or (code == 1 and not self.metrics()):
            raise error_of(code, self._said())

    def _said(self) -> str:
        if self._messages is None:
            return ""
        self._messages.seek(0)
        return str(self._messages.read().decode("utf-8", "replace"))

    def _show_live(self) -> None:
        from IPython.display import display
        self._display = display(self, display_id=True)
        self._shown_in = cell_number()
        self._follower = threading.Thread(target=self._follow, daemon=True)
        self._follower.start()

    def _follow(self) -> None:
        while self.running:
            time.sleep(REFRESH_SECONDS)
            self._display.update(self)
        self._display.update(self)

    def _bundle(self) -> Optional[Dict[str, Any]]:
        code, out, _ = execute(["report", self.path, "--format", "bundle"])
        return parse(out, "the report") if code == 0 else None

    def __repr__(self) -> str:
        steps = [row for row in self.metrics() if "step_ms" in row]
        state = "running" if self.running else "ended"
        last = f", step {steps[-1]['step']}, loss {steps[-1]['loss']:.4g}" if steps else ""
        return f"Run({self.path}: {state}{last})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, str]:
        bundle = self._bundle()
        if bundle is None:
            return {"text/plain": repr(self)}
        # Pictures while it runs: a frame that is replaced every two seconds would flicker.
        shown = show.static_bundle(bundle["blocks"]) if self.running else show.mime_bundle(bundle)
        shown["text/plain"] = repr(self) + "\n\n" + shown["text/plain"]
        return shown


def start(fixed: List[str], path: pathlib.Path, flags: Dict[str, Any], keep: bool) -> Run:
    import tempfile
    words = [*command_line("train", [], flags), *fixed, "--quiet"]
    messages = tempfile.TemporaryFile()
    before = None if keep else _ends_with_parent()
    process = subprocess.Popen([find_program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages,
                               start_new_session=True, preexec_fn=before)
    return Run(path, process, messages)


def train(wait: bool = True, keep: bool = True, **flags: Any) -> Run:
    """Trains a network: `train(model="lenet5", data="fashion-mnist", epochs=2)`.

    `wait=False` returns at once; in a notebook the curves follow. The run is a child process with a directory of its own:
    `keep=True` leaves it running if this process dies, `keep=False` ends it (with a checkpoint).
    """
    description()  # a program of another version is an error now, not in the child
    root = pathlib.Path(str(flags.pop("runs_dir", "runs")))
    name = str(flags.pop("name", "") or f"{flags.get('model', 'run')}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{time.monotonic_ns() % 10**6}")
    name = name.replace("/", "_")
    if not wait:
        return start(["--name", name, "--runs-dir", str(root)], root / name, flags, keep)
    words = command_line("train", [], {**flags, "name": name, "runs_dir": str(root)})
    with progress_line() as progress:
        call(words, progress)
    return Run(root / name)

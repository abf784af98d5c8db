"""Finds the program, runs it, and knows what it can do."""
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .errors import ProgramError, TrainyardError, error_of
from .version import VERSION

# How long a program that was asked to stop may take to save and end.
STOP_SECONDS = 60.0


def find_program(path: bool = True) -> str:
    """TRAINYARD, else the program inside the package, else the one of a source tree around it, else (if `path`) the one in PATH."""
    chosen = os.environ.get("TRAINYARD")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise ProgramError(f"TRAINYARD says {chosen}, which is no program that can be run")
        return chosen
    here = pathlib.Path(__file__).resolve().parent
    for candidate in (here / "bin" / "trainyard", here.parent.parent / "build" / "release" / "trainyard"):
        if os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("trainyard") if path else None
    if found:
        return found
    raise ProgramError("the program trainyard was not found: put it into PATH, or its path into the variable TRAINYARD")


def end_process(process: "subprocess.Popen[Any]", seconds: float = STOP_SECONDS) -> None:
    """Asks a process to stop (it saves), and ends it if it does not."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def execute(arguments: Sequence[str], on_progress: Optional[Callable[[str], None]] = None,
            cwd: Optional[str] = None) -> Tuple[int, str, str]:
    """Runs the program to its end. Ctrl-C stops it as it would in a terminal: it saves, then KeyboardInterrupt goes on."""
    # A session of its own: an interrupt reaches it once, from here, wherever this runs.
    process = subprocess.Popen([find_program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, start_new_session=True, cwd=cwd)
    assert process.stdout is not None and process.stderr is not None
    said: List[str] = []

    def follow(stream: Any) -> None:
        for line in stream:
            text = line.decode("utf-8", "replace")
            said.append(text)
            if on_progress is not None and text.strip():
                on_progress(text.rstrip("\n"))

    reader = threading.Thread(target=follow, args=(process.stderr,), daemon=True)
    try:
        reader.start()
        out = process.stdout.read()
        code = process.wait()
    except BaseException:
        end_process(process)
        raise
    finally:
        reader.join(timeout=1)
        process.stdout.close()
        process.stderr.close()
    return code, out.decode("utf-8", "replace"), "".join(said)


def parse(text: str, what: str) -> Any:
    """JSON of the program; one that was cut is an error that says so."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ProgramError(f"{what} is no whole JSON text ({error}); was it cut short?") from None


def _version_of(program: str) -> str:
    """What a program says that cannot describe itself."""
    try:
        finished = subprocess.run([program, "version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    words = finished.stdout.split()
    return words[1] if finished.returncode == 0 and len(words) > 1 and words[0] == "trainyard" else "unknown"


@functools.lru_cache(maxsize=4)
def _description(program: str) -> Dict[str, Any]:
    finished = subprocess.run([program, "help", "--json"], capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise ProgramError(f"{program} (version {_version_of(program)}) does not describe itself; this package is {VERSION} and needs a "
                           f"program of the same version: {finished.stderr.strip()}")
    described: Dict[str, Any] = parse(finished.stdout, f"what {program} says of itself")
    if described.get("version") != VERSION:
        raise ProgramError(f"{program} is version {described.get('version')}, this package is {VERSION}; they must be the same")
    return described


def description() -> Dict[str, Any]:
    """Commands and their arguments, as the program describes itself. Throws ProgramError if it is of another version."""
    return _description(find_program())


def call(arguments: Sequence[str], on_progress: Optional[Callable[[str], None]] = None) -> Dict[str, Any]:
    """Runs a command line and returns its bundle: data, blocks, page."""
    code, out, err = execute([*arguments, "--format", "bundle"], on_progress)
    # Exit code 1 with a result: a comparison that found something, a run that was stopped.
    if code != 0 and not (code == 1 and out.startswith("{")):
        raise error_of(code, err)
    bundle: Dict[str, Any] = parse(out, f"the answer of trainyard {arguments[0]}")
    bundle["code"] = code
    bundle["messages"] = err
    return bundle


__all__ = ["TrainyardError", "call", "description", "end_process", "execute", "find_program", "parse"]

"""Trainyard in Python: `import trainyard as ty`, then `ty.predict("resnet50", device="v100", workers=[1, 2, 4, 8])`.

Every command of the program is a function here: positional arguments are the command's, keyword arguments its flags
(`data_workers=2` is --data-workers 2, `quick=True` is --quick, lists are comma-separated). Results show themselves in
notebooks and have `.json()`, `.rows()`, `.df()` and `.to_html(path)`. `ty.Session`, `ty.Graph` and `ty.TrainingStep` are
the engine itself, with NumPy arrays in and out.
"""
from typing import TYPE_CHECKING, Any, Callable, List, Sequence

from .commands import command_line, command_names, find_command
from .errors import FailureError, InternalError, ProgramError, RequestError, TrainyardError
from .program import call, find_program
from .progress import progress_line
from .result import Block, Result
from .runs import Run, find_runs, train
from .show import display
from .version import VERSION as __version__

if TYPE_CHECKING:
    from .native import Graph, Session, Tensor, TrainingStep

_NATIVE = ("Graph", "Session", "Tensor", "TrainingStep")


def command(name: str, /, *positionals: Any, **flags: Any) -> Result:
    """Any command of the program: `command("jobs", "plan", "job.yaml")`."""
    words = command_line(name, positionals, flags)
    with progress_line() as progress:
        return Result(call(words, progress))


def lab(name: str, /, **flags: Any) -> Result:
    """Runs an experiment and shows its report: `lab("staleness", quick=True)`. Results that are there are not measured again."""
    return command("lab", "run", name, **flags)


def course(problem: str, /, **flags: Any) -> Result:
    """Answers a problem of the course by the labs that do: `course("hw7-p2", scale="quick")`."""
    return command("lab", "run", course=problem, **flags)


def labs() -> Result:
    return command("lab", "list")


def report(*runs: Any) -> Result:
    """Curves and figures of training runs: directories, names or Run objects."""
    return command("report", *(run.path if isinstance(run, Run) else run for run in runs))


def compare(runs: Sequence[Any]) -> Result:
    """Training runs side by side."""
    return report(*runs)


def _function(name: str) -> Callable[..., Result]:
    described = find_command(name)

    def run(*positionals: Any, **flags: Any) -> Result:
        return command(name, *positionals, **flags)

    lines = [described["summary"], ""]
    for argument in described["arguments"]:
        shown = argument["name"] if argument["positional"] else argument["name"][2:].replace("-", "_")
        lines.append(f"    {shown}: {argument['help']}")
    run.__name__ = run.__qualname__ = name.replace("-", "_")
    run.__doc__ = "\n".join(lines)
    return run


def __getattr__(name: str) -> Any:
    if name in _NATIVE:
        from . import native
        return getattr(native, name)
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        function = _function(name.replace("_", "-"))
    except RequestError as error:
        raise AttributeError(str(error)) from None
    globals()[name] = function
    return function


def __dir__() -> List[str]:
    names = set(globals()) | set(_NATIVE)
    try:
        names |= {command.replace("-", "_") for command in command_names()}
    except TrainyardError:
        pass  # completion works without the program
    return sorted(names)


def load_ipython_extension(shell: Any) -> None:
    from .magic import load
    load(shell)


__all__ = ["Block", "FailureError", "Graph", "InternalError", "ProgramError", "RequestError", "Result", "Run", "Session", "Tensor",
           "TrainingStep", "TrainyardError", "__version__", "command", "compare", "course", "display", "find_program", "find_runs", "lab",
           "labs", "report", "train"]

"""What a long command says while it works: the last line of it, in place."""
import contextlib
import re
import sys
import time
from typing import Any, Callable, Iterator, Optional

INTERVAL = 0.5
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r")


def in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    instance = shell.get_ipython() if shell is not None else None
    return instance is not None and hasattr(instance, "kernel")


def cell_number() -> Optional[int]:
    """Of the cell that is being executed; None outside of notebooks."""
    return int(sys.modules["IPython"].get_ipython().execution_count) if in_notebook() else None


@contextlib.contextmanager
def progress_line() -> Iterator[Optional[Callable[[str], None]]]:
    """A function that shows a line of progress, or None where nobody watches. The line is gone at the end."""
    if not in_notebook():
        yield None
        return
    from IPython.display import clear_output
    shown = 0.0

    def say(line: str) -> None:
        nonlocal shown
        if time.monotonic() - shown < INTERVAL:
            return
        shown = time.monotonic()
        clear_output(wait=True)
        print(_ESCAPES.sub("", line)[:160], flush=True)

    yield say
    if shown:
        clear_output(wait=False)


__all__: Any = ["cell_number", "in_notebook", "progress_line"]

"""%load_ext trainyard: command lines in cells, with results that show themselves."""
import functools
import shlex
from typing import Any, Iterator, List, Tuple

from .commands import command_names, flags_of
from .errors import RequestError, TrainyardError
from .program import call, find_program
from .progress import progress_line
from .result import Result


_MAGIC = "trainyard"


def run_line(line: str) -> Result:
    words = shlex.split(line, comments=True)
    if words and words[0] == "trainyard":
        words = words[1:]
    if not words:
        raise RequestError("expected a command, as in: %trainyard analyze lenet5")
    with progress_line() as progress:
        return Result(call(words, progress))


@functools.lru_cache(maxsize=4)
def _networks(program: str) -> List[str]:
    return [row["name"] for row in Result(call(["models"])).rows()]


def complete(words: List[str]) -> List[str]:
    """What may follow: commands, then flags of the command and names of networks."""
    try:
        if len(words) <= 1:
            return command_names()
        return flags_of(words[0]) + _networks(find_program())
    except TrainyardError:
        return []


def complete_cell(text: str, offset: int) -> Tuple[int, List[str]]:
    """Where the word at `offset` of a %%trainyard cell begins, and what it may become."""
    begin = text.rfind("\n", 0, offset) + 1
    while begin > 1 and text[:begin - 1].endswith("\\"):  # a line that goes on
        begin = text.rfind("\n", 0, begin - 1) + 1
    words = text[begin:offset].replace("\\\n", " ").split()
    if words and words[0].startswith("%"):
        words = words[1:]
    if words and words[0] == "trainyard":
        words = words[1:]
    fragment = words[-1] if words and not text[:offset].endswith((" ", "\n")) else ""
    if not fragment:
        words.append("")
    return offset - len(fragment), [word for word in complete(words) if word.startswith(fragment)]


def _complete_in_cells(completer: Any) -> None:
    """IPython looks for completions in the cursor's line alone, where nothing says that the cell is ours."""
    from IPython.core.completer import Completion, provisionalcompleter
    others = completer.completions

    def completions(text: str, offset: int) -> Iterator[Any]:
        if not text.lstrip().startswith("%%" + _MAGIC):
            yield from others(text, offset)
            return
        start, words = complete_cell(text, offset)
        with provisionalcompleter():
            yield from [Completion(start, offset, word, type="magic") for word in words]

    completer.completions = completions


def load(shell: Any) -> None:
    from IPython.display import display

    def line_magic(line: str) -> Result:
        return run_line(line)

    def cell_magic(line: str, cell: str) -> None:
        # A backslash at the end of a line continues it, as in a shell.
        for command in (line + "\n" + cell).replace("\\\n", " ").splitlines():
            if command.strip() and not command.strip().startswith("#"):
                display(run_line(command))

    def line_or_cell(line: str, cell: Any = None) -> Any:
        return line_magic(line) if cell is None else cell_magic(line, cell)

    def completer(_: Any, event: Any) -> List[str]:
        return complete_cell(event.line, len(event.line))[1]

    shell.register_magic_function(line_or_cell, magic_kind="line_cell", magic_name=_MAGIC)
    shell.set_hook("complete_command", completer, str_key="%" + _MAGIC)
    _complete_in_cells(shell.Completer)

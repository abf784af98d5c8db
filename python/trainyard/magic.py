"""%load_ext trainyard: command lines in cells, with results that show themselves."""
import shlex
from typing import Any, List

from .commands import command_names, flags_of
from .errors import RequestError, TrainyardError
from .program import call
from .progress import progress_line
from .result import Result


def run_line(line: str) -> Result:
    words = shlex.split(line, comments=True)
    if words and words[0] == "trainyard":
        words = words[1:]
    if not words:
        raise RequestError("expected a command, as in: %trainyard analyze lenet5")
    with progress_line() as progress:
        return Result(call(words, progress))


def complete(words: List[str]) -> List[str]:
    """What may follow: commands, then flags of the command and names of networks."""
    try:
        if len(words) <= 1:
            return command_names()
        networks = [row["name"] for row in Result(call(["models"])).rows()]
        return flags_of(words[0]) + networks
    except TrainyardError:
        return []


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
        words = event.line.split()[1:]
        if event.line.endswith(" "):
            words.append("")
        return complete(words)

    shell.register_magic_function(line_or_cell, magic_kind="line_cell", magic_name="trainyard")
    shell.set_hook("complete_command", completer, str_key="%trainyard")
    shell.set_hook("complete_command", completer, str_key="%%trainyard")

"""What can go wrong: one family, by the exit codes of the program."""
from typing import List


class TrainyardError(Exception):
    """Base of all errors of this package; the text is the program's own message."""


class RequestError(TrainyardError, ValueError):
    """The request was wrong: a flag, a file, a shape (exit code 2)."""


class FailureError(TrainyardError, RuntimeError):
    """It could not be done: input and output, numbers that are not finite, a lost worker (exit code 1)."""


class InternalError(TrainyardError, RuntimeError):
    """A bug of the program (exit code 3, or a signal)."""


class ProgramError(TrainyardError, RuntimeError):
    """The program was not found, is of another version, or answered with something cut short."""


def _words_of_errors(text: str) -> str:
    """The program's own messages among progress and notes; a message may go on in lines that are indented."""
    lines: List[str] = []
    inside = False
    for line in text.splitlines():
        inside = line.startswith("trainyard: ") or (inside and line.startswith(" "))
        if inside:
            lines.append(line[len("trainyard: "):] if line.startswith("trainyard: ") else line)
    return "\n".join(lines)


def error_of(code: int, message: str) -> TrainyardError:
    """The exception for an exit code other than 0; negative ones are signals."""
    kinds = {1: FailureError, 2: RequestError}
    text = message.strip()
    text = _words_of_errors(text) or text
    if code < 0:
        text = f"the program was ended by signal {-code}" + (f": {text}" if text else "")
    return kinds.get(code, InternalError)(text or f"the program ended with code {code}")

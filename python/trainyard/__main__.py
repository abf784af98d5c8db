"""The program of this package on a command line: `trainyard …`, `python -m trainyard …`."""
import os
import sys

from .errors import ProgramError
from .program import find_program


def main() -> None:
    try:
        # Not the one in PATH, which may be this one.
        program = find_program(path=False)
    except ProgramError as error:
        sys.exit(f"trainyard: {error}")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()

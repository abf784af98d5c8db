"""From Python calls to command lines, checked against the program's own description."""
from typing import Any, Dict, List, Sequence

from .errors import RequestError
from .program import description

# Flags that this package sets itself.
OWN_FLAGS = ("--format", "--json", "--html")


def command_names() -> List[str]:
    return [command["name"] for command in description()["commands"]]


def nearest(word: str, known: Sequence[str]) -> str:
    import difflib
    near = difflib.get_close_matches(word, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""


def find_command(name: str) -> Dict[str, Any]:
    for command in description()["commands"]:
        if command["name"] == name:
            return dict(command)
    raise RequestError(f"there is no command '{name}'.{nearest(name, command_names())}")


def flags_of(name: str) -> List[str]:
    return [a["name"] for a in find_command(name)["arguments"] if not a["positional"] and a["name"] not in OWN_FLAGS]


def word_of(value: Any) -> str:
    """One value as the command line has it; lists are comma-separated."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple, range)):
        return ",".join(word_of(item) for item in value)
    return str(value)


def command_line(name: str, positionals: Sequence[Any], flags: Dict[str, Any]) -> List[str]:
    """The words of a command: `batch=32` becomes --batch 32, `quick=True` becomes --quick. Values that begin with a hyphen stay values."""
    arguments = {a["name"]: a for a in find_command(name)["arguments"]}
    words = [name]
    for key, value in flags.items():
        flag = "--" + key.rstrip("_").replace("_", "-")
        argument = arguments.get(flag)
        if argument is None or flag in OWN_FLAGS:
            known = [f[2:].replace("-", "_") for f in flags_of(name)]
            raise RequestError(f"{name}() has no argument '{key}'.{nearest(key, known)}")
        if value is None:
            continue
        if not argument["takes_value"]:
            if not isinstance(value, bool):
                raise RequestError(f"{name}(): {key} is a switch: True or False, not {value!r}")
            if value:
                words.append(flag)
        elif argument["several"] and isinstance(value, (list, tuple)):
            for item in value:
                words.append(f"{flag}={word_of(item)}")
        else:
            words.append(f"{flag}={word_of(value)}")
    places = [word_of(value) for value in positionals]
    if any(word.startswith("-") for word in places):
        words.append("--")
    return words + places

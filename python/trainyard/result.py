"""What a command gave: numbers for programs, and a picture of them for people."""
import pathlib
from typing import Any, Dict, Iterator, List, Optional

from . import show
from .errors import RequestError
from .progress import cell_number


# Kinds of blocks that are read as text.
_PROSE = ("heading", "text", "formula", "answer", "notice", "why", "question", "code", "provenance")


class Block:
    """A table, a chart, a text … of a result; shows itself."""

    def __init__(self, fields: Dict[str, Any]) -> None:
        self.fields = fields

    @property
    def kind(self) -> str:
        return str(self.fields["kind"])

    @property
    def text(self) -> str:
        return str(self.fields["text"])

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, str]:
        bundle = show.static_bundle([self.fields])
        if self.kind == "formula" and "text/html" in bundle:
            bundle["text/latex"] = str(self.fields["markdown"])
        return bundle


class Result:
    """`json()` is what the command prints with --json; the result of a cell shows tables and charts."""

    def __init__(self, bundle: Dict[str, Any]) -> None:
        self._bundle = bundle
        self._shown_in: Optional[int] = None  # the cell that has it on display already

    @property
    def title(self) -> str:
        return str(self._bundle["title"])

    @property
    def command(self) -> str:
        """The command line that gives the same result in a terminal."""
        return str(self._bundle["command"])

    @property
    def messages(self) -> str:
        """What the program said on stderr."""
        return str(self._bundle.get("messages", ""))

    @property
    def code(self) -> int:
        return int(self._bundle.get("code", 0))

    def json(self) -> Any:
        return self._bundle["data"]

    def __getitem__(self, key: str) -> Any:
        return self.json()[key]

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.rows())

    def rows(self, key: Optional[str] = None) -> List[Dict[str, Any]]:
        """The objects of a list of the data: of `key`, or of the only (else the longest) list there is."""
        data = self.json()
        if key is None and isinstance(data, list):
            return list(data)
        lists: Dict[str, List[Dict[str, Any]]] = {} if not isinstance(data, dict) else {
            k: v for k, v in data.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
        if key is not None:
            if key not in lists:
                raise RequestError(f"there are no rows '{key}'; there are: {', '.join(lists) or 'none'}")
            return list(lists[key])
        if not lists:
            return [data] if isinstance(data, dict) else []
        return list(lists[max(lists, key=lambda name: len(lists[name]))])

    def df(self, key: Optional[str] = None) -> Any:
        """The rows as a pandas.DataFrame, nested objects as columns a.b."""
        try:
            import pandas
        except ImportError:
            raise RequestError("df() needs pandas (Debian: python3-pandas); rows() gives the same as a list") from None
        return pandas.json_normalize(self.rows(key))

    @property
    def blocks(self) -> List[Block]:
        return [Block(fields) for fields in self._bundle["blocks"]]

    @property
    def charts(self) -> List[Block]:
        return [block for block in self.blocks if block.kind == "chart"]

    @property
    def tables(self) -> List[Block]:
        return [block for block in self.blocks if block.kind == "table"]

    def section(self, heading: str) -> "Result":
        """The blocks under a heading ("": before the first), as a result of their own."""
        found: List[Dict[str, Any]] = []
        inside = heading == ""
        for fields in self._bundle["blocks"]:
            if fields["kind"] == "heading":
                inside = fields["text"].splitlines()[0] == heading
            if inside:
                found.append(fields)
        if not found:
            heads = [b["text"].splitlines()[0] for b in self._bundle["blocks"] if b["kind"] == "heading"]
            raise RequestError(f"there is no section '{heading}'; there are: {'; '.join(heads) or 'none'}")
        return self._only(found)

    def figures(self) -> "Result":
        """Tables, charts, pictures and listings without the text around them."""
        return self._only([fields for fields in self._bundle["blocks"] if fields["kind"] not in _PROSE])

    def figure(self, number: int) -> Block:
        """One of figures(), counted from 1."""
        return self._numbered(self.figures().blocks, number, "figure")

    def answers(self) -> "Result":
        """What the data say: the conclusions alone."""
        return self._only([fields for fields in self._bundle["blocks"] if fields["kind"] == "answer"])

    def answer(self, number: int) -> Block:
        """One of answers(), counted from 1."""
        return self._numbered(self.answers().blocks, number, "answer")

    def passages(self) -> "Result":
        """Texts and formulas around the figures."""
        return self._only([fields for fields in self._bundle["blocks"] if fields["kind"] in ("text", "formula")])

    def passage(self, number: int) -> Block:
        """One of passages(), counted from 1."""
        return self._numbered(self.passages().blocks, number, "passage")

    def _only(self, blocks: List[Dict[str, Any]]) -> "Result":
        return Result({**self._bundle, "blocks": blocks, "page": None, "cell": None})

    @staticmethod
    def _numbered(blocks: List[Block], number: int, what: str) -> Block:
        if not 1 <= number <= len(blocks):
            raise RequestError(f"there is no {what} {number} here: there are {len(blocks)}")
        return blocks[number - 1]

    def to_html(self, path: Any) -> pathlib.Path:
        """Writes the page: one file that needs no other."""
        page = self._bundle.get("page")
        if page is None:
            raise RequestError("a section has no page of its own; call to_html() of the whole result")
        target = pathlib.Path(path)
        target.write_text(page, encoding="utf-8")
        return target

    def text(self) -> str:
        return show.plain_text(self._bundle)

    def __repr__(self) -> str:
        return self.text().rstrip("\n")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, str]:
        if self._shown_in is not None and self._shown_in == cell_number():
            return {"text/plain": f"{self.title}: see above"}
        return show.mime_bundle(self._bundle)

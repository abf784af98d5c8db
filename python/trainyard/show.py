"""How results look in notebooks: charts that answer to the pointer, or pictures, or plain text."""
import struct
from typing import Any, Dict, List

from .errors import RequestError

MODES = ("interactive", "svg", "text")
_mode = "interactive"

# Notebooks keep every cell in one file, which people open, compare and send: none has more bytes than this, beside pictures of the data.
MOST_BYTES = 299_000
BRIEF_TEXT = 3_000

# Bare scripts do not run in current notebooks, and those of many cells would disturb each other: each result has a frame of its own.
_FRAME = '<iframe sandbox="allow-scripts allow-downloads" style="width:100%;height:{height}px;border:0" title="{title}" srcdoc="{page}"></iframe>'
# A page is mostly its script; compressed it is less than half. Four bytes are five characters (base64 would take 5.33), none of which
# needs an escape in an attribute.
_ALPHABET = "".join(chr(c) for c in range(33, 127) if chr(c) not in "&\"<>\\'`{}")
_LOADER = """<script>(async () => {
  const text = "@data@", digits = "@alphabet@", bytes = new Uint8Array(text.length / 5 * 4), view = new DataView(bytes.buffer);
  const digit = Object.fromEntries([...digits].map((c, i) => [c, i]));
  for (let i = 0; i < text.length; i += 5) {
    let word = 0;
    for (let k = i; k < i + 5; k++) word = word * 85 + digit[text[k]];
    view.setUint32(i / 5 * 4, word);
  }
  const stream = new Blob([bytes.subarray(0, @size@)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const page = await new Response(stream).text();
  document.open();
  document.write(page);
  document.close();
})();</script>"""
# Notebooks align every cell to the right; names read from the left. Only our tables have these classes.
_STYLE = "<style>td.l,th.l,td.r,th.r{padding:2px 10px}td.l,th.l{text-align:left!important}td.r{white-space:nowrap}</style>"


def display(mode: str) -> None:
    """How results show themselves from now on: "interactive" (frames with scripts), "svg" (pictures, no scripts) or "text"."""
    global _mode
    if mode not in MODES:
        raise RequestError(f"display() takes {', '.join(MODES)}, not {mode!r}")
    _mode = mode


def _base85(data: bytes) -> str:
    out: List[str] = []
    padded = data + bytes(-len(data) % 4)
    pairs = [a + b for a in _ALPHABET[:85] for b in _ALPHABET[:85]]
    for (word,) in struct.iter_unpack(">I", padded):
        high, low = divmod(word, 85**2)
        first, second = divmod(high, 85**2)
        out += (_ALPHABET[first], pairs[second], pairs[low])
    return "".join(out)


def plain_text(bundle: Dict[str, Any]) -> str:
    parts = [bundle["title"], bundle["lead"]] if bundle.get("page") else []
    parts += [block["text"].rstrip("\n") for block in bundle["blocks"]]
    return "\n\n".join(part for part in parts if part) + "\n"


def static_html(blocks: List[Dict[str, Any]]) -> str:
    """Blocks without any script."""
    return _STYLE + "".join(block["html"] for block in blocks)


def _bytes(bundle: Dict[str, str]) -> int:
    return sum(len(part.encode()) for part in bundle.values())


def _cut(text: str, most: int) -> str:
    """Its first and last bytes, so many in all; the whole text if it has no more."""
    data = text.encode()
    if len(data) <= most:
        return text
    half = most // 2
    return data[:half].decode("utf-8", "ignore") + "\n[…]\n" + data[-half:].decode("utf-8", "ignore")


def _limited(bundle: Dict[str, str], blocks: List[Dict[str, Any]]) -> Dict[str, str]:
    """At most MOST_BYTES: as much text as there is room for, then the chart, then the page, if it fits as a whole."""
    pictures = sum(len(block["html"]) for block in blocks if block["kind"] == "picture")
    if _bytes(bundle) <= MOST_BYTES + pictures:
        return bundle
    kept = {"text/plain": _cut(bundle["text/plain"], MOST_BYTES // 2) + "\n(Too large for a cell: to_html(path) writes the whole page.)\n"}
    for kind in ("image/svg+xml", "text/html"):
        if kind in bundle and _bytes({**kept, kind: bundle[kind]}) <= MOST_BYTES + pictures:
            kept[kind] = bundle[kind]
    return kept


def static_bundle(blocks: List[Dict[str, Any]]) -> Dict[str, str]:
    return _limited(_static(blocks), blocks)


def _static(blocks: List[Dict[str, Any]]) -> Dict[str, str]:
    text = "\n\n".join(block["text"].rstrip("\n") for block in blocks) + "\n"
    if _mode == "text":
        return {"text/plain": text}
    bundle = {"text/plain": text, "text/html": static_html(blocks)}
    charts = [block for block in blocks if block["kind"] == "chart"]
    if charts:
        bundle["image/svg+xml"] = charts[0]["svg"]
    if len(blocks) == 1 and blocks[0]["kind"] == "formula":
        bundle["text/latex"] = f"$${blocks[0]['latex']}$$"
    return bundle


def framed(page: str, title: str, height: int) -> str:
    """A page in a frame that can do nothing but draw itself."""
    import gzip
    import html
    data = gzip.compress(page.encode(), 9, mtime=0)
    loader = _LOADER.replace("@data@", _base85(data)).replace("@alphabet@", _ALPHABET[:85]).replace("@size@", str(len(data)))
    return _FRAME.format(height=height, title=html.escape(title), page=html.escape("<!doctype html>" + loader, quote=True))


def _height(blocks: List[Dict[str, Any]]) -> int:
    """Of the page, roughly; it scrolls beyond that."""
    rows = sum(block["html"].count("<tr") for block in blocks if block["kind"] == "table")
    charts = sum(1 for block in blocks if block["kind"] in ("chart", "picture"))
    return int(min(900, 220 + 34 * rows + 430 * charts))


def mime_bundle(bundle: Dict[str, Any]) -> Dict[str, str]:
    blocks = bundle["blocks"]
    static = _static(blocks)
    static["text/plain"] = plain_text(bundle)
    if _mode != "interactive" or not bundle.get("page") or not any(b["kind"] == "chart" for b in blocks):
        return _limited(static, blocks)
    # What a viewer without scripts or frames shows in place of the frame. Where frames work it is hidden as soon as the frame is there.
    charts = [b["html"] for b in blocks if b["kind"] == "chart"]
    instead = f'<div class="ty-static">{"".join(charts)}</div>'
    frame = framed(bundle.get("cell") or bundle["page"], bundle["title"], _height(blocks)).replace(
        "<iframe ", '<iframe onload="this.nextElementSibling.style.display=\'none\'" ', 1)
    # What viewers that show the frame never see gives way first: pictures beside it, then most of the text.
    small = [f'<div class="ty-static">{chart}</div>' for chart in (charts[0], min(charts, key=len))]
    plain = {"text/plain": static["text/plain"]}
    brief = {"text/plain": _cut(static["text/plain"], BRIEF_TEXT)}
    for beside, shown in ((static, instead), *((static, chart) for chart in small), (plain, small[1]), (brief, small[1])):
        interactive = {**beside, "text/html": frame + shown}
        if _bytes(interactive) <= MOST_BYTES:
            return interactive
    # No room for the frame: pictures and tables without a script.
    return _limited(static, blocks)

#!/usr/bin/env python3
"""Writes src/models/detection/label_font.cpp: the printable ASCII characters of a monospaced font as shades.

    tools/make_label_font.py [FONT.ttf]

Needs Debian's python3-pil and fonts-dejavu-core, whose license allows derived bitmaps.
"""
import pathlib
import sys

from PIL import Image, ImageDraw, ImageFont

FONT = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf"
WIDTH, HEIGHT, SIZE = 9, 16, 14
OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "src/models/detection/label_font.cpp"


def glyph(font, character):
    image = Image.new("L", (WIDTH, HEIGHT), 0)
    ImageDraw.Draw(image).text((0, -1), character, fill=255, font=font)
    return "".join(f"{image.getpixel((x, y)) // 17:x}" for y in range(HEIGHT) for x in range(WIDTH))


def main():
    font = ImageFont.truetype(FONT, SIZE)
    lines = ["// A table, made by tools/make_label_font.py from DejaVu Sans Mono Bold: a digit of shade (0 to f) for",
             f"// each of {WIDTH} x {HEIGHT} pixels of the characters from space to ~.",
             '#include "models/detection/label_font.h"', "", "namespace trainyard::detect {", "",
             "// clang-format off", "const char* const kLabelGlyphs[kLabelGlyphCount] = {"]
    for code in range(32, 127):
        digits = glyph(font, chr(code))
        half = len(digits) // 2
        lines.append(f'    "{digits[:half]}"')
        lines.append(f'    "{digits[half:]}",')
    lines += ["};", "// clang-format on", "", "}  // namespace trainyard::detect", ""]
    OUTPUT.write_text("\n".join(lines))


if __name__ == "__main__":
    main()

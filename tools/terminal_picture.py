"""Draw what a command prints as an SVG of a terminal.

    python tools/terminal_picture.py OUT.svg COMMAND [WORD ...]

docs/pictures/ask.svg: python tools/terminal_picture.py docs/pictures/ask.svg \
    pagerag ask "Which city was the composer of Interstellar born in?" --store demo-store
(the store: pagerag demo --keep demo-store)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path

COLOURS = {
    "31": "#e06c75",
    "32": "#98c379",
    "33": "#e5c07b",
    "34": "#61afef",
    "35": "#c678dd",
    "36": "#56b6c2",
}
INK, PAPER, DIM = "#dcdfe4", "#282c34", "#8a919d"
WIDE, HIGH, EDGE = 8.4, 20, 18
_CODE = re.compile(r"\x1b\[([\d;]*)m")


def spans(line: str) -> str:
    """Return one line of output as tspans in the colours of its escape codes."""
    drawn, style = [], ""
    for place, part in enumerate(_CODE.split(line)):
        if place % 2:
            codes = part.split(";")
            fill = next((COLOURS[code] for code in codes if code in COLOURS), DIM if "2" in codes else "")
            style = f' fill="{fill}"' if fill else ""
            style += ' font-weight="bold"' if "1" in codes else ""
        elif part:
            drawn.append(f"<tspan{style}>{escape(part)}</tspan>")
    return "".join(drawn)


def picture(command: list[str], output: str) -> str:
    """Return the SVG of a prompt with the command, and of its output."""
    words = " ".join(f'"{word}"' if " " in word else word for word in command)
    lines = [f"\x1b[2m$\x1b[0m \x1b[1m{words}\x1b[0m", *output.rstrip().splitlines()]
    columns = max(len(_CODE.sub("", line)) for line in lines)
    width, height = round(columns * WIDE + 2 * EDGE), len(lines) * HIGH + 2 * EDGE
    rows = [
        f'<text x="{EDGE}" y="{EDGE + 14 + number * HIGH}" xml:space="preserve">{spans(line)}</text>'
        for number, line in enumerate(lines)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="14"',
            f'  font-family="ui-monospace, Menlo, Consolas, monospace" fill="{INK}" role="img">',
            f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


def main(arguments: list[str]) -> int:
    """Run the command and write its picture."""
    out, *command = arguments
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    folder = f"{Path.cwd()}/"
    Path(out).write_text(picture(command, done.stdout.replace(folder, "")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

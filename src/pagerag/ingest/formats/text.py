"""Plain text, in whatever encoding it comes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pagerag.ingest.builder import TextBuilder
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.encoding import read_marked_up
from pagerag.ingest.formats.restructured import add_restructured, looks_restructured
from pagerag.ingest.formats.stretch import Cut, FileSpan, Stretch, lines_of

_ITEM = re.compile(r"[ \t]{0,40}(?:[-*+•‣–][ \t]|\d{1,4}[.)][ \t]|\(\w{1,3}\)[ \t])")
# A word that was broken at a line's end by a true hyphen, as manual pages are set. An ASCII "-" there may
# belong to an option or a compound.
_BROKEN = re.compile(r"(?<=[^\W\d_])\u2010[ \t]*\n[ \t]*(?=[^\W\d_])")
# A turn of a conversation: a time in brackets or not, then a nickname in angle brackets, or a name and a
# colon.
_TURN = re.compile(
    r"[ \t]{0,20}"
    r"(?:[\[(]?(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d(?::\d\d)?(?:[ ]?[AaPp][Mm])?[\])]?[ \t,-]{0,4})?"
    r"(?:<[^<>\s]{1,40}>"
    r"|[^\W\d_][\w.'’-]{0,30}(?:[ ][^\W_][\w.'’-]{0,30}){0,3}(?:[ ]\([^()\n]{1,40}\))?:)[ \t]"
)


# The number of a chapter or a section, before its heading: 5. or 5.2 or A.1.
_SECTION = re.compile(r"[ \t]{0,20}(\d{1,3}|[A-Z])((?:\.\d{1,3}){0,5})\.?[ \t]{1,10}(?=[^\W\d_])")
_LONGEST_HEADING = 100
_OFF_CENTRE = 5  # columns


def read_text(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a plain text: paragraphs, list items, a speaker's turns, underlined and numbered headings.

    A text that is written in reStructuredText is read as such, whatever its name.
    """
    return read_marked_up(file, settings, _add_text)


def _add_text(source: str, builder: TextBuilder) -> str | None:
    """Add the blocks of a plain text; returns its title when its first line is underlined or centred."""
    if looks_restructured(source):
        return add_restructured(source, builder)
    title = None
    paragraph: list[FileSpan] = []
    lines = lines_of(source)
    turns = _speakers(source, lines)

    def done(*, heading: int = 0) -> None:
        if paragraph:
            item = bool(_ITEM.match(source, *paragraph[0])) or turns
            stretch = Stretch(source, paragraph)
            pieces = stretch.pieces(_hyphens(stretch.text))
            builder.block(pieces, atom=item, heading=heading, lines=True)
            paragraph.clear()

    apart = True  # a blank line is above the paragraph
    for at, (start, end) in enumerate(lines):
        if not source[start:end].strip():
            level = 0 if turns or not apart or len(paragraph) != 1 else _numbered(source, lines, at)
            if builder.empty and len(paragraph) == 1 and not level and _centred(source, lines, at):
                level, title = 1, source[slice(*paragraph[0])].strip()
            done(heading=level)
            apart = True
        elif len(paragraph) == 1 and (level := _underline(source, paragraph[0], (start, end))):
            heading = source[slice(*paragraph[0])].strip()
            title = title or (heading if builder.empty else None)
            done(heading=level)
        else:
            if _ITEM.match(source, start, end) or (turns and _TURN.match(source, start, end)):
                apart = apart and not paragraph
                done()
            paragraph.append(FileSpan(start, end))
    done()
    return title


def _hyphens(text: str) -> list[Cut]:
    """Return the hyphens and line ends inside words that go on in lower case."""
    return [(*found.span(), "") for found in _BROKEN.finditer(text) if text[found.end()].islower()]


def _underline(source: str, above: tuple[int, int], line: tuple[int, int]) -> int:
    """Return the level of a heading whose underline is ``line``, 0 when it is none."""
    mark = source[slice(*line)].strip()
    words = source[slice(*above)].strip()
    fits = len(words) <= 120 and abs(len(mark) - len(words)) <= 2 and len(mark) >= 3
    return {"=": 1, "-": 2, "~": 3}.get(mark[0], 0) if fits and len(set(mark)) == 1 else 0


def _numbered(source: str, lines: Sequence[FileSpan], blank: int) -> int:
    """Return the level of the numbered heading above a blank line, one below the title's; 0 for none.

    One number alone may be an item's, too: it is not where another such line follows, and a letter is one
    only where its sections follow.
    """
    words = source[slice(*lines[blank - 1])].rstrip()
    found = _SECTION.match(words)
    if found is None or len(words) > _LONGEST_HEADING or words[-1] in ".,;:" or words[found.end()].islower():
        return 0
    if not found[2]:
        below = next((source[a:b] for a, b in lines[blank + 1 :] if source[a:b].strip()), "")
        after = _SECTION.match(below)
        if not (after and after[2]) and (after or _ITEM.match(below) or not found[1].isdigit() or not below):
            return 0
    return 2 + found[2].count(".")


def _centred(source: str, lines: Sequence[FileSpan], blank: int) -> bool:
    """Return whether the line above a blank one stands in the middle of the page, as a title does."""
    line = source[slice(*lines[blank - 1])].rstrip().expandtabs()
    width = max(b - a for a, b in lines[:200])
    indent = len(line) - len(line.lstrip())
    middle = (indent + len(line)) / 2
    return (
        8 <= indent < len(line) <= _LONGEST_HEADING
        and line[-1] not in ".,;:"
        and abs(middle - min(width, _LONGEST_HEADING) / 2) <= _OFF_CENTRE
    )


def _speakers(source: str, lines: Sequence[tuple[int, int]]) -> bool:
    """Return whether a text is a conversation: many of its lines begin with who speaks."""
    begun = seen = 0
    for start, end in lines[:2000]:
        if source[start:end].strip():
            seen += 1
            begun += bool(_TURN.match(source, start, end))
    return begun >= 3 and begun * 3 >= seen

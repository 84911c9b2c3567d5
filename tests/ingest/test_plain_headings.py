"""Headings of plain texts: numbered ones and a title in the middle of the page; items are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagerag.ingest import Document, IngestSettings, SourceFile, read_documents

RULES = """\
                     Rules of the Kiln Society (v2)

   These rules were agreed on in spring, and they hold until others are.

1. Members

   Whoever fires a kiln may be one of the following:
    1. a member;
    2. a guest.

  1.1. Appointment

   Members are appointed for a year by those who are members already.

A. Firing

  A.1. Order of firing

    1. Celadon comes first, because it needs the kiln that is out of order most.

    2. Salt comes last.
"""


def sections(path: Path, content: str) -> tuple[str | None, list[tuple[int, str]]]:
    path.write_text(content, encoding="utf-8")
    (document,) = read_documents(SourceFile(path, path.name), IngestSettings())
    assert isinstance(document, Document)
    return document.title, [(section.level, section.title) for section in document.sections]


def test_numbered_headings_and_a_centred_title(tmp_path: Path) -> None:
    assert sections(tmp_path / "rules.txt", RULES) == (
        "Rules of the Kiln Society (v2)",
        [
            (1, "Rules of the Kiln Society (v2)"),
            (2, "1. Members"),
            (3, "1.1. Appointment"),
            (2, "A. Firing"),
            (3, "A.1. Order of firing"),
        ],
    )


@pytest.mark.parametrize(
    "text",
    [
        "What to bring:\n\n1. Clay\n\n2. Water\n\n3. Wood\n",  # a list with room between its items
        "1. Clay\n2. Water\n",
        "1. Bring clay, and bring it early.\n\nThe kiln is small.\n",
        "A. Smith\n\nwrote this in spring.\n",
        "2.5 kilograms of clay\n\nare enough for a bowl.\n",
        "    an indented line\n\nand a paragraph that is longer than the line above it.\n",
        "                                          Selb, 4 March.\n\nDear members, the kiln is out of order since today.\n",
    ],
)
def test_what_is_no_heading(text: str, tmp_path: Path) -> None:
    assert sections(tmp_path / "list.txt", text) == ("list", [])

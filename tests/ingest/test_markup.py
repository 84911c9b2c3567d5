"""Blocks of markup that carry facts in their shape: tables keep their headers, names stand before what they name."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from pagerag.errors import FormatError
from pagerag.ingest import Document, IngestSettings, SourceFile, read_documents
from pagerag.ingest.documents import BadRecord

PLAIN = IngestSettings()


def blocks(path: Path, content: str, settings: IngestSettings = PLAIN) -> list[str]:
    path.write_text(content, encoding="utf-8")
    (document,) = read_documents(SourceFile(path, path.name), settings)
    assert isinstance(document, Document)
    return document.text.split("\n\n")


RST = {
    "a grid table, with a cell over two columns": (
        """
+-------+---------+-------+
| item  | price   | stock |
+=======+=========+=======+
| shelf | 45 EUR  | 3     |
+-------+---------+-------+
| pots and        | 7     |
| lids            |       |
+-----------------+-------+
""",
        ["item: shelf; price: 45 EUR; stock: 3", "item: pots and lids; stock: 7"],
    ),
    "a grid table whose header takes two columns": (
        """
+-----------+-----+
| sizes     | one |
+=====+=====+=====+
| x   | y   | z   |
+-----+-----+-----+
""",
        ["sizes: x; sizes: y; one: z"],
    ),
    "a simple table, with a row over two lines": (
        """
====== =========
town   river
====== =========
Mainz  Rhine
       and Main
Ulm    Danube
====== =========
""",
        ["town: Mainz; river: Rhine and Main", "town: Ulm; river: Danube"],
    ),
    "a simple table without headers": ("=== ===\na   b\n=== ===\n", ["a | b"]),
    "a table as a list": (
        """
.. list-table:: Firing
   :header-rows: 1

   * - cone
     - degrees
   * - 04
     - 1060 °C
   * -
     - none
""",
        ["Firing", "cone: 04; degrees: 1060 °C", "degrees: none"],
    ),
    "a table as CSV, headers as an option": (
        """
.. csv-table:: Glazes
   :header: "name", "colour"

   "Celadon", "green, pale"
""",
        ["Glazes", "name: Celadon; colour: green, pale"],
    ),
    "a table as CSV, headers as a row": (
        ".. csv-table::\n   :header-rows: 1\n\n   metal,melts at\n   tin,232\n",
        ["metal: tin; melts at: 232"],
    ),
    "versions": (
        ".. versionadded:: 2.1\n   The timer.\n\n.. deprecated:: 3.0\n\n.. versionchanged:: 2.2 The dial.\n",
        [
            "New in version 2.1: The timer.",
            "Deprecated since version 3.0",
            "Changed in version 2.2 The dial.",
        ],
    ),
    "directives": (
        """
.. figure:: kiln.png
   :alt: a kiln

   The kiln of 1957.

.. py:function:: fire(cone)
   :module: kiln

   Heats the kiln.

.. note:: Ask first,
   and wear gloves.

.. code-block:: python

   fire(4)
""",
        ["The kiln of 1957.", "fire(cone): Heats the kiln.", "Ask first, and wear gloves.", "fire(4)"],
    ),
    "what is not shown, and a footnote": (
        ".. |logo| image:: logo.png\n.. a comment\n.. _target: https://example.org\n.. [1] A footnote.\n",
        ["A footnote."],
    ),
    "fields, definitions, lines": (
        ":Author: Ada\n:Empty:\n\nterm\n    Its definition.\n\n| One line\n| and another\n",
        ["Author: Ada", "term: Its definition.", "One line and another"],
    ),
    "numbers, and a name that looks like one": (
        "1. First step\n2. Second step\n\nA. Smith said\nthat it holds.\n",
        ["First step", "Second step", "A. Smith said that it holds."],
    ),
    "code": (
        "Run it::\n\n    make all\n\n>>> 1 + 1\n2\n\n----\n\nEnd.\n",
        ["Run it:", "make all", ">>> 1 + 1\n2", "End."],
    ),
}


@pytest.mark.parametrize("name", RST)
def test_restructured_text(name: str, tmp_path: Path) -> None:
    source, want = RST[name]
    assert blocks(tmp_path / "a.rst", f"Kiln\n####\n\n{source}") == ["Kiln", *want]


def test_a_number_of_header_rows_that_is_none_counts_as_none(tmp_path: Path) -> None:
    source = ".. list-table:: Prices\n   :header-rows: ²\n\n   * - shelf\n     - 45\n"
    assert blocks(tmp_path / "a.rst", source) == ["Prices", "shelf | 45"]


def test_directives_that_are_nested_too_deeply_are_taken_as_they_are(tmp_path: Path) -> None:
    deep = "".join(f"{'   ' * depth}.. note::\n\n" for depth in range(600)) + f"{'   ' * 600}Deep words.\n"
    assert blocks(tmp_path / "a.rst", deep)[-1].endswith("Deep words.")


MARKDOWN = {
    "a table of headers alone": ("| item | price |\n|---|---|\n", ["item | price"]),
    "bars without a line below the headers": ("| a | b |\n| c | d |\n", ["a | b", "c | d"]),
    "definitions": ("Clay\n: Dug up.\n: For pots.\n", ["Clay: Dug up.", "Clay: For pots."]),
    "a directive": ("```{note} Careful\n:class: hot\nIt is hot.\n```\n", ["Careful", "It is hot."]),
    "code in a directive": ("```{code-block} python\nx = 1\n```\n", ["x = 1"]),
    "a task and an alert": ("- [ ] do it\n\n> [!NOTE]\n> An alert.\n", ["do it", "An alert."]),
    "HTML that is indented": ("    <p>a paragraph</p>\n", ["a paragraph"]),
}


@pytest.mark.parametrize("name", MARKDOWN)
def test_markdown(name: str, tmp_path: Path) -> None:
    pytest.importorskip("markdown_it")
    source, want = MARKDOWN[name]
    assert blocks(tmp_path / "a.md", f"# Kiln\n\n{source}") == ["Kiln", *want]


def test_slides_keep_tables_with_headers_and_notes(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Prices"
    table = slide.shapes.add_table(2, 2, 0, 0, 100, 100).table
    for place, text in enumerate(["item", "price", "shelf", "45 EUR"]):
        table.cell(place // 2, place % 2).text = text
    slide.notes_slide.notes_text_frame.text = "Say that it is cheap."
    presentation.save(tmp_path / "a.pptx")
    (document,) = read_documents(SourceFile(tmp_path / "a.pptx", "a.pptx"), PLAIN)
    assert isinstance(document, Document)
    assert document.text.split("\n\n") == ["Prices", "item: shelf; price: 45 EUR", "Say that it is cheap."]


def letter(subject: str = "Kilns") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"], message["Message-ID"] = "ada@example.org", subject, "<1@example.org>"
    return message


def test_of_alternatives_the_plain_one_is_read_and_attachments_are_not(tmp_path: Path) -> None:
    message = letter()
    message.set_content("The kiln is hot.\n\n> It was cold.\n")
    message.add_alternative("<p>In HTML.</p>", subtype="html")
    message.add_attachment("Attached.", filename="a.txt")
    (tmp_path / "a.eml").write_bytes(bytes(message))
    (document,) = read_documents(SourceFile(tmp_path / "a.eml", "a.eml"), PLAIN)
    assert isinstance(document, Document)
    assert document.title == "Kilns"
    assert document.text.split("\n\n") == ["From: ada@example.org", "The kiln is hot.", "It was cold."]


@pytest.mark.parametrize("encoding", ["7bit", "quoted-printable", "base64"])
def test_a_message_in_html_alone(encoding: str, tmp_path: Path) -> None:
    message = letter()
    message.set_content("<h1>Kiln</h1><p>It is hot.</p>", subtype="html", cte=encoding)
    (tmp_path / "a.eml").write_bytes(bytes(message))
    (document,) = read_documents(SourceFile(tmp_path / "a.eml", "a.eml"), PLAIN)
    assert isinstance(document, Document)
    assert document.text.split("\n\n")[1:] == ["Kiln", "It is hot."]


def test_a_line_that_is_cut_by_its_encoding_is_found_as_a_whole(tmp_path: Path) -> None:
    message = letter()
    text = "Größe zählt, " * 10
    message.set_content(text, cte="quoted-printable")
    (tmp_path / "a.eml").write_bytes(bytes(message))
    (document,) = read_documents(SourceFile(tmp_path / "a.eml", "a.eml"), PLAIN)
    assert isinstance(document, Document)
    at = document.text.index("Größe")
    place = document.origin.locate(at, at + 5)
    original = bytes(message).decode()[place.start : place.end]
    assert original.startswith("Gr=C3=B6=C3=9Fe")
    assert "=\n" in original


def test_a_mailbox_names_messages_apart_and_passes_over_bad_ones(tmp_path: Path) -> None:
    message = letter()
    message.set_content("The kiln is hot.")
    one = b"From ada Mon Jan  1 00:00:00 2024\n" + bytes(message) + b"\n"
    (tmp_path / "a.mbox").write_bytes(one + one + one.replace(b"hot", b"hei\xdf"))
    found = list(read_documents(SourceFile(tmp_path / "a.mbox", "a.mbox"), PLAIN))
    assert [document.record for document in found if isinstance(document, Document)] == [
        "1@example.org",
        "1@example.org-2",
        "1@example.org-3",
    ]
    assert not any(isinstance(document, BadRecord) for document in found)
    with pytest.raises(FormatError, match="not a mailbox"):
        blocks(tmp_path / "b.mbox", "Dear Ada,\n")
    with pytest.raises(FormatError, match="longer than 10 bytes"):
        list(read_documents(SourceFile(tmp_path / "a.mbox", "a.mbox"), IngestSettings(max_record_bytes=10)))

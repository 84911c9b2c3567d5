"""The place of every sentence cuts that sentence out of the original file, in every format."""

from __future__ import annotations

import base64
import csv
import io
import json
import quopri
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagerag.ingest import IngestSettings, SourceFile, passages_of, read_documents
from pagerag.ingest.documents import Document
from pagerag.places import Place, Run, SourceMap, place_of
from pagerag.store import sentences_of
from pagerag.text import Analyzer

ANALYZER = Analyzer()


def sentences(path: Path, chars: int = 300) -> list[tuple[str, Place]]:
    """Every sentence of a file with its place."""
    found = []
    settings = IngestSettings(passage_chars=chars)
    for document in read_documents(SourceFile(path, path.name), settings):
        assert isinstance(document, Document)
        for unit in passages_of(document, path.name, path.name, "d", settings, ANALYZER):
            whole = place_of(unit.candidate())
            for sentence in sentences_of(unit.candidate()):
                place = place_of(sentence)
                assert whole.part is not None or whole.start <= place.start <= place.end <= whole.end
                found.append((sentence.text, place))
    return found


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


MARKDOWN = """---
title: Leave
tags: [a, b]
---
<!-- a comment -->
# Leave *for* parents {#leave}

{% include notice.html %}
Every **parent** has a [right](https://example.org/a_b(c) "T") to
twelve weeks &amp; more. It is *paid* in `full` by the
{{< glossary_tooltip text="employer" term_id="x" >}} at once.

- [ ] Ask the <b>manager</b> first.
- Then wait two days.
  It can take longer.

| Kind | Weeks |
|------|------:|
| mother | 14 |
| father \\| other | 4 |

Term
: Its definition is here.

> A quoted line of text.

```python
def f(x):
    return x < 3
```

<table><tr><th>Town</th></tr><tr><td>Bam&shy;berg</td></tr></table>

The end is a 2 * 3 * 4 [^1] product.
"""

RST = """==========
Leave
==========

.. contents::

.. _parents:

For parents
===========

Every **parent** has a :ref:`right <right>` to
twelve weeks. It is *paid* in ``full`` by :class:`~a.b.Employer` at once.

.. note:: Ask the manager first.

   Then wait two days.

* One item of a list
  over two lines.
* Another one.

term
    Its definition is here.

====  =====
Kind  Weeks
====  =====
m     14
f     4
====  =====

.. versionadded:: 4.2

   The option was added.

Code follows::

    def f(x):
        return x

See `the site <https://example.org>`_ and parents_.
"""

ASCIIDOC = """= Leave
:version: 4.2

== For parents

Every *parent* has a https://example.org[right^] to
twelve weeks. It is _paid_ in `full` by <<employer,the employer>>.

* One item
over two lines.
* Another one.

term:: Its definition is here.

[cols="1,1",options="header"]
|===
| Kind | Weeks
| mother | 14
| father | 4
|===

----
def f(x):
    return x
----
"""

HTML = """<!doctype html><html><head><title>Leave</title><style>p{}</style></head><body>
<nav><a href="/">Home</a></nav><h1>Leave</h1>
<p>Every <b>parent</b> has a <a href="x">right</a> to
twelve weeks &amp; more.</p><p hidden>Secret.</p><p style="display: none">Secret.</p>
<div aria-hidden="true">Secret.</div><template>Secret.</template><script>secret()</script>
<ul><li>One item.<li>Another &mdash; one.</ul>
<dl><dt>term</dt><dd>Its definition is here.</dd></dl>
<table><tr><th>Kind</th><th>Weeks</th></tr><tr><td>mother</td><td>14</td></tr></table>
<pre>def f(x):
    return x</pre></body></html>
"""

TEXT = """Leave
=====

Every parent has a right to
twelve weeks. It is paid at once.

- One item
  over two lines.
- Another one.

Anna: Who pays?
Ben: The employer does.
Anna: Good.
"""

ADDED = {"Kind", "Weeks", "Town", "New", "in", "version"}
"""Headers of tables and other words that a reader puts before a quotation."""


@pytest.mark.parametrize(
    ("name", "source"),
    [("a.md", MARKDOWN), ("a.rst", RST), ("a.adoc", ASCIIDOC), ("a.html", HTML), ("a.txt", TEXT)],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("chars", [60, 1000])
def test_text_formats(tmp_path: Path, name: str, source: str, ends: str, chars: int) -> None:
    original = source.replace("\n", ends)
    (tmp_path / name).write_bytes(original.encode())
    found = sentences(tmp_path / name, chars)
    assert len(found) > 6
    for text, place in found:
        cut = original[place.start : place.end]
        assert place.line == original.count("\n", 0, place.start) + 1
        own = [word for word in words(text) if word not in ADDED]
        assert own, text
        # The quotation begins and ends with its own words, and has all of them in their order.
        assert words(cut)[0] == own[0] or own[0] in words(cut)[0]
        assert own[-1] in re.sub("&shy;", "", cut).replace("&mdash;", "")
        at = 0
        plain = cut.replace("&amp;", "").replace("&shy;", "\xad")
        for word in own:
            at = plain.find(word, at)
            assert at >= 0, (text, cut)
    text = " ".join(text for text, _ in found)
    assert "Secret" not in text
    assert "secret" not in text
    assert "glossary" not in text
    assert "include" not in text


@pytest.mark.parametrize(("name", "source"), [("a.md", MARKDOWN), ("a.rst", RST), ("a.adoc", ASCIIDOC)])
def test_plain_sentences_are_cut_out_exactly(tmp_path: Path, name: str, source: str) -> None:
    (tmp_path / name).write_text(source, encoding="utf-8")
    exact = [text for text, place in sentences(tmp_path / name) if source[place.start : place.end] == text]
    assert {"Another one.", "Then wait two days."} & set(exact)
    code = "def f(x):\n    return x"
    assert any(text.startswith(code) for text, _ in sentences(tmp_path / name)), "code keeps its indentation"


def test_words_that_a_manual_page_broke_are_whole(tmp_path: Path) -> None:
    original = (
        "       The kernel's sched\u2010\n       uling runs on Pow\u2010\r\n erPC. A plain user\u2010\n       Defined one, com-\n"
        "       mand and --no\u2010\n\n       adaptive stay. So does 3\u2010\n       rd.\n"
    )
    (tmp_path / "sched.txt").write_text(original, encoding="utf-8", newline="")
    found = sentences(tmp_path / "sched.txt")
    assert [text for text, _ in found][:2] == [
        "The kernel's scheduling runs on PowerPC.",
        "A plain user\u2010\nDefined one, com-\nmand and --no\u2010",
    ]
    assert [place.line for _, place in found] == [1, 3, 7, 7]
    for text, place in found:
        cut = re.sub(r"(?<=d|w)\u2010\s*(?=u|e)", "", original[place.start : place.end])
        assert " ".join(cut.split()) == " ".join(text.split())
    [document] = read_documents(SourceFile(tmp_path / "sched.txt", "sched.txt"), IngestSettings())
    assert isinstance(document, Document)
    at = document.text.index("erPC")
    place = document.origin.locate(at, at + 4)
    assert (original[place.start : place.end], place.line) == ("erPC", 3)


def test_places_name_file_line_and_section(tmp_path: Path) -> None:
    (tmp_path / "leave.md").write_text(
        "# Handbook\n\nWords.\n\n## Leave\n\n### Parental leave\n\nTwelve weeks.\n"
    )
    [*_, (text, place)] = sentences(tmp_path / "leave.md")
    assert text == "Twelve weeks."
    assert str(place) == "leave.md:9 › Parental leave"
    assert place.section == ("Leave", "Parental leave")


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "text": 'A first “text”.\nIts "second" line is 東京 😀 here.'},
        {"id": 2, "title": "text", "text": "Another\ttext. It has two sentences."},
    ]
    original = "\n".join([json.dumps(rows[0]), "", json.dumps(rows[1], ensure_ascii=False)])
    (tmp_path / "a.jsonl").write_text(original, encoding="utf-8")
    found = sentences(tmp_path / "a.jsonl")
    assert [place.line for _, place in found] == [1, 1, 3, 3]
    for text, place in found:
        assert json.loads(f'"{original[place.start : place.end]}"') == text


def test_json(tmp_path: Path) -> None:
    rows = [{"text": 'A "first" text.'}, {"n": [1, {"text": "no"}], "text": ["A list.", "Of two."]}]
    original = json.dumps({"x": {"data": 1}, "data": rows}, indent=1)
    (tmp_path / "a.json").write_text(original, encoding="utf-8")
    found = sentences(tmp_path / "a.json")
    (first, place), (_, listed) = found[0], found[1]
    assert json.loads(f'"{original[place.start : place.end]}"') == first
    assert place.line == original.count("\n", 0, place.start) + 1
    assert json.loads(original[listed.start : listed.end]) == ["A list.", "Of two."]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_json_that_is_told_behind_its_keys(tmp_path: Path, name: str) -> None:
    things = [
        {"item": 'Kiln "S" shelf', "price": "45 €", "size": {"wide": 3}},
        {"item": "Glaze", "price": "7 €", "size": {"wide": 40}},
    ]
    rows = "\n".join(map(json.dumps, things))
    original = rows if name == "a.jsonl" else json.dumps({"4217": things, "version": 1}, indent=1)
    (tmp_path / name).write_text(original, encoding="utf-8")
    documents = list(read_documents(SourceFile(tmp_path / name, name), IngestSettings()))
    assert len(documents) == 2
    for document, thing in zip(documents, things, strict=True):
        assert isinstance(document, Document)
        for said in (thing["item"], thing["price"], f"(wide: {thing['size']['wide']})"):  # type: ignore[index]
            at = document.text.index(str(said))
            place = document.origin.locate(at, at + len(str(said)))
            cut = original[place.start : place.end]
            assert place.line == original.count("\n", 0, place.start) + 1
            if str(said).startswith("("):
                assert json.loads(cut) == thing["size"]
            else:
                assert json.loads(f'"{cut}"') == said


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_json_strings(tmp_path: Path, name: str) -> None:
    texts = ["One text. It goes on.", 'A "second" one.']
    original = json.dumps(texts, indent=1) if name == "a.json" else "\n".join(map(json.dumps, texts))
    (tmp_path / name).write_text(original, encoding="utf-8")
    found = sentences(tmp_path / name)
    assert [text for text, _ in found] == ["One text.", "It goes on.", 'A "second" one.']
    for text, place in found:
        assert json.loads(f'"{original[place.start : place.end]}"') == text
        assert place.line == original.count("\n", 0, place.start) + 1


def test_csv(tmp_path: Path) -> None:
    rows = [["text", 'the text, "quoted"\nin two lines. And more.'], ["more", "Plain text."]]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n").writerows([["title", "text"], *rows])
    original = stream.getvalue()
    (tmp_path / "a.csv").write_text(original, encoding="utf-8", newline="")
    found = sentences(tmp_path / "a.csv")
    assert [place.line for _, place in found] == [2, 3, 4]
    for text, place in found:
        assert original[place.start : place.end].replace('""', '"') == text


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = ["One sentence. Another one.", "A third."]
    parquet.write_table(pyarrow.table({"text": texts, "n": [1, 2]}), tmp_path / "a.parquet")
    for text, place in sentences(tmp_path / "a.parquet"):
        row = int(re.fullmatch(r"row (\d+), text", str(place.part)).group(1))  # type: ignore[union-attr]
        assert texts[row - 1][place.start : place.end] == text


def test_pdf(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    from tests.ingest.test_formats import make_pdf

    make_pdf(tmp_path / "a.pdf", [["The Main is a river in Ger-", "many. It is long."], ["It ends here."]])
    pages = [page.extract_text() for page in pypdf.PdfReader(tmp_path / "a.pdf").pages]
    found = sentences(tmp_path / "a.pdf")
    assert [place.page for _, place in found] == [1, 1, 2]
    for text, place in found:
        cut = pages[int(place.page or 0) - 1][place.start : place.end]
        assert cut.replace("-\n", "").replace("\n", " ") == text
    assert str(found[2][1]) == "a.pdf, page 2"


def test_word(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    made = docx.Document()
    made.add_heading("Leave", 1)
    made.add_paragraph("Every parent has a right. It is paid.")
    table = made.add_table(3, 2)
    for row, cells in enumerate([("Kind", "Weeks"), ("mother", "14"), ("father", "4")]):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    made.add_paragraph("The end.")
    made.save(tmp_path / "a.docx")
    read = docx.Document(tmp_path / "a.docx")
    seen = []
    for text, place in sentences(tmp_path / "a.docx"):
        kind, *numbers = re.findall(r"[a-z]+|\d+", str(place.part))
        if kind == "paragraph":
            original = read.paragraphs[int(numbers[0]) - 1].text
            assert original[place.start : place.end] == text
        else:
            cells = [cell.text for cell in read.tables[int(numbers[0]) - 1].rows[int(numbers[2]) - 1].cells]
            assert "\t".join(cells)[place.start : place.end].split("\t") == cells
        seen.append(text)
    assert "Kind: mother; Weeks: 14" in seen


def test_slides(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    made = pptx.Presentation()
    for name in ("First", "Second"):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = f"{name} slide"
        slide.placeholders[1].text = f"A sentence of the {name.lower()}. Another one."
        slide.notes_slide.notes_text_frame.text = f"Notes of the {name.lower()}."
    made.save(tmp_path / "a.pptx")
    read = pptx.Presentation(tmp_path / "a.pptx")
    found = sentences(tmp_path / "a.pptx")
    assert len(found) == 8
    for text, place in found:
        slide = read.slides[int(str(place.part).split()[1]) - 1]
        lines = [slide.shapes.title.text, slide.placeholders[1].text, slide.notes_slide.notes_text_frame.text]
        assert "\n".join(lines)[place.start : place.end] == text


def test_sheets(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    for row in [("Fruit", "Price"), ("Apple", 1.5), None, ("Pear", 2)]:
        book.active.append(row or ())
    secret = book.create_sheet("Hidden")
    secret.append(("Secret", "row"))
    secret.sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    found = dict(sentences(tmp_path / "a.xlsx"))
    assert list(found) == ["Fruit: Apple; Price: 1.5", "Fruit: Pear; Price: 2"]
    assert str(found["Fruit: Pear; Price: 2"]) == "a.xlsx, Prices!A4"


ODS = """<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x"><office:body>
<office:spreadsheet><table:table table:name="Prices">
<table:table-row><table:table-cell><text:p>Fruit</text:p></table:table-cell><table:table-cell><text:p>Price</text:p>
</table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>Apple</text:p></table:table-cell>
<table:table-cell><text:p>1.5</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="16382"/></table:table-row>
</table:table></office:spreadsheet></office:body></office:document-content>"""


def test_opendocument_sheets(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:
        archive.writestr("content.xml", ODS)
    [(text, place)] = sentences(tmp_path / "a.ods")
    assert (text, str(place)) == ("Fruit: Apple; Price: 1.5", "a.ods, Prices!A2")


def make_epub(path: Path, chapters: dict[str, str]) -> None:
    items = "".join(
        f'<item id="{n}" href="{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="{n}"/>' for n in range(len(chapters)))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "OEBPS/book.opf",
            f'<package xmlns:dc="d"><metadata><dc:title>The Book</dc:title></metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for name, text in chapters.items():
            archive.writestr(f"OEBPS/{name}", text)


def test_epub(tmp_path: Path) -> None:
    chapters = {
        "one.xhtml": "<html><head><title>x</title></head><body><h1>One</h1><p>A <i>first</i> sentence.</p></body></html>",
        "two.xhtml": "<html><body><h1>Two</h1>\n<p>Another sentence. And more.</p></body></html>",
    }
    make_epub(tmp_path / "a.epub", chapters)
    found = sentences(tmp_path / "a.epub")
    assert [text for text, _ in found] == [
        "One",
        "A first sentence.",
        "Two",
        "Another sentence.",
        "And more.",
    ]
    for text, place in found:
        cut = chapters[str(place.part).removeprefix("OEBPS/")][place.start : place.end]
        assert re.sub(r"<[^>]*>", "", cut) == text
    assert str(found[-1][1]) == "a.epub, OEBPS/two.xhtml › Two"


def mail(body: str, encoding: str = "7bit", charset: str = "utf-8") -> bytes:
    coded: dict[str, Callable[[bytes], bytes]] = {
        "7bit": bytes,
        "8bit": bytes,
        "quoted-printable": quopri.encodestring,
        "base64": base64.encodebytes,
    }
    head = (
        "From: Anna <anna@example.org>\nTo: ben@example.org\nDate: Mon, 02 Mar 2026 10:00:00 +0100\n"
        f"Subject: The leave\nMessage-ID: <{abs(hash(body))}@x>\nMIME-Version: 1.0\n"
        f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: {encoding}\n\n"
    )
    return head.encode() + coded[encoding](body.encode(charset)) + b"\n"


@pytest.mark.parametrize("encoding", ["7bit", "8bit", "quoted-printable", "base64"])
def test_a_message(tmp_path: Path, encoding: str) -> None:
    odd = "" if encoding == "7bit" else "ä"
    data = mail(f"Dear Ben,\n\n> Who pays?\n\nThe empl{odd}oyer pays. It is twelve weeks.\n", encoding)
    (tmp_path / "a.eml").write_bytes(data)
    original = data.decode()
    found = sentences(tmp_path / "a.eml")
    texts = [text for text, _ in found]
    assert "Who pays?" in texts
    assert "From: Anna <anna@example.org>" in texts
    for text, place in found:
        cut = original[place.start : place.end]
        if encoding == "quoted-printable":
            cut = quopri.decodestring(cut.encode()).decode()
        elif encoding == "base64" and text not in cut:
            cut = base64.b64decode(cut).decode()
        assert text in cut
        assert encoding != "8bit" or cut == text
        assert place.line == original.count("\n", 0, place.start) + 1


def test_a_mailbox(tmp_path: Path) -> None:
    letters = [mail("The first letter. It is short."), mail("Der zweite Brief kostet 5 €.", "8bit")]
    data = b"".join(
        b"From anna@example.org Mon Mar  2 10:00:00 2026\n" + letter + b"\n" for letter in letters
    )
    (tmp_path / "a.mbox").write_bytes(data)
    original = data.decode()
    found = [(text, place) for text, place in sentences(tmp_path / "a.mbox") if ": " not in text]
    assert [text for text, _ in found] == [
        "The first letter.",
        "It is short.",
        "Der zweite Brief kostet 5 €.",
    ]
    for text, place in found:
        assert original[place.start : place.end] == text
        assert place.line == original.count("\n", 0, place.start) + 1


# -- the map itself


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 4), max_size=8), st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_a_map_survives_cutting_and_writing(steps: list[Any], first: int, second: int) -> None:
    start, end = sorted((first, second))
    runs, at, original = [], 0, 0
    for gap, length, original_gap, original_length in steps:
        at, original = at + gap, original + original_gap
        runs.append(Run(at, length + 1, original, original_length + 1))
        at, original = at + length + 1, original + original_length + 1
    newlines = tuple(range(0, original, 3))
    whole = SourceMap(tuple(runs), newlines)
    cut = SourceMap.from_text(whole.cut(start, end).to_text())
    assert cut == whole.cut(start, end)
    for low in range(start, end):
        covered = [run for run in runs if run.start <= low < run.start + run.length]
        if covered:
            assert cut.locate(low - start, low - start + 1) == whole.locate(low, low + 1)

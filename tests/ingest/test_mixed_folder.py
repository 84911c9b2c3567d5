"""A folder as people have it: many formats, indexed once, asked, and each citation opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.ingest.test_formats import make_pdf
from tests.ingest.test_places import mail, make_epub

from pagerag.cli import main
from pagerag.ingest import index_paths
from pagerag.pipeline import PageRAG
from pagerag.places import place_of
from pagerag.read.evidence import EvidenceReader
from pagerag.store import SqliteCorpus

TEXTS = {
    "handbook/leave.md": "---\ntitle: Handbook\n---\n# Leave\n\n## Parental leave\n\nParental leave lasts "
    "**twelve** weeks.\n\n## Sick leave\n\nA doctor's note is needed after [three](x) days.\n",
    "handbook/travel.rst": "Travel\n======\n\nHotels\n------\n\nA hotel may cost ``140`` euros "
    "in :ref:`Lisbon <lisbon>`.\n",
    "handbook/kitchen.adoc": "= Kitchen\n\n== Coffee\n\nThe *coffee machine* is cleaned on https://x.org[Fridays].\n",
    "site/parking.html": "<html><head><title>Parking</title></head><body><nav>Home</nav><h1>Parking</h1>"
    "<p>Bicycles are parked in <b>yard</b> seven.</p><p hidden>Bicycles cost ninety euros.</p></body></html>",
    "minutes/2026-03-02.txt": "Board meeting\n\nAnna: The roof will be mended in October.\nBen: Who pays for it?\n"
    "Anna: The insurance company Helvetia pays.\n",
    "data/plants.csv": "title,text\nFern,The fern in the hall is watered by Olga.\n",
    "data/keys.jsonl": json.dumps({"id": "k1", "title": "Keys", "text": "The spare key hangs in room 314."})
    + "\n",
}
QUESTIONS = {
    "How many weeks does parental leave last?": ("leave.md:8 › Parental leave", "twelve"),
    "What may a hotel in Lisbon cost?": ("travel.rst:7 › Hotels", "140"),
    "When is the coffee machine cleaned?": ("kitchen.adoc:5 › Coffee", "Fridays"),
    "Where are bicycles parked?": ("parking.html:1", "yard"),
    "Which insurance company pays for the roof?": ("2026-03-02.txt:5", "Helvetia"),
    "Who waters the fern in the hall?": ("plants.csv:2", "Olga"),
    "Where does the spare key hang?": ("keys.jsonl:1", "314"),
    "Which wine is served on Sundays?": ("a.pdf, page 2", "Riesling"),
    "Who tunes the piano?": ("a.docx, paragraph 2 › Piano", "Clara"),
    "What colour is the lighthouse?": ("a.epub, OEBPS/one.xhtml › The coast", "green"),
    "When does the boiler inspection take place?": ("a.eml:10", "14 May"),
    "What does the apple cake cost?": ("a.xlsx, Menu!A2", "4.20"),
    "Who chairs the garden group?": ("a.pptx, slide 1 › Groups", "Selma"),
}


@pytest.fixture
def mixed(folder: Path) -> Path:
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    docx, openpyxl, pptx = (pytest.importorskip(name) for name in ("docx", "openpyxl", "pptx"))
    pytest.importorskip("pypdf")
    make_pdf(
        folder / "a.pdf", [["The cellar is locked."], ["Riesling is the wine that is served on Sundays."]]
    )
    document = docx.Document()
    document.add_heading("Piano", 1)
    document.add_paragraph("The piano is tuned by Clara every spring.")
    document.save(folder / "a.docx")
    make_epub(
        folder / "a.epub", {"one.xhtml": "<body><h1>The coast</h1><p>The lighthouse is green.</p></body>"}
    )
    (folder / "a.eml").write_bytes(mail("The boiler inspection takes place on 14 May.\n"))
    book = openpyxl.Workbook()
    book.active.title = "Menu"
    book.active.append(("Dish", "Price"))
    book.active.append(("Apple cake", "4.20 euros"))
    book.save(folder / "a.xlsx")
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = "Groups"
    slide.placeholders[1].text = "The garden group is chaired by Selma."
    slides.save(folder / "a.pptx")
    (folder / "photo.png").write_bytes(b"\x89PNG")
    (folder / "clip.mp4").write_bytes(b"\0")
    return folder


def test_a_folder_of_mixed_formats_is_indexed_and_asked(mixed: Path, store: SqliteCorpus) -> None:
    report = index_paths([mixed], store)
    assert (report.indexed, report.failed, report.bad_records) == (len(QUESTIONS), [], [])
    rag = PageRAG(store, reader=EvidenceReader())
    for question, (where, words) in QUESTIONS.items():
        result = rag.ask(question)
        places = {str(result.place(citation)): citation.quote for citation in result.answer.citations}
        assert any(place.endswith(where) and words in quote for place, quote in places.items()), (
            question,
            places,
        )
    assert not any("ninety" in unit.text for unit in store.search_text("What do bicycles cost?", k=50))


def test_passages_know_their_neighbours_and_section(mixed: Path, store: SqliteCorpus) -> None:
    index_paths([mixed], store)
    [first] = [c for c in store.search_text("parental leave lasts", k=50) if "twelve" in c.text]
    assert first.metadata["section_path"] == ["Leave", "Parental leave"]
    assert "previous" not in first.metadata, "a heading with nothing below it but headings is no passage"
    [second] = store.fetch([first.metadata["next"]])
    assert second.metadata["section_path"] == ["Leave", "Sick leave"]
    assert second.metadata["previous"] == first.id
    assert place_of(second).line == 10


def test_what_was_left_out_is_one_line(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pagerag import retrieve
    from pagerag.testing import FakeEncoder

    monkeypatch.setattr(retrieve, "encoder", lambda name, **_: FakeEncoder(32, name))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("Elsewhere.", encoding="utf-8")
    (mixed / "link.txt").symlink_to(tmp_path / "secret.txt")
    for number in range(30):
        (mixed / f"{number}.png").touch()
    assert main(["index", str(mixed), "--store", "s"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "left out" in line]
    assert len(lines) == 1
    assert "31 .png, 1 .mp4 (not a known format; a text is read" in lines[0]
    assert "1 link to the outside (--follow-links reads such)" in lines[0]

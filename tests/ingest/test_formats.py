"""Every format: its text, its title, its pages, and offsets that point back to it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pagerag.errors import FormatError, InputError
from pagerag.ingest import Document, IngestSettings, SourceFile, passages_of, read_documents
from pagerag.ingest.documents import BadRecord
from pagerag.text import Analyzer

PLAIN = IngestSettings()


def read(path: Path, settings: IngestSettings = PLAIN) -> list[Document]:
    found = list(read_documents(SourceFile(path, path.name), settings))
    assert all(isinstance(item, Document) for item in found)
    return found  # type: ignore[return-value]


def units(document: Document, settings: IngestSettings = PLAIN) -> list[Any]:
    made = passages_of(document, "s", "p", "d", settings, Analyzer())
    for unit in made:
        assert document.text[unit.start : unit.end] == unit.text
        assert unit.total == len(made)
        spans = [unit.text[a:b] for a, b in unit.sentences]
        assert "".join("".join(spans).split()) == "".join(unit.text.split())
    return made


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Der Fluss heißt Main. Größe zählt."),
        ("utf-8-sig", "Der Fluss heißt Main."),
        ("utf-16", "Ποταμός και πόλη. 東京は首都です。"),
        ("utf-32", "Ποταμός και πόλη."),
        ("cp1252", "Le café est à côté de la forêt, près d’une église très âgée. " * 5),
        ("cp1251", "Москва является столицей России, а Волга впадает в Каспийское море. " * 5),
        ("cp1253", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και βρίσκεται στην Αττική. " * 3),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. " * 3),
        ("iso8859_2", "Zażółć gęślą jaźń w Krakowie nad Wisłą, gdzie mieszkał król. " * 3),
        ("shift_jis", "東京は日本の首都であり、世界最大の都市圏を形成しています。" * 5),
        ("gb18030", "北京是中华人民共和国的首都，也是全国的政治中心和文化中心。" * 5),
    ],
)
def test_encodings(tmp_path: Path, encoding: str, text: str) -> None:
    pytest.importorskip("charset_normalizer")
    (tmp_path / "my_notes.txt").write_bytes(text.encode(encoding))
    [document] = read(tmp_path / "my_notes.txt")
    assert document.text == text.strip()
    assert (document.title, document.titled) == ("my notes", False)
    assert units(document)


def test_control_characters_are_replaced_one_for_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"One\x1b[31m two\x7f.\r\nThree\tfour.")
    [document] = read(tmp_path / "a.txt")
    assert document.text == "One [31m two .\nThree four."
    assert document.origin.locate(15, 20).start == 16  # "Three", behind the two characters of the line end


def test_markdown(tmp_path: Path) -> None:
    pytest.importorskip("markdown_it")
    (tmp_path / "a.md").write_text(
        "# The **River** Main\n\nIt flows [to the Rhine](https://example.org/x) and is *long*.\n"
        "Its source is `Creußen`.\n\n## Towns\n\n- Frankfurt\n- Würzburg\n\n"
        "| town | size |\n|---|---|\n| Bamberg | small |\n\n```\ncode = 1\n```\n\n"
        "<div>raw &amp; html</div>\n",
        encoding="utf-8",
    )
    [document] = read(tmp_path / "a.md")
    assert (document.title, document.titled) == ("The River Main", True)
    assert "It flows to the Rhine and is long. Its source is Creußen." in document.text
    assert "town: Bamberg; size: small" in document.text
    assert "raw & html" in document.text
    assert "code = 1" in document.text
    assert [(part.level, part.title) for part in document.sections] == [(1, "The River Main"), (2, "Towns")]
    by_text = {unit.text.split("\n")[0]: unit for unit in units(document)}
    assert by_text["Towns"].section == "Towns"
    assert by_text["Towns"].section_path == ("Towns",)
    assert by_text["Towns"].names == ("Towns",)


def test_front_matter_names_the_document(tmp_path: Path) -> None:
    pytest.importorskip("markdown_it")
    (tmp_path / "a.md").write_text(
        '---\nauthor: x\ntitle: "Named"\n---\n# Other\n\nText.\n', encoding="utf-8"
    )
    [document] = read(tmp_path / "a.md")
    assert document.title == "Named"
    assert "author" not in document.text


def test_html(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<!doctype html><html><head><title>The  Main</title><style>p{}</style></head><body>"
        "<nav>Home | About</nav><h1>Main</h1><p>A <b>river</b> in\n Germany.<br>It is long.</p>"
        "<!-- hidden --><script>alert(1)</script><h2>Towns</h2>"
        "<ul><li>Frankfurt</li><li>Mainz &amp; more</li></ul>"
        "<table><tr><td>a</td><td>b</td></tr></table><footer>imprint</footer></body></html>",
        encoding="utf-8",
    )
    [document] = read(tmp_path / "a.html")
    assert document.title == "The Main"
    assert (
        document.text
        == "Main\n\nA river in Germany. It is long.\n\nTowns\n\nFrankfurt\n\nMainz & more\n\na | b"
    )
    assert [document.text[start:].split("\n")[0] for start, _, _ in document.sections] == ["Main", "Towns"]


def test_html_in_a_declared_encoding_and_nested_deep(tmp_path: Path) -> None:
    page = '<meta charset="iso-8859-1"><p>Größe</p>' + "<div>" * 3000 + "deep"
    (tmp_path / "a.htm").write_bytes(page.encode("latin-1"))
    [document] = read(tmp_path / "a.htm")
    assert document.text == "Größe\n\ndeep"
    assert document.title == "a"


def make_pdf(path: Path, pages: list[list[str]], title: str = "") -> None:
    """A PDF by hand: pages of lines in Helvetica."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    kids = []
    for lines in pages:
        show = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        stream = f"BT /F1 12 Tf 72 720 Td {show} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects.append(f"<< /Title ({title}) >>")
    body = "%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    start = len(body)
    body += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    body += "".join(f"{place:010d} 00000 n \n" for place in places)
    body += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
    body += f"startxref\n{start}\n%%EOF"
    path.write_bytes(body.encode("latin-1"))


def test_pdf_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    first = ["The Main is a river in Ger-", "many. It flows through", "Frankfurt."]
    make_pdf(tmp_path / "a.pdf", [first, ["It ends in Mainz.", "That is all."]], "The Main")
    [document] = read(tmp_path / "a.pdf")
    assert document.title == "The Main"
    # "Ger-many" is a capitalised word cut in two lines; its halves are lower case at the hyphen.
    assert (
        document.text
        == "The Main is a river in Germany. It flows through Frankfurt.\n\nIt ends in Mainz. That is all."
    )
    [unit] = units(document)
    sentences = [unit.text[a:b] for a, b in unit.sentences]
    assert dict(zip(sentences, unit.pages, strict=True)) == {
        "The Main is a river in Germany.": 1,
        "It flows through Frankfurt.": 1,
        "It ends in Mainz.": 2,
        "That is all.": 2,
    }


def test_docx(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    made = docx.Document()
    made.add_heading("The Main", 0)
    made.add_paragraph("A river in Germany.")
    made.add_heading("Towns", 1)
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Frankfurt", "large"
    made.add_paragraph("The end.")
    made.save(tmp_path / "a.docx")
    [document] = read(tmp_path / "a.docx")
    assert document.title == "The Main"
    assert document.text == "The Main\n\nA river in Germany.\n\nTowns\n\nFrankfurt | large\n\nThe end."
    assert [part.title for part in document.sections] == ["The Main", "Towns"]


RECORDS = [
    {"id": "a", "title": "Main", "text": "A river.", "year": 1999, "tags": ["x"]},
    {"id": "b", "title": None, "text": "No title."},
]


def test_records_in_every_container(tmp_path: Path) -> None:
    lines = "\n\n".join(json.dumps(record) for record in RECORDS)
    (tmp_path / "a.jsonl").write_text("\ufeff" + lines, encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(RECORDS), encoding="utf-8")
    (tmp_path / "c.json").write_text(json.dumps({"data": RECORDS}), encoding="utf-8")
    (tmp_path / "d.csv").write_text(
        "id;title;text;year\na;Main;A river.;1999\nb;;No title.;\n", encoding="utf-8"
    )
    (tmp_path / "e.tsv").write_text(
        'id\ttitle\ttext\na\tMain\t"A river."\nb\t\tNo title.\n', encoding="utf-16"
    )
    names = ["a.jsonl", "b.json", "c.json", "d.csv", "e.tsv"]
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        pass
    else:
        columns = {key: [record.get(key) for record in RECORDS] for key in ("id", "title", "text", "year")}
        pq.write_table(pa.table(columns), tmp_path / "f.parquet")
        names.append("f.parquet")
    for name in names:
        found = read(tmp_path / name)
        assert [(d.record, d.title, d.text) for d in found] == [
            ("a", "Main", "A river."),
            ("b", None, "No title."),
        ]
        assert all(d.whole for d in found)
        if name != "e.tsv":
            assert str(found[0].fields["year"]) == "1999"
            assert "year" not in found[1].fields


def test_named_fields(tmp_path: Path) -> None:
    settings = IngestSettings(fields={"text": "story", "title": "headline", "id": "nr"})
    row = {"nr": 7, "headline": "H", "story": ["One.", " Two."], "text": "not this"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row), encoding="utf-8")
    [document] = read(tmp_path / "a.jsonl", settings)
    assert (document.record, document.title, document.text) == ("7", "H", "One. Two.")
    assert document.fields == {"text": "not this"}
    with pytest.raises(InputError, match="unknown field 'body'"):
        IngestSettings(fields={"body": "x"})


def test_contents_with_the_title_on_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1", "contents": "\\"Main\\"\\nA river."}', encoding="utf-8")
    [document] = read(tmp_path / "a.jsonl")
    assert (document.title, document.text) == ("Main", "A river.")


def test_records_that_share_an_id(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "text": "One."},
        {"id": 1, "text": "Two."},
        {"id": 1, "text": "One."},
        {"text": "No id."},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [(d.record, d.text) for d in read(tmp_path / "a.jsonl")] == [
        ("1", "One."),
        ("1-2", "Two."),
        ("4", "No id."),
    ]


def test_benchmark_contexts_without_their_gold(tmp_path: Path) -> None:
    hotpot = [
        {
            "_id": "q",
            "question": "Q?",
            "answer": "SECRET",
            "supporting_facts": [["Main", 0]],
            "context": [["Main", ["A river.", " It is long."]], ["Rhine", ["Another."]]],
        },
        {
            "_id": "r",
            "question": "R?",
            "context": {"title": ["Main"], "sentences": [["A river.", " It is long."]]},
        },
    ]
    musique = {
        "id": "2hop__1",
        "question": "Q?",
        "answer": "SECRET",
        "paragraphs": [{"idx": 0, "title": "Main", "paragraph_text": "A river.", "is_supporting": True}],
    }
    (tmp_path / "dev.json").write_text(json.dumps(hotpot), encoding="utf-8")
    (tmp_path / "dev.jsonl").write_text(json.dumps(musique), encoding="utf-8")
    assert [(d.title, d.text) for d in read(tmp_path / "dev.json")] == [
        ("Main", "A river. It is long."),
        ("Rhine", "Another."),
    ]
    [document] = read(tmp_path / "dev.jsonl")
    assert (document.title, document.text, document.fields) == ("Main", "A river.", {})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "ok"}\n{"text": ', "a.jsonl, line 2: is not JSON"),
        ("a.jsonl", '{"text": "ok"}\n[1]', "line 2: must be a JSON object, is list"),
        (
            "a.csv",
            "words\nx\n",
            "line 1: no text field; the record has: words. Name it with --field text=NAME",
        ),
        ("a.jsonl", '{"text": 5}', "line 1, field 'text': must be text, is int"),
        ("a.json", "{", "a.json: is not JSON"),
        ("a.json", "[" * 100_000, "a.json: is not JSON"),
        ("a.json", '"x"', "must hold a list of records, is str"),
        ("a.json", "[1]", "must be an object, is int"),
        ("a.json", '[{"question": "q", "context": [5]}]', "not a readable JSON file"),
        ("a.csv", "text,id\na,b,c\n", "line 2: has more fields than the header"),
        ("a.csv", 'text,id\n"never closed', "not readable CSV"),
        ("a.parquet", "PAR1 not really PAR1", "not a readable Parquet file"),
        ("a.pdf", "%PDF-1.4 and then nothing", "not a readable PDF file"),
        ("a.docx", "PK not a zip", "not a readable Word file"),
        ("a.txt", "text\0with\0zeros", "looks like a binary file"),
        ("a.md", "\x7fELF\0\0", "looks like a binary file"),
        ("a.jsonl", "\0\0\0\0", "looks like a binary file"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        read(tmp_path / name)
    assert message in str(caught.value)
    assert str(caught.value).startswith(name)
    assert str(caught.value).count(name) == 1


def test_bad_records_can_be_passed_over(tmp_path: Path) -> None:
    rows = ['{"text": "One."}', "{", '{"text": 1}', '{"text": "Two."}']
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    settings = IngestSettings(bad_records="skip")
    found = list(read_documents(SourceFile(tmp_path / "a.jsonl", "a.jsonl"), settings))
    assert [d.text for d in found if isinstance(d, Document)] == ["One.", "Two."]
    assert [item.problem.line for item in found if isinstance(item, BadRecord)] == [2, 3]


def test_lone_surrogates_in_json(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "half \\ud83d here", "title": "\\udc00"}', encoding="utf-8")
    [document] = read(tmp_path / "a.jsonl")
    assert document.text == "half \ufffd here"


# -- passages


def test_passages_are_bounded_and_break_at_sentences() -> None:
    text = " ".join(f"Sentence number {n} speaks of town {n}." for n in range(40))
    made = units(Document(text, "T"), IngestSettings(passage_chars=200))
    assert len(made) > 5
    assert all(len(unit.text) <= 200 and unit.text.endswith(".") for unit in made)
    assert [unit.ordinal for unit in made] == [
        sum(len(u.sentences) for u in made[:i]) for i in range(len(made))
    ]


def test_overlap_repeats_sentences() -> None:
    text = " ".join(f"Sentence number {n} speaks." for n in range(12))
    made = units(Document(text, "T"), IngestSettings(passage_chars=100, overlap=1))
    for before, after in pairwise(made):
        last = before.text[slice(*before.sentences[-1])]
        assert after.text.startswith(last)
        assert after.ordinal == before.ordinal + len(before.sentences) - 1
    assert made[-1].text.endswith("number 11 speaks.")


def test_a_sentence_without_end_is_cut() -> None:
    for text in ("word " * 500, "字" * 2500, "x" * 3000):
        made = units(Document(text, "T"), IngestSettings(passage_chars=300))
        assert all(len(unit.text) <= 300 for unit in made)
        assert "".join("".join(unit.text.split()) for unit in made) == "".join(text.split())


def test_records_stay_whole_up_to_their_limit() -> None:
    text = "  One sentence here. " * 30
    [unit] = units(Document(text, "T", record="1", whole=True))
    assert unit.text == text.strip()
    assert (
        len(
            units(
                Document(text, "T", record="1", whole=True),
                IngestSettings(record_chars=100, passage_chars=90),
            )
        )
        > 3
    )


@pytest.mark.parametrize("text", ["", "   \n\n  ", "\t"])
def test_nothing_gives_no_passage(text: str) -> None:
    assert units(Document(text, "T")) == []
    assert units(Document(text, "T", whole=True)) == []


def test_a_passage_of_an_untitled_file_is_known_by_the_name_it_opens_with() -> None:
    [unit] = units(Document("Hans Zimmer is a composer.", "notes 3", titled=False))
    assert unit.names == ("Hans Zimmer",)
    [unit] = units(Document("In 1957 he was born.", "notes 3", titled=False))
    assert unit.names == ()


@pytest.mark.parametrize("wrong", [{"passage_chars": 0}, {"overlap": -1}, {"batch_units": 0}])
def test_impossible_settings(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError):
        IngestSettings(**wrong)  # type: ignore[arg-type]


def test_a_table_without_a_text_column_is_told_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text('item,price,stock\n"Kiln ""S"" shelf",45 EUR,3\nGlaze,,20\n', encoding="utf-8")
    first, second = read(path)
    assert (first.title, first.text) == ("prices", 'item: Kiln "S" shelf; price: 45 EUR; stock: 3')
    assert second.text == "item: Glaze; stock: 20"
    at = first.text.index("45 EUR")
    place = first.origin.locate(at, at + len("45 EUR"))
    source = path.read_text(encoding="utf-8")
    assert source[place.start : place.end] == "45 EUR"
    assert place.line == 2


def test_a_table_whose_text_column_is_named_keeps_to_it(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("item,price\nKiln shelf,45 EUR\n", encoding="utf-8")
    [document] = read(path, replace(PLAIN, fields={"text": "item"}))
    assert (document.text, document.fields) == ("Kiln shelf", {"price": "45 EUR"})


COUNTRIES = [{"alpha": "DE", "name": "Germany"}, {"alpha": "FR", "name": "France", "area": 1.5, "x": None}]
TOLD = ["alpha: DE; name: Germany", "alpha: FR; name: France; area: 1.5"]


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("list.json", COUNTRIES, TOLD),
        ("named.json", {"4217": COUNTRIES, "version": 3, "empty": []}, TOLD),
        ("two.json", {"a": COUNTRIES[:1], "b": COUNTRIES[1:]}, TOLD),
        ("more.json", {"about": "All of them.", "list": COUNTRIES}, [*TOLD, "about: All of them."]),
        ("one.json", COUNTRIES[0], TOLD[:1]),
        ("text.json", {"text": "A text.", "notes": [{"by": "Anna"}]}, ["A text."]),
        ("strings.json", ["One text.", "", "Another."], ["One text.", "", "Another."]),
        ("passages.json", {"passages": ["One text."]}, ["One text."]),
        ("mixed.json", ["One text.", COUNTRIES[0]], ["One text.", TOLD[0]]),
        (
            "nested.json",
            {"who": "Anna", "tags": ["a", "b"], "home": {"city": "Bonn", "no": 3}, "films": [[1, 2]]},
            ["who: Anna; tags: a, b; home: (city: Bonn; no: 3); films: (1, 2)"],
        ),
        ("vector.json", [{"name": "Anna", "vector": [0.5] * 50}], ["name: Anna"]),
        ("faq.json", [{"question": "Who?", "answer": "Anna."}], ["question: Who?; answer: Anna."]),
    ],
)
def test_json_without_texts_is_told_behind_its_keys(
    tmp_path: Path, name: str, content: Any, texts: list[str]
) -> None:
    (tmp_path / name).write_text(json.dumps(content, indent=1), encoding="utf-8")
    assert [document.text for document in read(tmp_path / name)] == texts


def test_json_lines_without_texts_are_told_behind_their_keys(tmp_path: Path) -> None:
    lines = [*COUNTRIES, "One text.", {"text": "With one."}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = read(tmp_path / "a.jsonl")
    assert [document.text for document in found] == [*TOLD, "One text.", "With one."]
    assert [document.title for document in found] == ["a", "a", "a", None]


def test_told_records_keep_their_ids_and_the_title_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"id": 7, "name": "Anna", "x": 1}]', encoding="utf-8")
    [document] = read(tmp_path / "a.json", replace(PLAIN, fields={"title": "name"}))
    assert (document.record, document.title, document.text) == ("7", "Anna", "id: 7; name: Anna; x: 1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"list": COUNTRIES}, "line 1, field 'story': is missing; the record has: alpha, name"),
        (["One text."], "must be an object, is str"),
        (COUNTRIES[0], "field 'story': is missing; the record has: alpha, name"),
        ({"story": 5}, "field 'story': must be text, is int"),
    ],
)
def test_a_text_that_is_named_is_never_told_instead(tmp_path: Path, content: Any, message: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FormatError, match=re.escape(message)):
        read(tmp_path / "a.json", replace(PLAIN, fields={"text": "story"}))


def test_an_object_with_the_text_that_is_named_is_one_record(tmp_path: Path) -> None:
    content = {"description": "A shop.", "reviews": [{"by": "Anna"}]}
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    [document] = read(tmp_path / "a.json", replace(PLAIN, fields={"text": "description"}))
    assert document.text == "A shop."


def test_what_is_told_of_a_record_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"name": "x" * 2000}]), encoding="utf-8")
    with pytest.raises(FormatError, match="longer than 1,000 characters"):
        read(tmp_path / "a.json", replace(PLAIN, max_record_bytes=1000))
    deep = '{"a": ' * 400 + "1" + "}" * 400
    (tmp_path / "b.jsonl").write_text(f'{deep}\n{{"name": "Anna"}}', encoding="utf-8")
    assert [document.text for document in read(tmp_path / "b.jsonl")] == ["", "name: Anna"]


def test_a_benchmark_question_alone_stands_for_its_paragraphs(tmp_path: Path) -> None:
    paragraphs = [{"title": "Main", "paragraph_text": "A river.", "is_supporting": True}]
    (tmp_path / "a.json").write_text(
        json.dumps({"question": "Q?", "answer": "SECRET", "paragraphs": paragraphs}), encoding="utf-8"
    )
    assert [document.text for document in read(tmp_path / "a.json")] == ["A river."]

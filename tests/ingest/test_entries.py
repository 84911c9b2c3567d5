"""Entries of reference pages: a term, its paragraphs and its default stay in one passage."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagerag.ingest import Document, IngestSettings, SourceFile, read_documents
from pagerag.ingest.passages import spans_of

NAMES = [f"SHELF_{letter}" for letter in "ABCDEFGH"]
SAID = [
    "How many shelves the kiln holds when it is fired.",
    "Other numbers are taken as they are, whatever the kiln says.",
]


def passages(path: Path, content: str, most: int = 420) -> list[str]:
    path.write_text(content, encoding="utf-8")
    (document,) = read_documents(SourceFile(path, path.name), IngestSettings())
    assert isinstance(document, Document)
    return [document.text[a:b] for a, b, _ in spans_of(document, IngestSettings(passage_chars=most))]


FORMS = {
    "an object directive.rst": (
        ".. py:data:: {name}\n\n    {first}\n\n    {second}\n\n    Default: ``{value}``\n\n",
        "",
        "",
    ),
    "a field list.rst": (":{name}:\n    {first}\n\n    {second}\n\n    Default: ``{value}``\n\n", "", ""),
    "a definition list.rst": ("{name}\n    {first}\n\n    {second}\n\n    Default: {value}\n\n", "", ""),
    "a list.rst": ("* {name}: {first}\n\n  {second}\n\n  Default: {value}\n\n", "", ""),
    "a list.md": ("* {name}: {first}\n\n  {second}\n\n  Default: {value}\n\n", "", ""),
    "a definition list.html": (
        "<dt>{name}</dt><dd><p>{first}</p><p>{second}</p><p>Default: {value}</p></dd>",
        "<dl>",
        "</dl>",
    ),
    "a list.html": ("<li>{name}: {first}<p>{second}</p><p>Default: {value}</p></li>", "<ul>", "</ul>"),
    "a definition list.adoc": ("{name}::\n{first}\n+\n{second}\n+\n----\nDefault: {value}\n----\n\n", "", ""),
}


@pytest.mark.parametrize("name", FORMS)
def test_an_entry_that_fits_is_not_cut_from_its_default(name: str, tmp_path: Path) -> None:
    form, before, after = FORMS[name]
    entries = (
        form.format(name=term, first=SAID[0], second=SAID[1], value=value)
        for value, term in enumerate(NAMES, 100)
    )
    found = passages(tmp_path / name, f"{before}{''.join(entries)}{after}")
    assert len(found) > 2
    assert all(len(text) <= 420 for text in found)
    for value, term in enumerate(NAMES, 100):
        (home,) = (text for text in found if term in text)
        assert home.index(term) < home.index(f"Default: {value}")
    assert all(text.startswith("SHELF_") for text in found)


def test_of_an_entry_that_is_too_long_the_entries_inside_it_stay_whole(tmp_path: Path) -> None:
    inner = "".join(
        f"    .. py:method:: {name.lower()}()\n\n        {SAID[0]}\n\n        {SAID[1]}\n\n        Default: yes\n\n"
        for name in NAMES
    )
    found = passages(tmp_path / "a class.rst", f".. py:class:: Kiln\n\n    It burns.\n\n{inner}")
    assert found[0].startswith("Kiln: It burns.")
    assert all(text.startswith("shelf_") for text in found[1:])
    assert all(text.endswith("Default: yes") for text in found)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", "<dl><dt>65534:\n</dt><dd><p>User nobody.</p></dd></dl>"),
        ("a.html", "<dl><dt>65534 </dt><dd><p>User nobody.</p></dd></dl>"),
        ("a.rst", "65534:\n    User nobody.\n"),
        ("a.md", "65534:\n: User nobody.\n"),
        ("a.adoc", "65534:: User nobody.\n"),
    ],
)
def test_one_colon_stands_between_a_term_and_its_definition(name: str, content: str, tmp_path: Path) -> None:
    assert passages(tmp_path / name, content) == ["65534: User nobody."]

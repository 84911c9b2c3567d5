"""What reads foreign text in every room takes linear time on hostile text, loops and lists included."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from tests.sweep import SIZE, assert_growth, assert_linear

from pagerag.cli.console import CleanStream
from pagerag.promotion.sentence_arrays import Title
from pagerag.serve.dialects import read_document, read_text
from pagerag.text import gazetteer, keys
from pagerag.text.analysis import Analyzer
from pagerag.text.entities import extract_entities
from pagerag.text.names import opening_name, read_names
from pagerag.text.questions import read_question
from pagerag.text.sentences import split_sentences
from pagerag.text.sub_questions import separate_questions
from pagerag.text.terms import terms
from pagerag.text.tokens import fold, tokenize

ATOMS = (
    "\u0315\u0300", "a_b ", "--max-x ", '"ab" ', "12 ", "1.5 ", "A. ", "Dr. ", "Ab Cd ", "the ", "Is ", "中", "ア", "(1", "{{a", "a/b/",
    "A1_b2 ", "der ", "born ", "title: ", "\n# ", "Q: ", "1234567890",
)  # fmt: skip


def unkept(function: Any) -> Callable[[str], object]:
    """The function that makes what is remembered."""
    return function.__self__.make


READERS = {
    "fold": fold,
    "tokenize": tokenize,
    "terms": terms,
    "split_sentences": split_sentences,
    "extract_entities": extract_entities,
    "read_names": read_names,
    "opening_name": opening_name,
    "read_question": unkept(read_question),
    "separate_questions": unkept(separate_questions),
    "analyze": Analyzer().analyze,
    "analyze whole": lambda text: Analyzer().analyze(text, whole=True),
    "title_keys": unkept(keys.title_keys),
    "title_entities": gazetteer.title_entities,
    "title": Title,
    "document of a request": lambda text: read_document(text, 0),
    "mapping of a request": lambda text: read_document({"text": text}, 0),
    "query of a request": lambda text: read_text(text, "query"),
    "terminal": lambda text: CleanStream(io.StringIO()).write(text),
}


FRESH = itertools.count(1)
NUMBERED = (
    "a_{} ",
    "{} ",
    '"t{}" ',
    "Ab{} cd ",
    "Ab{}; ",
    "A{}_b --x{}y ",
    "Of {} or ",
    "中{}文",
    "{}. ",
    "Who{}? ",
)


@pytest.mark.parametrize(
    "name", ["extract_entities", "analyze", "analyze whole", "read_question", "read_names"]
)
@pytest.mark.parametrize("form", NUMBERED)
def test_many_different_names_are_linear(name, form):
    """Repeated text has few names; lists that are searched for each name grow with different ones."""

    def run(text):
        start = 10**6 * next(FRESH)  # names that no cache has seen
        READERS[name]("".join(form.replace("{}", str(start + n)) for n in range(len(text) // 12)))

    assert_growth(run, "x" * SIZE, "x" * 4 * SIZE, f"{name} of {form!r}")


@pytest.mark.parametrize("name", READERS)
def test_readers_are_linear(name):
    assert_linear(READERS[name], ATOMS)

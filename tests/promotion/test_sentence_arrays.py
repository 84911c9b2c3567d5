from __future__ import annotations

from pagerag import Candidate, Promoter
from pagerag.promotion.sentence_arrays import MAX_NODES, Documents, Sentences, narrow, title_reading
from pagerag.text.codes import question_codes
from pagerag.text.questions import read_question

ASKED = read_question("Where was Hans Zimmer born?")


def laid_out(*units: Candidate):  # type: ignore[no-untyped-def]
    analyses = [Promoter(support=None).analyze(unit, "document") for unit in units]
    documents = Documents(units, range(len(units)))
    return Sentences(analyses, documents, question_codes(ASKED.tokens)), analyses, documents


def test_a_title_is_read_once_without_its_bracket() -> None:
    title = title_reading("Get Low (film)")
    assert (title.key, title.parts, title.size) == ("get low", ("get", "low"), 3)
    assert title_reading("Get Low (film)") is title


def test_units_of_one_document_share_its_title() -> None:
    units = [Candidate(n, "Text.", title, title) for n, title in (("a", "T"), ("b", "U"), ("c", "T"))]
    documents = Documents(units, [0, 1, 2])
    assert documents.of == [0, 1, 0]
    assert [title.name for title in documents.titles] == ["T", "U"]


def test_question_words_are_marked_where_they_stand() -> None:
    sentences, _, _ = laid_out(Candidate("a", "Hans was born. He sang.", "Zimmer"))
    words = list(dict.fromkeys(ASKED.tokens))
    assert sentences.found[0][:, words.index("born")].tolist() == [True, False]
    assert sentences.titles[0][:, words.index("zimmer")].tolist() == [True]
    assert not sentences.repeats


def test_a_large_pool_is_narrowed_and_every_unit_is_heard() -> None:
    filler = " ".join(f"Sentence number {n} tells of nothing." for n in range(30))
    units = [Candidate(str(n), f"{filler} Hans Zimmer was born here{n}.", f"Title {n}") for n in range(3)]
    sentences, analyses, documents = laid_out(*units)
    keep = narrow(sentences, analyses, documents, None)
    assert keep is not None
    assert len(keep) == MAX_NODES
    assert keep == sorted(keep)
    assert {30, 61, 92} <= set(keep)  # the sentences with the question's words
    assert {int(sentences.owner[place]) for place in keep} == {0, 1, 2}
    few = laid_out(Candidate("a", "One. Two."))
    assert narrow(*few, None) is None

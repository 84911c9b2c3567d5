"""Questions that nearly have an answer."""

from __future__ import annotations

from pagerag_lab.training.examples import Example, Unit
from pagerag_lab.training.swapped import swapped


def example(question: str, **more: object) -> Example:
    gold = Unit("g", "Caches", "By default the builder Jenkins keeps 5 GB in cache since May 2019.", 0, True)
    other = Unit("o", "Runs", "The builder Travis was left in 2021, and the builder Azure too.", 0, False)
    told: dict[str, object] = {"base": question, **more}
    return Example("q", "documents", question, (gold, other), ("5 GB",), "span", **told)  # type: ignore[arg-type]


def test_a_name_becomes_another_of_the_pool_that_the_evidence_does_not_have():
    for question in ("how much cache does jenkins keep?", "How much cache does Jenkins keep?"):
        (made,) = swapped([example(question)], seed=1)
        assert made.question.lower() in {f"how much cache does {n} keep?" for n in ("travis", "azure")}
        assert made.question[0] == question[0]
        assert ("Travis" in made.question or "Azure" in made.question) == ("Jenkins" in question)
        assert (made.kind, made.answers, made.complete) == ("none", (), False)
        assert made.source == "documents_swapped"
        assert not any(unit.support for unit in made.units)
        assert made.base == question, "its fold is that of the question it was made of"


def test_a_number_becomes_one_of_the_same_shape():
    (made,) = swapped([example("what was kept in 2019?")], seed=1)
    assert made.question == "what was kept in 2021?"


def test_what_has_no_answer_or_nothing_to_change_is_left():
    nothing = [example("what is kept?"), example("what does jenkins keep?", complete=False)]
    assert not list(swapped(nothing, seed=1))


def test_each_question_is_changed_once():
    assert len(list(swapped([example("what does jenkins keep?")] * 3, seed=1))) == 1

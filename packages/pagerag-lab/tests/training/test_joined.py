"""Two questions as one: both parts keep their exact places."""

from pagerag_lab.training.examples import Example, Unit
from pagerag_lab.training.joined import joined
from pagerag_lab.training.spans import Place


def example(key, question, text, answer, base="documents:x", file="documents"):
    at = text.find(answer)
    units = (Unit("g", "T", text, 0, True), Unit("o", "T", f"Nothing about {key}.", 1, False))
    return Example(
        key, "documents" if file == "documents" else "nq_pool", question, units, (answer,), "span",
        base=base, bearings=True, spots=(Place(0, at, at + len(answer)),) if file == "documents" else (),
        extra={"file": file},
    )  # fmt: skip


PAIR = [
    example("a", "Who signs it?", "It is signed by Ada.", "Ada"),
    example("b", "When is it due?", "It is due in May.", "May"),
]


def test_the_answer_of_a_pair_has_two_parts_at_their_places():
    found = list(joined(PAIR, 1))
    assert found
    for each in found:
        parts = {spot.part: each.units[spot.text].text[spot.start : spot.end] for spot in each.spots}
        assert sorted(parts.values()) == ["Ada", "May"]
        assert set(parts) == {0, 1}
        assert all(each.units[spot.text].support for spot in each.spots)
        assert "igns it" in each.question
        assert "is it due" in each.question


def test_a_question_is_not_joined_with_itself_or_over_corpora():
    assert list(joined(PAIR[:1], 1)) == []
    other = [PAIR[0], example("b", "When is it due?", "It is due in May.", "May", base="documents:y")]
    assert list(joined(other, 1)) == []


def test_answers_without_known_places_are_looked_for():
    pair = [
        example("a", "Who signs it?", "It is signed by Ada.", "Ada", "nq:1", "reading"),
        example("b", "When is it due?", "It is due in May.", "May", "nq:1", "reading"),
    ]
    assert {s.part for s in next(joined(pair, 1)).spots} == {0, 1}

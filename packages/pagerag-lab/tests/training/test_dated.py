from __future__ import annotations

import re

import pytest

from pagerag_lab.training.dated import dated, facts_of
from pagerag_lab.training.examples import Example, Unit


def page(title: str, *sentences: str) -> list[Unit]:
    return [Unit(f"{title}#{i}", title, text, i, False) for i, text in enumerate(sentences)]


PAGES = [
    page("Ada Quill", "Ada Quill (born 4 May 1961) is a Scottish painter.", "She lives in Perth."),
    page("Bram Oster", "Bram Oster (2 June 1801 – 9 July 1850) was a Dutch botanist."),
    page("Cleo Marsh", "Cleo Marsh (1790 – 1877) was an English singer.", "She was born in 1790."),
    page(
        "The Lantern",
        "The Lantern is a monthly magazine.",
        "It was founded in Leeds in 1931 by two brothers.",
    ),
    page("Northern Post", "Northern Post is a magazine established in 1888."),
    page("Red Harbour", "Red Harbour is a 1974 Danish film.", "It was shot in 1972."),
    page("Slow Water", "Slow Water is an Irish film by Ian Kerr.", "The film was released on 3 May 2003."),
    page("A Village", "A Village lies in a valley.", "It was founded in 1200."),
]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (0, {("person", "born", 1961, 0)}),
        (1, {("person", "born", 1801, 0), ("person", "died", 1850, 0), ("person", "lived", 49, 0)}),
        (3, {("magazine", "begun", 1931, 1)}),
        (4, {("magazine", "begun", 1888, 0)}),
        (5, {("film", "made", 1974, 0)}),
        (6, {("film", "made", 2003, 1)}),
        (7, set()),  # its kind is not told, so there is nothing to compare it with
    ],
)
def test_a_page_tells_its_own_dates(place: int, expected: set) -> None:
    found = facts_of(PAGES[place])
    assert {(f.noun, f.property, f.value, f.unit.position) for f in found} == expected


def test_comparisons_are_answered_by_the_years_of_their_gold_sentences() -> None:
    # four pages of each kind, each in the context of a question of its own
    kinds = [PAGES[n] for n in (0, 1, 2, 3, 4, 5, 6)]
    pools = []
    for n in range(4):
        units = [
            Unit(f"{u.title} {n}#{u.position}", f"{u.title} {n}", _later(u.text, n), u.position, False)
            for units in kinds
            for u in units
        ]
        pools.append(Example(f"q{n}", "hotpotqa", "?", tuple(units), ("x",), "span"))
    made = dated(pools, 200, seed=3)
    assert len(made) == 200
    assert made == dated(pools, 200, seed=3)
    for example in made:
        gold = [u for u in example.units if u.support]
        assert len(gold) == 2
        assert len({u.id for u in example.units}) == len(example.units)
        assert all(u.title in example.question for u in gold)
        assert example.answers[0] in {u.title for u in gold}
        if re.search(r"born first|older|came out first|founded first|established first", example.question):
            first = min(gold, key=lambda u: int(re.findall(r"\b1[0-9]{3}\b|\b20[0-9]{2}\b", u.text)[0]))
            assert example.answers[0] == first.title


def _later(text: str, years: int) -> str:
    return re.sub(r"\b(1[0-9]{3}|20[0-9]{2})\b", lambda match: str(int(match[0]) + years), text)

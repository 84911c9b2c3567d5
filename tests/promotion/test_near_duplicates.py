"""Units that say the same take one place; a differing number, name or negation is a difference."""

from __future__ import annotations

import pytest

from pagerag import Candidate, Promoter, promote
from pagerag.promotion.near_duplicates import Statements, says_the_same

TEXT = "Hans Zimmer, who composed the score of Interstellar, was born in Frankfurt in the year 1957."


@pytest.mark.parametrize(
    "copy",
    [
        TEXT.upper(),
        TEXT.replace(",", ""),
        TEXT + "  ",
        TEXT.replace("composed", "compsed"),
        TEXT.replace("score", "scroe"),
        TEXT.replace("born in Frankfurt", "born at Frankfurt"),
        TEXT + "[1][12]",
        TEXT + " [1]",
        TEXT.replace("Interstellar,", "Interstellar,[note 3]") + "[citation needed]",
    ],
)
def test_slips_are_copies(copy: str) -> None:
    assert _firsts(TEXT, copy) == [0, 0]


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("1957", "1975"),
        TEXT.replace("Frankfurt", "London"),
        TEXT.replace("was born", "was not born"),
        "Zimmer was born in Frankfurt.",
        TEXT.replace("year", "year[2]"),
        TEXT + "[4,5]",
    ],
)
def test_another_meaning_is_no_copy(other: str) -> None:
    assert _firsts(TEXT, other) == [0, 1]


@pytest.mark.parametrize(
    ("texts", "firsts"),
    [
        # a sentence of nothing but stop words keeps them in its analysis, and loses them in a longer one
        (("It was. The film ended well.", "It was the film ended well"), [0, 0]),
        (("?!", "?! ", "!?"), [0, 0, 0]),
        # the third repeats the second word by word, and so stands for the first as well
        ((TEXT, TEXT.replace("score", "scroe"), TEXT.replace("score", "SCROE")), [0, 0, 0]),
        (("word " * 3000, "word " * 3001), [0, 1]),  # of long texts the length counts
    ],
)
def test_copies_of_odd_texts(texts: tuple[str, ...], firsts: list[int]) -> None:
    assert _firsts(*texts) == firsts


def _firsts(*texts: str) -> list[int]:
    """Return what each text repeats, the same whether or not analyses come with the pool."""
    pool = [Candidate(str(place), text) for place, text in enumerate(texts)]
    promoter = Promoter()
    analyses = [promoter.analyze(unit) for unit in pool]
    found = []
    for given in (None, analyses, [analyses[0], *[None] * (len(pool) - 1)]):
        statements = Statements(pool, given)
        found.append([statements.first(place) for place in range(len(pool))])
    assert found[0] == found[1] == found[2]
    return found[0]


def test_short_texts_are_copies_only_when_equal() -> None:
    assert says_the_same(["yes"], ["yes"])
    assert not says_the_same(["turn", "left"], ["turn", "right"])


def test_a_context_spends_one_place_on_one_statement() -> None:
    gold = Candidate("gold", TEXT, "Hans Zimmer")
    copies = [
        Candidate(f"copy{n}", TEXT.replace("composed", "compose" + "d" * n), "Hans Zimmer") for n in (2, 0)
    ]
    others = [
        Candidate("film", "Interstellar is a film directed by Christopher Nolan.", "Interstellar"),
        Candidate("nolan", "Christopher Nolan was born in London.", "Christopher Nolan"),
        Candidate("hesse", "Hesse is a state of Germany whose largest city is Frankfurt.", "Hesse"),
    ]
    result = promote("Where was the composer of Interstellar born?", [gold, *copies, *others], k=4)
    ids = [unit.id for unit in result.context]
    assert len(set(ids) & {"gold", "copy2", "copy0"}) == 1
    assert result.copies
    assert all(result.pool[first].id == "gold" for first in result.copies.values())
    assert result.scores[1] == result.scores[0]


def test_a_large_pool_of_copies_stays_quick_and_whole() -> None:
    units = [
        Candidate(str(n), TEXT if n % 2 else f"Unit {n} says something of its own about {n}.")
        for n in range(3000)
    ]
    result = promote("Where was Hans Zimmer born?", units, k=5)
    assert sum(unit.text == TEXT for unit in result.context) == 1

"""Measures on cases worked out by hand, and against a second implementation on random ones."""

from __future__ import annotations

import random
import string
from fractions import Fraction

import pytest

from pagerag.errors import InputError
from pagerag_lab.metrics.answers import normalise, score_answer
from pagerag_lab.metrics.measures import (
    MEASURES,
    AnsEM,
    AnsF1,
    FullRecall,
    JointEM,
    JointF1,
    Judged,
    Recall,
    SupEM,
    SupF1,
    SupPrecision,
    SupRecall,
    ceiling,
    parse_measure,
)

GOLD = frozenset({"a", "b"})


@pytest.mark.parametrize(
    ("said", "gold", "em", "f1"),
    [
        ("The Beatles!", "beatles", 1, 1),
        ("a  cat, an owl", "cat owl", 1, 1),
        ("Barack Obama", "President Barack Obama", 0, 4 / 5),
        ("yes", "yes", 1, 1),
        ("Yes.", "yes", 1, 1),
        ("yes", "no", 0, 0),
        ("yes it is", "yes", 0, 0),  # the gold is yes, and the prediction says more than that
        ("no", "no way", 0, 0),
        ("noanswer", "no answer", 0, 0),
        ("noanswer", "noanswer", 1, 1),
        ("", "Bergen", 0, 0),
        ("the", "Bergen", 0, 0),  # nothing is left of it
        ("", "", 1, 0),  # equal, but F1 of no tokens is 0 in that script
        ("1,000", "1000", 1, 1),
        ("Bergen Bergen", "Bergen", 0, 2 / 3),
    ],
)
def test_answers_as_hotpotqa_scores_them(said: str, gold: str, em: float, f1: float) -> None:
    score = score_answer(said, [gold] if gold else [""], "hotpotqa")
    assert (score.em, score.f1) == (em, pytest.approx(f1))


@pytest.mark.parametrize(
    ("said", "golds", "em", "f1"),
    [
        ("Stanley Hall", ["G. Stanley Hall", "Stanley Hall"], 1, 1),
        ("Hall", ["G. Stanley Hall", "Stanley Hall"], 0, 2 / 3),
        ("yes it is", ["yes"], 0, 1 / 2),  # no rule for yes and no
        ("", [""], 1, 1),
        ("", ["Bergen"], 0, 0),
        ("the", ["an"], 1, 1),
    ],
)
def test_answers_as_musique_scores_them(said: str, golds: list[str], em: float, f1: float) -> None:
    score = score_answer(said, golds, "musique")
    assert (score.em, score.f1) == (em, pytest.approx(f1))


def test_no_prediction_and_no_gold_answer_score_zero() -> None:
    assert score_answer(None, ["Bergen"]).f1 == 0
    assert score_answer("Bergen", []).em == 0


@pytest.mark.parametrize(
    ("core", "em", "f1", "precision", "recall"),
    [
        (("a", "b"), 1, 1, 1, 1),
        (("b", "a", "a"), 1, 1, 1, 1),
        (("a",), 0, 2 / 3, 1, 1 / 2),
        (("a", "x", "b"), 0, 4 / 5, 2 / 3, 1),
        (("x",), 0, 0, 0, 0),
        ((), 0, 0, 0, 0),
        (None, 0, 0, 0, 0),
    ],
)
def test_support(core: tuple[str, ...] | None, em: float, f1: float, precision: float, recall: float) -> None:
    judged = Judged(gold=GOLD, core=core, context=core)
    assert SupEM(judged) == em
    assert SupF1(judged) == pytest.approx(f1)
    assert SupPrecision(judged) == pytest.approx(precision)
    assert SupRecall(judged) == pytest.approx(recall)


def test_support_without_gold_is_zero_for_anything_said() -> None:
    assert SupF1(Judged(gold=frozenset(), core=("a",))) == 0
    assert SupEM(Judged(gold=frozenset(), core=())) == 1  # nothing missed, nothing extra
    assert (FullRecall @ 5)(Judged(gold=frozenset(), context=("a",))) == 0


def test_cutoffs_look_at_the_filled_context_in_order() -> None:
    judged = Judged(gold=GOLD, core=("a",), context=("a", "x", "b", "y", "z"))
    assert (Recall @ 1)(judged) == 0.5
    assert (Recall @ 3)(judged) == 1
    assert (FullRecall @ 2)(judged) == 0
    assert (FullRecall @ 3)(judged) == 1
    assert SupF1["filled"](judged) == pytest.approx(4 / 7)
    assert (SupF1["filled"] @ 3)(judged) == pytest.approx(4 / 5)


def test_joint_multiplies_precisions_and_recalls() -> None:
    judged = Judged(gold=GOLD, core=("a",), context=("a",), answer="Ada Brandt", answers=("Ada",))
    # answer: precision 1/2, recall 1; support: precision 1, recall 1/2
    assert JointF1(judged) == pytest.approx(1 / 2)
    assert JointEM(judged) == 0
    assert (AnsF1(judged), AnsEM(judged)) == (pytest.approx(2 / 3), 0)


def test_ceiling_is_reached_by_the_best_filled_selection() -> None:
    assert ceiling(2, 5) == pytest.approx(4 / 7)
    assert ceiling(7, 5) == pytest.approx(10 / 12)
    assert ceiling(0, 5) == 0
    best = Judged(gold=GOLD, core=("a", "b", "x", "y", "z"))
    assert SupF1(best) == pytest.approx(ceiling(2, 5))


def test_measures_are_spelled_and_parsed_alike() -> None:
    for measure in (*MEASURES.values(), Recall @ 5, SupF1["filled"] @ 3):
        assert parse_measure(str(measure)) == measure
    assert (Recall @ 5).key == "recall_at_5"
    assert SupF1.key == "sup_f1_core"
    assert SupF1["filled"].key == "sup_f1_filled"
    assert (FullRecall @ 5).key == "full_recall_at_5"
    assert AnsF1.key == "ans_f1"
    for wrong in ("SupF2", "Recall@", "Recall@0", "SupF1[all]"):
        with pytest.raises(InputError):
            parse_measure(wrong)


# ---- a second implementation, from the descriptions of the scripts, sharing nothing with the first


def second_normalise(text: str) -> list[str]:
    kept = []
    for character in text.lower():
        if character in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
            continue
        kept.append(character)
    words, word = [], ""
    for character in [*kept, " "]:
        if character.isspace():
            if word:
                words.append(word)
            word = ""
        else:
            word += character
    # An article is a whole run of word characters: split as a regular expression's \b would.
    result: list[str] = []
    for one in words:
        pieces: list[str] = []
        run, is_word = "", None
        for character in one:
            kind = character.isalnum() or character == "_"
            if is_word is not None and kind != is_word:
                pieces.append(run)
                run = ""
            run += character
            is_word = kind
        pieces.append(run)
        text = "".join(" " if piece in ("a", "an", "the") else piece for piece in pieces)
        result.extend(text.split())
    return result


def second_answer(said: str, gold: str, rule: str) -> tuple[int, Fraction]:
    left, right = second_normalise(said), second_normalise(gold)
    em = int(left == right)
    if rule == "hotpotqa":
        for one, other in ((left, right), (right, left)):
            if " ".join(one) in ("yes", "no", "noanswer") and one != other:
                return em, Fraction(0)
    if not left or not right:
        return em, Fraction(em if rule == "musique" else 0)
    rest = list(right)
    same = 0
    for word in left:
        if word in rest:
            rest.remove(word)
            same += 1
    # 2PR/(P+R) with P = same/|left| and R = same/|right| is 2·same/(|left|+|right|)
    return em, Fraction(2 * same, len(left) + len(right))


def second_support(gold: set[str], said: list[str]) -> tuple[int, Fraction, Fraction, Fraction]:
    hit = extra = 0
    for unit in {*said}:
        if unit in gold:
            hit += 1
        else:
            extra += 1
    missed = len(gold) - hit
    precision = Fraction(hit, hit + extra) if hit + extra else Fraction(0)
    recall = Fraction(hit, hit + missed) if hit + missed else Fraction(0)
    f1 = Fraction(2 * hit, 2 * hit + extra + missed) if hit else Fraction(0)
    return int(extra + missed == 0), f1, precision, recall


WORDS = [
    "the",
    "a",
    "an",
    "yes",
    "no",
    "noanswer",
    "Bergen",
    "1951",
    "Ada",
    "brandt",
    "O'Neil",
    "U.S.",
    "x-y",
    "",
    "The.",
    "é",
    "中文",
]


def test_two_implementations_agree_on_random_cases() -> None:
    rng = random.Random(7)
    for _ in range(4000):
        rule = rng.choice(["hotpotqa", "musique"])
        said = _phrase(rng)
        golds = [_phrase(rng) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.2:
            said = rng.choice(golds)
        score = score_answer(said, golds, rule)  # type: ignore[arg-type]
        expected = [second_answer(said, gold, rule) for gold in golds]
        assert score.em == max(em for em, _ in expected), (said, golds, rule)
        assert score.f1 == pytest.approx(float(max(f1 for _, f1 in expected))), (said, golds, rule)

        gold = {rng.choice(string.ascii_lowercase[:8]) for _ in range(rng.randint(0, 4))}
        units = [rng.choice(string.ascii_lowercase[:8]) for _ in range(rng.randint(0, 7))]
        cut = rng.randint(1, 6)
        judged = Judged(frozenset(gold), units, units, said, golds, rule)  # type: ignore[arg-type]
        em, f1, precision, recall = second_support(gold, units)
        assert SupEM(judged) == em
        assert SupF1(judged) == pytest.approx(float(f1))
        assert SupPrecision(judged) == pytest.approx(float(precision))
        assert SupRecall(judged) == pytest.approx(float(recall))
        first = list(dict.fromkeys(units))[:cut]
        assert (Recall @ cut)(judged) == pytest.approx(float(second_support(gold, first)[3]))
        assert (FullRecall @ cut)(judged) == int(bool(gold) and all(unit in first for unit in gold))
        assert JointEM(judged) == score.em * em
        joined = precision * Fraction(score.precision), recall * Fraction(score.recall)
        expected_joint = 2 * joined[0] * joined[1] / sum(joined) if sum(joined) else Fraction(0)
        assert JointF1(judged) == pytest.approx(float(expected_joint))


def _phrase(rng: random.Random) -> str:
    glue = rng.choice([" ", "  ", "\t", ", "])
    return glue.join(rng.choice(WORDS) for _ in range(rng.randint(0, 4)))


def test_normal_form_is_stable() -> None:
    rng = random.Random(3)
    for _ in range(200):
        once = normalise(_phrase(rng))
        assert normalise(once) == once

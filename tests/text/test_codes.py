"""Words as numbers: equal words have equal codes, and codes stay in their process."""

from __future__ import annotations

import pickle

import numpy as np

from pagerag import Candidate, Promoter
from pagerag.text import Analyzer
from pagerag.text.analysis import codes_of
from pagerag.text.codes import mark_words, question_codes, unit_codes, word_codes


def test_equal_words_and_equal_stems_have_equal_codes() -> None:
    words, stems = word_codes(["composer", "composed", "film", "film"])
    assert words[0] != words[1]
    assert stems[0] == stems[1]
    assert words[2] == words[3]
    assert stems[2] == stems[3]
    assert len({*stems.tolist()}) == 2


def test_stems_of_any_script_are_told_apart() -> None:
    words = ["film", "fim", "lim", "電影", "影電", "电影", "цветы", "цветок", "a", "aa", "日", "ж"]
    assert len({*word_codes(words)[1].tolist()}) == len(words)
    assert word_codes(["цветение"])[1] == word_codes(["цветень"])[1]


def test_units_together_are_coded_as_each_alone() -> None:
    units = [(("a", "b"), ("a", "b")), (("c",),), ((), ("a",))]
    together = unit_codes(units)
    for unit, codes in zip(units, together, strict=True):
        (alone,) = unit_codes([unit])
        assert np.array_equal(codes.words, alone.words)
        assert codes.sizes == alone.sizes == [len(row) for row in unit]
    assert [codes.repeats for codes in together] == [True, False, False]


def test_an_analysis_keeps_its_codes_and_does_not_send_them_to_another_process() -> None:
    analysis = Analyzer().analyze("Hans Zimmer composed it. He was born in 1957.")
    (codes,) = codes_of([analysis])
    assert codes_of([analysis, analysis]) == [codes, codes]
    copied = pickle.loads(pickle.dumps(analysis))  # noqa: S301  (our own bytes)
    assert copied == analysis
    assert copied._codes is None


def test_a_question_has_each_word_once() -> None:
    assert question_codes(("film", "director", "film")).shape == (2, 2)
    assert question_codes(()).shape == (2, 0)


def test_a_title_is_found_in_words_without_capitals() -> None:
    pool = (
        Candidate(id="a", text="Nothing is said by it.", title="Christopher Nolan"),
        Candidate(id="b", text="Then Bob met christopher nolan there.", title="Bob"),
    )
    reading = Promoter().evidence("Whom did Bob meet?", pool).reading
    named = {name for name, has in zip(reading.names, reading.explicit[1].tolist(), strict=True) if has}
    assert named == {"Christopher Nolan", "Bob"}


def test_marks_are_those_of_the_words_and_missing_beside_stop_words() -> None:
    (codes,) = unit_codes([[("hans", "zimmer"), ("born", "zimmer")]])
    assert codes.marks == mark_words(["born", "hans", "zimmer"])
    assert 0 < codes.marks.bit_count() <= 3
    assert unit_codes([[("hans",), ("it", "is")]])[0].marks is None
    assert unit_codes([[()]])[0].marks == 0

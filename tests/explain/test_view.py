"""The data that pages draw: a verdict that agrees with itself, reasons that differ, steps that end in the core."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from pagerag import Answer, Candidate, Citation, promote
from pagerag.explain import page, paths_svg, view
from pagerag.explain.verdict import coverage, evidence_places, verdict

QUESTION = "Which city was the composer of Interstellar born in?"
POOL = [
    Candidate(
        "n", "Nolan is a director. He directed Interstellar and grew up in London.", title="Christopher Nolan"
    ),
    Candidate(
        "i", "Interstellar is a film of 2014. Its score was composed by Hans Zimmer.", title="Interstellar"
    ),
    Candidate("s", "The Seine is a river in France. It flows through the city of Paris.", title="Seine"),
    Candidate(
        "z", "Hans Zimmer is a German composer. He was born in the city of Frankfurt.", title="Hans Zimmer"
    ),
    Candidate("g", "Gravity is a film of 2013 that is set in space.", title="Gravity"),
]


@pytest.fixture(params=["learned", "formula"])
def promotion(request):
    return promote(QUESTION, POOL, k=3, mode="document", strategy=request.param)


def test_the_verdict_never_contradicts_the_answer(promotion):
    silent = verdict(promotion, Answer("", abstained=True, reader="r"))
    assert silent.tone != "good"
    assert "enough evidence" not in silent.label or silent.label.startswith("not")
    spoken = verdict(promotion, Answer("Frankfurt", reader="r"))
    assert (spoken.tone == "good") == (promotion.state == "enough")


def test_what_is_missing_is_named():
    lacking = verdict(promote("Who painted the ceiling of Xanadu Palace?", POOL, k=3, mode="document"))
    assert lacking.tone == "bad"
    assert any("Xanadu" in line for line in lacking.missing)


def test_the_steps_end_in_the_core(promotion):
    steps = view(promotion)["steps"]
    kept = [step for step in steps if step["verdict"] in {"kept", "patience"}]
    assert set(kept[-1]["selected"]) == {unit.id for unit in promotion.core}
    assert all(step["reason"] for step in steps)


def test_rejections_give_reasons_of_their_own():
    shown = view(promote(QUESTION, POOL, k=2, mode="document"))
    reasons = {path["reason"] for path in shown["paths"] if path["verdict"] != "kept"}
    assert len(reasons) > 1
    assert any("Christopher Nolan" in reason for reason in reasons)


def test_the_argument_begins_with_what_the_question_names():
    shown = view(promote(QUESTION, POOL, k=2, mode="document"))
    assert shown["argument"]["units"][0] == "i"
    assert shown["argument"]["units"][-1] == "z"


def test_titles_are_whole_in_the_picture(promotion):
    long = "Alternatives, Interpretations and Consequences of the Treaty"
    pool = [*POOL[:1], Candidate("i", POOL[1].text, title=long), *POOL[2:]]
    drawn = paths_svg(promote(QUESTION, pool, k=3, mode="document"), alone=True)
    tree = ET.fromstring(drawn)  # noqa: S314 - our own picture
    words = " ".join("".join(text.itertext()) for text in tree.iter() if text.tag.endswith("tspan"))
    assert long in words


def test_the_page_is_whole_and_its_data_is_the_view():
    promotion = promote(QUESTION, POOL, k=2, mode="document")
    number, unit = next((n, unit) for n, unit in enumerate(promotion.context, 1) if unit.id == "z")
    start = unit.text.find("Frankfurt")
    answer = Answer("Frankfurt", (Citation(number, unit.id, start, start + 9, "Frankfurt"),), reader="r")
    shown = view(promotion, answer=answer, units=promotion.context)
    text = page(shown)
    data = text.split('id="view">', 1)[1].split("</script>", 1)[0]
    assert json.loads(data) == json.loads(json.dumps(shown))
    (mark,) = next(row for row in shown["candidates"] if row["id"] == unit.id)["marks"]
    assert unit.text[mark["start"] : mark["end"]] == "Frankfurt"
    assert unit.text[mark["from"] : mark["to"]].startswith("He was born")


def test_no_label_covers_the_answer():
    """Two cards of the last column that are linked have their label beside them, before the answer's card."""
    pool = [
        {
            "id": "o",
            "title": "Oppenheimer",
            "text": "Christopher Nolan directed it, and it won seven Academy Awards.",
        },
        {
            "id": "g",
            "title": "Ludwig Göransson",
            "text": "He has won Academy Awards for Black Panther and Oppenheimer.",
        },
        {"id": "z", "title": "Hans Zimmer", "text": "He has won two Academy Awards."},
        {
            "id": "n",
            "title": "Christopher Nolan",
            "text": "Christopher Nolan won Academy Awards for Oppenheimer.",
        },
    ]
    checked = 0
    for question in (
        "Who won the championship in 1972?",
        "Which Academy Awards did Oppenheimer win?",
        "Who is Hans Zimmer?",
    ):
        promotion = promote(question, pool, k=2, mode="document")
        drawn = paths_svg(promotion, Answer("", abstained=True, reader="r"), promotion.context)
        (left,) = (float(x) for x in re.findall(r'class="card noanswer" x="([\d.]+)"', drawn))
        for pill in re.findall(r'<g class="pill.*?</g>', drawn, re.DOTALL):
            x, wide = re.search(r'<rect[^>]*? x="([\d.]+)"[^>]*? width="([\d.]+)"', pill).groups()
            assert float(x) + float(wide) <= left
            checked += 1
    assert checked


TWO_PARTS = [
    Candidate("t", "Anna Berg wrote the travel guide to Lisbon in Portuguese.", title="Travel guide"),
    Candidate("c", "The coffee machine is cleaned by Ben.", title="Coffee"),
]


def test_a_part_of_the_question_that_nothing_answers_is_missing():
    promotion = promote("Who wrote the travel guide and when?", TWO_PARTS, k=2, mode="document")
    silent = coverage(promotion, Answer("", abstained=True, reader="r"))
    assert silent.covered == ("wrote the travel guide",)
    assert silent.missing == ("when",)


def test_missing_words_are_phrases_of_the_question():
    promotion = promote("How many calories has one cup of Ben's coffee?", TWO_PARTS, k=1, mode="document")
    told = coverage(promotion, Answer("", abstained=True, reader="r"))
    assert told.missing[0] == "how many calories"
    assert "Ben's coffee" in told.covered
    assert all(phrase in promotion.question.lower() for phrase in map(str.lower, told.missing + told.covered))


def test_words_of_different_sentences_are_no_phrase():
    pool = [
        Candidate("g", "gzip compresses files. The author of tar added support for pipes.", title="gzip"),
        Candidate("z", "Support for zstd compression came in a later release.", title="tar"),
    ]
    promotion = promote("Since when does gzip support zstd compression?", pool, k=2, mode="document")
    told = coverage(replace(promotion, core_places=(0, 1)), Answer("", abstained=True, reader="r"))
    assert told.covered == ("gzip support", "zstd compression")  # gzip is the title over "support for pipes"
    assert told.missing == ("since when",)


def test_half_a_name_is_no_name():
    promotion = promote("Who is the mother of Anna Kowalska?", TWO_PARTS, k=1, mode="document")
    told = coverage(promotion, Answer("", abstained=True, reader="r"))
    assert told.covered == ()
    assert any("Anna Kowalska" in phrase for phrase in told.missing)


@pytest.mark.parametrize("question", ["?", "the of and", "…", "🍋?"])
def test_a_question_without_words_misses_nothing_and_says_so(question):
    told = verdict(promote(question, TWO_PARTS, k=1, mode="document"), Answer("", abstained=True, reader="r"))
    assert told.tone == "bad"
    assert (told.covered, told.missing) == ((), ())
    assert told.words == "The question names nothing to look for."


def test_an_answer_with_enough_evidence_misses_no_name(promotion):
    told = verdict(promotion, Answer("Frankfurt", (), 0.75, reader="r"))
    assert (told.missing == ()) == (promotion.state == "enough")
    assert "0.75" in told.words


def test_what_a_question_says_twice_is_told_once():
    told = coverage(
        promote("which is older, the law of Seine or the law of Gravity?", POOL, k=2, mode="document")
    )
    assert told.missing.count("law") == 1
    assert len(told.covered) == len(set(told.covered))


def test_nothing_is_said_against_an_answer_whose_words_are_all_there():
    question = "Where was Hans Zimmer born?"
    found = replace(promote(question, POOL, k=3, mode="document"), state="ambiguous")
    silent = verdict(found, Answer("", abstained=True, reader="r"))
    assert silent.missing or "the nearest passages speak of" in silent.words
    assert "not clearly" not in verdict(found, Answer("Frankfurt", (), 0.9, reader="r")).words


def section(name: str, path: list[str], text: str) -> Candidate:
    return Candidate(name, text, title="Tock", source="tock.md", metadata={"section_path": path})


def test_paths_name_sections():
    pool = [
        section("a", ["Tock", "Parental leave"], "Parental leave lasts 18 weeks at Acme Labs."),
        section("b", ["Tock", "Notice"], "Acme Labs wants notice of 18 weeks before leave begins."),
        section("c", ["Tock", "Notice"], "Notice goes to Olga Marin of Acme Labs by letter."),
    ]
    promotion = promote("Who gets notice of parental leave at Acme Labs?", pool, k=3, mode="document")
    labels = [path.labels for path in promotion.paths if len(path.units) > 1]
    assert labels
    assert all(len(set(steps)) == len(steps) for steps in labels)
    assert any("Tock › Parental leave" in steps for steps in labels)
    assert any(step.startswith("Tock › Notice “") for steps in labels for step in steps)
    assert "Tock › Parental leave" in promotion.explain()
    assert view(promotion)["candidates"][0]["label"] == "Tock › Parental leave"


def test_a_cited_passage_outside_the_core_is_counted():
    promotion = promote(QUESTION, POOL, k=3, mode="document")
    number, unit = next((n, u) for n, u in enumerate(promotion.context, 1) if u not in promotion.core)
    cited = evidence_places(promotion, Answer("x", (Citation(number, unit.id),), reader="r"))
    assert len(cited) == len(promotion.core) + 1


PHASES = [
    Candidate("a", "Nicholas Nethercote wrote the 2.X line of Helgrind in 2003.", title="Authors"),
    Candidate("p", "In the first phase there were 1,200 ambassadors, six of them German.", title="Phases"),
    Candidate("m", "man-db is the manual pager suite of the United Kingdom.", title="Manuals"),
]


def judged(question: str, answer: Answer | None = None):
    """The verdict on all of PHASES, as if it were enough."""
    found = promote(question, PHASES, k=3, mode="document")
    whole = replace(found, state="enough", core_places=(0, 1, 2))
    return verdict(whole, answer)


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("How many ambassadors were there in the second phase?", ("second",)),
        ("How many ambassadors were there in the 3rd phase?", ("3rd",)),
        ("Who wrote the 4.X versions of Helgrind?", ("4.X",)),
        ("Who wrote Helgrind in 2004?", ("2004",)),
        ("Who wrote the manual of Memcheck and Helgrind?", ("Memcheck",)),
        ("Who is the mother of Anna Kowalska?", ("Anna Kowalska",)),
        ("Is man-db 9.9.9 out?", ("9.9.9",)),
        ("Who wrote the 2.X versions of Helgrind?", ()),
        ("Who authored Helgrind?", ()),  # other words may be paraphrased
        ("Who were the 1200 ambassadors of phase 1?", ()),
        ("How many of the ambassadors came from Germany?", ()),
        ("How many of the 6 ambassadors were in the UK?", ()),
        ("How many requests per second are there?", ()),
        ("Which came first, Helgrind or man-db?", ()),
        ("Wie viele Botschafter gab es in der Probezeit?", ()),  # every noun has a capital
    ],
)
def test_a_number_or_name_that_nothing_says_is_told_beside_an_answer(question, missing):
    told = judged(question, Answer("x", (), 0.79, reader="r"))
    assert told.missing == missing
    assert told.tone == ("unsure" if missing else "good")
    assert (told.label == "enough evidence") == (not missing)
    assert set(told.covered).isdisjoint(missing)
    if missing:
        says = f"3 passages speak for the answer, but nothing there says “{missing[0]}”; confidence 0.79."
        assert told.words == says


def test_without_an_answer_the_same_is_told():
    told = judged("How many ambassadors were there in the second phase?")
    assert (told.tone, told.missing) == ("unsure", ("second",))
    assert told.words == "3 passages speak for an answer, but nothing there says “second”."


@pytest.mark.parametrize(
    ("question", "covered", "missing"),
    [
        ("pagerag", (), ("pagerag",)),
        ("man-db 9.9.9", ("man-db",), ("9.9.9",)),
        ("man-db-tools", (), ("man-db-tools",)),
        ("Who maintains Helgrind 9.9.9?", ("Helgrind",), ("who maintains", "9.9.9")),
        ("2", (), ("2",)),
        ("Helgrind 2.x", ("Helgrind 2.x",), ()),
        ("manuals", ("manuals",), ()),
        ("1200 ambassador", ("1200 ambassador",), ()),
    ],
)
def test_found_is_the_word_itself_or_an_inflection(question, covered, missing):
    found = promote(question, PHASES, k=3, mode="document")
    told = coverage(replace(found, core_places=(0, 1, 2)))
    assert (told.covered, told.missing) == (covered, missing)


@pytest.mark.parametrize(
    ("question", "text", "given", "label", "says"),
    [
        (
            "Who wrote Helgrind?",
            "Nethercote",
            {"confidence": 0.16},
            "hardly sure",
            "more likely wrong than right",
        ),
        (
            "Who wrote Helgrind, and why?",
            "Nethercote",
            {"unfound": ("why",)},
            "not every part found",
            "“why”",
        ),
        ("Which phases are there?", "first", {}, "maybe not all", "there may be more"),
        ("Which phases are there?", "first; second", {}, "enough evidence", "support the answer"),
        ("Which phases are there?", "the first and the last", {}, "enough evidence", "support the answer"),
        ("Which three phases are there?", "first; second", {}, "maybe not all", "there may be more"),
        ("How do I see which phases are there?", "first", {}, "enough evidence", "support the answer"),
        ("What does Helgrind mean?", "a gate", {}, "enough evidence", "support the answer"),
    ],
)
def test_an_answer_that_goes_less_far_than_it_looks_says_so(question, text, given, label, says):
    told = judged(question, Answer(text, (), **{"confidence": 0.8, **given}))
    assert told.label == label
    assert says in told.words
    assert told.tone == ("good" if label == "enough evidence" else "unsure")


@pytest.mark.parametrize(
    ("question", "covered", "missing"),
    [
        ("What command installs Helgrind?", ("Helgrind",), ("what command", "installs")),
        ("What is the phone number of the United Kingdom?", ("United Kingdom",), ("phone number",)),
        ("What is the manual pager suite?", ("manual pager suite",), ()),
    ],
)
def test_what_is_asked_for_is_named_where_a_reader_is_silent(question, covered, missing):
    found = promote(question, PHASES, k=3, mode="document")
    told = coverage(replace(found, core_places=(0, 1, 2)), Answer("", abstained=True))
    assert (told.covered, told.missing) == (covered, missing)


def test_where_all_is_spoken_of_and_nothing_answers_the_passages_are_pointed_to():
    told = judged("How was the manual pager suite made in the United Kingdom?", Answer("", abstained=True))
    assert "not clearly" not in told.words
    assert told.words.startswith("No short answer was read from the evidence: ")

"""How many things a question asks for."""

import pytest

from pagerag.text.sub_questions import LONGEST, SubQuestion, parts_asked, separate_questions, sub_questions


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Who wrote the handbook?", 1),
        ("Who signs the contract, and by when?", 2),
        ("how many pods run, what port do they use and who restarts them?", 3),
        ("Which three universities were taken to court?", 3),
        ("List the departments that approve travel", 4),
        ("In which versions were stack and unstack added?", 2),
        ("minimum retention: security logs vs. services with a login", 2),
        ("The film was shot in Poland and Russia.", 1),
        ("", 1),
    ],
)
def test_a_question_says_how_many_things_it_asks_for(text, parts):
    assert parts_asked(text) == parts


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Who signs the contract, and by when?", ("Who signs the contract?", "by when signs the contract?")),
        ("Where was Ada born and in which year?", ("Where was Ada born?", "in which year was Ada born?")),
        (
            "Who appoints the Secretary, and how long is the term?",
            ("Who appoints the Secretary?", "appoints the Secretary: how long is the term?"),
        ),
        ("Which vote is needed, and why?", ("Which vote is needed?", "vote is needed: why?")),
        (
            "The tests run in which city, and who pays for them?",
            ("The tests run in which city?", "The tests run: who pays for them?"),
        ),
        (
            "Who wrote the Ada handbook, and what port does the Kiln server use?",
            ("Who wrote the Ada handbook?", "what port does the Kiln server use?"),
        ),
        (
            "The mutation tests: on which weekday do they run, and what is the tool called?",
            (
                "The mutation tests: on which weekday do they run?",
                "The mutation tests: what is the tool called?",
            ),
        ),
        (
            "how long may the target be dead for raise dead, resurrection and true resurrection?",
            (
                "how long may the target be dead for raise dead?",
                "how long may the target be dead for resurrection?",
                "how long may the target be dead for true resurrection?",
            ),
        ),
        ("licence: curl 4.9 vs the one since 7.10", ("licence: curl 4.9", "licence: the one since 7.10")),
    ],
)
def test_a_text_of_several_questions_is_taken_apart(text, asked):
    assert tuple(part.text for part in sub_questions(text)) == asked


@pytest.mark.parametrize(
    "text",
    [
        "Who wrote the handbook?",
        "In which city was the director of the film, who died in 1957, born?",
        "Are Bavegem and Sadat, Khorramshahr located in the same country?",
        "Which film has the director who died first, A or B?",
        "revivify vs raise dead, which one uses the costlier diamond",
        "The sun, the moon and the stars.",
        "",
        "who, and " * LONGEST,
    ],
)
def test_one_question_stays_as_it_is(text):
    assert sub_questions(text) == (SubQuestion(text),)


@pytest.mark.parametrize(
    ("text", "things", "first"),
    [
        ("A, B and C: which port?", ["A", "B", "C"], "which port: A?"),
        ("which is older: Foo or the old Bar (by year)?", ["Foo", "the old Bar"], "which is older: Foo?"),
        (
            "what cooks longer, carnitas or onion soup",
            ["carnitas", "onion soup"],
            "what cooks longer: carnitas?",
        ),
        ("gunicorn or granian - which is pure?", ["gunicorn", "granian"], "which is pure: gunicorn?"),
        ("Of tea, coffee and milk, which is hot?", ["tea", "coffee", "milk"], "which is hot: tea?"),
        ("fees for adults, children and dogs?", ["adults", "children", "dogs"], "fees for adults?"),
        ("since which version: foo, bar_x, --baz", ["foo", "bar_x", "--baz"], "since which version: foo?"),
        ("Who wrote DRD, BBV and the port?", ["DRD", "BBV", "the port"], "Who wrote DRD?"),
        ("Which tools added --rate, --json and -x?", ["--rate", "--json", "-x"], "Which tools added --rate?"),
        (
            "How many people do Oslo, Bergen and Narvik have?",
            ["Oslo", "Bergen", "Narvik"],
            "How many people do Oslo have?",
        ),
    ],
)
def test_things_that_are_named_apart_are_separate_questions(text, things, first):
    parts = separate_questions(text)
    assert [part.thing for part in parts] == things
    assert parts[0].text == first


def test_a_question_is_told_by_the_words_that_stand_in_the_text():
    parts = sub_questions("Who appoints the Secretary, when, and how long is the term?")
    assert [part.asked for part in parts] == [
        "Who appoints the Secretary",
        "when",
        "how long is the term",
    ]
    assert sub_questions("fees for adults, children and dogs?")[2].asked == "dogs"


def test_no_endless_text_is_carried_over():
    parts = sub_questions(f"Who said that {'very ' * 30}old thing, and when?")
    assert [part.text for part in parts][1:] == ["when?"]


def test_questions_in_one_text_are_separate_questions():
    assert separate_questions("Who signs the contract, and by when?") == sub_questions(
        "Who signs the contract, and by when?"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Who wrote the handbook?",
        "The sun, the moon and the stars.",
        "salt and pepper",
        "Pride and Prejudice: who wrote it?",
        "Who was Harry J. Anslinger and what did Mr. Jones, his aide, do",
        "Name the mother of Edward Stafford, 4th Baron Stafford",
        "When does the 10:30 from Bath and Wells arrive?",
        "What happened on July 4, 1776, in Philadelphia?",
        "At what age did the artist, whose mother was a nurse, go blind?",
        "Hello, thanks! Where is the office?",
        "Storage is full and I suspect the network: which log tells?",
        "A, A or A: which?",
        ":" * LONGEST,
        "Which of these is a long list of words that nobody would ever call one thing, or is it?",
        "",
        "?",
        "A, B and C: " + "which port " * LONGEST,
    ],
)
def test_one_thing_is_not_separate_questions(text):
    assert separate_questions(text) == ()

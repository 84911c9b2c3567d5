"""How many things a question asks for."""

import pytest

from pagerag.text.sub_questions import LONGEST, SubQuestion, parts_asked, sub_questions


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
        ("Who signs the contract, and by when?", ("Who signs the contract?", "by when?")),
        (
            "The mutation tests: on which weekday do they run, and what is the tool called?",
            ("The mutation tests: on which weekday do they run?", "what is the tool called?"),
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

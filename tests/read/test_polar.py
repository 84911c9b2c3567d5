"""Yes and no need a sentence that says so; answers have a place and the year that is asked for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pagerag import Candidate, Citation
from pagerag.read.compose import Composed
from pagerag.read.polar import UNREASONED, asks_yes_no, borne_out, compares, said_outright

FAQ = "1. Is zlib Y2K-compliant?\n\nYes. zlib doesn't handle dates.\n\n2. Is zlib free?\n\nNo idea."


def unit(text: str, title: str = "", *sections: str) -> Candidate:
    return Candidate("u", text, title or None, metadata={"section_path": list(sections)} if sections else {})


def said(question: str, *context: Candidate) -> str | None:
    reason = said_outright(question, context)
    return reason and reason.said


@pytest.mark.parametrize(
    ("question", "text", "title", "answer"),
    [
        ("Does tar support zstd?", "* Support for zstd compression", "tar-NEWS", "yes"),
        ("Is tmux a terminal multiplexer?", "NAME tmux — terminal multiplexer", "tmux", "yes"),
        ("Is libffi thread-safe?", "libffi is not completely thread-safe.", "libffi", "no"),
        ("Can tables be locked?", "Tables can't be locked.", "", "no"),
        ("Is it possible to register a view?", "Views cannot be registered at this time.", "", "no"),
        (
            "Does wget work in the background?",
            "It can work in the background, while you are not in.",
            "wget",
            "yes",
        ),
        ("Was Wheezy released in 2013?", "codename: Wheezy; release: 2013-05-04; eol: 2016-04-25", "", "yes"),
        ("Was Wheezy released in 2015?", "codename: Wheezy; release: 2013-05-04; eol: 2016-04-25", "", "no"),
        ("Was Wheezy released in 2016?", "codename: Wheezy; release: 2013-05-04; eol: 2016-04-25", "", None),
        ("Does curl support HTTPS?", "It supports HTTP and FTP.", "curl", None),
        ("Does tar support zstd?", "Support for zstd compression was removed.", "tar-NEWS", None),
        ("Does tar support zstd?", "Support for zstd compression is planned.", "tar-NEWS", None),
        ("Does tar support zstd?", "Does tar support zstd? Ask on the list.", "tar-NEWS", None),
        ("Does tar not support zstd?", "tar supports zstd.", "tar-NEWS", None),
        ("Does nice sort files?", "nice runs a command.", "nice", None),
        ("Who maintains tar and zstd?", "tar supports zstd.", "tar", None),
    ],
)
def test_a_sentence_in_the_questions_words_decides(question, text, title, answer):
    assert said(question, unit(text, title)) == answer


def test_what_stands_below_missing_features_is_not_there():
    text = "Bit fields in structures are supported."
    assert said("Does libffi support bit fields?", unit(text, "libffi")) == "yes"
    assert said("Does libffi support bit fields?", unit(text, "libffi", "4 Missing Features")) is None


def test_sentences_that_disagree_decide_nothing():
    both = unit("tar supports zstd."), unit("tar does not support zstd.")
    assert said("Does tar support zstd?", *both) is None


def test_the_answer_behind_an_faqs_question_decides():
    faq = unit(FAQ, "zlib-FAQ")
    reason = said_outright("Is zlib Y2K-compliant?", [faq])
    assert reason is not None
    assert reason.said == "yes"
    quote = "Is zlib Y2K-compliant?\n\nYes. zlib doesn't handle dates."
    cited = reason.cited([faq])
    assert " ".join(quote.split()).startswith("Is zlib")
    assert faq.text[cited.start : cited.end] == cited.quote
    assert cited.quote in (quote, f"1. {quote}")
    assert said("Is zlib portable?", faq) is None
    below = unit("No. It never was.", "zlib-FAQ", "FAQ", "Is zlib thread-safe?")
    assert said("Is zlib thread-safe?", below) == "no"


@pytest.mark.parametrize(
    "question",
    [
        "Are both X and Y American?",
        "Were Ada Byron and Max Born of the same nationality?",
        "Was the film “Home” released before the book “Ruse”?",
        "Is the delay about as long as the systole?",
        "Yukio Mishima and Roberto Bolaño, are Chilean?",
    ],
)
def test_what_compares_is_the_networks(question):
    assert compares(question)
    assert said_outright(question, [unit("X and Y are both American.")]) is None
    found = polar("no")
    assert borne_out(found, question, [unit("X was born in Ohio. Y is French.")]).ceiling == 1.0


@pytest.mark.parametrize("question", ["Does tar support zstd?", "Was strace written before 1990?"])
def test_what_asks_for_yes_or_no_does_not_compare(question):
    assert asks_yes_no(question)
    assert not compares(question)
    assert not asks_yes_no("What does tar support?")


def polar(kind: str, margin: float = 1.0, units: int = 1) -> Composed:
    cited = tuple(Citation(n, "u") for n in range(1, units + 1))
    return Composed(kind, cited, math.log(0.8), 0.1, 2.0, 1, kind, margin)


@pytest.mark.parametrize(
    ("kind", "question", "text", "given"),
    [
        ("no", "Does tar support zstd?", "tar makes archives. It has an option for zstd support.", False),
        ("no", "Can I make cheese from UHT milk?", "Your regular UHT milk won't work.", True),
        ("no", "Are sessions kept in the cache?", "Sessions of the cache were removed.", True),
        ("no", "Can tables be locked while copied?", "Do lock tables. This is not hard.", False),
        ("no", "CoreDNS fires above 5% of requests.", "CoreDNS fires at 1% of requests.", True),
        ("no", "Are values escaped in Kiln?", "Kiln escapes values unless told otherwise.", False),
        ("no", "Are values escaped in forms?", "Kiln escapes values except in forms.", True),
        ("no", "Does Kiln run in a thread?", "Kiln will run in a thread instead of the loop.", False),
        ("no", "Does Kiln run in a loop?", "Kiln will run in a thread instead of the loop.", True),
        ("no", "Does Kiln run on Linux?", "Kiln will only run on Linux.", False),
        ("no", "Does Kiln run on Windows?", "Kiln will only run on Linux.", True),
        ("no", "Does Kiln have async views?", "Extensions of Kiln do not expect async views.", False),
        ("no", "Are all views of Kiln async?", "Not all views of Kiln are async.", False),
        ("no", "Was support for zstd removed?", "Support for zstd was removed.", False),
        ("yes", "Does tar write zstd archives?", "tar writes archives with zstd.", True),
        ("yes", "Does tar write zstd archives?", "tar never writes archives with zstd.", False),
    ],
)
def test_a_networks_word_needs_a_sentence_that_bears_it_out(kind, question, text, given):
    found = borne_out(polar(kind), question, [unit(text, "t")])
    assert found.ceiling == (1.0 if given else UNREASONED)
    (cited,) = found.citations
    assert cited.quote
    assert text[cited.start : cited.end] == cited.quote


def test_a_sentence_that_says_the_opposite_speaks_against_a_network_that_is_sure():
    posts = "A person may hold several posts, except that the chair must be distinct."
    found = borne_out(polar("no", 9.0), "Can a person hold several posts?", [unit(posts)])
    assert found.ceiling == UNREASONED
    both = unit("Kiln cannot lock files. Kiln can lock files on Linux.")
    assert borne_out(polar("no"), "Can Kiln lock files on Linux?", [both]).ceiling == UNREASONED
    larger = [unit("Kiln is an excellent alternative to Loom for larger sites.")]
    asked = "Is Kiln an excellent alternative to Loom for larger sites?"
    assert borne_out(polar("no", 9.0), asked, larger).ceiling == UNREASONED
    assert borne_out(polar("yes"), asked, larger).ceiling == 1.0


def test_what_a_negation_does_not_deny_is_not_denied_outright():
    assert (
        said(
            "Does Kiln support async views?", unit("Tools before async support do not expect views.", "Kiln")
        )
        is None
    )
    assert said("Does Kiln support async views?", unit("Kiln does not fully support async views.")) == "no"


def test_a_negation_may_stand_before_what_it_denies():
    assert said("Does Kiln hold funds?", unit("Kiln is not in a position to directly hold funds.")) == "no"


def test_a_sentence_that_may_mean_either_leaves_it_undecided():
    plain = unit("Relational tables need schemas and Kiln has tables.")
    assert said("Does Kiln need tables?", plain) == "yes"
    assert said("Does Kiln need tables?", plain, unit("Not every page of Kiln needs tables.")) is None


def test_the_same_denial_under_another_heading_is_no_opposition():
    asked, denial = "Is the Kiln server meant for production?", "Do not use the Kiln server in production."
    units = [unit(denial, "Notes"), unit(f"Hello there. {denial}", "Kiln", "Kiln server")]
    assert borne_out(polar("no", units=2), asked, units).ceiling == 1.0


@pytest.mark.parametrize(
    ("question", "texts", "given"),
    [
        ("Is Kiln faster than Loom?", ("Kiln is a server.", "Loom is a server."), False),
        ("Is Kiln faster than Loom?", ("Kiln is a fast server.", "Loom is a server."), True),
        ("Is Kiln faster than Loom?", ("Kiln is a fast server.", "It is a server."), False),
        ("Is Kiln older than Loom?", ("Kiln is of 1999.", "Loom came in 2004."), True),
        ("Is Kiln older than Loom?", ("Kiln is of 1999.", "Loom came later."), False),
        ("Is Kiln more popular than Loom?", ("Kiln is a popular server.", "So is Loom."), True),
    ],
)
def test_what_is_more_than_another_is_told_where_both_are_spoken_of(question, texts, given):
    found = borne_out(polar("no", 9.0, units=2), question, [unit(text) for text in texts])
    assert found.ceiling == (1.0 if given else UNREASONED)


def test_a_network_that_is_sure_needs_none():
    text = [unit("tar makes archives.", "tar")]
    assert borne_out(polar("no", 2.5), "Does tar support zstd?", text).ceiling == 1.0
    assert borne_out(polar("no", 2.3), "Does tar support zstd?", text).ceiling == UNREASONED


def test_yes_and_no_cite_the_best_sentence_of_each_unit():
    units = [
        unit("Nothing much. Ada was born in London. The end."),
        unit("Max was born in Breslau. He died."),
    ]
    found = borne_out(polar("no", units=2), "Were Ada and Max born in the same city?", units)
    assert [one.quote for one in found.citations] == ["Ada was born in London.", "Max was born in Breslau."]


STRACE = (
    "strace was written in 1991 by Paul. In 1993 Branko ported it. Then came others. "
    "Beginning with 1996, strace was maintained by Wichert Akkerman."
)


def span(text: str, answer: str, title: str = "strace", *sections: str) -> tuple[Composed, Candidate]:
    given = unit(text, title, *sections)
    at = text.index(answer)
    cited = Citation(1, "u", at, at + len(answer), answer)
    return Composed(answer, (cited,), math.log(0.9), 0.0, 2.0, 1), given


@pytest.mark.parametrize(
    ("question", "text", "given"),
    [
        ("Who maintained strace in 1994?", STRACE, False),
        ("Who maintained strace in 1996?", STRACE, True),
        ("Who maintained strace in 1998?", STRACE, True),  # beginning with 1996
        ("Who maintained strace before 1997?", STRACE, True),
        ("Who maintained the tool of the 1994 film?", STRACE, True),  # another unit may tell of the film
        ("Who maintained strace in 1994?", f"In 1994 it grew. {STRACE[80:]}", True),
        ("Who maintained strace in 1994?", STRACE.replace("1996", "1993 to 1996"), True),
    ],
)
def test_a_sentence_of_another_year_is_hardly_sure(question, text, given):
    found, where = span(text, "Wichert Akkerman")
    assert borne_out(found, question, [where]).ceiling == (1.0 if given else UNREASONED)


def test_a_heading_may_tell_the_year():
    found, where = span(STRACE, "Wichert Akkerman", "strace", "News of 1994")
    assert borne_out(found, "Who maintained strace in 1994?", [where]).ceiling == 1.0


class TestTitles:
    """An answer that stands in a title."""

    def cited(self, question: str, *context: Candidate, number: int = 1) -> Citation:
        found = Composed("tee", (Citation(number, "u", None, None, "tee"),), -0.1, 0.0, 2.0, 1)
        return borne_out(found, question, context).citations[0]

    def test_the_sentence_that_says_what_is_asked_is_quoted(self):
        unit_ = unit("Copies input. Written by Ada Byron.", "tee")
        assert self.cited("Which command was written by Ada Byron?", unit_).quote == "Written by Ada Byron."

    def test_or_the_place_that_repeats_the_answer(self):
        units = unit("It copies input.", "tee"), unit("NAME tee - read from input", "tee")
        found = self.cited("Which command is by Ada Byron?", *units)
        assert (found.number, found.start, found.quote) == (2, 5, "tee")

    def test_or_nothing_of_the_documents_first_unit(self):
        units = [
            replace(unit(text, "tee"), position=n) for n, text in ((4, "Other things."), (1, "It copies."))
        ]
        assert self.cited("Who is it by?", *units, number=1) == Citation(2, "u", 0, 0, "")


def test_the_reader_says_what_a_sentence_says(reader):
    units = [
        unit("tar makes archives of files.", "tar"),
        replace(unit("Notes.\n\n* Support for zstd compression", "tar-NEWS"), id="n"),
    ]
    answer = reader.read("Does tar support zstd?", units)
    assert (answer.text, answer.abstained) == ("yes", False)
    assert [(one.number, one.candidate_id, one.quote) for one in answer.citations] == [
        (2, "n", "* Support for zstd compression")
    ]
    assert answer.confidence > 0.8


def test_the_reader_withholds_what_nothing_bears_out(monkeypatch, reader):
    import numpy as np

    from pagerag.models.files import Model

    def no(_: Model, ids: list[int], __: list[int]) -> tuple[np.ndarray, np.ndarray]:
        return np.full((len(ids), 6), 3, dtype=np.float32), np.array([0, 2, 4, 0], dtype=np.float32)

    monkeypatch.setattr(Model, "__call__", no)
    held = reader.read("Does tar support zstd?", [unit("tar makes archives of files.", "tar")])
    assert (held.abstained, held.raw) == (True, "no")
    given = reader.read("Can cheese come from UHT milk?", [unit("Cheese won't come of UHT cream.", "t")])
    assert given.text == "no"
    assert given.citations[0].quote == "Cheese won't come of UHT cream."

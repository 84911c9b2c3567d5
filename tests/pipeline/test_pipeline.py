"""The pipeline: one question, many, async, streamed; failures are kept apart; everything is accounted for."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from pagerag.errors import EmptyPoolError, InputError, ReaderError, SettingsError
from pagerag.pipeline import Failure, PageRAG, Result, Stage
from pagerag.promotion import Promoter
from pagerag.read import AtOnceReader
from pagerag.read import reader as make_reader
from pagerag.read.evidence import EvidenceReader
from pagerag.settings import Settings
from pagerag.testing import FakeReader, FakeRetriever
from pagerag.units import Answer, Candidate, Citation

QUESTION = "Which city was the composer of Interstellar born in?"
UNITS = [
    Candidate("score", "The score of Interstellar was composed by Hans Zimmer.", title="Interstellar"),
    Candidate("zimmer", "Hans Zimmer was born in the city of Frankfurt.", title="Hans Zimmer"),
    Candidate("nolan", "Christopher Nolan was born in London.", title="Christopher Nolan"),
    Candidate("seine", "The Seine flows through Paris.", title="Seine"),
]


class Broken(AtOnceReader):
    """A reader that fails on some questions."""

    name = "broken"

    def read(self, question, context, *, state="enough"):
        if "bad" in question:
            raise ReaderError(f"cannot read {question!r}")
        return Answer(question.upper(), reader=self.name)


@pytest.fixture
def pipeline():
    return PageRAG(retriever=FakeRetriever(UNITS), reader=FakeReader("Frankfurt"), mode="sentence", k=3)


def test_a_result_holds_everything(pipeline):
    result = pipeline.ask(QUESTION)
    assert result.text == "Frankfurt"
    (citation,) = result.citations
    assert result.units[citation.number - 1].id == "zimmer"
    assert result.place(citation).start == UNITS[1].text.index("Frankfurt")
    assert {unit.id for unit in result.core} <= {unit.id for unit in result.context}
    assert len(result.context) <= 3
    assert result.state in {"enough", "ambiguous", "insufficient"}
    assert set(result.timings) == {"retrieve", "promote", "read", "total"}
    assert "Frankfurt" in result.statement
    assert set(result.trace) == {"retrieve", "promote", "read"}
    told = json.loads(json.dumps(result.to_dict(trace=True)))
    assert told["version"] == 1
    assert told["citations"][0]["quote"] == "Frankfurt"
    assert QUESTION in result.explain()


def test_the_reader_sees_what_it_prefers(pipeline):
    reader = FakeReader("Frankfurt")
    for units, expected in (("core", "core"), ("context", "context"), ("auto", "context")):
        made = PageRAG(retriever=FakeRetriever(UNITS), reader=reader, mode="sentence", k=4, units=units)
        result = made.ask(QUESTION)
        assert [unit.id for unit in reader.calls[-1][1]] == [unit.id for unit in getattr(result, expected)]
    evidence = PageRAG(retriever=FakeRetriever(UNITS), reader=EvidenceReader(), mode="sentence", k=4)
    assert evidence.ask(QUESTION).units == evidence.ask(QUESTION).core


class ReadingOn(FakeReader):
    """A reader of the core that may read on."""

    prefers = "core"

    def read_on(self, question, core, others, *, state="enough"):
        return self.read(question, [*core, *others], state=state)


@pytest.mark.parametrize("said", ["Frankfurt", "Seine"])
def test_a_reader_may_read_on_beyond_the_core(said):
    """What was cited says which units the result shows, however the question is asked."""
    reader = ReadingOn(said)
    made = PageRAG(retriever=FakeRetriever(UNITS), reader=reader, mode="sentence", k=4)
    result = made.ask(QUESTION)
    seen = [unit.id for unit in reader.calls[-1][1]]
    assert seen[: len(result.core)] == [unit.id for unit in result.core]
    assert sorted(seen) == sorted(unit.id for unit in result.context)
    (citation,) = result.citations
    beyond = citation.number > len(result.core)
    assert beyond == (said == "Seine")
    assert [unit.id for unit in result.units] == (seen if beyond else seen[: len(result.core)])
    assert result.units[citation.number - 1].id == citation.candidate_id
    *_, words, last = made.stream(QUESTION)
    assert (words, last.answer, last.units) == (said, result.answer, result.units)
    assert asyncio.run(made.aask(QUESTION)).units == result.units
    told = PageRAG(retriever=FakeRetriever(UNITS), reader=reader, mode="sentence", k=4, units="core")
    assert told.ask(QUESTION).units == result.core


def test_a_silent_reader_may_cite_what_it_read_beyond_the_core():
    """A reader of somebody else's: no answer, but the place that it stumbled over."""

    class Stumbles(ReadingOn):
        def read_on(self, question, core, others, *, state="enough"):
            units = [*core, *others]
            return Answer("", citations=(Citation(len(units), units[-1].id, quote=units[-1].text[:5]),))

    made = PageRAG(retriever=FakeRetriever(UNITS), reader=Stumbles(), mode="sentence", k=4)
    result = made.ask(QUESTION)
    assert result.state != "insufficient"
    (citation,) = result.to_dict()["citations"]
    assert result.units[citation["number"] - 1].id == citation["id"]


def test_sync_async_and_stream_agree(pipeline):
    sync = pipeline.ask(QUESTION)
    asynchronous = asyncio.run(pipeline.aask(QUESTION))
    *before, last = pipeline.stream(QUESTION)
    assert isinstance(last, Result)
    for other in (asynchronous, last):
        assert other.answer == sync.answer
        assert other.units == sync.units
        assert other.state == sync.state
    assert [stage.name for stage in before if isinstance(stage, Stage)] == ["retrieve", "promote"]
    assert "".join(piece for piece in before if isinstance(piece, str)) == "Frankfurt"


@pytest.mark.integration
@pytest.mark.parametrize("name", ["fake", "evidence", "extractive", "chat"])
def test_every_reader_says_the_same_in_every_form(name):
    with ExitStack() as stack:
        made = PageRAG(retriever=FakeRetriever(UNITS), reader=_reader(name, stack), mode="paragraph", k=3)
        sync, asynchronous = made.ask(QUESTION), asyncio.run(made.aask(QUESTION))
        streamed = list(made.stream(QUESTION))[-1]
        many = next(iter(made.ask_many([QUESTION])))
    assert sync.text
    for other in (asynchronous, streamed, many):
        assert (other.answer, other.units, other.state) == (sync.answer, sync.units, sync.state)
        assert other.context == sync.context
        assert other.statement == sync.statement


def _reader(name, stack):
    if name == "fake":
        return FakeReader("Frankfurt")
    if name != "chat":
        pytest.importorskip("pagerag_models" if name == "extractive" else "numpy")
        return make_reader(name)
    pytest.importorskip("httpx")
    from pagerag.read.chat import ChatReader
    from pagerag.testing import ScriptedChat

    server = stack.enter_context(ScriptedChat(["Frankfurt [2]"]))
    return stack.enter_context(ChatReader(base_url=server.url, model="scripted"))


class Closing(FakeReader):
    closed = 0

    def close(self):
        self.closed += 1


def test_it_closes_what_it_opened_and_nothing_else(demo_store, monkeypatch):
    given = Closing("x")
    with PageRAG(retriever=FakeRetriever(UNITS), reader=given):
        pass
    assert given.closed == 0
    monkeypatch.setattr("pagerag.pipeline.make_reader", lambda name, settings=None: Closing("x"))
    with PageRAG.open(demo_store, reader="evidence") as made:
        assert made.ask(QUESTION).text == "x"
    assert made.reader.closed == 1

    async def opened():
        async with PageRAG.open(demo_store, reader=given) as other:
            return (await other.aask(QUESTION)).text

    assert asyncio.run(opened()) == "x"
    assert given.closed == 0


def test_open_takes_what_settings_have(demo_store):
    made = PageRAG.open(
        demo_store, reader="evidence", k=2, pool=7, mode="paragraph", adaptive=False, units="context"
    )
    with made:
        assert (made.k, made.pool, made.mode, made.units) == (2, 7, "paragraph", "context")
        assert not made.retriever.name.startswith("adaptive")
        assert len(made.ask(QUESTION).context) <= 2
    with pytest.raises(SettingsError, match=r"promote\.k must be at least 1"):
        PageRAG.open(demo_store, k=0)


def test_half_a_reader_is_refused_by_name():
    class Half:
        name = "half"

        def read(self, question, context, *, state="enough"):
            return Answer("x")

    with pytest.raises(InputError, match=r"Half is no whole reader.*AtOnceReader"):
        PageRAG(retriever=FakeRetriever(UNITS), reader=Half())


def test_a_question_as_long_as_a_book_is_refused(pipeline):
    with pytest.raises(InputError, match="at most 20,000"):
        pipeline.ask("why " * 6_000)


def test_many_keep_their_order_and_none_is_lost():
    made = PageRAG(retriever=FakeRetriever(UNITS), reader=Broken(), mode="sentence")
    questions = [f"{'bad ' if n % 3 == 0 else ''}question {n} about Interstellar" for n in range(20)]
    results = list(made.ask_many(iter(questions), workers=3))
    assert [result.question for result in results] == questions
    for number, result in enumerate(results):
        if number % 3 == 0:
            assert isinstance(result, Failure)
            assert f"question {number} " in result.to_dict()["error"]
        else:
            assert result.text == questions[number].upper()

    async def gathered():
        return [result async for result in made.aask_many(questions, workers=3)]

    again = asyncio.run(gathered())
    assert [type(result) for result in again] == [type(result) for result in results]
    assert [result.question for result in again] == questions


def test_an_endless_input_is_taken_as_it_is_used(pipeline):
    def endless():
        number = 0
        while True:
            number += 1
            taken.append(number)
            yield f"{QUESTION} {number}"

    taken = []
    stream = pipeline.ask_many(endless(), workers=2)
    assert next(stream).question.endswith(" 1")
    stream.close()
    assert len(taken) < 20


@pytest.mark.parametrize("question", ["", "   ", None, 3])
def test_questions_that_are_none_are_refused(pipeline, question):
    with pytest.raises(InputError, match="empty"):
        pipeline.ask(question)


def test_nothing_found_says_what_to_do():
    made = PageRAG(retriever=FakeRetriever({}), reader=FakeReader("x"))
    with pytest.raises(EmptyPoolError, match="pagerag index"):
        made.ask(QUESTION)


def test_what_it_needs_and_bounds():
    with pytest.raises(InputError, match="store or a retriever"):
        PageRAG()
    with pytest.raises(InputError, match="at least 1"):
        PageRAG(retriever=FakeRetriever(UNITS), reader=FakeReader("x"), k=0)
    with pytest.raises(InputError, match="workers"):
        next(PageRAG(retriever=FakeRetriever(UNITS), reader=FakeReader("x")).ask_many(["q"], workers=0))


def test_insufficient_evidence_is_said_in_the_statement(pipeline):
    made = PageRAG(retriever=FakeRetriever(UNITS[3:]), reader=FakeReader("Paris"), mode="sentence")
    result = made.ask("Who invented the transistor radio?")
    assert result.state == "insufficient"
    assert result.text == ""
    assert result.statement.startswith("Not enough evidence")


class Silent(AtOnceReader):
    """A reader that finds no answer."""

    name = "silent"

    def read(self, question, context, *, state="enough"):
        return Answer("", abstained=True, reader=self.name)


def test_where_a_reader_is_silent_the_nearest_sentences_are_shown():
    pipeline = PageRAG(retriever=FakeRetriever(UNITS), reader=Silent(), mode="sentence", k=4)
    result = pipeline.ask(QUESTION)
    assert (result.text, result.citations) == ("", ())
    assert result.statement == "No sure answer was found in the evidence."
    near = {result.units[one.number - 1].id for one in result.nearest}
    assert {"score", "zimmer"} <= near
    assert len(near) <= 3
    for one in result.nearest:
        assert result.units[one.number - 1].text[one.start : one.end] == one.quote
    told = result.to_dict()
    assert told["citations"] == []
    assert [one["quote"] for one in told["nearest"]] == [one.quote for one in result.nearest]
    assert asyncio.run(pipeline.aask(QUESTION)).nearest == result.nearest


class Half(AtOnceReader):
    """A reader that finds one of two things."""

    name = "half"

    def read(self, question, context, *, state="enough"):
        return Answer("Frankfurt", (Citation(1, context[0].id),), 0.8, reader=self.name, unfound=("when",))


def test_what_was_not_found_is_said_beside_what_was():
    result = PageRAG(retriever=FakeRetriever(UNITS), reader=Half(), mode="sentence").ask(QUESTION)
    assert result.text == "Frankfurt"
    assert result.statement == "Frankfurt [1]; not found in the evidence: “when”"
    assert result.to_dict()["answer"]["unfound"] == ["when"]


def test_what_two_files_say_in_the_same_words_is_near_once():
    said = "The composer of Interstellar was born in the city of Frankfurt."
    units = [
        Candidate("manual", f"{said} He lives in Munich these days.", "Manual"),
        Candidate("chapter", f"An aside on films of that year. {said.replace('city', 'City')}", "Chapter"),
        Candidate("other", "The composer of Interstellar was born in a year of little rain.", "Other"),
    ]
    result = PageRAG(retriever=FakeRetriever(units), reader=Silent(), mode="document", k=3).ask(QUESTION)
    quotes = [one.quote.casefold() for one in result.nearest]
    assert said.casefold() in quotes
    assert len(quotes) == len(set(quotes))
    assert {result.units[one.number - 1].id for one in result.nearest} >= {"other"}
    assert [one for one, _ in result.sentences] == sorted(result.nearest, key=lambda one: one.number)


def test_nothing_is_near_beside_an_answer_or_without_evidence(pipeline):
    assert pipeline.ask(QUESTION).nearest == ()
    units = [
        replace(unit, title=None, text="Rain fell on the hills.", id=str(n)) for n, unit in enumerate(UNITS)
    ]
    silent = PageRAG(retriever=FakeRetriever(units), reader=Silent(), mode="sentence", k=4).ask(QUESTION)
    assert silent.state == "insufficient"
    assert len(silent.units) == max(len(silent.core), 1)


def test_the_page_holds_the_graph_and_no_script_but_its_own(pipeline):
    evil = Candidate(
        "x", "Interstellar </title><script>alert(1)</script> was composed by Zimmer.", title="<b>I</b>"
    )
    made = PageRAG(retriever=FakeRetriever([*UNITS, evil]), reader=FakeReader("Frankfurt"), mode="sentence")
    page = made.ask(QUESTION).to_html()
    assert page.count("<svg") == 1  # the paths; the graph is drawn from the data
    assert page.count("<script") == 2  # the data, and the one script whose hash the policy names
    assert "script-src 'sha256-" in page
    assert "unsafe-inline" not in page
    assert "&lt;script&gt;" in page
    assert "alert(1)\\u003c/script>" in page  # in the data no text can end its element
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


@pytest.mark.integration
def test_over_a_real_store_every_sentence_keeps_its_place(demo_store):
    made = PageRAG.open(demo_store, reader="evidence")
    result = made.ask(QUESTION)
    assert made.retriever.name.startswith("adaptive")
    assert {"Interstellar (film)", "Hans Zimmer"} <= {unit.title for unit in result.context}
    assert result.citations
    for citation in result.citations:
        place = result.place(citation)
        assert citation.quote in Path(place.path).read_text(encoding="utf-8")
        assert place.end - place.start == len(citation.quote)


@pytest.mark.integration
@pytest.mark.parametrize("mode", ["sentence", "paragraph", "document"])
def test_every_mode_over_a_real_store(demo_store, mode):
    from pagerag.settings import Settings

    made = PageRAG.open(
        demo_store, Settings().updated({"promote.mode": mode, "promote.k": 3}), reader="evidence"
    )
    result = made.ask("Which river flows through the city where Marie Curie was born?")
    assert 1 <= len(result.context) <= 3
    assert "Marie Curie" in {unit.title for unit in result.context}


@pytest.mark.integration
def test_a_storm_of_faults_loses_no_question(demo_store):
    pytest.importorskip("httpx")
    from faulty_chat_server import FaultyServer

    from pagerag.endpoint import RetryPolicy
    from pagerag.read.chat import ChatReader

    storm = ["status:500", "dropped", "truncated", "schema", "limited:0", "short", "html"] * 2 + ["ok"]
    quick = RetryPolicy(attempts=30, first_wait=0.01, longest_wait=0.02)
    with FaultyServer(storm) as server:
        reader = ChatReader(base_url=server.base_url, model="m", retry=quick, concurrency=2)
        made = PageRAG.open(demo_store, reader=reader)
        results = list(made.ask_many([f"{QUESTION} ({n})" for n in range(8)], workers=4))
        reader.close()
    assert [result.text for result in results] == ["Frankfurt"] * 8


def test_promoter_and_reader_are_used_as_given():
    promoter = Promoter(ablate=("minimal_selection",))
    made = PageRAG(retriever=FakeRetriever(UNITS), promoter=promoter, reader=FakeReader("x"))
    assert made.promoter is promoter


def test_the_trace_tells_which_follow_up_found_a_unit(demo_store):
    pipeline = PageRAG.open(demo_store, reader="evidence")
    result = pipeline.ask("Which city was the composer of Interstellar born in?")
    rounds = result.to_dict(trace=True)["trace"]["retrieve"]["rounds"]
    assert [step["round"] for step in rounds] == list(range(len(rounds)))
    kept = [unit["id"] for step in rounds for unit in step["kept"]]
    assert sorted(kept) == sorted(unit.id for unit in result.pool.candidates)
    assert all(step["found"] >= len(step["kept"]) for step in rounds)
    json.dumps(rounds)
    named = [u for u in result.found.values() if u["by"] == "title" and u.get("from") is None]
    assert any(unit["name"] == "interstellar" for unit in named) or result.found
    shown = result.to_dict()["context"]
    assert all(unit["found"]["by"] in ("search", "title", "words", "nearness") for unit in shown)


class Judging:
    """A support encoder that may be the larger one."""

    name, signals = "judging", ("support",)

    def __init__(self, fitted):
        self.fitted = fitted

    def support(self, question, units, /):
        return [[0.5]] * len(units)


@pytest.mark.parametrize(("fitted", "leads"), [("judge", True), ("support", False)])
def test_the_larger_support_encoder_leads_follow_up_search_too(demo_store, fitted, leads, monkeypatch):
    support = Judging(fitted)
    monkeypatch.setattr("pagerag.models.support_named", lambda choice: support)
    with PageRAG.open(
        demo_store, Settings().updated({"promote.support": "default"}), reader="evidence"
    ) as rag:
        assert (rag.retriever.guide is support) == leads
        assert rag.ask("Which city was the composer of Interstellar born in?").context
        again = PageRAG(rag.store, promoter=Promoter(support=support), reader=FakeReader())
        assert (again.retriever.guide is support) == leads


def test_explain_says_what_following_up_found(demo_store):
    from pagerag.retrieve import AdaptiveRetriever, Limits

    pipeline = PageRAG.open(demo_store, reader="evidence")
    pipeline.retriever = AdaptiveRetriever(pipeline.store, pipeline.encoder, limits=Limits(first=1, depth=1))
    result = pipeline.ask("Which city was the composer of Interstellar born in?")
    assert result.found
    assert "Found by following up:" in result.explain()
    assert "Hans Zimmer: round 1, 'hans zimmer' is named in Interstellar" in result.explain()

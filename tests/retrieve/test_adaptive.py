from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagerag import Promoter
from pagerag.errors import InputError
from pagerag.protocols import Encoder, Retriever
from pagerag.retrieve import AdaptiveRetriever, CorpusRetriever, Limits, MemoryCorpus
from pagerag.retrieve.adaptive import Frontier
from pagerag.retrieve.candidate_features import DIRECT, LINK
from pagerag.store.base import SnapshotBase
from pagerag.units import Candidate

QUESTION = "In which city was the composer of the film Interstellar born?"
NEEDED = {"Interstellar (film)", "Hans Zimmer"}


class Counting(MemoryCorpus):
    """Counts the searches of its snapshots."""

    calls = 0

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        with super().snapshot() as now:
            yield _Counted(self, now)


class _Counted(SnapshotBase):
    def __init__(self, corpus: Counting, now: Any) -> None:
        self.corpus, self.now = corpus, now
        self.rank_names, self.units = now.rank_names, now.units

    def rank_text(self, text: str, k: int) -> Any:
        self.corpus.calls += 1
        return self.now.rank_text(text, k)

    def rank_vectors(self, vectors: Any, k: int) -> Any:
        self.corpus.calls += len(vectors)
        return self.now.rank_vectors(vectors, k)


def ids(units: Sequence[Candidate]) -> list[str]:
    return [unit.id for unit in units]


def narrow(**changes: int) -> Limits:
    """Little enough of this small encyclopaedia that the follow-up is needed."""
    return replace(Limits(first=2, depth=2), **changes)


def test_the_second_hop_is_followed(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)
    retriever = AdaptiveRetriever(corpus, limits=narrow())
    assert isinstance(retriever, Retriever)
    question = "Where does the director of Gravity come from?"
    plain = CorpusRetriever(corpus).retrieve(question, 2)
    assert "Alfonso Cuarón" not in ids(plain.candidates)
    found = ids(retriever.retrieve(question, 4).candidates)
    assert {"Gravity (2013 film)", "Alfonso Cuarón"} <= set(found)


def test_the_pool_is_an_ordinary_pool(pages: list[Candidate], words: Encoder) -> None:
    pool = AdaptiveRetriever(MemoryCorpus(pages, words)).retrieve(QUESTION, 6)
    assert len(pool) == 6
    assert len(set(ids(pool.candidates))) == 6
    assert pool.vector is not None
    scores = [unit.score for unit in pool.candidates]
    assert all(score is not None and 0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
    assert set(ids(pool.candidates)) >= NEEDED
    assert pool.candidates[0].text  # the unit itself came along


def test_the_pool_says_what_its_scores_are(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)
    pool = AdaptiveRetriever(corpus, limits=narrow()).retrieve(QUESTION, 8)
    assert pool.scores == "probability"
    assert CorpusRetriever(corpus).retrieve(QUESTION, 8).scores == "relevance"
    result = Promoter().promote(QUESTION, pool, k=3, mode="document", fill_by_score=True)
    assert set(ids(result.context)) >= NEEDED


def test_without_vectors(pages: list[Candidate]) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus(pages), limits=narrow())
    assert retriever.name == "adaptive:lexical"
    assert set(ids(retriever.retrieve(QUESTION, 4).candidates)) >= NEEDED


def test_without_titles(pages: list[Candidate], words: Encoder) -> None:
    bare = [replace(unit, title=None) for unit in pages]
    retriever = AdaptiveRetriever(MemoryCorpus(bare, words), limits=narrow())
    assert set(ids(retriever.retrieve(QUESTION, 5).candidates)) >= NEEDED


@pytest.mark.parametrize("question", ["", "?", "   ", "xyzzy", "監督は誰ですか", "a" * 5000])
def test_odd_questions(pages: list[Candidate], words: Encoder, question: str) -> None:
    pool = AdaptiveRetriever(MemoryCorpus(pages, words)).retrieve(question, 5)
    assert len(pool) <= 5


def test_an_empty_corpus(words: Encoder) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus([], words))
    assert retriever.retrieve("anything").candidates == ()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(12)), k=st.integers(2, 12))
def test_the_order_of_the_corpus_does_not_hide_the_evidence(
    pages: list[Candidate], words: Encoder, order: list[int], k: int
) -> None:
    mixed = AdaptiveRetriever(MemoryCorpus([pages[i] for i in order], words)).retrieve(QUESTION, k)
    plain = AdaptiveRetriever(MemoryCorpus(pages, words)).retrieve(QUESTION, k)
    assert len(mixed) == len(plain)
    assert set(ids(mixed.candidates)) >= NEEDED or not set(ids(plain.candidates)) >= NEEDED


@pytest.mark.parametrize("most", [1, 3, 7])
def test_the_pool_is_bounded(pages: list[Candidate], words: Encoder, most: int) -> None:
    limits = Limits(most=most, rounds=5)
    assert len(AdaptiveRetriever(MemoryCorpus(pages, words), limits=limits).retrieve(QUESTION, 50)) <= most


def test_searches_are_bounded(pages: list[Candidate], words: Encoder) -> None:
    doors = Counting(pages, words)
    limits = Limits(rounds=3, seeds=4, joined=2)
    AdaptiveRetriever(doors, words, limits=limits).retrieve(QUESTION, 20)
    assert doors.calls <= 2 + limits.rounds * limits.joined * (1 + limits.worded)


def test_no_rounds_is_no_follow_up(pages: list[Candidate], words: Encoder) -> None:
    corpus = MemoryCorpus(pages, words)
    with corpus.snapshot() as now:
        frontier = Frontier(QUESTION, words.encode_queries([QUESTION])[0], now, narrow())
    size = len(frontier.passages)
    assert size <= 2 + 2  # the first two, and what the question names
    assert frontier.table.direct().shape == (size, len(DIRECT))
    own = np.linspace(1, 0, size, dtype=np.float32)
    assert frontier.table.links(own).shape == (size, len(LINK))
    assert frontier.follow(own)
    assert len(frontier.passages) > size


@pytest.mark.parametrize(
    "changes", [{"first": 0}, {"most": 0}, {"rounds": -1}, {"near": -2}, {"judged": 0}, {"guided": -1}]
)
def test_impossible_limits_are_refused(changes: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(changes))):
        Limits(**changes)


def test_the_same_twice(pages: list[Candidate], words: Encoder) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus(pages, words))
    assert retriever.retrieve(QUESTION, 9) == retriever.retrieve(QUESTION, 9)
    again = AdaptiveRetriever(MemoryCorpus(pages, words))
    assert again.retrieve(QUESTION, 9) == retriever.retrieve(QUESTION, 9)


def test_it_can_be_pickled(pages: list[Candidate]) -> None:
    retriever = AdaptiveRetriever(MemoryCorpus(pages))
    again = pickle.loads(pickle.dumps(retriever))  # noqa: S301
    assert again.retrieve(QUESTION, 5) == retriever.retrieve(QUESTION, 5)


def test_a_name_in_the_best_passage_is_searched_as_words() -> None:
    """Neither title nor opening tells whom the second passage is about; its words do."""
    texts = {
        "film": "Interstellar is a film of 2014. Its composer is Hans Zimmer.",
        "born": "It was in the city of Frankfurt that a boy called Hans Zimmer was born.",
        "other": "Cologne is the city where many films were shown in 2014.",
        "more": "A composer of films may live in any city.",
    }
    units = [Candidate(name, text) for name, text in texts.items()]
    limits = Limits(first=1, depth=1, near=0)
    pool = AdaptiveRetriever(MemoryCorpus(units), limits=limits).retrieve(QUESTION, 4)
    [found] = [unit for step in pool.metadata["rounds"] for unit in step["kept"] if unit["id"] == "born"]
    assert found == {"id": "born", "by": "words", "from": "film", "name": "hans zimmer"}
    without = AdaptiveRetriever(MemoryCorpus(units), limits=replace(limits, worded=0)).retrieve(QUESTION, 4)
    assert "born" not in ids(without.candidates)


RIVER = "What is the name of the waterfall in the country where the Bubye River is found?"
RIVERS = {
    "river": ("Bubye River", "The Bubye River is a tributary of the Limpopo in Zimbabwe."),
    "falls": ("Victoria Falls", "Victoria Falls is a waterfall on the border of Zambia and Zimbabwe."),
    "niagara": ("Niagara Falls", "Niagara Falls is a waterfall between Canada and New York."),
    "country": ("Country", "A country is found on every map, and the name of it, too."),
    "other": ("Harare", "Harare is the largest city of Zimbabwe."),
}


def river_frontier(limits: Limits) -> Frontier:
    units = [Candidate(name, text, title=title) for name, (title, text) in RIVERS.items()]
    with MemoryCorpus(units).snapshot() as now:
        frontier = Frontier(RIVER, None, now, limits)
        frontier.follow(np.array([float(name == "river") for name in frontier.passages], dtype=np.float32))
    return frontier


def link_column(frontier: Frontier, column: str) -> dict[str, float]:
    own = np.array([float(name == "river") for name in frontier.passages], dtype=np.float32)
    rows = frontier.table.links(own)[:, LINK.index(column)]
    return dict(zip(frontier.passages, rows.tolist(), strict=True))


def test_a_name_that_two_texts_share_is_a_bridge() -> None:
    """Zimbabwe is no title: the river's passage and the waterfall's have it in common, the question not."""
    frontier = river_frontier(Limits(found=5))
    bridged, rest = (link_column(frontier, name) for name in ("bridged", "bridged_rest"))
    assert bridged["falls"] == bridged["other"] > 0
    assert bridged["niagara"] == bridged["country"] == bridged["river"] == 0
    assert rest["falls"] > rest["other"], "the waterfall's passage has what the river's leaves open"


def test_what_words_found_is_scored() -> None:
    worded = link_column(river_frontier(Limits()), "worded")
    assert worded["falls"] > worded["niagara"], "both are waterfalls, one of them in Zimbabwe"
    assert set(link_column(river_frontier(Limits(worded=0)), "worded").values()) == {0.0}


def test_a_name_is_searched_for_once() -> None:
    units = [
        Candidate("a", "Ada Brandt met Bo Carlsen.", title="Ada"),
        Candidate("b", "Eva Dahl met Bo Carlsen.", title="Eva"),
    ]
    corpus = Counting(units)
    AdaptiveRetriever(corpus, limits=Limits(rounds=1, worded=9)).retrieve("Who met Bo?", 5)
    # For the question, and for Bo Carlsen, Ada Brandt and Eva Dahl, though two passages name the first.
    assert corpus.calls == 1 + 3


def test_later_rounds_follow_the_best_alone(pages: list[Candidate], words: Encoder) -> None:
    vector = words.encode_queries([QUESTION])[0]
    with MemoryCorpus(pages, words).snapshot() as now:
        frontier = Frontier(QUESTION, vector, now, Limits(first=8, seeds=4, joined=1))
        for rounds, most in ((1, 4), (2, 5)):
            frontier.follow(np.linspace(0, 1, len(frontier.passages), dtype=np.float32))
            assert len(frontier._followed) <= most, rounds


def test_only_the_best_of_all_searches_by_words_are_read() -> None:
    def found(limits: Limits) -> list[str]:
        frontier = river_frontier(limits)
        return [name for name, step in frontier.steps.items() if step.by == "words"]

    few = Limits(first=2, named=0, near=0)
    assert found(replace(few, taken=1)) == ["falls"], "it has the name and the waterfall"
    assert set(found(few)) > {"falls"}
    assert found(replace(few, taken=0)) == []


CHAIN = {
    "The Lamp": "The Lamp is a novel that Ida Voss wrote. It sold well in its first year.",
    "Ida Voss": "Ida Voss is a writer. She lives with the painter Omar Lund.",
    "Omar Lund": "Omar Lund is a painter who learned his craft from Petra Quist.",
    "Petra Quist": "Petra Quist gave lessons for thirty years. Her school was at Marstal.",
    **{f"Novel {n}": f"Novel {n} is a novel. Its writer and her teacher are not known." for n in range(12)},
}
CHAINED = "In which town did the teacher of the partner of the writer of The Lamp work?"


class Guide:
    """A support encoder that knows what is evidence, and notes what it was shown."""

    name, signals = "knowing", ("support", "bearing")

    def __init__(self, evidence: set[str]) -> None:
        self.evidence = evidence
        self.shown: list[list[str]] = []

    def support(self, question: str, units: Sequence[Candidate], /) -> Any:
        assert question
        self.shown.append([unit.id for unit in units])
        return np.array([[0.98 if unit.id in self.evidence else 0.02, 0.5] for unit in units])


def chained(guide: Any = None, **changes: int) -> AdaptiveRetriever:
    units = [Candidate(title, text, title=title) for title, text in CHAIN.items()]
    limits = replace(Limits(first=3, depth=3, seeds=3, joined=3, near=0, worded=0), **changes)
    return AdaptiveRetriever(MemoryCorpus(units), limits=limits, guide=guide)


def test_what_a_guide_holds_to_be_evidence_is_followed_and_has_its_place() -> None:
    alone = chained().retrieve(CHAINED, 20)
    assert "Petra Quist" not in ids(alone.candidates)
    guide = Guide({"The Lamp", "Ida Voss", "Omar Lund"})
    led = chained(guide, guided=3).retrieve(CHAINED, 20)
    assert "Petra Quist" in ids(led.candidates)
    few = chained(guide, guided=3).retrieve(CHAINED, 3)
    assert set(ids(few.candidates)) == guide.evidence
    scores = [unit.score for unit in led.candidates]
    assert led.scores == "probability"
    assert all(score is not None and 0 < score < 1 for score in scores)
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
    assert [step["round"] for step in led.metadata["rounds"]] == [0, 1, 2, 3, 4]


def test_a_guide_reads_so_many_passages_so_often() -> None:
    guide = Guide(set())
    chained(guide, guided=2, judged=3, first=9, depth=9).retrieve(CHAINED, 20)
    assert [len(shown) for shown in guide.shown] == [3, 3]
    chained(guide, guided=0).retrieve(CHAINED, 20)
    assert len(guide.shown) == 2


@pytest.mark.parametrize("question", ["", "  "])
def test_a_guide_is_not_asked_without_a_question_or_passages(question: str, words: Encoder) -> None:
    guide = Guide(set())
    chained(guide).retrieve(question, 5)
    AdaptiveRetriever(MemoryCorpus([], words), guide=guide).retrieve(CHAINED, 5)
    assert guide.shown == []


def test_a_guide_that_says_too_little_is_refused() -> None:
    class Short(Guide):
        def support(self, question: str, units: Sequence[Candidate], /) -> Any:
            return super().support(question, units)[:-1]

    with pytest.raises(InputError, match="support encoder 'knowing' returned shape"):
        chained(Short(set())).retrieve(CHAINED, 5)


def test_a_guide_is_an_object_that_judges() -> None:
    with pytest.raises(InputError, match="guide is 'default'; it must be an object with name, signals"):
        chained("default")
    silent = Guide(set())
    silent.signals = ()  # type: ignore[assignment]
    with pytest.raises(InputError, match="it must be an object with name, signals"):
        chained(silent)


def test_a_guided_retriever_is_named_after_its_guide() -> None:
    assert chained(Guide(set())).name == "adaptive:lexical+knowing"

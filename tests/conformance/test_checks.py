"""Each check passes what keeps the contract, and names the contract that something else breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pagerag.errors import InputError
from pagerag.testing import (
    FakeBackend,
    FakeEncoder,
    FakeReader,
    FakeRetriever,
    FakeSupportEncoder,
    check_backend,
    check_encoder,
    check_extractor,
    check_reader,
    check_retriever,
    check_support_encoder,
)
from pagerag.units import Answer, Candidate, Citation, Pool, Relation

CORPUS = [
    Candidate("curie", "Marie Curie was born in Warsaw.", title="Marie Curie"),
    Candidate("warsaw", "Warsaw is the capital of Poland.", title="Warsaw"),
    Candidate("eiffel", "The Eiffel Tower was built for the World's Fair of 1889.", title="Eiffel Tower"),
]


def capitals(text: str) -> list[str]:
    return [word for word in text.split() if word[:1].isupper()]


# --- what keeps the contracts -----------------------------------------------------------------------------


def test_the_fakes_keep_their_contracts():
    check_encoder(FakeEncoder())
    check_support_encoder(FakeSupportEncoder(), prefers=0)
    check_retriever(FakeRetriever(CORPUS), finds={"Where was Marie Curie born?": "curie"})
    check_retriever(FakeRetriever(CORPUS, scores=False))
    check_backend(FakeBackend(CORPUS))
    check_reader(FakeReader(), abstains=True)
    check_reader(FakeReader("Warsaw"), answer="warsaw", abstains=True)
    check_extractor(capitals, finds={"Paris is in France": ["Paris", "France"]})


def test_a_scripted_retriever_keeps_the_contract():
    question = "Where was Marie Curie born?"
    check_retriever(FakeRetriever({question: CORPUS[:2]}), questions=[question])


# --- extractors -------------------------------------------------------------------------------------------

CALLS: list[str] = []


def unsteady(text: str) -> list[str]:
    CALLS.append(text)
    return capitals(text)[len(CALLS) % 2 :]


@pytest.mark.parametrize(
    ("extractor", "contract"),
    [
        (lambda text: text, "a list or a tuple"),
        (lambda text: None, "a list or a tuple"),
        (lambda text: [1], "an entity is a text"),
        (lambda text: [" "], "no entity is blank"),
        (lambda text: ["Napoleon"], "spelled as in the text"),
        (lambda text: capitals(text)[::-1], "order of appearance"),
        (lambda text: [text.split()[0]], "must not raise"),
        (unsteady, "the same text gives the same entities"),
        ("not a function", "is called with a text"),
    ],
)
def test_a_bad_extractor_is_told_why(extractor, contract):
    with pytest.raises(AssertionError, match=contract):
        check_extractor(extractor)


def test_an_extractor_that_misses_what_it_must_find_is_told():
    with pytest.raises(AssertionError, match="are found"):
        check_extractor(lambda text: [], finds={"Paris": ["Paris"]})


# --- encoders ---------------------------------------------------------------------------------------------


class Encoder(FakeEncoder):
    def __init__(self, change=lambda rows, texts: rows, **attributes):
        super().__init__()
        self.change = change
        vars(self).update(attributes)

    def encode_queries(self, texts, /):
        return self.change(super().encode_queries(texts), texts)

    encode_passages = encode_queries


def shuffled(rows, texts):
    return np.ascontiguousarray(rows[::-1])


def of_the_batch(rows, texts):
    return FakeEncoder().encode_queries([" ".join(texts)] * len(texts))


def raising(rows, texts):
    if "" in texts:
        raise ValueError("no text")
    return rows


@pytest.mark.parametrize(
    ("encoder", "contract"),
    [
        (Encoder(name=""), "name is a text"),
        (Encoder(name=None), "name is a text"),
        (Encoder(dimension=0), "dimension is a whole number"),
        (Encoder(dimension=True), "dimension is a whole number"),
        (Encoder(lambda rows, texts: rows[:, 1:]), "has shape"),
        (Encoder(lambda rows, texts: rows.tolist()), "NumPy array"),
        (Encoder(lambda rows, texts: rows.astype(np.float64)), "float32"),
        (Encoder(lambda rows, texts: rows * 2), "length 1"),
        (Encoder(lambda rows, texts: rows * np.float32("nan")), "finite"),
        (Encoder(shuffled), "order of the texts"),
        (Encoder(of_the_batch), "does not depend on the others"),
        (Encoder(raising), "must not raise"),
        (Encoder(lambda rows, texts: FakeEncoder().encode_queries(["same"] * len(texts))), "tells different"),
        (object(), "no attribute 'name'"),
    ],
)
def test_a_bad_encoder_is_told_why(encoder, contract):
    with pytest.raises(AssertionError, match=contract):
        check_encoder(encoder)


class Support(FakeSupportEncoder):
    def __init__(self, change=lambda rows, units: rows, **attributes):
        super().__init__()
        self.change = change
        vars(self).update(attributes)

    def support(self, question, units, /):
        return self.change(super().support(question, units), units)


@pytest.mark.parametrize(
    ("encoder", "contract"),
    [
        (Support(signals=()), "signals is a tuple"),
        (Support(signals=["overlap"]), "signals is a tuple"),
        (Support(signals=("a", "a")), "none twice"),
        (Support(signals=("a", "b")), "has shape"),
        (Support(lambda rows, units: rows.astype(np.float64)), "float32"),
        (Support(lambda rows, units: rows + np.float32("inf")), "finite"),
        (Support(lambda rows, units: np.sort(rows, axis=0)), "keeps its row"),
        (Support(lambda rows, units: rows if len(units) else None), "NumPy array"),
    ],
)
def test_a_bad_support_encoder_is_told_why(encoder, contract):
    with pytest.raises(AssertionError, match=contract):
        check_support_encoder(encoder)


def test_a_joint_support_encoder_may_depend_on_the_order():
    check_support_encoder(Support(lambda rows, units: np.sort(rows, axis=0)), joint=True)


def test_support_the_wrong_way_round_is_told():
    with pytest.raises(AssertionError, match="supports the question best"):
        check_support_encoder(Support(lambda rows, units: -rows), prefers=0)


# --- retrievers and backends ------------------------------------------------------------------------------


class Changed(FakeBackend):
    def __init__(self, change=lambda pool, k: pool, **attributes):
        super().__init__(CORPUS)
        self.change = change
        vars(self).update(attributes)

    def retrieve(self, question, k=20):
        return self.change(super().retrieve(question, k), k)

    def pool(self, question, k=20):
        return self.retrieve(question, k)


def edit(**changes):
    """A pool whose last candidate is changed."""
    return lambda pool, k: replace(
        pool, candidates=(*pool.candidates[:-1], replace(pool.candidates[-1], **changes))
    )


class Lenient(FakeBackend):
    def retrieve(self, question, k=20):
        return super().retrieve(question, max(k, 1))


class Growing(FakeBackend):
    def retrieve(self, question, k=20):
        pool = super().retrieve(question, k)
        return replace(pool, candidates=pool.candidates[: len(self.questions)])


class Fragile(FakeBackend):
    def retrieve(self, question, k=20):
        question.encode("utf-8")  # a lone surrogate cannot be
        return super().retrieve(question, k)


BAD_POOLS = [
    (Changed(name=" "), "name is a text"),
    (Changed(lambda pool, k: list(pool.candidates)), "gives a Pool"),
    (Changed(lambda pool, k: replace(pool, question="?")), "carries the question"),
    (Changed(lambda pool, k: replace(pool, candidates=pool.candidates * 20)), "at most 20"),
    (Changed(lambda pool, k: replace(pool, candidates=list(pool.candidates))), "a tuple"),
    (Changed(lambda pool, k: replace(pool, candidates=())), "has candidates"),
    (Changed(lambda pool, k: replace(pool, candidates=pool.candidates[::-1])), "best first"),
    (Changed(lambda pool, k: replace(pool, candidates=("text",))), "holds Candidates"),
    (Changed(edit(id="curie")), "unique"),
    (Changed(edit(id=7)), "an id is a text"),
    (Changed(edit(text="  ")), "has text"),
    (Changed(edit(score=float("nan"))), "finite number or None"),
    (Changed(edit(vector=np.ones((2, 2)))), "one finite row"),
    (Changed(lambda pool, k: replace(edit(vector=np.ones(3))(pool, k), vector=np.ones(4))), "as long as"),
    (Changed(edit(relations=(Relation("a", "of", "b", confidence=2.0),))), r"in \[0, 1\]"),
    (
        Changed(lambda pool, k: replace(pool, relations=(Relation("a", "of", "b", units=("x",)),))),
        "names units of the pool",
    ),
    (Lenient(CORPUS), "k = 0 has at most 0"),
    (Growing(CORPUS), "the same pool again"),
    (Fragile(CORPUS), "lone surrogate.*must not raise"),
]


@pytest.mark.parametrize(("component", "contract"), BAD_POOLS)
@pytest.mark.parametrize("check", [check_retriever, check_backend])
def test_a_bad_pool_is_told_why(check, component, contract):
    component.questions.clear()
    with pytest.raises(AssertionError, match=contract):
        check(component)


def test_a_retriever_that_misses_what_it_must_find_is_told():
    question = "Where was Marie Curie born?"
    with pytest.raises(AssertionError, match="has candidate 'louvre'"):
        check_retriever(FakeRetriever(CORPUS), finds={question: "louvre"})


def test_a_component_of_another_kind_is_told():
    with pytest.raises(AssertionError, match=r"pool\(question, k\) is a method"):
        check_backend(FakeRetriever(CORPUS))


# --- readers ----------------------------------------------------------------------------------------------


class Reading(FakeReader):
    def __init__(self, change):
        super().__init__()
        self.change = change

    def read(self, question, context, *, state="enough"):
        return self.change(super().read(question, context, state=state), context)


def citing(*citations):
    return lambda answer, context: replace(answer, citations=citations)


def intolerant(answer, context):
    if not context:
        raise RuntimeError("nothing to read")
    return answer


@pytest.mark.parametrize(
    ("change", "contract"),
    [
        (lambda answer, context: answer.text, "gives an Answer"),
        (lambda answer, context: replace(answer, text=None), "is a text"),
        (lambda answer, context: replace(answer, abstained=True), "exactly when the reader abstains"),
        (lambda answer, context: replace(answer, text=""), "exactly when the reader abstains"),
        (lambda answer, context: replace(answer, confidence=1.5), "confidence"),
        (lambda answer, context: replace(answer, usage={"model": object()}), "as JSON"),
        (citing(Citation(0, "curie#0")), "a place in the context"),
        (citing(Citation(4, "eiffel#0")), "a place in the context"),
        (citing(Citation(1, "warsaw#0")), "its unit's id"),
        (citing(Citation(1, "curie#0", 0, 999)), "offsets lie in"),
        (citing(Citation(1, "curie#0", 5, None)), "offsets lie in"),
        (citing(Citation(1, "curie#0", 0, 5, "Paris")), "stands at its place"),
        (citing(Citation(1, "curie#0", quote="Paris")), "stands at its place"),
        (intolerant, "must not raise anything but InputError"),
    ],
)
def test_a_bad_reader_is_told_why(change, contract):
    with pytest.raises(AssertionError, match=contract):
        check_reader(Reading(change))


def test_a_reader_may_refuse_an_empty_context():
    def refuse(answer, context):
        if not context:
            raise InputError("nothing to read")
        return answer

    check_reader(Reading(refuse))


def test_a_reader_that_always_answers_is_told_when_it_should_abstain():
    with pytest.raises(AssertionError, match="abstains when the state is insufficient"):
        check_reader(Reading(lambda answer, context: Answer("Poland")), abstains=True)


def test_a_reader_that_is_wrong_is_told():
    with pytest.raises(AssertionError, match="contains 'Poland'"):
        check_reader(FakeReader("Paris"), answer="Poland")


class ReadingOn(FakeReader):
    """A reader that reads on, and numbers what lies beyond the core from one again, or does not."""

    def __init__(self, again: bool) -> None:
        super().__init__("Paris")
        self.again = again

    def read_on(self, question, core, others, *, state="enough"):
        beyond = any("Paris" in unit.text for unit in others)
        return self.read(question, others if self.again and beyond else [*core, *others], state=state)


def test_readers_that_read_on_number_the_core_first():
    check_reader(ReadingOn(again=False))
    with pytest.raises(AssertionError, match="has its unit's id"):
        check_reader(ReadingOn(again=True))


def test_messages_can_be_printed_whatever_was_seen():
    def seen(pool, k):
        return replace(pool, question="\ud83d" * 1_000)

    with pytest.raises(AssertionError) as failure:
        check_retriever(Changed(seen))
    str(failure.value).encode("utf-8")
    assert len(str(failure.value)) < 1_000


def test_an_empty_script_gives_an_empty_pool():
    assert FakeRetriever({}).retrieve("anything") == Pool("anything", (), origin="fake-retriever")

"""The real DSPy: a program whose reader sees the promoted passages, against a model on loopback."""

from __future__ import annotations

import asyncio
import copy
import pickle
from types import SimpleNamespace

import pytest

pytest.importorskip("dspy")
import dspy

from pagerag.errors import InputError
from pagerag.plugins._stage import SmallPoolWarning
from pagerag.plugins.dspy import PageRAG
from pagerag.testing import FakeEncoder, ScriptedChat

from .conftest import QUESTION

pytestmark = pytest.mark.integration


@pytest.fixture
def passages(pool):
    return [f"{d.title} | {d.text}" for d in pool]


class Retriever(dspy.Module):
    def __init__(self, passages):
        super().__init__()
        self.passages = passages

    def forward(self, query):
        return dspy.Prediction(passages=self.passages)

    async def aforward(self, query):
        return dspy.Prediction(passages=self.passages)


class Program(dspy.Module):
    def __init__(self, retrieve):
        super().__init__()
        self.retrieve = retrieve
        self.read = dspy.Predict("context: list[str], question -> answer")

    def forward(self, question):
        context = self.retrieve(question).passages
        return self.read(context=context, question=question)

    async def aforward(self, question):
        context = (await self.retrieve.acall(question)).passages
        return await self.read.acall(context=context, question=question)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_in_a_program_before_a_model_on_loopback(passages, asynchronous):
    program = Program(PageRAG(Retriever(passages), k=4))
    reply = "[[ ## answer ## ]]\nAustria\n\n[[ ## completed ## ]]"
    with ScriptedChat([reply]) as chat:
        model = dspy.LM("openai/scripted", api_base=chat.url, api_key="none", cache=False, num_retries=0)
        with dspy.context(lm=model):
            answer = asyncio.run(program.acall(QUESTION)) if asynchronous else program(QUESTION)
        (prompt,) = chat.prompts
    assert answer.answer == "Austria"
    reached = [p for p in passages if p.split(" | ")[1] in prompt]
    assert 2 <= len(reached) <= 4
    assert {passages[6], passages[14]} <= set(reached)


def test_over_dspys_own_embedding_retriever(passages):
    def embed(texts):
        return FakeEncoder(256).encode_passages([texts] if isinstance(texts, str) else list(texts))

    search = dspy.retrievers.Embeddings(corpus=passages, embedder=embed, k=20)
    found = PageRAG(search, k=3)(QUESTION)
    assert {passages[6], passages[14]} <= set(found.passages)
    assert len(found.passages) == len(found.scores) == len(found.indices) == len(found.pagerag) <= 3


def test_every_kind_of_retriever(passages):
    async def later(query):
        return passages

    class Counted:
        def __call__(self, query):
            return dspy.Prediction(passages=passages, scores=[1 - n / 40 for n in range(20)])

    objects = [SimpleNamespace(long_text=p.split(" | ")[1], title=p.split(" | ")[0]) for p in passages]
    for retriever in (lambda query: passages, Counted(), Retriever(passages), lambda query: objects):
        kept = PageRAG(retriever, k=2)(QUESTION)
        assert {*kept.indices} == {6, 14}
        assert asyncio.run(PageRAG(retriever, k=2).acall(QUESTION)).indices == kept.indices
    assert {*asyncio.run(PageRAG(later, k=2).acall(QUESTION)).indices} == {6, 14}


def test_the_passages_come_back_as_they_went_in(passages):
    kept = PageRAG(lambda query: passages, k=3)(QUESTION)
    assert all(kept.passages[n] is passages[i] for n, i in enumerate(kept.indices))
    assert kept.pagerag[0]["path"][0]["title"] in {"The Silent Harbour", "Ilse Brandt"}
    untitled = PageRAG(lambda query: passages, k=3, title_separator=None)(QUESTION)
    assert untitled.pagerag[0]["path"][0]["title"] is None


def test_no_more_of_a_passage_is_read_than_its_text_needs():
    class Row:
        long_text = "Ilse Brandt composed The Silent Harbour."

        @property
        def content(self):
            raise RuntimeError("a deferred column of a closed session")

    assert PageRAG(k=1)(QUESTION, passages=[Row()]).indices == [0]


def test_titles_in_what_colbert_returns(passages):
    from dspy.dsp.utils import dotdict

    found = [dotdict({"text": p, "long_text": p, "pid": n}) for n, p in enumerate(passages)]
    kept = PageRAG(lambda query: found, k=2)(QUESTION)
    assert {*kept.indices} == {6, 14}
    assert {step["title"] for step in kept.pagerag[0]["path"]} == {"The Silent Harbour", "Ilse Brandt"}
    assert kept.passages[0].long_text == passages[kept.indices[0]]


def test_the_pool_is_asked_for_and_a_small_one_is_said(passages):
    asked = []

    def search(query, k=3):
        asked.append(k)
        return passages[:k]

    with pytest.warns(SmallPoolWarning, match="gave 3 passages"):
        PageRAG(search, k=5)(QUESTION)
    kept = PageRAG(search, k=5, pool=20)(QUESTION)
    asyncio.run(PageRAG(search, k=5, pool=20).acall(QUESTION))
    assert asked == [3, 20, 20]
    assert {6, 14} <= {*kept.indices}
    with pytest.raises(InputError, match="pool is 0"):
        PageRAG(search, pool=0)


def test_bad_retrievers_are_told(passages):
    with pytest.raises(InputError, match="no retriever"):
        PageRAG()(QUESTION)
    with pytest.raises(InputError, match="must return passages"):
        PageRAG(lambda query: "one text")(QUESTION)
    with pytest.raises(InputError, match="has no text"):
        PageRAG(lambda query: [object()])(QUESTION)


def test_optimisers_may_copy_and_save_it(passages, tmp_path):
    program = Program(PageRAG(Retriever(passages), k=2))
    for twin in (copy.deepcopy(program), program.deepcopy()):
        assert twin.retrieve(QUESTION).indices == program.retrieve(QUESTION).indices
    bare = PageRAG(k=2)
    again = pickle.loads(pickle.dumps(bare))  # noqa: S301 - our own object
    assert again(QUESTION, passages=passages).indices == bare(QUESTION, passages=passages).indices
    program.save(tmp_path / "program.json")
    program.load(tmp_path / "program.json")

"""The real FlashRAG in an environment of its own (``make test-backends``): its pipeline, its BM25 retriever.

Its language model is a function, and so is the tokenizer that would cut a prompt; all else is its own code.
"""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from pagerag.plugins.flashrag import PageRAGRefiner, PageRAGReranker

from .conftest import FLASHRAG, GOLD, QUESTION, twenty

pytestmark = pytest.mark.backends
if find_spec("flashrag") is None:
    pytest.skip("FlashRAG is not installed; docs/plugins.md has the recipe", allow_module_level=True)
K = 3


class Config(dict):
    """FlashRAG's own Config reads defaults from a file that its wheel lacks; like it, this has None for the rest."""

    def __missing__(self, key):
        return None


@pytest.fixture(scope="module")
def index(tmp_path_factory, pool_documents):
    import bm25s
    import Stemmer

    folder = tmp_path_factory.mktemp("flashrag") / "bm25"
    texts = [document["contents"] for document in pool_documents]
    searcher = bm25s.BM25(corpus=pool_documents)
    searcher.index(bm25s.tokenize(texts, stemmer=Stemmer.Stemmer("english"), show_progress=False))
    searcher.save(str(folder), corpus=pool_documents)
    return folder


@pytest.fixture(scope="module")
def pool_documents():
    return [{key: d[key] for key in ("id", "contents")} for d in FLASHRAG.documents(twenty())]


@pytest.fixture
def retriever(index):
    from flashrag.retriever import BM25Retriever

    settings = {"bm25_backend": "bm25s", "index_path": str(index), "retrieval_topk": 20}
    made = BM25Retriever(Config(settings))
    made.searcher.backend = "numpy"
    return made


class Generator:
    """Keeps the prompts that reached it."""

    def __init__(self):
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return ["Norway"] * len(prompts)


def pipeline(retriever, tmp_path):
    from flashrag.pipeline import SequentialPipeline
    from flashrag.prompt import PromptTemplate

    template = PromptTemplate.__new__(PromptTemplate)  # its constructor loads a tokenizer from a hub
    template.system_prompt, template.user_prompt = template.base_system_prompt, template.base_user_prompt
    template.is_chat = template.enable_chat = template.is_openai = False
    template.reference_template, template.max_input_len = None, 100_000
    template.tokenizer = lambda text, **_: SimpleNamespace(input_ids=[text.split()])
    config = Config({"metrics": ["em"], "save_dir": str(tmp_path), "dataset_name": "ours"})
    return SequentialPipeline(config, template, retriever, Generator())


def dataset():
    from flashrag.dataset.dataset import Dataset, Item

    item = Item({"id": "q", "question": QUESTION, "golden_answers": ["Norway"]})
    return Dataset(Config(dataset_name="ours"), data=[item])


def test_its_pipeline_reads_what_the_refiner_promoted(retriever, tmp_path, pool_documents):
    made = pipeline(retriever, tmp_path)
    made.refiner = PageRAGRefiner(k=K)
    done = made.run(dataset())
    assert done.pred == ["Norway"]
    (prompt,) = made.generator.prompts
    assert done.refine_result[0] in prompt  # the promoted text reached the model
    assert prompt.count("(Title: ") == K  # and no more units than that
    assert "Ilse Brandt" in prompt
    assert len(done.retrieval_result[0]) == 20


def test_its_retriever_hands_on_what_the_reranker_promoted(retriever, tmp_path):
    retriever.use_reranker, retriever.reranker = True, PageRAGReranker(k=K)
    documents, scores = retriever.search(QUESTION, return_score=True)
    assert len(documents) == len(scores) == K
    assert {d["id"] for d in documents} >= GOLD
    assert all("pagerag" in d["metadata"] for d in documents)  # promotion ran, and says so
    (batch,) = retriever.batch_search([QUESTION])
    assert [d["id"] for d in batch] == [d["id"] for d in documents]
    made = pipeline(retriever, tmp_path)
    made.prompt_template.reference_template = None
    done = made.run(dataset())
    assert len(done.retrieval_result[0]) == K

"""Our own components keep the contracts that we ask of others."""

from __future__ import annotations

import re

import pytest

from pagerag.errors import MissingExtraError, WeightsError
from pagerag.models import support_encoder
from pagerag.protocols import load, names
from pagerag.read import reader
from pagerag.read.extractive import extractive_reader
from pagerag.read.gguf import SmolLM2Reader
from pagerag.retrieve import (
    BM25Retriever,
    CachedEncoder,
    DenseRetriever,
    HybridRetriever,
    MemoryCorpus,
    encoder,
)
from pagerag.testing import (
    FakeEncoder,
    FakeRetriever,
    ScriptedChat,
    check_encoder,
    check_extractor,
    check_reader,
    check_retriever,
    check_support_encoder,
)
from pagerag.text import extract_entities
from pagerag.text.extractors import GlinerExtractor, SpacyExtractor
from pagerag.units import Candidate

CORPUS = [
    Candidate(
        "curie", "Marie Curie was born in Warsaw in 1867.", title="Marie Curie", source="a", position=0
    ),
    Candidate("curie2", "She won the Nobel Prize twice.", title="Marie Curie", source="a", position=1),
    Candidate("warsaw", "Warsaw is the capital of Poland.", title="Warsaw"),
    Candidate("eiffel", "The Eiffel Tower was built for the World's Fair of 1889.", title="Eiffel Tower"),
    Candidate("han", "玛丽·居里出生于华沙。", title="居里"),
]
FINDS = {"Where was Marie Curie born?": "curie"}


def made(make, *args, **options):
    """The component, or a skip that says which extra it needs."""
    try:
        return make(*args, **options)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


# --- extractors -------------------------------------------------------------------------------------------


def test_the_built_in_extractor():
    check_extractor(
        extract_entities,
        finds={"Marie Curie was born in Warsaw in 1867.": ["Marie Curie", "Warsaw"]},
    )


def test_a_spacy_pipeline_as_extractor():
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Marie Curie"}, {"label": "GPE", "pattern": "Warsaw"}])
    check_extractor(SpacyExtractor(pipeline), finds={"Marie Curie left Warsaw.": ["Marie Curie", "Warsaw"]})


def test_a_gliner_model_as_extractor():
    class Model:
        """Finds capitalised words, last one first, with their offsets as GLiNER gives them."""

        def predict_entities(self, text, labels, threshold):
            words = re.finditer(r"\b[A-Z][a-z]+", text)
            return [{"text": w.group(), "start": w.start(), "label": labels[0]} for w in words][::-1]

    check_extractor(GlinerExtractor(Model()), finds={"Marie left Warsaw.": ["Marie", "Warsaw"]})


@pytest.mark.parametrize("name", names("extractor"))
def test_installed_extractors(name):
    check_extractor(made(load, "extractor", name))


# --- encoders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wordllama", "minilm", "minilm-fp32", *names("encoder")])
def test_encoders_by_name(name):
    check_encoder(made(encoder, name))


def test_a_cached_encoder(tmp_path, monkeypatch):
    monkeypatch.setenv("PAGERAG_CACHE", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    check_encoder(CachedEncoder(FakeEncoder()))


def test_an_embedding_endpoint():
    with ScriptedChat() as chat:
        check_encoder(made(encoder, f"openai:scripted@{chat.url}"))


# --- retrievers -------------------------------------------------------------------------------------------


def dense():
    return DenseRetriever(CORPUS, FakeEncoder())


def adaptive():
    from pagerag.retrieve.adaptive import AdaptiveRetriever

    return AdaptiveRetriever(MemoryCorpus(CORPUS, FakeEncoder()))


RETRIEVERS = {
    "bm25": lambda: BM25Retriever(CORPUS),
    "dense": dense,
    "hybrid": lambda: HybridRetriever([BM25Retriever(CORPUS), dense()]),
    "adaptive": adaptive,
}


@pytest.mark.parametrize("name", RETRIEVERS)
def test_retrievers_in_memory(name):
    check_retriever(RETRIEVERS[name](), finds=FINDS)


@pytest.mark.integration
def test_a_retriever_over_a_store(tmp_path):
    from pagerag.retrieve import CorpusRetriever
    from pagerag.store import Unit, open_store

    units = [
        Unit(
            id=unit.id,
            text=unit.text,
            title=unit.title,
            source=unit.document,
            path=unit.document,
            end=len(unit.text),
            sentences=((0, len(unit.text)),),
            digest="d",
        )
        for unit in CORPUS
    ]
    with open_store(tmp_path / "store", FakeEncoder(), create=True) as store:
        with store.writing():
            store.upsert(units)
        for mode in ("hybrid", "dense", "lexical"):
            check_retriever(CorpusRetriever(store, mode), finds=FINDS)


# --- systems re-implemented: retrievers over a retriever --------------------------------------------------


def reply(request):
    text = str(request["messages"][-1]["content"])
    if "JSON" in text or "json" in text:
        return '{"useful": true, "answer": "Warsaw", "triples": [["Marie Curie", "born in", "Warsaw"]]}'
    return "So the answer is: Warsaw."


@pytest.mark.parametrize("name", ["ircot", "recomp", "selfrag", "efficientrag", "kg2rag"])
def test_compact_systems(name):
    from pagerag.settings import ChatSettings
    from pagerag_lab.compact.registry import chat_from, systems

    pytest.importorskip("httpx")
    with ScriptedChat(reply) as server:
        chat = chat_from(ChatSettings(base_url=server.url, model="scripted"))
        system = systems()[name].over(FakeRetriever(CORPUS[:3]), chat=chat, encoder=FakeEncoder())
        check_retriever(system, questions=list(FINDS), odd=False, threads=False)


# --- readers ----------------------------------------------------------------------------------------------


def test_the_evidence_reader():
    check_reader(reader("evidence"))


def test_the_chat_reader():
    pytest.importorskip("httpx")
    from pagerag.read.chat import ChatReader

    with ScriptedChat(["Poland [2]"]) as chat:
        check_reader(ChatReader(base_url=chat.url, model="scripted"), answer="Poland")


def shipped(make):
    """A model of pagerag-models, or a skip where its files are not installed."""
    try:
        return made(make)
    except WeightsError as missing:
        pytest.skip(str(missing))


def test_the_extractive_reader():
    check_reader(shipped(extractive_reader), answer="Warsaw", question="Where was Marie Curie born?")


def test_the_support_encoder():
    check_support_encoder(shipped(support_encoder), prefers=0, joint=True)


@pytest.mark.slow
def test_a_local_model_as_reader():
    check_reader(made(SmolLM2Reader, max_tokens=8), odd=False)

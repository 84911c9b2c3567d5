"""Every adapter by its shape: pools, hand-back, and what may be absent, odd or too large."""

from __future__ import annotations

import asyncio
import builtins
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from examples import QUESTIONS, TEXTS, TITLES, gfm_predictions, gfmrag, hipporag, lightrag_answer, passages

from pagerag import Pool, promote
from pagerag.errors import BackendError, FormatError, InputError, MissingExtraError
from pagerag.systems import living
from pagerag.systems.gfmrag import GFMRAGBackend
from pagerag.systems.graphrag import GraphRAGBackend, PromotedContext
from pagerag.systems.hipporag import HippoRAGBackend, chunk_id
from pagerag.systems.kg2rag import KG2RAGBackend, KG2RAGPostprocessor, read_triples, split_name
from pagerag.systems.lightrag import LightRAGBackend, PromotionHook, pool_of
from pagerag.testing import check_backend

QUESTION = QUESTIONS[0]


# Faithful stand-ins: the shapes that the real systems showed when they were run.


class FakeLightRAG:
    enable_llm_cache = False

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def query_data(self, query: str, param: Any) -> dict[str, Any]:
        assert param.enable_rerank is False
        answer = lightrag_answer() if self.texts == list(TEXTS) else {"status": "success", "data": {}}
        if self.texts != list(TEXTS):
            answer["data"]["chunks"] = [
                {"content": text, "chunk_id": f"c{i}", "file_path": "unknown_source"}
                for i, text in enumerate(self.texts)
            ]
        return answer

    async def aquery_data(self, query: str, param: Any) -> dict[str, Any]:
        return self.query_data(query, param)


@dataclass
class QuerySolution:
    question: str
    docs: list[str]
    doc_scores: Any = None
    answer: str | None = None


class FakeHippoRAG:
    QuerySolution = QuerySolution

    def __init__(self, docs: list[str], *, scores: bool = True, asserts: bool = False) -> None:
        self.docs, self.scores, self.asserts = docs, scores, asserts
        self.read: list[QuerySolution] = []

    def _solution(self, query: str, k: int) -> list[QuerySolution]:
        docs = self.docs[:k]
        return [QuerySolution(query, docs, np.linspace(0.1, 0.01, len(docs)) if self.scores else None)]

    def retrieve(self, queries: list[str], num_to_retrieve: int | None = None) -> list[QuerySolution]:
        if self.asserts:
            raise AssertionError
        return self._solution(queries[0], num_to_retrieve or 200)

    def retrieve_dpr(self, queries: list[str], num_to_retrieve: int | None = None) -> list[QuerySolution]:
        return self._solution(queries[0], num_to_retrieve or 200)

    def rag_qa(self, queries: list[QuerySolution]) -> Any:
        self.read += queries
        queries[0].answer = "London"
        return queries, ["response"], [{}]


class FakeGFM:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def retrieve(self, query: str, top_k: int, target_types: list[str] | None = None) -> dict[str, Any]:
        assert target_types == ["document"]
        return {"document": self.rows[:top_k]}


@dataclass
class Node:
    node_id: str
    text: str

    def get_content(self) -> str:
        return self.text


@dataclass
class NodeWithScore:
    node: Node
    score: float | None = None


class FakeIndex:
    def __init__(self, nodes: list[NodeWithScore]) -> None:
        self.nodes = nodes

    def retrieve(self, question: str) -> list[NodeWithScore]:
        return self.nodes


@dataclass
class Unit:
    id: str
    short_id: str
    text: str
    document_id: str | None = None


@dataclass
class Context:
    context_chunks: str
    context_records: dict[str, Any]


@dataclass
class FakeBuilder:
    """GraphRAG's local context builder, ranked by the order of its units."""

    texts: list[str]
    entity_text_embeddings: Any = "vectors"
    text_embedder: Any = "embedder"
    embedding_vectorstore_key: str = "id"
    entities: dict[str, Any] = field(default_factory=dict)
    relationships: dict[str, Any] = field(default_factory=dict)

    @property
    def text_units(self) -> dict[str, Unit]:
        return {f"u{i}": Unit(f"u{i}", str(i), text) for i, text in enumerate(self.texts)}

    def _build_text_unit_context(self, selected_entities: Any, max_context_tokens: int) -> tuple[str, Any]:
        pandas = pytest.importorskip("pandas")
        rows = [[str(i), text] for i, text in enumerate(self.texts)]
        return "", {"sources": pandas.DataFrame(rows, columns=["id", "text"])}

    def build_context(self, query: str, conversation_history: Any = None, **_: Any) -> Context:
        shown = "\n".join(self.texts)
        return Context(f"-----Entities-----\nx\n\n-----Sources-----\n{shown}", {"entities": 1})


@pytest.fixture
def entity_mapper(monkeypatch: pytest.MonkeyPatch) -> None:
    """GraphRAG's own mapping of questions to entities, out of the way."""
    module = SimpleNamespace(map_query_to_entities=lambda **_: ["entity"])
    name = "graphrag.query.context_builder.entity_extraction"
    for part in ("graphrag", "graphrag.query", "graphrag.query.context_builder"):
        monkeypatch.setitem(sys.modules, part, SimpleNamespace())
    monkeypatch.setitem(sys.modules, name, module)


def gfm_rows(texts: list[str], *, scores: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "id": f"T{i}",
            "type": "document",
            "attributes": {"content": text},
            "score": -float(i) if scores else None,
        }
        for i, text in enumerate(texts)
    ]


def nodes(texts: list[str], *, scores: bool = True, titles: bool = True) -> list[NodeWithScore]:
    return [
        NodeWithScore(Node(f"T{i}##0" if titles else f"n{i}", text), 1.0 / (i + 1) if scores else None)
        for i, text in enumerate(texts)
    ]


MAKERS: dict[str, Callable[..., Any]] = {
    "lightrag": lambda texts, **_: LightRAGBackend(FakeLightRAG(texts), query_param=SimpleNamespace),
    "hipporag": lambda texts, scores=True, **_: HippoRAGBackend(FakeHippoRAG(texts, scores=scores)),
    "gfmrag": lambda texts, scores=True, **_: GFMRAGBackend(FakeGFM(gfm_rows(texts, scores=scores))),
    "kg2rag": lambda texts, scores=True, titles=True: KG2RAGBackend(
        FakeIndex(nodes(texts, scores=scores, titles=titles))
    ),
    "graphrag": lambda texts, **_: GraphRAGBackend(FakeBuilder(texts)),
}
SYSTEMS = sorted(MAKERS)


def test_there_is_a_maker_for_every_living_system() -> None:
    assert set(MAKERS) == set(living())
    for one in living().values():
        assert one.name == one.backend.name == MAKERS[one.name](list(TEXTS)).name


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.usefixtures("entity_mapper")
class TestEveryAdapter:
    def test_conformance(self, name: str) -> None:
        backend = MAKERS[name]([f"{title}\n{text}" for title, text in zip(TITLES, TEXTS, strict=True)])
        check_backend(backend, questions=QUESTIONS, odd=False, threads=False)

    @pytest.mark.parametrize("size", [1, 500])
    def test_small_and_large_pools(self, name: str, size: int) -> None:
        texts = [
            f"Interstellar {i} was directed by person {i}. Person {i} was born in town {i}."
            for i in range(size)
        ]
        pool = MAKERS[name](texts).pool(QUESTION, 500)
        assert len(pool) == size
        promoted = promote(QUESTION, pool, k=5, mode="document")
        assert 1 <= len(promoted.context) <= 5
        assert {c.id for c in promoted.context} <= {c.id for c in pool.candidates}

    def test_units_of_ten_thousand_tokens(self, name: str) -> None:
        filler = "The river bends at the old mill and the road goes on. " * 900
        texts = [f"{filler}{text}" for text in TEXTS[:4]]
        assert all(len(text.split()) > 10_000 for text in texts)
        pool = MAKERS[name](texts).pool(QUESTION)
        promoted = promote(QUESTION, pool, k=2, mode="document")
        assert [c.text in texts for c in promoted.context] == [True, True]

    def test_no_scores_and_no_titles(self, name: str) -> None:
        pool = MAKERS[name](["one fact alone", "another fact"], scores=False, titles=False).pool(QUESTION)
        assert [c.score for c in pool.candidates] == [None, None]
        assert len(promote(QUESTION, pool, k=1, mode="document").context) == 1

    def test_a_pool_has_at_least_one_unit(self, name: str) -> None:
        with pytest.raises(InputError, match="k is 0"):
            MAKERS[name](list(TEXTS)).pool(QUESTION, 0)


def test_adapters_import_without_their_systems() -> None:
    """In a fresh process in which none of the systems can be found."""
    code = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"lightrag", "graphrag", "hipporag", "gfmrag", "llama_index", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Nothing())
from pagerag.systems import living
from pagerag_lab.compact.registry import systems
assert len(living()) == 5
import pagerag_lab.compact, pagerag.systems.formats
from pagerag.systems.lightrag import LightRAGBackend
from pagerag.errors import MissingExtraError
try:
    LightRAGBackend(object(), mode="mix")._param(20, rerank=False)
except MissingExtraError as missing:
    print(missing)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert "pip install 'pagerag[lightrag]'" in done.stdout


def test_a_backend_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == "graphrag":
            raise ModuleNotFoundError("No module named 'graphrag'", name="graphrag")
        return real(name, *rest, **more)

    monkeypatch.setattr("pagerag._extras.import_module", without)
    with pytest.raises(MissingExtraError, match=r"pagerag\[graphrag\]"):
        GraphRAGBackend(FakeBuilder(list(TEXTS))).pool(QUESTION)


WRONG_VERSIONS: dict[str, Callable[[], Any]] = {
    "lightrag": lambda: LightRAGBackend(object(), query_param=SimpleNamespace),
    "hipporag": lambda: HippoRAGBackend(object()),
    "gfmrag": lambda: GFMRAGBackend(object()),
    "graphrag": lambda: GraphRAGBackend(object()),
    "kg2rag": lambda: KG2RAGBackend(object()),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_object_of_another_version_is_named(name: str) -> None:
    with pytest.raises(BackendError, match="has no '"):
        WRONG_VERSIONS[name]().pool(QUESTION)


class TestLightRAG:
    def test_relations_and_entities(self) -> None:
        pool = LightRAGBackend(FakeLightRAG(list(TEXTS)), query_param=SimpleNamespace).pool(QUESTION)
        (fact,) = pool.relations
        assert (fact.head, fact.relation, fact.tail, fact.units) == (
            "Interstellar",
            "directed by",
            "Christopher Nolan",
            ("c0",),
        )
        assert pool.candidates[0].entities == ("Interstellar", "Christopher Nolan")
        assert pool.candidates[2].entities is None

    def test_async_is_the_same(self) -> None:
        backend = LightRAGBackend(FakeLightRAG(list(TEXTS)), query_param=SimpleNamespace)
        assert asyncio.run(backend.apool(QUESTION, 3)) == backend.pool(QUESTION, 3)

    def test_relations_of_units_that_were_cut_go_too(self) -> None:
        answer = lightrag_answer()
        answer["data"]["relationships"][0]["source_id"] = "c4"
        rag = FakeLightRAG(list(TEXTS))
        rag.query_data = lambda *_: answer  # type: ignore[method-assign]
        backend = LightRAGBackend(rag, query_param=SimpleNamespace)
        assert backend.pool(QUESTION, 2).relations == ()
        assert len(backend.pool(QUESTION, 20).relations) == 1

    @pytest.mark.parametrize("weight", [float("nan"), float("inf"), "x", None, True])
    def test_a_weight_that_is_no_number_counts_as_none(self, weight: Any) -> None:
        answer = lightrag_answer()
        answer["data"]["relationships"][0]["weight"] = weight
        assert [fact.confidence for fact in pool_of(QUESTION, answer).relations] == [1.0]

    def test_failure_is_an_empty_pool_and_nonsense_an_error(self) -> None:
        assert pool_of(QUESTION, {"status": "failure", "data": {}}) == Pool(QUESTION, (), origin="lightrag")
        with pytest.raises(BackendError, match="aquery_data"):
            pool_of(QUESTION, {"response": "text"})

    def test_the_hook_keeps_the_contract_of_rerank(self) -> None:
        hook = PromotionHook(k=3)
        rows = asyncio.run(hook(query=QUESTION, documents=list(TEXTS), top_n=20))
        assert len(rows) == 3
        assert len({row["index"] for row in rows}) == 3
        assert all(type(row["index"]) is int and 0 <= row["relevance_score"] <= 1 for row in rows)
        assert hook.calls == 1
        assert hook.check() is hook.last
        assert len(asyncio.run(hook(query=QUESTION, documents=list(TEXTS), top_n=2))) == 2
        assert len(asyncio.run(hook(query=QUESTION, documents=list(TEXTS)))) == 3

    def test_the_hook_reads_titles_and_passes_blank_chunks_over(self) -> None:
        hook = PromotionHook(k=3)
        chunks = ["", *(f"{title}\n{text}" for title, text in zip(TITLES, TEXTS, strict=True)), " \n"]
        rows = asyncio.run(hook(query=QUESTION, documents=chunks))
        assert hook.last is not None
        assert {unit.title for unit in hook.last.candidates} == set(TITLES)
        assert all(chunks[row["index"]].strip() for row in rows)
        for row, unit in zip(rows, hook.last.context, strict=True):
            assert chunks[row["index"]] == f"{unit.title}\n{unit.text}"

    def test_a_least_score_of_one_half_keeps_the_core_alone(self) -> None:
        hook = PromotionHook(k=5)
        rows = asyncio.run(hook(query=QUESTION, documents=list(TEXTS)))
        assert hook.last is not None
        core = {int(unit.id) for unit in hook.last.core}
        assert {row["index"] for row in rows if row["relevance_score"] >= 0.5} == core
        assert len(core) < len(rows)
        assert all(0 <= row["relevance_score"] <= 1 for row in rows)

    def test_the_hook_tells_what_lightrag_hides(self) -> None:
        hook = PromotionHook()
        with pytest.raises(BackendError, match="has not called"):
            hook.check()
        with pytest.raises(InputError):
            asyncio.run(hook(query=QUESTION, documents=[]))
        with pytest.raises(BackendError, match="went on without it"):
            hook.check()


class TestHippoRAG:
    def test_titles_ids_and_facts(self, tmp_path: Path) -> None:
        hipporag(tmp_path)
        backend = HippoRAGBackend(
            FakeHippoRAG(passages()), openie_file=tmp_path / "openie_results_ner_model.json"
        )
        pool = backend.pool(QUESTION, 4)
        assert [c.title for c in pool.candidates] == list(TITLES[:4])
        assert pool.candidates[0].id == chunk_id(passages()[0])
        assert pool.candidates[0].entities == ("Interstellar", "Christopher Nolan")
        assert [(r.head, r.tail, r.units) for r in pool.relations] == [
            ("Interstellar", "Christopher Nolan", (pool.candidates[0].id,))
        ]

    def test_its_own_file_is_found(self, tmp_path: Path) -> None:
        hipporag(tmp_path)
        fake = FakeHippoRAG(passages())
        fake.openie_results_path = str(tmp_path / "openie_results_ner_model.json")  # type: ignore[attr-defined]
        assert len(HippoRAGBackend(fake).pool(QUESTION).relations) == 1

    def test_its_reader_gets_the_promoted_passages_whole(self) -> None:
        fake = FakeHippoRAG(passages())
        backend = HippoRAGBackend(fake)
        promoted = promote(QUESTION, backend.pool(QUESTION), k=2, mode="document")
        assert backend.ask(QUESTION, promoted.context) == "London"
        (read,) = fake.read
        assert len(read.docs) == len(read.doc_scores) <= 2
        assert set(read.docs) <= set(passages())

    def test_dense_when_its_assertion_fails(self) -> None:
        backend = HippoRAGBackend(FakeHippoRAG(passages(), asserts=True))
        assert len(backend.pool(QUESTION)) == len(TEXTS)
        assert backend.fallbacks == 1

    def test_what_is_no_solution(self) -> None:
        fake = FakeHippoRAG(passages())
        fake.retrieve = lambda *_, **__: {}  # type: ignore[method-assign]
        with pytest.raises(BackendError, match="list of solutions"):
            HippoRAGBackend(fake).pool(QUESTION)

    def test_a_damaged_openie_file(self, tmp_path: Path) -> None:
        for content, says in (
            (b"{a}", "not JSON"),
            (b"{", "cut off"),
            (b"\xff", "UTF-8"),
            (b"[" * 200_000, "nested too deeply"),
            (b"[]", "docs"),
            (b'{"docs": [{}]}', "passage"),
            (b'{"docs": [{"passage": "p", "extracted_triples": 7}]}', r"docs\[0\]\.extracted_triples.*list"),
        ):
            (tmp_path / "x.json").write_bytes(content)
            with pytest.raises(FormatError, match=says):
                HippoRAGBackend(FakeHippoRAG([]), openie_file=tmp_path / "x.json")


class TestGFMRAG:
    def test_facts_of_the_graph(self, tmp_path: Path) -> None:
        gfmrag(tmp_path)
        rows = [
            {"id": t, "type": "document", "attributes": {"content": x}, "score": -1.0}
            for t, x in zip(TITLES, TEXTS, strict=True)
        ]
        pool = GFMRAGBackend(FakeGFM(rows), stage1=tmp_path).pool(QUESTION)
        assert [(r.head, r.relation, r.tail, r.units) for r in pool.relations] == [
            ("interstellar", "directed by", "christopher nolan", ("Interstellar",))
        ]
        assert pool.candidates[1].entities == ("christopher nolan",)
        assert (pool.candidates[0].title, pool.candidates[0].score) == ("Interstellar", -1.0)

    def test_its_prompt_and_model_get_the_promoted_documents(self) -> None:
        backend = GFMRAGBackend(FakeGFM(gfm_rows(list(TEXTS))))
        promoted = promote(QUESTION, backend.pool(QUESTION), k=2, mode="document")
        seen = []
        builder = SimpleNamespace(build_input_prompt=lambda q, docs: seen.append(docs) or [q])
        llm = SimpleNamespace(generate_sentence=lambda prompt: f"Answer to {prompt[0]}")
        assert backend.ask(QUESTION, promoted.context, builder, llm) == f"Answer to {QUESTION}"
        assert [row["id"] for row in seen[0]["document"]] == [c.title for c in promoted.context]
        assert len(seen[0]["document"]) <= 2
        broken = SimpleNamespace(generate_sentence=lambda _: RuntimeError("quota"))
        with pytest.raises(BackendError, match="quota"):
            backend.ask(QUESTION, promoted.context, builder, broken)

    def test_other_shapes(self, tmp_path: Path) -> None:
        with pytest.raises(BackendError, match="document"):
            GFMRAGBackend(SimpleNamespace(retrieve=lambda *_, **__: {"entity": []})).pool(QUESTION)
        with pytest.raises(BackendError, match="content"):
            GFMRAGBackend(FakeGFM([{"id": "x"}])).pool(QUESTION)
        with pytest.raises(FormatError, match="no such file"):
            GFMRAGBackend(FakeGFM([]), stage1=tmp_path)
        (tmp_path / "edges.csv").write_text("source,target\n")
        with pytest.raises(FormatError, match="relation"):
            GFMRAGBackend(FakeGFM([]), stage1=tmp_path)
        (tmp_path / "edges.csv").write_text("source,relation,target\na,,b\n")
        with pytest.raises(FormatError, match="line 2"):
            GFMRAGBackend(FakeGFM([]), stage1=tmp_path)

    def test_nodes_that_are_no_literals(self, tmp_path: Path) -> None:
        from pagerag.systems.formats import read_pools

        path = gfm_predictions(tmp_path)
        for attributes, says in (
            ("{broken", "literal"),
            ("(" * 10_000, "literal"),
            ("[[]]*3", "literal"),
            ("x" * 200_000, "not a table"),
        ):
            (tmp_path / "nodes.csv").write_text(f"name,type,attributes\nx,document,{attributes}\n")
            with pytest.raises(FormatError, match=says):
                next(read_pools(path))
        (tmp_path / "nodes.csv").write_bytes(b"name,type,attributes\nx,document,\xff\n")
        with pytest.raises(FormatError, match="UTF-8"):
            next(read_pools(path))

    def test_line_ends_inside_a_name_are_kept(self, tmp_path: Path) -> None:
        from pagerag.systems.formats import read_pools

        path = gfm_predictions(tmp_path)
        rows = json.loads(path.read_text())
        name = "Line one\r\nLine two"
        old = rows[0]["predictions"]["document"][0][0]
        for row in rows:
            row["predictions"]["document"][0][0] = name
        path.write_text(json.dumps(rows))
        nodes = (tmp_path / "nodes.csv").read_bytes()
        quoted = f'"{name}",document'.encode()
        (tmp_path / "nodes.csv").write_bytes(nodes.replace(f"{old},document".encode(), quoted))
        pool, _ = next(read_pools(path))
        assert pool.candidates[0].title == name


class TestKG2RAG:
    def test_names(self) -> None:
        assert split_name("Interstellar##3") == ("Interstellar", 3)
        assert split_name("12##C## language##0") == ("C## language", 0)
        assert split_name("plain") == ("plain", None)
        for name in ("T##²", f"T##{'9' * 5_000}"):  # digits that are no number, and too long a number
            assert split_name(name) == (name, None)

    def test_triples_of_titles(self, tmp_path: Path) -> None:
        row = [["a", "b", "c"]]
        (tmp_path / "T.json").write_text(json.dumps({"0": row}))
        (tmp_path / "all.json").write_text(json.dumps({"U": {"1": row}}))
        assert read_triples(tmp_path) == {"T": {"0": row}, "U": {"1": row}}
        for content, says in (("{a", "not JSON"), ("[]", "object"), ('{"U": {"1": []}, "V": 3}', "'V'")):
            (tmp_path / "all.json").write_text(content)
            with pytest.raises(FormatError, match=says):
                read_triples(tmp_path)
        with pytest.raises(FormatError, match="no such file"):
            read_triples(tmp_path / "none.json")

    def test_postprocessor(self) -> None:
        graph = {"T0": {"0": [["Interstellar", "directed by", "Christopher Nolan"]]}}
        given = nodes([f"T{i}: {text}" for i, text in enumerate(TEXTS)])
        step = KG2RAGPostprocessor(graph, k=2)
        kept = step.postprocess_nodes(given, query_bundle=SimpleNamespace(query_str=QUESTION))
        assert len(kept) == 2
        assert all(any(node is one for one in given) for node in kept)  # the same nodes, unchanged
        assert step.calls == 1
        assert step.last is not None
        assert step.last.pool[0].text == TEXTS[0]  # without the title's prefix
        assert asyncio.run(step.apostprocess_nodes(given, query_str=QUESTION)) == kept
        assert step.postprocess_nodes([], query_str=QUESTION) == []
        with pytest.raises(InputError, match="question"):
            step.postprocess_nodes(given)
        with pytest.raises(BackendError, match="not a LlamaIndex node"):
            step.postprocess_nodes([object()], query_str=QUESTION)

    def test_expansion_comes_first(self) -> None:
        grow = SimpleNamespace(
            postprocess_nodes=lambda found, query_str: [*found, *nodes(["more"], titles=False)]
        )
        pool = KG2RAGBackend(FakeIndex(nodes(list(TEXTS[:2]))), expansion=[grow]).pool(QUESTION)
        assert [c.text for c in pool.candidates][-1] == "more"


@pytest.mark.usefixtures("entity_mapper")
class TestGraphRAG:
    def test_promoted_units_stand_in_place_of_its_own(self) -> None:
        pytest.importorskip("pandas")
        wrapped = PromotedContext(FakeBuilder(list(TEXTS)), k=2)
        context = wrapped.build_context(QUESTION)
        assert wrapped.last is not None
        shown = context.context_chunks.rpartition("-----Sources-----")[2]
        assert [text for text in TEXTS if text in shown] == [
            text for text in TEXTS if text in {c.text for c in wrapped.last.context}
        ]
        assert len(context.context_records["sources"]) == 2
        assert context.context_records["entities"] == 1
        assert context.context_chunks.startswith("-----Entities-----\nx")
        assert wrapped.embedding_vectorstore_key == "id"  # other attributes are the wrapped builder's

    def test_nothing_retrieved(self) -> None:
        pytest.importorskip("pandas")
        wrapped = PromotedContext(FakeBuilder([]), k=2)
        assert wrapped.build_context(QUESTION).context_chunks.startswith("-----Entities-----")
        assert wrapped.calls == 0

    def test_another_kind_of_search(self) -> None:
        class Global(FakeBuilder):
            def build_context(self, query: str, conversation_history: Any = None, **_: Any) -> Any:
                return Context(["part", "part"], {})  # type: ignore[arg-type]

        with pytest.raises(BackendError, match="local search"):
            PromotedContext(Global(list(TEXTS))).build_context(QUESTION)


def test_hooks_take_the_name_of_a_support_encoder():
    from pagerag import Promoter
    from pagerag.errors import InputError
    from pagerag.systems.kg2rag import KG2RAGPostprocessor
    from pagerag.systems.lightrag import PromotionHook

    for make in (PromotionHook, KG2RAGPostprocessor):
        assert make(support="none").promoter.support is None
        with pytest.raises(InputError, match="one of"):
            make(support="sometimes")
        with pytest.raises(InputError, match="no effect"):
            make(support="none", promoter=Promoter())

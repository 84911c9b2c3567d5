"""Runs: what they write, that they resume, and that nothing is skipped."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pagerag
from pagerag.cli import main
from pagerag.errors import FormatError, InputError
from pagerag_lab.runs.benchmark import run
from pagerag_lab.runs.config import RunConfig
from pagerag_lab.runs.results import read_result, read_rows
from pagerag_lab.runs.worker import Worker

Make = Callable[[int], dict[str, Any]]

FINAL = ("result.json", "predictions.jsonl", "official.json")


def config(file: Path, **changes: Any) -> RunConfig:
    settings = {"dataset": "hotpotqa", "data": str(file), "retriever": "bm25", "chunk": 4} | changes
    return RunConfig(**settings)


def test_the_command_writes_what_others_read(
    hotpotqa_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = (
        f"evaluate --dataset hotpotqa --data {hotpotqa_file} --retriever bm25 --mode sentence --pool 20 --k 5"
    )
    code = main([*words.split(), "--limit", "8", "--reader", "evidence", "--workers", "1", "--out", str(out)])
    assert code == 0
    assert "Sup F1, core" in capsys.readouterr().out
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["n"] == 8
    assert result["errors"] == 0
    for key in (
        "sup_f1_core",
        "sup_f1_filled",
        "recall_at_5",
        "full_recall_at_5",
        "ans_f1",
        "ceiling_filled",
    ):
        assert 0 <= result["metrics"][key] <= 1
    assert result["metrics"]["ceiling_filled"] == pytest.approx(4 / 7)
    assert 0 < result["baseline"]["sup_f1_filled"] <= 4 / 7 + 1e-9
    assert 0 <= result["baseline"]["ans_f1"] <= 1
    assert 1 <= result["mean_units_core"] <= 5
    assert {"config", "versions", "sha256", "commit", "timings"} <= result.keys()
    assert result["by_type"].keys() == {"bridge", "comparison"}
    assert result["by_hops"]["2"]["n"] == 8
    low, high = result["intervals"]["sup_f1_core"]
    assert low <= result["metrics"]["sup_f1_core"] <= high
    assert json.loads((out / "timings.json").read_text(encoding="utf-8"))["sessions"][0]["questions"] == 8

    rows = list(read_rows(out))
    assert [row["id"] for row in rows] == [f"q{n}" for n in range(8)]
    for row in rows:
        pool = [unit for unit, _ in row["pool"]]
        assert set(row["core"]) <= set(row["context"]) <= set(pool)
        assert len(row["context"]) == 5
        assert row["state"] in {"enough", "ambiguous", "insufficient"}
        assert row["gold_in_pool"] == 2
    for key in ("sup_f1_core", "recall_at_5", "ans_f1"):
        mean = sum(row["metrics"][key] for row in rows) / len(rows)
        assert result["metrics"][key] == pytest.approx(mean)
    official = json.loads((out / "official.json").read_text(encoding="utf-8"))
    assert official["sp"].keys() == official["answer"].keys() == {row["id"] for row in rows}
    assert all(isinstance(place, int) for facts in official["sp"].values() for _, place in facts)


def test_musique_official_file(musique_file: Path, tmp_path: Path) -> None:
    run(config(musique_file, dataset="musique", mode="paragraph"), tmp_path / "m", workers=1)
    lines = [json.loads(line) for line in (tmp_path / "m" / "official.jsonl").read_text().splitlines()]
    assert len(lines) == 5
    assert all(set(line["predicted_support_idxs"]) <= set(range(6)) for line in lines)


def test_worker_count_changes_nothing(hotpotqa_file: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        run(config(hotpotqa_file), tmp_path / str(workers), workers=workers)
    for name in FINAL:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_a_folder_belongs_to_one_run(hotpotqa_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(config(hotpotqa_file, limit=4), out, workers=1)
    with pytest.raises(InputError, match=r"config\.k"):
        run(config(hotpotqa_file, limit=4, k=3), out, workers=1)
    assert run(config(hotpotqa_file, limit=4, k=3), out, workers=1, fresh=True)["config"]["k"] == 3
    before = (out / "result.json").read_bytes()
    (out / "result.json").unlink()
    run(config(hotpotqa_file, limit=4, k=3), out, workers=1)  # from the chunks alone
    assert (out / "result.json").read_bytes() == before


def test_errors_are_rows_and_an_exit_code(hotpotqa_record: Make, tmp_path: Path) -> None:
    records = [hotpotqa_record(n) for n in range(4)]
    records[2]["context"] = []
    file = tmp_path / "holes.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    words = [
        "evaluate",
        "--dataset",
        "hotpotqa",
        "--data",
        str(file),
        "--retriever",
        "bm25",
        "--workers",
        "1",
    ]
    assert main([*words, "--out", str(tmp_path / "o"), "--json"]) == 3
    result = read_result(tmp_path / "o")
    assert (result["n"], result["errors"], result["error_types"]) == (4, 1, {"EmptyPoolError": 1})
    rows = list(read_rows(tmp_path / "o"))
    assert rows[2]["error"]["message"]
    assert rows[2]["metrics"]["sup_f1_core"] == 0
    assert result["metrics"]["recall_at_5"] == pytest.approx(
        sum(r["metrics"]["recall_at_5"] for r in rows) / 4
    )
    assert result["gold_reach"] == {"all in pool": 3, "none in pool": 1}


def test_gold_outside_the_context_is_counted_apart(hotpotqa_record: Make, tmp_path: Path) -> None:
    records = [hotpotqa_record(n) for n in range(2)]
    records[0]["context"] = [pair for pair in records[0]["context"] if pair[0] != "Ada Brandt"]
    file = tmp_path / "fullwiki.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    result = run(config(file), tmp_path / "o", workers=1)
    assert result["gold_reach"] == {"all in pool": 1, "part in pool": 1}
    assert result["n"] == 2
    assert result["by_gold_reach"]["part in pool"]["metrics"]["recall_at_5"] <= 0.5


def test_official_file_names_documents_as_the_benchmark_does(hotpotqa_record: Make, tmp_path: Path) -> None:
    record = hotpotqa_record(0)
    record["context"].append(
        ["Ada Brandt", ["Ada Brandt the director was born in Bergen, in the same city."]]
    )
    file = tmp_path / "twins.json"
    file.write_text(json.dumps([record]), encoding="utf-8")
    run(config(file, strategy="plain"), tmp_path / "o", workers=1)
    assert any("(2)" in unit for unit in next(read_rows(tmp_path / "o"))["core"])
    official = json.loads((tmp_path / "o" / "official.json").read_text(encoding="utf-8"))
    assert {title for title, _ in official["sp"]["q0"]} <= {title for title, _ in record["context"]}


def test_malformed_data_is_told_before_any_work(hotpotqa_record: Make, tmp_path: Path) -> None:
    bad = hotpotqa_record(9)
    del bad["question"]
    file = tmp_path / "bad.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in [hotpotqa_record(0), bad]), encoding="utf-8")
    with pytest.raises(FormatError, match=r"bad\.jsonl, line 2, field 'question'"):
        run(config(file), tmp_path / "o")
    assert not (tmp_path / "o").exists()


def test_settings_that_make_no_sense(hotpotqa_file: Path, musique_file: Path) -> None:
    for changes, message in (
        ({"k": 0}, "--k"),
        ({"pool": 3}, "smaller than the budget"),
        ({"mode": "chunk"}, "no gold"),
        ({"corpus": "contexts"}, "passages"),
        ({"dataset": "open"}, "corpus"),
        ({"noise": -1}, "--noise"),
        ({"limit": 0}, "--limit"),
        ({"support": "nope"}, "no support encoder 'nope'; say auto, default, small"),
    ):
        with pytest.raises(InputError, match=message):
            config(hotpotqa_file, **({"mode": "document"} if "dataset" in changes else {}) | changes)
    with pytest.raises(InputError, match="paragraph"):
        config(musique_file, dataset="musique")


def test_unknown_parts_are_told_from_the_workers(hotpotqa_file: Path, tmp_path: Path) -> None:
    for changes, message in (
        ({"strategy": "magic"}, "unknown strategy"),
        ({"retriever": "nothing"}, "no encoder named"),
        ({"strategy": "plain", "ablate": ("query_alignment",)}, "none of them"),
    ):
        with pytest.raises(InputError, match=message):
            run(config(hotpotqa_file, **changes), tmp_path / "o", workers=1, fresh=True)


def test_noise_levels_are_nested_and_never_gold(hotpotqa_record: Make, tmp_path: Path) -> None:
    records = [hotpotqa_record(n) for n in range(6)]
    for number, record in enumerate(records):
        record["context"] = record["context"][:2] + [
            [f"Other {number}-{m}", [f"Fact {m}."]] for m in range(8)
        ]
    file = tmp_path / "n.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    from pagerag_lab.datasets.registry import read_questions

    pools = {}
    for level in (0, 5, 10):
        worker = Worker(config(file, noise=level))
        for question in read_questions("hotpotqa", file):
            pool, keys = worker.source(question)
            added = {unit.id for unit in pool.candidates if unit.id.startswith("distractor")}
            pools[level, question.id] = added
            assert len({unit.source for unit in pool.candidates if unit.id in added}) == level
            assert not {keys.get(unit, unit) for unit in added} & question.gold("sentence")
            assert {unit.title for unit in pool.candidates if unit.id in added}.isdisjoint(
                document.title for document in question.documents
            )
    for n in range(6):
        assert pools[5, f"q{n}"] < pools[10, f"q{n}"]


def test_open_corpus_and_pooled_contexts(hotpotqa_file: Path, musique_file: Path, tmp_path: Path) -> None:
    pooled = run(config(hotpotqa_file, mode="document", corpus="contexts"), tmp_path / "c", workers=1)
    assert pooled["gold_reach"] == {"all in pool": 12}
    paragraphs = run(
        config(musique_file, dataset="musique", mode="paragraph", corpus="contexts"),
        tmp_path / "m",
        workers=1,
    )
    assert paragraphs["gold_reach"] == {"all in pool": 5}
    assert paragraphs["metrics"]["recall_at_5"] > 0
    questions = tmp_path / "q.jsonl"
    questions.write_text(
        json.dumps(
            {
                "id": "1",
                "question": "Where was Ada Brandt born?",
                "answer": "Bergen",
                "supporting_titles": ["Ada Brandt"],
            }
        ),
        encoding="utf-8",
    )
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        "".join(
            json.dumps({"id": n, "title": title, "text": f"{title} is known for thing {n}."}) + "\n"
            for n, title in enumerate(["Ada Brandt", "Bergen", "Oslo", "Paul Reyes", "Tromso", "Valdivia"])
        ),
        encoding="utf-8",
    )
    result = run(
        config(questions, dataset="open", mode="document", corpus=str(corpus)), tmp_path / "o", workers=1
    )
    assert result["metrics"]["recall_at_5"] == 1


def test_pools_from_a_file(hotpotqa_file: Path, tmp_path: Path) -> None:
    pools = tmp_path / "pools.jsonl"
    lines = []
    for n in range(12):
        candidates = [
            {"title": "Ada Brandt", "text": "She was born in Bergen in 1951."},  # matched by its text
            {"id": "Northlight (film)#0", "text": "any text", "title": "Northlight (film)", "score": 0.5},
            {"id": "x", "text": "Nobody knows."},
        ]
        lines.append(json.dumps({"id": f"q{n}", "candidates": candidates}) + "\n")
    pools.write_text("".join(lines), encoding="utf-8")
    result = run(
        config(hotpotqa_file, retriever=f"file:{pools}", strategy="plain"), tmp_path / "o", workers=1
    )
    assert result["by_type"]["bridge"]["metrics"]["recall_at_5"] == 1
    pools.write_text("".join(lines[1:]), encoding="utf-8")
    result = run(
        config(hotpotqa_file, retriever=f"file:{pools}", strategy="plain"), tmp_path / "p", workers=1
    )
    assert result["error_types"] == {"InputError": 1}


COMMAND = "import sys; from pagerag.cli import main; sys.exit(main(sys.argv[1:]))"


def start(file: Path, out: Path, code: Path) -> subprocess.Popen[bytes]:
    words = (
        f"evaluate --dataset hotpotqa --data {file} --retriever bm25 --strategy formula --chunk 3 --workers 2"
    )
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words.split(), "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(code)},
        start_new_session=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_killed_at_random_moments_a_run_ends_in_the_same_bytes(hotpotqa_record: Make, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text(json.dumps([hotpotqa_record(n) for n in range(60)]), encoding="utf-8")
    # A copy of the code: a run is not continued with other code, and somebody may be editing ours.
    code = tmp_path / "code"
    shutil.copytree(
        Path(pagerag.__file__).parent, code / "pagerag", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert start(file, tmp_path / "first", code).wait(timeout=300) == 0  # compiles the copy
    began = time.monotonic()
    assert start(file, tmp_path / "calm", code).wait(timeout=300) == 0
    whole = time.monotonic() - began

    rng = random.Random(11)
    out = tmp_path / "killed"
    kills = 0
    for turn in range(200):
        process = start(file, out, code)
        try:
            # From the first moment to the last: imports, workers starting, chunks, the final files.
            status = process.wait(timeout=rng.uniform(0.02, 1.05) * whole)
        except subprocess.TimeoutExpired:
            # The parent alone, or everything at once, as a machine that goes down.
            (os.kill if turn % 2 else os.killpg)(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            if kills >= 20:
                break
        else:
            assert status in (0, 1), "1: another process of a killed run still holds the folder"
            if status == 0:
                for part in sorted((out / "chunks").glob("*.jsonl"))[::2]:
                    part.unlink()  # it was faster than the kill: take half of its work away
    assert kills >= 20
    deadline = time.monotonic() + 120
    while (status := start(file, out, code).wait(timeout=300)) != 0:
        assert time.monotonic() < deadline, status
    for name in FINAL:
        assert (out / name).read_bytes() == (tmp_path / "calm" / name).read_bytes(), name

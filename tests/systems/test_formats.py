"""Every format is detected, read, and written back with the chosen units alone."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from examples import EXAMPLES, QUESTIONS, TEXTS, lightrag_answer, lines

from pagerag.errors import FormatError, InputError
from pagerag.systems.formats import FORMATS, detect, read_pools, unit_of, write_promoted

NAMES = sorted(EXAMPLES)


def test_there_is_an_example_of_every_format() -> None:
    assert set(EXAMPLES) == set(FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_detection(name: str, tmp_path: Path) -> None:
    assert detect(EXAMPLES[name](tmp_path)) == name


@pytest.mark.parametrize("name", NAMES)
def test_pools(name: str, tmp_path: Path) -> None:
    path = EXAMPLES[name](tmp_path)
    pools = [pool for pool, _ in read_pools(path)]
    assert [pool.question for pool in pools] == list(QUESTIONS)
    for pool in pools:
        assert len({c.id for c in pool.candidates}) == len(pool) >= len(TEXTS)
        for text in TEXTS:  # prefixes and titles are taken off, sentences are joined behind
            assert any(c.text.startswith(text) for c in pool.candidates)
        scores = [c.score for c in pool.candidates if c.score is not None]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_format_comes_back_with_the_chosen_units_in_order(name: str, tmp_path: Path) -> None:
    path = EXAMPLES[name](tmp_path)
    kept = []
    chosen = []
    for pool, record in read_pools(path):
        context = [pool.candidates[3], pool.candidates[1]]
        chosen.append(context)
        kept.append((record, context))
    out = path.with_name("out" + path.suffix)
    assert write_promoted(out, kept) == 2
    assert detect(out) == name
    again = [pool for pool, _ in read_pools(out, name)]
    assert [pool.question for pool in again] == list(QUESTIONS)
    for context, pool in zip(chosen, again, strict=True):
        texts = [c.text for c in pool.candidates]
        if name in ("recomp", "selfrag", "efficientrag"):  # read by score, or by iteration
            assert sorted(texts) == sorted(c.text for c in context)
        else:
            assert texts == [c.text for c in context]


@pytest.mark.parametrize("name", NAMES)
def test_what_promotion_does_not_touch_stays(name: str, tmp_path: Path) -> None:
    """Keeping every unit in the file's own order gives the same content back."""
    path = EXAMPLES[name](tmp_path)
    kept = []
    for pool, record in read_pools(path):
        by_place = sorted(pool.candidates, key=lambda c: list(record.places).index(c.id))
        kept.append((record, by_place))
    out = path.with_name("same" + path.suffix)
    write_promoted(out, kept)
    if name in ("colbert", "trec"):
        assert [row.split()[:2] for row in out.read_text().splitlines()] == [
            row.split()[:2] for row in path.read_text().splitlines()
        ]
    elif name == "csv":
        assert [row.split(",")[:2] for row in out.read_text().splitlines()] == [
            row.split(",")[:2] for row in path.read_text().splitlines()[1:]
        ]
    elif name == "efficientrag":  # a chunk that two iterations found is kept once; hidden chunks are shown
        assert json.loads(out.read_text().splitlines()[0])["oracle"] == ["q-00"]
        assert "<TERMINATE>" not in out.read_text()
    else:
        assert _content(out) == _content(path)


def _content(path: Path) -> Any:
    text = path.read_text()
    return [json.loads(row) for row in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)


def test_writing_over_the_file_that_is_being_read(tmp_path: Path) -> None:
    path = EXAMPLES["ctxs"](tmp_path)
    write_promoted(path, ((record, pool.candidates[:2]) for pool, record in read_pools(path)))
    assert [len(pool) for pool, _ in read_pools(path)] == [2, 2]


def test_a_failure_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = EXAMPLES["ctxs"](tmp_path)
    before = path.read_bytes()

    def broken() -> Any:
        for pool, record in read_pools(path):
            yield record, pool.candidates[:1]
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        write_promoted(path, broken())
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_streaming_keeps_one_record(tmp_path: Path) -> None:
    """A broken third line is met only after the first two pools were given out."""
    path = tmp_path / "x.jsonl"
    path.write_text(lines([{"question": "a?", "ctxs": [{"text": "b"}]}] * 2) + '{"question": "cut')
    pools = read_pools(path)
    assert next(pools)[0].question == "a?"
    assert next(pools)[0].question == "a?"
    with pytest.raises(FormatError, match="line 3"):
        next(pools)


def test_an_array_larger_than_one_block_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    rows = [
        {"question": f"q{i}?", "ctxs": [{"id": "a", "text": "é" * (3_000_000 if i == 1 else 10)}]}
        for i in range(4)
    ]
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1))
    assert [pool.question for pool, _ in read_pools(path)] == ["q0?", "q1?", "q2?", "q3?"]


def test_gzip_in_and_out(tmp_path: Path) -> None:
    plain = EXAMPLES["musique"](tmp_path)
    path = tmp_path / "m.jsonl.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    out = tmp_path / "o.jsonl.gz"
    write_promoted(out, [(record, pool.candidates[:3]) for pool, record in read_pools(path)])
    assert [len(pool) for pool, _ in read_pools(out)] == [3, 3]


def test_sentences_of_a_benchmark(tmp_path: Path) -> None:
    path = EXAMPLES["hotpotqa"](tmp_path)
    (pool, record), _ = read_pools(path, unit="sentence")
    assert len(pool) == 2 * len(TEXTS)
    assert (pool.candidates[1].title, pool.candidates[1].position) == ("Interstellar", 1)
    out = tmp_path / "out.json"
    write_promoted(out, [(record, [pool.candidates[3], pool.candidates[0], pool.candidates[1]])])
    context = json.loads(out.read_text())[0]["context"]
    assert context == [
        ["Christopher Nolan", [" More of Christopher Nolan."]],
        ["Interstellar", [TEXTS[0], " More of Interstellar."]],
    ]


def test_gold_annotations_do_not_reach_the_candidates(tmp_path: Path) -> None:
    for name in ("hotpotqa", "musique", "ctxs"):
        for pool, _ in read_pools(EXAMPLES[name](tmp_path)):
            seen = repr(pool.metadata) + "".join(repr(dict(c.metadata)) for c in pool.candidates)
            assert "supporting" not in seen
            assert "hasanswer" not in seen


def test_graph_facts_come_along(tmp_path: Path) -> None:
    facts = {}
    for name in ("lightrag", "hipporag", "gfmrag", "kg2rag"):
        pool, _ = next(read_pools(EXAMPLES[name](tmp_path)))
        (fact,) = pool.relations
        facts[name] = (fact.head.lower(), fact.tail.lower(), [pool.candidates[0].id] == list(fact.units))
    assert set(facts.values()) == {("interstellar", "christopher nolan", True)}


def test_graphrag_parquet_tables_give_titles_and_facts(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def table(name: str, rows: list[dict[str, Any]]) -> None:
        parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / f"{name}.parquet")

    table(
        "text_units",
        [{"id": f"u{i}", "human_readable_id": i, "document_id": f"d{i}"} for i in range(len(TEXTS))],
    )
    table("documents", [{"id": f"d{i}", "title": f"t{i}.txt"} for i in range(len(TEXTS))])
    edge = {"source": "A", "target": "B", "description": "d", "weight": 1.0, "text_unit_ids": ["u2", "u77"]}
    table("relationships", [edge])
    pool, _ = next(read_pools(EXAMPLES["graphrag"](tmp_path)))
    assert [c.title for c in pool.candidates][:2] == ["t0.txt", "t1.txt"]
    assert [(r.head, r.units) for r in pool.relations] == [("A", ("2",))]
    parquet.write_table(arrow.Table.from_pylist([{"id": "x"}]), tmp_path / "documents.parquet")
    with pytest.raises(FormatError, match="title"):
        next(read_pools(tmp_path / "graphrag.jsonl"))


def test_lightrag_chunks_know_their_place(tmp_path: Path) -> None:
    pool, _ = next(read_pools(EXAMPLES["lightrag"](tmp_path)))
    assert [(c.source, c.position, c.score) for c in pool.candidates][:2] == [
        ("doc", 0, None),
        ("doc", 1, None),
    ]


def test_lightrag_failure_is_an_empty_pool(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text(lines([{"query": "q?", "status": "failure", "data": {}}]))
    ((pool, record),) = read_pools(path)
    assert len(pool) == 0
    out = tmp_path / "o.jsonl"
    path.write_text(lines([{"query": "q?", **lightrag_answer()}]))
    ((pool, record),) = read_pools(path)
    write_promoted(out, [(record, pool.candidates[2:3])])
    data = json.loads(out.read_text())["data"]
    assert [c["chunk_id"] for c in data["chunks"]] == ["c2"]
    assert [r["reference_id"] for r in data["references"]] == ["2"]


def test_odd_values_beside_lightrags_chunks(tmp_path: Path) -> None:
    path, out = EXAMPLES["lightrag"](tmp_path), tmp_path / "o.jsonl"
    answer = lightrag_answer()
    answer["data"]["references"] += [7, None]
    answer["data"]["chunks"][1]["reference_id"] = ["a"]
    path.write_text(lines([{"query": "q?", **answer}]))
    ((pool, record),) = read_pools(path)
    write_promoted(out, [(record, pool.candidates[:2])])
    assert [r["reference_id"] for r in json.loads(out.read_text())["data"]["references"]] == ["0"]
    (tmp_path / "kv_store_text_chunks.json").write_text('{"c0": 7}')
    with pytest.raises(FormatError, match="field 'c0': an object is expected here"):
        list(read_pools(path))


def test_a_trec_run_is_sorted_by_its_new_scores(tmp_path: Path) -> None:
    path = EXAMPLES["trec"](tmp_path)
    out = tmp_path / "out.run"
    write_promoted(out, [(r, [p.candidates[4], p.candidates[0]]) for p, r in read_pools(path)])
    assert out.read_text().splitlines()[:2] == ["q0 Q0 4 1 1 bm25", "q0 Q0 0 2 0.5 bm25"]


def test_trace(tmp_path: Path) -> None:
    path = EXAMPLES["ctxs"](tmp_path)
    ((pool, record), _) = read_pools(path)
    result = SimpleNamespace(
        context=pool.candidates[:2],
        core=pool.candidates[:1],
        pool=pool.candidates,
        scores=[0.9, 0.5, 0, 0, 0, 0],
        state="enough",
        sufficiency=0.75,
    )
    out = tmp_path / "o.jsonl"
    write_promoted(out, [(record, result)], trace=True)
    assert json.loads(out.read_text())["pagerag"] == {
        "state": "enough",
        "sufficiency": 0.75,
        "core": ["d0"],
        "scores": {"d0": 0.9, "d1": 0.5},
    }


WRONG: dict[str, tuple[str, str, str]] = {
    # name: (file name, content, what the message must say)
    "half a line": ("x.jsonl", '{"question": "a?", "ctxs": [{"te', "line 1.*cut off"),
    "half an array": ("x.json", '[{"question": "a?", "ctxs": []},\n {"question": "b', "line 2.*cut off"),
    "array never closed": ("x.json", '[{"question": "a?", "ctxs": []}', "cut off"),
    "not JSON": ("x.jsonl", '{"question": a?}', "line 1.*not JSON"),
    "empty": ("x.jsonl", "\n\n", "empty"),
    "no text": ("x.jsonl", '{"question": "a?", "ctxs": [{"title": "t"}]}', r"ctxs\[0\]\.text.*missing"),
    "text is a number": ("x.jsonl", '{"question": "a?", "ctxs": [{"text": 7}]}', r"ctxs\[0\]\.text.*string"),
    "score is a word": (
        "x.jsonl",
        '{"question": "a?", "ctxs": [{"text": "b", "score": "x"}]}',
        r"score.*not a number",
    ),
    "score is NaN": ("x.jsonl", '{"question": "a?", "ctxs": [{"text": "b", "score": NaN}]}', "finite"),
    "ctxs is an object": ("x.jsonl", '{"question": "a?", "ctxs": {"text": "b"}}', "list is expected"),
    "no question": ("x.jsonl", '{"ctxs": [{"text": "b"}]}', "question.*missing"),
    "scores too few": (
        "x.json",
        '[{"query": "a", "retrieved_docs": [{"text": "b"}], "bm25_scores": []}]',
        "0 scores",
    ),
    "unknown": ("x.jsonl", '{"foo": 1}', "no known pool format: its first record has foo. closest: "),
    "deep": ("x.jsonl", '{"question": "a", "candidates": ' + "[" * 200_000 + "}", "nested too deeply"),
    "deep array": ("x.json", "[" + "[" * 200_000, "nested too deeply"),
    "long number": (
        "x.jsonl",
        '{"question": "a", "candidates": [{"text": "b", "score": 1' + "0" * 5000 + "}]}",
        "too long",
    ),
    "large number": (
        "x.jsonl",
        '{"question": "a", "candidates": [{"text": "b", "score": 1' + "0" * 400 + "}]}",
        "finite",
    ),
    "a sentence": ("x.txt", "just words here", "no known pool format"),
    "kg2rag predictions": ("x.json", '{"answer": {"q": "a"}, "sp": {"q": []}}', "no pool.*Dump the nodes"),
    "lightrag without query": ("x.jsonl", '{"status": "success", "data": {"chunks": []}}', "query.*dump"),
    "run of five columns": ("x.tsv", "q\t1\t1\t2\nq\t1\t1\n", "companion"),
    "context pair": ("x.json", '[{"question": "a", "context": [["t"]]}]', r"context\[0\].*title"),
    "hipporag scores": ("x.jsonl", '{"question": "a", "docs": ["b"], "doc_scores": []}', "1 docs and 0"),
    "position is a truth value": (
        "x.jsonl",
        '{"question": "a", "candidates": [{"text": "b", "position": true}]}',
        r"position.*whole number",
    ),
    "selfrag result": ("x.json", '{"prompts": ["a"], "all_results": ["x"]}', "result.*object"),
    "efficientrag record": (
        "x.jsonl",
        '{"query": "a", "0": {"docs": []}}\n["a"]',
        "line 2.*object is expected",
    ),
    "a line beyond csv's bound": ("x.csv", "w" * 200_000, "no known pool format"),
    "gfm without nodes": ("x.json", '[{"question": "a", "predictions": {"document": []}}]', "nodes.csv"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_files_are_named_with_place_and_remedy(name: str, tmp_path: Path) -> None:
    file, content, says = WRONG[name]
    (tmp_path / file).write_text(content)
    with pytest.raises(FormatError, match=says) as raised:
        list(read_pools(tmp_path / file))
    assert file in str(raised.value)


def test_reading_goes_on_after_a_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    good = '{"question": "q?", "candidates": ["a text"]}'
    path.write_text("\n".join([good, "{", "", good, '{"question": "cut']))
    pools = read_pools(path)
    assert next(pools)[1].line == 1
    with pytest.raises(FormatError, match=r"line 2: not JSON.*correct the line or remove it"):
        next(pools)
    assert next(pools)[1].line == 4
    with pytest.raises(FormatError, match=r"line 5: .*cut off"):
        next(pools)
    assert next(pools, None) is None


def test_a_broken_first_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(["no JSON", "{", '{"question": "q?", "candidates": ["a text"]}']))
    pools = read_pools(path)
    for line in (1, 2):
        with pytest.raises(FormatError, match=f"line {line}: not JSON"):
            next(pools)
    assert next(pools)[1].line == 3
    assert next(pools, None) is None


def test_a_broken_first_line_is_not_called_cut_off(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"question": "q\n{}\n')
    with pytest.raises(FormatError, match="line 1: not JSON"):
        read_pools(tmp_path / "x.jsonl")


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"question": "caf\xe9"}')
    with pytest.raises(FormatError, match="UTF-8"):
        list(read_pools(tmp_path / "x.jsonl"))


def test_missing_file_folder_and_damaged_gzip(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        read_pools(tmp_path / "none.jsonl")
    with pytest.raises(FormatError, match="folder"):
        read_pools(tmp_path)
    (tmp_path / "x.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(FormatError, match="damaged"):
        read_pools(tmp_path / "x.jsonl.gz")


def test_runs_are_checked_line_by_line(tmp_path: Path) -> None:
    path = EXAMPLES["colbert"](tmp_path)
    good = path.read_text()
    for wrong, says in (
        ("q0\t0\t1\n", "line 13.*3 columns"),
        ("q0\t0\t1\t2\n", "line 13.*comes again"),
        ("q1\t0\t1\t2\n", "line 13.*comes twice"),
        ("q1\t77\t1\t2\n", "line 13.*'77' is not in"),
        ("q7\t0\t1\t2\n", "line 13.*'q7' is not in"),
        ("q7\t0\t1\tx\n", "line 13.*not a number"),
    ):
        path.write_text(good + wrong)
        with pytest.raises(FormatError, match=says):
            list(read_pools(path))


def test_companions_may_be_elsewhere(tmp_path: Path) -> None:
    path = EXAMPLES["colbert"](tmp_path)
    away = tmp_path / "away"
    away.mkdir()
    (tmp_path / "collection.tsv").rename(away / "c.tsv")
    with pytest.raises(FormatError, match="collection"):
        read_pools(path)
    pools = list(read_pools(path, companions={"collection": away / "c.tsv"}))
    assert len(pools) == 2
    with pytest.raises(InputError, match="no companion file 'foo'"):
        read_pools(path, companions={"foo": away})
    with pytest.raises(FormatError, match="no such file"):
        read_pools(path, companions={"collection": away / "none.tsv"})


def test_a_format_named_wrongly_says_which_it_is(tmp_path: Path) -> None:
    path = EXAMPLES["ctxs"](tmp_path)
    with pytest.raises(FormatError, match="it looks like 'ctxs'"):
        read_pools(path, "recomp")
    with pytest.raises(InputError, match="unknown format"):
        read_pools(path, "nonsense")
    with pytest.raises(InputError, match="units"):
        read_pools(path, unit="sentence")


def test_foreign_units_and_mixed_formats_are_refused(tmp_path: Path) -> None:
    pool, record = next(read_pools(EXAMPLES["ctxs"](tmp_path)))
    _, other = next(read_pools(EXAMPLES["musique"](tmp_path)))
    with pytest.raises(InputError, match="not of record"):
        write_promoted(tmp_path / "o", [(record, [replace(pool.candidates[0], id="foreign")])])
    with pytest.raises(InputError, match="one format"):
        write_promoted(tmp_path / "o", [(record, pool.candidates[:1]), (other, [])])
    with pytest.raises(InputError, match="nothing to write"):
        write_promoted(tmp_path / "o", [])
    assert not (tmp_path / "o").exists()


def test_units(tmp_path: Path) -> None:
    _, record = next(read_pools(EXAMPLES["recomp"](tmp_path)))
    assert unit_of(record) == "sentence"


def test_repeated_ids_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        lines([{"question": "a?", "ctxs": [{"id": 1, "text": "b"}, {"id": 1, "text": "c"}, {"text": "d"}]}])
    )
    ((pool, record),) = read_pools(path)
    assert [c.id for c in pool.candidates] == ["1", "1#2", "2"]
    out = tmp_path / "o.jsonl"
    write_promoted(out, [(record, [pool.candidates[1]])])
    assert json.loads(out.read_text())["ctxs"] == [{"id": 1, "text": "c"}]


def test_fields_go_by_other_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    row = {"q": QUESTIONS[0], "retrieved": [{"body": text, "name": f"n{i}"} for i, text in enumerate(TEXTS)]}
    path.write_text(lines([row]))
    with pytest.raises(FormatError, match=r"closest: .*lacks"):
        detect(path)
    names = {"candidates": "retrieved", "question": "q", "text": "body", "title": "name"}
    ((pool, record),) = read_pools(path, fields=names)
    assert pool.question == QUESTIONS[0]
    assert [c.title for c in pool.candidates] == [f"n{i}" for i in range(len(TEXTS))]
    out = tmp_path / "out.jsonl"
    write_promoted(out, [(record, pool.candidates[2:3])])
    assert json.loads(out.read_text()) == {"q": QUESTIONS[0], "retrieved": [row["retrieved"][2]]}
    with pytest.raises(FormatError, match="no list of candidates under 'found'"):
        read_pools(path, fields={"candidates": "found"})
    with pytest.raises(InputError, match="no field 'colour'"):
        read_pools(path, fields={"colour": "x"})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"question": "Who?", "retrieved": ["a text", "another"]}', "--field candidates=retrieved"),
        ('{"q": "Who?", "hits": [{"text": "a"}]}', "--field candidates=hits --field question=q"),
        ('{"question": "Who?", "ctx": 5}', r"closest: ctxs \(lacks ctxs\)"),
        ("q1\t7\t1", "closest: colbert"),
        ("q1,7,1,2,3", "closest: csv"),
    ],
)
def test_a_refusal_says_what_came_closest(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(content + "\n")
    with pytest.raises(FormatError, match=said) as caught:
        detect(path)
    assert str(caught.value).count("closest:") == 1


def test_a_csv_ranking_without_a_line_of_names(tmp_path: Path) -> None:
    path = EXAMPLES["csv"](tmp_path)
    path.write_text("\n".join(path.read_text().splitlines()[1:]) + "\n")
    assert detect(path) == "csv"
    assert len(next(read_pools(path))[0]) == len(TEXTS)


def test_a_run_with_the_corpus_of_a_benchmark_beside_it(tmp_path: Path) -> None:
    EXAMPLES["csv"](tmp_path)
    run = tmp_path / "bm25.run"
    run.write_text("".join(f"q0 Q0 {i} {i + 1} {9 - i} bm25\n" for i in range(4)))
    ((pool, _),) = read_pools(run)
    assert [c.title for c in pool.candidates] == ["Interstellar", "Christopher Nolan", "Inception", "Batman"]


def test_the_question_has_its_id(tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    path.write_text(lines([{"id": "q7", "question": "Who?", "candidates": ["a text"]}]))
    ((pool, _),) = read_pools(path)
    assert pool.metadata == {"id": "q7"}


def test_half_a_surrogate_pair_is_read_and_written(tmp_path: Path) -> None:
    path, out = tmp_path / "pools.jsonl", tmp_path / "out.jsonl"
    path.write_text('{"question": "Who \\ud800?", "candidates": ["a \\udfff text"]}\n')
    ((pool, record),) = read_pools(path)
    write_promoted(out, [(record, pool.candidates)])
    assert json.loads(out.read_text()) == json.loads(path.read_text())


def test_what_is_written_keeps_to_the_umask(tmp_path: Path) -> None:
    kept = [(record, pool.candidates[:1]) for pool, record in read_pools(EXAMPLES["ctxs"](tmp_path))]
    before = os.umask(0o077)
    try:
        write_promoted(tmp_path / "private.jsonl", kept)
    finally:
        os.umask(before)
    assert (tmp_path / "private.jsonl").stat().st_mode & 0o777 == 0o600

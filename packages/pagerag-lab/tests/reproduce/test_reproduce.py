"""Tables and figures on small files in the official formats, and the report page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pagerag.cli import main
from pagerag.errors import FormatError, InputError
from pagerag_lab.datasets.registry import read_questions
from pagerag_lab.pools.rankers import Pools
from pagerag_lab.pools.retrievers import ranker
from pagerag_lab.report import report
from pagerag_lab.reproduce import EXPERIMENTS, Bench, Limits, paper, reproduce
from pagerag_lab.reproduce.sufficiency import twins
from pagerag_lab.reproduce.tables import Table
from pagerag_lab.runs.benchmark import Workers, run
from pagerag_lab.runs.config import RunConfig

Make = Callable[[int], dict[str, Any]]


@pytest.fixture
def data(tmp_path: Path, hotpotqa_record: Make, musique_record: Make) -> Path:
    folder = tmp_path / "data"
    for name in ("hotpotqa", "musique", "2wikimultihopqa"):
        (folder / name).mkdir(parents=True)
    records = [hotpotqa_record(n) for n in range(6)]
    for number, record in enumerate(records):
        record["context"] += [[f"Place {number}-{m}", [f"Place {m} lies near Tromso."]] for m in range(9)]
    (folder / "hotpotqa" / "dev.json").write_text(json.dumps(records), encoding="utf-8")
    (folder / "2wikimultihopqa" / "dev.json").write_text(json.dumps(records[:4]), encoding="utf-8")
    lines = []
    for n in range(4):
        record = musique_record(n)
        record["paragraphs"] += [
            {
                "idx": 6 + m,
                "title": f"Isle {n}-{m}",
                "paragraph_text": f"Isle {m} is small.",
                "is_supporting": False,
            }
            for m in range(14)
        ]
        lines.append(json.dumps(record) + "\n")
    (folder / "musique" / "dev.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_experiments_write_tables_and_pictures(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with Workers(1) as workers:
        bench = Bench(
            data=data,
            out=tmp_path / "out",
            limits=Limits(main=4, side=4, answers=2, chat=0, cases=1),
            retriever="bm25",
            reader="evidence",
            workers=workers,
        )
        for name in ("component-ablation", "feature-ablation", "edge-types", "noise", "cases", "sufficiency"):
            for table in reproduce(name, bench):
                assert (bench.out / f"{table.name}.md").read_text(encoding="utf-8") == table.to_markdown()
                tex = (bench.out / f"{table.name}.tex").read_text(encoding="utf-8")
                assert tex.count(r"\\") == len(table.rows) + 1
                assert f"pagerag reproduce {name}" in table.command
        assert (bench.out / "noise.png").read_bytes().startswith(b"\x89PNG")
        ablation = (bench.out / "component-ablation-hotpotqa.md").read_text(encoding="utf-8")
    for needed in ("plain bm25 top five", "formula, w/o minimal selection", "70.94", "58.00", "N = 4"):
        assert needed in ablation
    noise = (bench.out / "noise.md").read_text(encoding="utf-8")
    for needed in ("65.68", "49.38", "55.37", "plain top five"):
        assert needed in noise


def test_what_cannot_run_says_what_it_needs() -> None:
    from pagerag_lab.reproduce.main_tables import sentence_methods

    bench = Bench(data=Path(), out=Path())
    methods = {method.label: method for method in sentence_methods(bench)}
    for label in ("Contriever", "ColBERTv2", "NV-Embed-v2", "IRCoT"):
        assert methods[label].settings is None
        assert methods[label].needs
    assert {method.paper for method in methods.values()} >= set(paper.SENTENCE)


def test_the_papers_averages_are_what_the_notes_say() -> None:
    sizes = {"hotpotqa": 7405, "musique": 2417, "2wikimultihopqa": 12576}
    for figures, names, weighted in (
        (paper.SENTENCE, list(paper.SENTENCE), True),
        (paper.MIXED, ["SelfRAG", "HippoRAG2"], True),
        (paper.MIXED, ["GFM-RAG", "LightRAG", "KG2RAG"], False),
    ):
        for name in names:
            row = figures[name]
            weights = sizes if weighted else dict.fromkeys(sizes, 1)
            mean = sum(row[one][1] * weights[one] for one in sizes) / sum(weights.values())
            assert mean == pytest.approx(row["average"][1], abs=0.02), name


def test_the_data_folder_must_hold_something(tmp_path: Path) -> None:
    bench = Bench(data=tmp_path, out=tmp_path / "o")
    with pytest.raises(InputError, match="--data"):
        bench.present()
    with pytest.raises(FormatError, match="HotpotQA dev is not here"):
        bench.file("hotpotqa")


def test_twins_differ_by_one_gold_unit(data: Path) -> None:
    for question in read_questions("hotpotqa", data / "hotpotqa" / "dev.json"):
        deep = Pools(ranker("bm25"), mode="sentence", size=9)(question)
        pair = twins(question, deep, "sentence", 8)
        assert pair is not None
        whole, broken = ([unit.id for unit in pool.candidates] for pool in pair)
        assert len(whole) == len(broken) == 8
        (gone,) = set(whole) - set(broken)
        assert gone in question.gold("sentence")
        assert set(broken) - set(whole) == {deep.candidates[8].id}
    assert twins(question, deep, "sentence", 1) is None or deep.candidates[0].id in question.gold("sentence")


def test_tables_are_written_safely() -> None:
    table = Table(
        name="t",
        title="A & B",
        columns=["Method", "F1"],
        rows=[["a|b_c", 0.5], ["100 % #1", None], ["best", 0.75]],
        notes=["50 % of $"],
        ours=(1,),
        rules=(2,),
    )
    markdown, tex = table.to_markdown(), table.to_latex()
    assert r"a\|b_c | 50.0" in markdown
    assert "**75.0**" in markdown
    assert r"a|b\_c & 50.0" in tex
    assert r"100 \% \#1 & --" in tex
    assert r"\caption{A \& B. 50 \% of \$}" in tex
    assert tex.count(r"\midrule") == 2
    with pytest.raises(ValueError, match="2 cells"):
        Table(name="t", title="", columns=["a"], rows=[["b", 1]])


def test_every_experiment_is_a_choice_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    shown = capsys.readouterr().out
    for name in (*EXPERIMENTS, "all", "--quick"):
        assert name in shown


class _Check(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.outside: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.ids.add(str(values["id"]))
        if tag == "a" and values.get("href"):
            self.links.add(str(values["href"]))
        self.outside += [str(values[name]) for name in ("src", "data") if values.get(name)]
        if tag == "link":
            self.outside.append("link")
        if tag not in ("meta", "input"):  # nothing closes these
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_report_is_one_whole_page(data: Path, tmp_path: Path) -> None:
    file = data / "hotpotqa" / "dev.json"
    records = json.loads(file.read_text(encoding="utf-8"))
    records[0]["question"] += " <script>alert(1)</script>"
    records[1]["context"] = []  # an error row
    file.write_text(json.dumps(records), encoding="utf-8")
    with Workers(1) as workers:
        for strategy in ("formula", "mmr"):
            config = RunConfig(
                dataset="hotpotqa",
                data=str(file),
                retriever="bm25",
                strategy=strategy,
                explain=True,
                reader="evidence",
            )
            run(config, tmp_path / strategy, workers=workers)
    out = report([tmp_path / "formula", tmp_path / "mmr"], tmp_path / "r.html")
    page = out.read_text(encoding="utf-8")
    check = _Check()
    check.feed(page)
    assert not check.outside
    assert not re.search(r"https?://", page.replace("http://www.w3.org", ""))
    assert {link.removeprefix("#") for link in check.links} <= check.ids
    assert "alert(1)</script>" not in page.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")
    for needed in ("Runs against each other", "EmptyPoolError", "Explanation", "formula", "mmr", "gold"):
        assert needed in page
    with pytest.raises(FormatError, match="no finished run"):
        report([tmp_path], tmp_path / "x.html")
    assert main(["report", str(tmp_path / "formula"), "--out", str(tmp_path / "one.html")]) == 0
    assert (tmp_path / "one.html").is_file()

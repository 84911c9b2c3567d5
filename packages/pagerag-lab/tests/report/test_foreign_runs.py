"""Run folders that somebody else made or edited: what they say is shown as text, and nothing of it is run."""

from __future__ import annotations

import json
import shutil
import socket
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pagerag.errors import InputError, PageRAGError
from pagerag_lab.report import report
from pagerag_lab.runs.benchmark import run
from pagerag_lab.runs.config import RunConfig
from pagerag_lab.runs.engine import OtherRunError, Workers

ATTACK = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"


class Tags(HTMLParser):
    """Collects what would act in a browser."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.handlers: list[str] = []
        self.images = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.images += tag == "img"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


@pytest.fixture
def made(hotpotqa_file: Path, tmp_path: Path) -> Path:
    """A finished run, with explanations and answers."""
    config = RunConfig(
        "hotpotqa", str(hotpotqa_file), retriever="bm25", limit=4, explain=True, reader="evidence"
    )
    with Workers(1) as workers:
        run(config, tmp_path / "run", workers=workers)
    return tmp_path / "run"


def attacked(value: Any) -> Any:
    """Put the attack into every text of a JSON value, names included."""
    if isinstance(value, str):
        return value + ATTACK
    if isinstance(value, list):
        return [attacked(one) for one in value]
    if isinstance(value, dict):
        return {name: attacked(one) for name, one in value.items()}
    return value


def test_every_text_of_a_run_is_shown_as_text(made: Path, tmp_path: Path) -> None:
    result = attacked(json.loads((made / "result.json").read_text(encoding="utf-8")))
    result["config"] |= {"pool": ATTACK, "k": ATTACK}
    result["errors"] = ATTACK
    result["by_type"] = {name + ATTACK: one for name, one in result["by_type"].items()}
    (made / "result.json").write_text(json.dumps(result), encoding="utf-8")
    rows = (made / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    changed = [attacked(json.loads(row)) | {"hops": ATTACK, "error": None} for row in rows]
    (made / "predictions.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in changed), encoding="utf-8"
    )
    renamed = made.rename(tmp_path / "<script>alert(3)<")
    page = report([renamed], tmp_path / "r.html").read_text(encoding="utf-8")
    found = Tags()
    found.feed(page)
    assert (found.scripts, found.images, found.handlers) == (1, 0, [])


@pytest.mark.parametrize(
    "change",
    [{"metrics": {}}, {"n": "many"}, {"config": None}, {"intervals": {"sup_f1_core": [1]}}, {"by_type": 3}],
)
def test_a_result_that_does_not_fit_is_refused(made: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    result = json.loads((made / "result.json").read_text(encoding="utf-8")) | change
    (made / "result.json").write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(InputError, match="run it again"):
        report([made], tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_a_run_folder_names_nothing_that_is_built(
    made: Path, hotpotqa_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings of a run come from the command alone: those in its folder are compared and no more."""
    asked: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: asked.append(address))
    foreign = {"retriever": "openai:model@http://127.0.0.1:9/v1", "strategy": "cross-encoder:./folder"}
    foreign |= {"reader": "chat", "support": "./folder", "data": "hub:owner/name@split"}
    for name in ("run.json", "result.json"):
        value = json.loads((made / name).read_text(encoding="utf-8"))
        value["config"] |= foreign
        (made / name).write_text(json.dumps(value), encoding="utf-8")
    config = RunConfig(
        "hotpotqa", str(hotpotqa_file), retriever="bm25", limit=4, explain=True, reader="evidence"
    )
    with Workers(1) as workers:
        with pytest.raises(OtherRunError, match=r"config\.retriever"):
            run(config, made, workers=workers)
        assert "openai:model@" in report([made], tmp_path / "r.html").read_text(encoding="utf-8")
        shutil.rmtree(made / "chunks")
        (made / "run.json").write_text('{"config": {"retriever": ["openai:x@http://127.0.0.1:9"]}}')
        with pytest.raises(PageRAGError):
            run(config, made, workers=workers)
    assert asked == []

"""The recipes of docs/backends.md that need no living system; the others run in the tests of theirs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from examples import EXAMPLES, QUESTIONS, TEXTS, TITLES, gfmrag
from model import CORPUS, QUESTION
from recipes import PAGE, RECIPES, run
from test_adapters import FakeGFM

from pagerag import Candidate
from pagerag.settings import ChatSettings
from pagerag.systems import living
from pagerag.systems.formats import FORMATS, read_pools
from pagerag.testing import ScriptedChat
from pagerag_lab.compact.registry import systems


def test_every_system_has_a_recipe_of_at_most_fifteen_lines() -> None:
    assert set(living()) <= set(RECIPES)
    for name, code in RECIPES.items():
        assert len([line for line in code.splitlines() if line.strip()]) <= 15, name


def test_every_format_and_system_is_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    for name in FORMATS:
        assert f"| `{name}` |" in page
    for system in systems().values():
        assert f"| {system.label.replace('SelfRAG', 'Self-RAG')} |" in page


def test_gfmrag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By shape: the real one needs an environment of its own."""
    gfmrag(tmp_path)
    rows = [
        {"id": t, "type": "document", "attributes": {"content": x}, "score": -1.0}
        for t, x in zip(TITLES, TEXTS, strict=True)
    ]
    names = run(
        "gfmrag",
        question=QUESTION,
        retriever=FakeGFM(rows),
        stage1=tmp_path,
        prompt_builder=SimpleNamespace(build_input_prompt=lambda question, _: question),
        llm=SimpleNamespace(generate_sentence=lambda prompt: f"about {prompt}"),
    )
    assert names["answer"] == f"about {QUESTION}"
    assert len(names["promoted"].context) == 5
    assert "Interstellar" in capsys.readouterr().out


def test_compact(capsys: pytest.CaptureFixture[str]) -> None:
    units = [Candidate(title, text, title=title) for title, text in CORPUS.items()]
    with ScriptedChat(["Christopher Nolan directed it.", "So the answer is: London."]) as server:
        settings = ChatSettings(base_url=server.url, model="scripted")
        names = run("compact", question=QUESTION, units=units, chat_settings=settings)
    assert names["pool"].metadata["answer"] == "London"
    assert capsys.readouterr().out.count("IRCoT") == 2


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_files(name: str, tmp_path: Path) -> None:
    """Promotion of a file in every format, in and out."""
    path = EXAMPLES[name](tmp_path)
    out = path.with_name("out" + path.suffix)
    run("files", path=path, out=out)
    pools = [pool for pool, _ in read_pools(out, name)]
    assert [pool.question for pool in pools] == list(QUESTIONS)
    assert all(1 <= len(pool) <= 5 for pool in pools)

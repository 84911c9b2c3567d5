"""Runs that go on from earlier runs."""

import pytest

pytest.importorskip("torch")

from pagerag_lab.training.stages import EARLIER
from pagerag_lab.training.together import go_on


def test_a_run_goes_on_from_the_last_run_of_its_name_alone(tmp_path):
    first, then = tmp_path / "first", tmp_path / "then"
    first.mkdir()
    then.mkdir()
    (first / "fold0-0.safetensors").write_bytes(b"last")
    (first / f"fold0-0{EARLIER}.safetensors").write_bytes(b"before the last")
    (first / "averaged.safetensors").write_bytes(b"mean")
    go_on(first, then)
    assert {p.name: p.read_bytes() for p in then.iterdir()} == {f"fold0-0{EARLIER}.safetensors": b"last"}

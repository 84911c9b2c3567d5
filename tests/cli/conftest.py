from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "read"))  # the faulty chat server lives there


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    """Nobody's real settings are read or written."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own-config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own-state"))

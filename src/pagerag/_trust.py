"""Project settings files that the user has looked at and trusts, by their path and content.

``./pagerag.toml`` comes with whatever folder one happens to be in. It may say how many units are read; it may
not say where questions, documents and keys are sent, until the user has trusted that very file once. A file
that changes must be trusted again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pagerag._files import write_atomic
from pagerag._folders import config_file, state_folder
from pagerag.errors import SettingsError


def is_trusted(path: Path, content: bytes) -> bool:
    """Return whether the user trusted the file at ``path`` with exactly this content."""
    # without a place for the user's files there is none to remember it in
    return config_file() is not None and _known().get(str(path.resolve())) == _digest(content)


def trust(path: Path, content: bytes) -> None:
    """Remember that the user trusts the file at ``path`` with this content."""
    _write({**_known(), str(path.resolve()): _digest(content)})


def untrust(path: Path) -> bool:
    """Forget a file; return whether it was known."""
    known = _known()
    if known.pop(str(path.resolve()), None) is None:
        return False
    _write(known)
    return True


def _known() -> dict[str, str]:
    file = state_folder() / "trusted.json"
    try:
        held = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except (OSError, ValueError, RecursionError):
        return {}  # what cannot be read trusts nothing; the next trust writes it again
    return {str(k): str(v) for k, v in held.items()} if isinstance(held, dict) else {}


def _write(known: dict[str, str]) -> None:
    file = state_folder() / "trusted.json"
    try:
        write_atomic(file, json.dumps(known, indent=1, sort_keys=True) + "\n")
    except OSError as problem:
        raise SettingsError(f"{file} cannot be written: {problem.strerror or problem}") from problem


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

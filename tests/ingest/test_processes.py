"""Two processes read while one writes; two cannot write at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def write(folder: Path, edition: str, files: int) -> None:
    for number in range(files):
        parts = (f"Paragraph {part} of file {number} about rivers, in {edition}" for part in range(4))
        (folder / f"{number:02d}.txt").write_text("\n\n".join(parts), encoding="utf-8")


@pytest.mark.timeout(400)
def test_two_read_while_one_writes(children: Any, folder: Path, tmp_path: Path) -> None:
    place, stop = str(tmp_path / "store"), tmp_path / "stop"
    settings = {"batch_units": 8, "passage_chars": 60}
    write(folder, "one", 10)
    code, _ = children.run("index", paths=[str(folder)], store=place, settings=settings)
    assert code == 0
    job = {"store": place, "question": "a paragraph about rivers", "stop": str(stop), "seconds": 300}
    readers = [children.start("read", **job) for _ in range(2)]
    for edition, files in (("two", 20), ("three", 30), ("four", 15)):
        write(folder, edition, files)
        for old in sorted(folder.iterdir())[files:]:
            old.unlink()
        code, heard = children.run("index", paths=[str(folder)], store=place, prune=True, settings=settings)
        assert (code, heard[-2]["report"]["failed"]) == (0, [])
        # Both readers look again, at least once each, before the next writer comes.
        waiting = set(readers)
        while waiting:
            said = children.hear()
            assert said["job"] not in readers or "units" in said, said  # a reader that has given up
            waiting.discard(said["job"])
    stop.touch()
    finals = []
    for reader in readers:
        code, heard = children.wait(reader)
        assert code == 0, heard[-3:]
        finals.append(heard[-2])
        assert len(heard[-2]["seen"]) > 2, "the reader never saw the store grow"
    assert {final["final"] for final in finals} == {60}
    assert finals[0]["best"] == finals[1]["best"]


def test_a_second_writer_is_told(children: Any, folder: Path, tmp_path: Path) -> None:
    write(folder, "one", 40)
    place = str(tmp_path / "store")
    settings = {"batch_units": 1, "passage_chars": 60}
    first = children.start("index", paths=[str(folder)], store=place, settings=settings)
    while not any(said.get("kind") == "indexed" for said in children.heard[first]):
        children.hear()
    code, heard = children.run("index", paths=[str(folder)], store=place, settings=settings)
    assert code == 1
    assert "another process" in heard[-2]["message"]
    assert "is writing" in heard[-2]["message"]
    assert children.wait(first)[0] == 0

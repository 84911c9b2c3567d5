"""Chunks of work on processes and on Ray: the same rows in the same order, and a journal that resumes."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from pagerag.batch import Journal, OtherWorkError, Processes, in_order, open_hands
from pagerag.errors import InputError, WorkerLostError


def squares(task: int, items: list[int]) -> list[dict[str, int]]:
    return [{"item": item, "square": task * item * item} for item in items]


def refuse(task: str, items: list[int]) -> list[dict[str, int]]:
    raise InputError(task)


def die(task: int, items: list[int]) -> list[dict[str, int]]:
    os._exit(9)


CHUNKS = [[1, 2], [3, 4], [5]]
ROWS = [squares(1, chunk) for chunk in CHUNKS]


@pytest.fixture(scope="module")
def hands():
    with Processes(2) as pool:
        yield pool


def journal(folder: Path, **identity: object) -> Journal:
    kept = Journal(folder, option="--journal")
    with kept.held():
        kept.claim({"what": "squares", **identity})
    return kept


def done(*arguments: object, **options: object) -> list[list[dict[str, int]]]:
    return [rows for _, rows in in_order(*arguments, **options)]


def test_rows_come_in_the_order_of_the_chunks(hands):
    assert done(hands, squares, 1, CHUNKS) == done(None, squares, 1, CHUNKS) == ROWS


def test_pools_started_at_once_leave_the_environment_as_it_was():
    before = dict(os.environ)
    pools = [Processes(1), Processes(1)]
    together = Barrier(2)

    def start(pool: Processes) -> None:
        together.wait()
        pool.start()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(start, pools))
    assert dict(os.environ) == before
    for pool in pools:
        with pool:
            assert pool.result(pool.submit(squares, 1, [2])) == [{"item": 2, "square": 4}]


def test_a_journal_is_used_and_not_done_again(tmp_path, hands):
    kept = journal(tmp_path)
    half = in_order(hands, squares, 1, CHUNKS, journal=kept)
    next(half)
    half.close()
    assert kept.file(0).exists()
    # Another task would give other rows: those of the journal stand.
    assert done(hands, squares, 7, CHUNKS, journal=kept)[0] == ROWS[0]
    assert done(None, refuse, "not called", CHUNKS, journal=kept)[0] == ROWS[0]


def test_a_damaged_chunk_is_done_again_and_named(tmp_path, hands):
    kept = journal(tmp_path)
    assert done(hands, squares, 1, CHUNKS, journal=kept) == ROWS
    file = kept.file(1)
    file.write_bytes(file.read_bytes().replace(b"9", b"8"))
    heard: list[str] = []
    assert done(hands, squares, 1, CHUNKS, journal=kept, say=heard.append) == ROWS
    assert len(heard) == 1
    assert "000001.jsonl" in heard[0]
    assert "changed" in heard[0]


def test_a_journal_of_other_work_is_refused(tmp_path):
    journal(tmp_path, data="a")
    with pytest.raises(OtherWorkError, match="differs in: data"):
        journal(tmp_path, data="b")
    Journal(tmp_path).discard()
    journal(tmp_path, data="b")


def test_a_folder_that_is_not_a_journal_is_refused(tmp_path):
    (tmp_path / "file").write_text("here")
    with (
        pytest.raises(InputError, match=r"--journal .* cannot be used"),
        Journal(tmp_path / "file/below", option="--journal").held(),
    ):
        pass
    (tmp_path / "chunks").mkdir()
    with pytest.raises(OtherWorkError, match="unknown run"):
        journal(tmp_path)
    for content, said in (("[]", "not an object"), ("{", "not JSON")):
        (tmp_path / "run.json").write_text(content)
        with pytest.raises(InputError, match=said):
            journal(tmp_path)


def test_what_is_wrong_with_a_chunk_is_told(tmp_path):
    kept = journal(tmp_path / "kept")
    assert "cannot be read" in kept.fault(0, 2)
    kept.write(0, [{"n": 1}, {"n": 2}])
    assert kept.fault(0, 2) is None
    assert kept.fault(0, 3) == "holds 2 of 3 rows"
    kept.file(0).write_bytes(b"")
    assert kept.fault(0, 2) == "is empty or cut short"
    kept.remove()
    assert not (tmp_path / "kept").exists()


def test_a_journal_forgets_what_a_killed_process_left_and_keeps_its_commit(tmp_path):
    journal(tmp_path, commit="old")
    part = tmp_path / "chunks" / ".000000.jsonl.1.part"
    part.write_text("half")
    with (kept := Journal(tmp_path)).held():
        assert kept.claim({"what": "squares", "commit": "new"})["commit"] == "old"
    assert not part.exists()


def test_two_processes_do_not_share_a_journal(tmp_path):
    with (
        Journal(tmp_path).held(),
        pytest.raises(InputError, match="another process"),
        Journal(tmp_path).held(),
    ):
        pass


def test_what_the_function_raises_is_raised(hands):
    with pytest.raises(InputError, match="with reason"):
        done(hands, refuse, "with reason", CHUNKS)


def test_a_lost_process_is_told():
    with Processes(1) as pool, pytest.raises(WorkerLostError, match="run the same command again"):
        done(pool, die, 1, CHUNKS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("dask",), "no engine"), (("local", 0), "at least 1"), (("local", None, "h:1"), "--engine ray")],
)
def test_engines_that_cannot_be_are_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        open_hands(*arguments)


def test_promote_is_the_same_on_processes_and_with_a_journal(tmp_path, capsys):
    from pagerag.cli import main

    pools = tmp_path / "pools.jsonl"
    with pools.open("w") as out:
        for number in range(70):
            candidates = [
                {
                    "id": f"{number}-{place}",
                    "title": f"Film {number}",
                    "text": f"Film {number} part {place} is by Ann Lee.",
                }
                for place in range(3)
            ]
            question = f"Who made Film {number}?" if number != 5 else ""
            out.write(
                json.dumps({"question": question, "candidates": [] if number == 9 else candidates}) + "\n"
            )

    def run(*options: str) -> tuple[int, str]:
        code = main(["promote", str(pools), "--json", *options])
        return code, capsys.readouterr().out

    alone = run()
    assert alone[0] == 3  # one question is empty
    assert len(alone[1].splitlines()) == 69
    work = ("--workers", "2", "--journal", str(tmp_path / "work"))
    assert run(*work) == alone
    chunk = tmp_path / "work" / "chunks" / "000001.jsonl"
    before = chunk.stat().st_mtime_ns
    assert run(*work) == alone
    assert chunk.stat().st_mtime_ns == before
    kept = tmp_path / "kept.jsonl"
    assert main(["promote", str(pools), "--out", str(kept), "--with-trace"]) == 3
    plain = kept.read_bytes()
    assert main(["promote", str(pools), "--out", str(kept), "--with-trace", "--workers", "2"]) == 3
    assert kept.read_bytes() == plain
    assert main(["promote", str(pools), "--json", "--limit", "3", *work]) == 1
    assert "reading" in capsys.readouterr().err


def test_ray_does_the_same_and_outlives_a_killed_worker(tmp_path):
    pytest.importorskip("ray")
    with open_hands("ray", 1) as cluster:
        assert done(cluster, squares, 1, CHUNKS) == ROWS
        with pytest.raises(InputError, match="with reason"):
            done(cluster, refuse, "with reason", CHUNKS)
        marker = str(tmp_path / "died")
        assert done(cluster, die_once, marker, CHUNKS) == ROWS
        assert Path(marker).exists()


def die_once(marker: str, items: list[int]) -> list[dict[str, int]]:
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), 9)
    return squares(1, items)


def test_a_cluster_that_is_not_there_is_named():
    pytest.importorskip("ray")
    with (
        open_hands("ray", 1, "127.0.0.1:1") as cluster,
        pytest.raises(WorkerLostError, match=r"127\.0\.0\.1:1"),
    ):
        done(cluster, squares, 1, CHUNKS)


def test_an_index_is_the_same_on_processes(tmp_path):
    from pagerag.ingest import index_paths
    from pagerag.retrieve import encoder
    from pagerag.store import open_store

    documents = tmp_path / "documents"
    documents.mkdir()
    lines = [
        json.dumps({"id": n, "title": f"Film {n}", "text": f"Film {n} is by Ann Lee. It ran {n} days."})
        for n in range(150)
    ]
    (documents / "many.jsonl").write_text("\n".join(lines))
    for number in range(5):
        (documents / f"{number}.txt").write_text(f"Note {number}. " + "A sentence about rivers. " * 90)
    (documents / "copy.txt").write_text((documents / "3.txt").read_text())
    (documents / "empty.txt").write_text("")

    def indexed(name: str, hands):
        with open_store(tmp_path / name, encoder("wordllama"), create=True) as store:
            report = index_paths([documents], store, hands=hands)
            assert not report.failed
            again = index_paths([documents], store, hands=hands)
            assert again.indexed == 0
            rows = [(unit.id, unit, unit.vector.tobytes()) for unit in store.units()]
            return rows, store.ledger(), store.documents(), report.indexed, report.duplicates, report.empty

    alone = indexed("alone", None)
    assert len(alone[0]) > 150
    with Processes(2) as pool:
        assert indexed("spread", pool) == alone

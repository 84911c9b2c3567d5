"""The indexes in memory follow the store and agree with plain computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from pagerag.store import LanceStore, Unit
from pagerag.store.titles import TitleIndex, first_key, key_hash, name_hashes, title_keys
from pagerag.testing import FakeEncoder


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("Alien (film)", ("alien film", "alien")),
        ("Fred F. Sears", ("fred f sears", "fred sears")),
        ("Edward, Duke of Kent", ("edward duke of kent",)),
        ("Edward of the North, Duke of Kent", ("edward of the north duke of kent", "edward of the north")),
        ("The Who", ("the who",)),
        ("A.I.", ("a i",)),
        ("(500) Days of Summer", ("500 days of summer",)),
        ("Beyoncé", ("beyonce",)),
        ("東京（曖昧さ回避）", ("東京 曖昧 昧さ さ回 回避", "東京")),
        ("!!", ()),
        ("", ()),
    ],
)
def test_the_keys_of_a_title(title: str, keys: tuple[str, ...]) -> None:
    assert title_keys(title) == keys
    assert first_key(title) == next(iter(keys), "")


def test_hashes_are_the_same_everywhere() -> None:
    assert key_hash("hans zimmer") == 7558816676734538314
    assert name_hashes("Alien (film)") == [key_hash("alien film"), key_hash("alien")]
    assert name_hashes(None) == []
    assert name_hashes(None, ["Alien"]) == [key_hash("alien")]


def test_exact_titles_come_before_shorter_forms() -> None:
    keys = [name_hashes("Alien (film)"), name_hashes("Alien"), name_hashes("Alien")]
    index = TitleIndex.build(
        1,
        np.array([h for row in keys for h in row], dtype=np.int64),
        np.array([len(row) for row in keys], dtype=np.int64),
        np.array([10, 11, 12], dtype=np.uint64),
        np.array([0, 1, 0], dtype=np.int32),
    )
    found = index.find(["alien", "ALIEN (film)", "Predator", "", "!!"], 5)
    assert found == {0: [12, 11, 10], 1: [10]}
    assert index.find(["alien"], 2) == {0: [12, 11]}


def test_dense_search_follows_every_kind_of_change(
    store: LanceStore, units: Sequence[Unit], encoder: FakeEncoder, make_unit: Callable[..., Unit]
) -> None:
    generator = np.random.default_rng(3)
    held = {unit.id: unit for unit in units}

    def check() -> None:
        rows = {name: encoder.encode_passages([f"{u.title}. {u.text}"])[0] for name, u in held.items()}
        point = encoder.encode_queries(["a film about a city on a river"])[0]
        want = sorted((float(row @ point) for row in rows.values()), reverse=True)
        found = store.search_vector(point, 100)
        assert {c.id for c in found} == set(rows)
        np.testing.assert_allclose([c.score for c in found], want, atol=1e-5)
        assert {c.id: c.text for c in found} == {name: u.text for name, u in held.items()}

    check()
    for step in range(12):
        number = int(generator.integers(0, 12))
        if step % 3 == 2:
            store.delete([f"doc{number}.txt"])
            held.pop(f"doc{number}.txt#0", None)
        else:
            new = replace(make_unit(number, f"Title {step}", f"Text {step} of a film or river."))
            store.upsert([new])
            held[new.id] = new
        if step % 4 == 3:
            store.optimize()
        check()

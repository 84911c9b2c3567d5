"""What is kept between questions is bounded by bytes, whatever the texts are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

import pagerag.places
import pagerag.promotion.sentence_arrays
from pagerag._remember import Recent, Remembered, remember, size_of
from pagerag.text import codes, entities, gazetteer, keys, names, questions, terms


def caches() -> Iterator[tuple[str, Remembered]]:
    rooms = (
        codes,
        entities,
        gazetteer,
        keys,
        names,
        questions,
        terms,
        pagerag.places,
        pagerag.promotion.sentence_arrays,
    )
    for module in rooms:
        for name, value in vars(module).items():
            mapping = getattr(value, "__self__", None)
            if isinstance(mapping, Remembered) and mapping.make.__module__ == module.__name__:
                yield f"{module.__name__}.{name}", mapping


def test_all_caches_of_texts_together_are_bounded():
    found = dict(caches())
    assert len(found) >= 9
    assert sum(mapping.most_bytes for mapping in found.values()) <= 80 << 20


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (terms.terms, "Word{n}s " + "x" * 200_000),
        (entities.name_key, "Name {n} " + "Of Somebody " * 10_000),
        (keys.title_keys, "Title {n} " + "a b " * 20_000),
        (gazetteer.title_parts, "title {n} " + "c" * 100_000),
        (questions.read_question, "Who is {n}? " + "Word " * 4_000),
        (names.read_names, "N{n}" + "é" * 100_000),
        (pagerag.promotion.sentence_arrays.title_reading, "T{n} " + "y" * 1_000_000),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_long_texts_stay_within_the_bound(function, text):
    for n in range(60):
        function(text.replace("{n}", str(n)))
    for name, mapping in caches():
        assert size_of(dict(mapping)) <= mapping.most_bytes, name


def test_a_full_mapping_starts_again_and_stays_right():
    made = []

    @remember(20_000)
    def length(text: str) -> tuple[str, int]:
        made.append(text)
        return text, len(text)

    mapping = length.__self__
    for n in range(2_000):
        assert length(f"word {n}") == (f"word {n}", len(f"word {n}"))
        assert size_of(dict(mapping)) <= 20_000
    assert len(made) == 2_000
    assert length("word 1999")[1] == 9
    assert len(made) == 2_000


def test_threads_may_share_it():
    @remember(5_000)
    def square(number: int) -> int:
        return number * number

    wrong = []

    def work():
        wrong.extend(n for n in range(5_000) if square(n) != n * n)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_sizes_count_what_is_inside():
    import numpy as np

    text = "x" * 1000
    assert size_of(text) == sys.getsizeof(text)
    assert size_of((text, text)) > 2000
    assert size_of({text: [text]}) > 2000
    assert size_of(np.zeros(1000)) > 8000
    assert size_of(questions.read_question("Who wrote " + "Faust " * 100)) > 600


def test_recent_lets_go_of_what_was_used_longest_ago():
    recent = Recent[str, int](100)
    recent.put([("a", 1, 40), ("b", 2, 40)])
    assert recent.get(["a"]) == {"a": 1}  # used now: "b" is the oldest
    recent.put([("c", 3, 40)])
    assert recent.get("abc") == {"a": 1, "c": 3}
    assert recent.bytes == 80
    recent.put([("a", 4, 10)])
    assert (recent.get("a"), recent.bytes) == ({"a": 4}, 50)
    recent.put([("large", 5, 1_000)])
    assert (recent.get(["a", "c", "large"]), len(recent)) == ({"large": 5}, 1)

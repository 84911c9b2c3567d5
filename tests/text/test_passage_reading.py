from __future__ import annotations

from dataclasses import replace

import numpy as np

from pagerag.text.keys import key_number
from pagerag.text.passage_reading import PassageCache, PassageReading
from pagerag.units import Candidate

ZIMMER = Candidate("z", "Hans Zimmer was born in Frankfurt. He composed Interstellar in 2014.")


def test_a_passage_goes_by_its_title_or_else_by_the_name_it_opens_with() -> None:
    assert PassageReading.of(ZIMMER).keys == ("hans zimmer",)
    titled = PassageReading.of(replace(ZIMMER, title="Zimmer (composer)"))
    assert titled.keys == ("zimmer composer", "zimmer")
    assert titled.key_numbers == tuple(map(key_number, titled.keys))
    assert titled.title_terms == {"zimmer", "composer"}
    assert PassageReading.of(Candidate("i", "In 1957 he was born.")).keys == ()


def test_names_and_terms_are_read_once() -> None:
    reading = PassageReading.of(ZIMMER)
    for name in ("hans zimmer", "frankfurt", "interstellar"):
        assert key_number(name) in reading.reading.places
    assert reading.terms >= {"zimmer", "born", "composed"}
    assert "was" not in reading.terms
    # a name may run on over the end of a sentence, as the rankers were trained
    assert reading.entity_keys == ("hans zimmer", "frankfurt he", "interstellar")


def test_the_terms_of_a_long_passage_are_those_of_all_of_it() -> None:
    assert "interstellar" in PassageReading.of(Candidate("l", "word " * 500 + "Interstellar")).terms


def test_the_cache_keeps_readings_takes_vectors_along_and_stays_small() -> None:
    cache = PassageCache(most_bytes=3_000)
    first = cache.of(ZIMMER)
    assert cache.of(ZIMMER) is first
    vector = np.ones(2, dtype=np.float32)
    with_vector = cache.of(replace(ZIMMER, vector=vector))
    assert with_vector.unit.vector is vector
    assert with_vector.reading is first.reading
    assert cache.of(replace(ZIMMER, text="Other.")).keys != first.keys
    cache.of(replace(ZIMMER, text="Third."))
    assert cache.of(ZIMMER) is not first

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pagerag.models.packing import LIMIT, MARKER, Frame, TokenUnit, block_count, pack, windows

units = st.lists(
    st.builds(
        TokenUnit,
        st.sampled_from("abc"),
        st.integers(0, 9),
        st.lists(st.integers(2000, 9000), max_size=20),
        st.lists(st.integers(2000, 9000), max_size=400),
    ),
    max_size=30,
)
question = st.lists(st.integers(2000, 9000), max_size=80)


def test_units_of_a_document_stand_together_in_document_order() -> None:
    given_units = [
        TokenUnit("a", 2, [7001], [5002]),
        TokenUnit("b", 0, [7002], [5010]),
        TokenUnit("a", 1, [7001], [5001]),
    ]
    packed = pack([3000], given_units)
    assert packed.ids == [101, 3000, 102, 7001, MARKER, 5001, MARKER, 5002, 102, 7002, MARKER, 5010, 102]
    assert packed.units == [2, 0, 1]
    assert packed.types == [0] * 3 + [1] * 10


@given(question, units)
def test_windows_hold_every_unit_once_and_fit(asked: list[int], given_units: list[TokenUnit]) -> None:
    found = windows(asked, given_units)
    assert sorted(i for window in found for i in window) == list(range(len(given_units)))
    assert all(window and len(pack(asked, given_units, window).ids) <= LIMIT for window in found)


@given(question, units)
def test_places_point_at_the_units(asked: list[int], given_units: list[TokenUnit]) -> None:
    packed = pack(asked, given_units)
    for place, mark, (low, high), title in zip(
        packed.units, packed.markers, packed.spans, packed.titles, strict=True
    ):
        assert packed.ids[mark] == MARKER
        assert packed.ids[low:high] == list(given_units[place].text)
        assert title[1] <= mark


@given(question, units, st.integers(20, 300))
def test_blocks_are_equal_and_change_nothing_but_the_end(
    asked: list[int], given_units: list[TokenUnit], block: int
) -> None:
    whole, packed = pack(asked, given_units), pack(asked, given_units, block=block)
    length = len(packed.ids) - len(asked) - 2
    count = block_count(length, block)
    assert length % count == 0
    assert length // count <= block
    assert packed.ids[: len(whole.ids)] == whole.ids
    assert len(packed.ids) - len(whole.ids) < count
    assert set(packed.ids[len(whole.ids) :]) <= {102}
    assert (packed.markers, packed.spans, packed.units) == (whole.markers, whole.spans, whole.units)


@given(question, units, st.integers(20, 300))
def test_windows_with_blocks_fit(asked: list[int], given_units: list[TokenUnit], block: int) -> None:
    found = windows(asked, given_units, Frame(LIMIT, block))
    assert sorted(i for window in found for i in window) == list(range(len(given_units)))
    assert all(len(pack(asked, given_units, window, block=block).ids) <= LIMIT for window in found)

"""Restatements in train pools: not evidence, ranked high, decided by the row's id alone."""

from pagerag_lab.pools.restated import RESTATED, with_restatement


def row(number, question, unit="sentence", suffix=""):
    units = [
        {"id": f"u{n}", "title": "T", "text": f"Text {n}.", "source": "s", "position": n, "score": 9.0 - n}
        for n in range(6)
    ]
    return {
        "id": f"set:{number}{suffix}",
        "question": question,
        "unit": unit,
        "candidates": units,
        "gold": ["u1"],
    }


def restated(rows):
    return [
        found
        for found in map(with_restatement, rows)
        if found["candidates"][0:] and len(found["candidates"]) == 7
    ]


def test_claims_are_restated_more_often_than_questions():
    claims = restated(row(n, "the sun causes the tides to rise at noon") for n in range(400))
    questions = restated(row(n, "What causes the tides to rise?") for n in range(400))
    assert 100 < len(claims) < 180
    assert 10 < len(questions) < 60


def test_the_unit_repeats_the_claim_and_is_no_evidence():
    found = restated(row(n, "the sun causes the tides to rise at noon") for n in range(60))
    for each in found:
        unit = next(c for c in each["candidates"] if c["id"] == RESTATED)
        assert "the sun causes the" in unit["text"]
        assert each["gold"] == ["u1"]


def test_documents_and_strangers_are_left_alone_and_chance_is_the_ids():
    claim = "the sun causes the tides"
    assert not restated(row(n, claim, unit="document") for n in range(50))
    assert not restated(row(n, claim, suffix="~stranger") for n in range(50))
    assert with_restatement(row(3, claim)) == with_restatement(row(3, claim))

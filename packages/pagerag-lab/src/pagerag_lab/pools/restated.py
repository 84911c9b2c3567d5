"""Put a unit into a pool that only repeats the question or the claim: it says nothing that supports it.

Documents are full of such sentences (a quoted claim, a headline, a list of frequent questions), search ranks
them first, and no train file marks them as what they are: not evidence.
"""

from __future__ import annotations

import re
import zlib
from random import Random
from typing import Any

__all__ = ["RESTATED", "with_restatement"]

RESTATED = "restated"
"""The id of the unit that is put in."""
SHARE = {"claim": 0.35, "question": 0.08}
"""In how many pools of each form a restatement is put."""
_CLAIM = (
    '"{}," one of them said.',
    '"{}," reads the headline.',
    "Some people say that {}.",
    "A post that was shared thousands of times claims that {}.",
    "We looked into the claim that {}.",
    "Is it true that {}?",
    "The question here is whether {}.",
    'In a speech last week he repeated: "{}."',
    "According to a message that went round, {}.",
    'She wrote on her page, "{}."',
    "{}?",
    "Claim: {}.",
    "The statement to be checked is that {}.",
    '"{}." That is what the advertisement says.',
)
_QUESTION = (
    'Readers often ask: "{}?"',
    "FAQ: {}?",
    "{}?",
    'One of the questions was "{}?"',
    "This section answers the question: {}?",
    "See also: {}?",
    'Someone in the audience asked, "{}?"',
    "Can you guess the answer to this one: {}?",
    "Quiz, part 2: {}?",
)
_ASKING = re.compile(
    r"(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|has|have|had|can|could|in|of"
    r"|for|to)\b",
    re.IGNORECASE,
)


def with_restatement(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of sentences with a restatement among its candidates, by a chance that its id decides."""
    if row["unit"] != "sentence" or row["id"].endswith("~stranger"):
        return row
    rng = Random(zlib.crc32(f"restated:{row['id']}".encode()))
    said = row["question"].strip().rstrip(".?! ")
    asks = row["question"].rstrip().endswith("?") or _ASKING.match(said) is not None
    if not said or rng.random() >= SHARE["question" if asks else "claim"]:
        return row
    text = rng.choice(_QUESTION if asks else _CLAIM).format(said)
    candidates = row["candidates"]
    if rng.random() < 0.3:  # cut short, as headlines are
        words = text.split(" ")
        text = " ".join(words[: max(6, len(words) * 3 // 4)])
    beside = rng.choice(candidates)
    scores = [c["score"] for c in candidates if c["score"] is not None]
    found = {
        "id": RESTATED,
        "title": beside["title"],
        "text": text,
        "source": beside["source"],
        "position": beside["position"],
        "score": max(scores) * rng.uniform(0.9, 1.2) if scores else None,
    }
    place = 0 if rng.random() < 0.7 else rng.randrange(len(candidates))
    return row | {"candidates": [*candidates[:place], found, *candidates[place:]]}

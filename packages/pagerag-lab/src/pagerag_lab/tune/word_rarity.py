"""Make the list of common words: ``python -m pagerag_lab.tune.word_rarity --pools FOLDER --out FILE``.

Each text of the train pools counts once; a word's level is -ln of the share of texts that hold it, in half
steps. Words that fewer than ``LEAST`` texts hold are left out: they count as rare.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections import Counter
from pathlib import Path

from pagerag.text.tokens import tokenize
from pagerag_lab.product import write_atomic

LEAST = 6


def main() -> None:
    """Count and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    seen: set[int] = set()
    count: Counter[str] = Counter()
    by_set: Counter[str] = Counter()
    for path in sorted(args.pools.glob("*-train.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                for unit in row["candidates"]:
                    key = hash(unit["text"])
                    if key not in seen:
                        seen.add(key)
                        words = set(tokenize(unit["text"]))
                        count.update(words)
                        by_set[row["set"]] += 1
    total = len(seen)
    levels: dict[str, list[str]] = {}
    for word, times in sorted(count.items()):
        if times >= LEAST and not any(c.isdigit() for c in word) and len(word) < 30:
            level = round(-2 * math.log(times / total)) / 2
            levels.setdefault(f"{level:g}", []).append(word)
    body = {
        "_about": {"texts": total, "least": LEAST, "sources": dict(sorted(by_set.items()))},
        "words": {
            level: " ".join(words) for level, words in sorted(levels.items(), key=lambda x: float(x[0]))
        },
    }
    write_atomic(args.out, json.dumps(body, ensure_ascii=False, indent=0) + "\n")
    print(f"{total:,} texts, {sum(map(len, levels.values())):,} words")


if __name__ == "__main__":
    main()

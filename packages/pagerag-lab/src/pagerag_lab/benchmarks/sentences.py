"""How our sentence boundaries compare with the benchmarks' own.

    python -m pagerag_lab.benchmarks.sentences --data DIR

HotpotQA and 2Wiki give their paragraphs cut into sentences. The paragraphs are joined again and split by
``split_sentences``; a boundary counts as found when both cut at the same character.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pagerag.text import split_sentences

FILES = ("hotpotqa/train.json", "2wikimultihopqa/train.json")


def boundaries(path: Path) -> tuple[int, int, int, int]:
    """Return paragraphs, gold boundaries, ours, and those in common."""
    paragraphs = gold_total = own_total = common = 0
    for record in json.loads(path.read_text(encoding="utf-8")):
        for _, sentences in record["context"]:
            parts = [part.strip() for part in sentences if part.strip()]
            text = " ".join(parts)
            ends, at = set(), 0
            for part in parts:
                at += len(part)
                ends.add(at)
                at += 1
            own = {end for _, end in split_sentences(text)}
            paragraphs += 1
            gold_total += len(ends)
            own_total += len(own)
            common += len(ends & own)
    return paragraphs, gold_total, own_total, common


def main() -> None:
    """Print precision and recall of boundaries."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    print("file                        paragraphs  boundaries  precision  recall")
    for name in FILES:
        paragraphs, gold, own, common = boundaries(args.data / name)
        print(f"{name:27} {paragraphs:10,}  {gold:10,}  {common / own:9.3f}  {common / gold:6.3f}")


if __name__ == "__main__":
    main()

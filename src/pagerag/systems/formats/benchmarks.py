"""Benchmark files as pools: the contexts of HotpotQA and 2WikiMultiHopQA, the paragraphs of MuSiQue.

Answers and supporting facts stay in the record; no candidate carries them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pagerag.promotion.foreign import unique_ids
from pagerag.systems.formats._base import JsonFormat
from pagerag.systems.formats._records import Cursor, Record
from pagerag.systems.formats.passages import named
from pagerag.units import Candidate, Pool


class Hotpot(JsonFormat):
    """HotpotQA and 2Wiki: ``context`` is a list of [title, [sentence, ...]]."""

    name = "hotpotqa"
    needs: ClassVar = {"context": list}
    signs = ("question", "context")
    summary = "question + context [[title, [sentence]]]: HotpotQA, 2WikiMultiHopQA"
    units = ("document", "sentence")

    def _read(self, row: Cursor, record: Record) -> Pool:
        titles, paragraphs = [], []
        for pair in row.need("context").items():
            parts = pair.items()
            if len(parts) != 2:
                raise pair.error("[title, [sentence, ...]] is expected here")
            titles.append(parts[0].text())
            paragraphs.append([one.text() for one in parts[1].items()])
        names = unique_ids(titles)
        candidates = []
        for place, (name, title, sentences) in enumerate(zip(names, titles, paragraphs, strict=True)):
            if record.unit == "sentence":
                for position, sentence in enumerate(sentences):
                    if sentence.strip():
                        one = Candidate(f"{name}#{position}", sentence.strip(), title, name, position)
                        candidates.append(one)
                        record.places[one.id] = (place, position)
            else:
                candidates.append(Candidate(name, _joined(sentences), title, name))
                record.places[name] = (place, None)
        return Pool(row.need("question").text(), tuple(candidates), origin=self.name, metadata=_id(record))

    def rewrite(self, record: Record, ids: Sequence[str]) -> Any:
        """Return a copy of the record that holds only these units, in this order."""
        context = record.raw["context"]
        kept: dict[int, list[int | None]] = {}
        for name in ids:
            place, position = record.places[name]
            kept.setdefault(place, []).append(position)
        rows = [
            context[place]
            if positions == [None]
            else [
                context[place][0],
                [context[place][1][p] for p in sorted(p for p in positions if p is not None)],
            ]
            for place, positions in kept.items()
        ]
        return {**record.raw, "context": rows}


class Musique(JsonFormat):
    """MuSiQue: ``paragraphs`` is a list of {idx, title, paragraph_text}."""

    name = "musique"
    needs: ClassVar = {"paragraphs": list}
    units_at = ("paragraphs",)
    signs = ("question", "paragraphs")
    summary = "question + paragraphs [{idx, title, paragraph_text}]: MuSiQue"
    unit = "paragraph"
    units = ("paragraph", "document")

    def _read(self, row: Cursor, record: Record) -> Pool:
        units = row.need("paragraphs").items()
        candidates = tuple(
            Candidate(name, one.need("paragraph_text", "text").text(), title=one.maybe_text("title"))
            for one, name in zip(units, named(units, "idx"), strict=True)
        )
        question = row.need("question").text()
        return record.placed(Pool(question, candidates, origin=self.name, metadata=_id(record)))


def _joined(sentences: Sequence[str]) -> str:
    """Put a blank between sentences that have none: HotpotQA's carry one, 2Wiki's do not."""
    return "".join(
        s if i == 0 or s[:1].isspace() or sentences[i - 1][-1:].isspace() else f" {s}"
        for i, s in enumerate(sentences)
    )


def _id(record: Record) -> Mapping[str, Any]:
    name = record.raw.get("_id", record.raw.get("id"))
    return {} if name is None else {"id": str(name)}

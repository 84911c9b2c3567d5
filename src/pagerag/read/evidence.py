"""The reader that needs no model: it returns the sentences that support the answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pagerag.protocols import ContextPreference
from pagerag.read.base import AtOnceReader, bounded
from pagerag.text import Analyzer, read_question, tokenize
from pagerag.text.terms import encoded_text, terms, terms_of
from pagerag.text.tokens import fold
from pagerag.units import Answer, Candidate, Citation, State

__all__ = ["EvidenceReader", "condensed"]

_ANALYZER = Analyzer()
_LONGEST_UNIT, _LONGEST_CONTEXT = 60_000, 300_000  # characters; a passage has some 1,000
_AS_GOOD = 0.5  # the share of the best score at which a second sentence is quoted too
_FLAG_OF = {"date": 2, "number": 4}  # the bits of Analysis.flags: holds a year, holds a number


class EvidenceReader(AtOnceReader):
    """Quote the best sentences of each unit, with its number: one, or two where the second is as good.

    A unit of one sentence is quoted whole. From a longer unit come the sentences that share most with
    the question and with the other units, rare words counting more. It abstains, and cites the nearest
    sentences, with state ``insufficient`` and when no unit has a single word of the question ("?" has none).
    Deterministic; never calls a model. Of a unit its first 60,000 characters are read, of a context 300,000.
    """

    name = "evidence"
    prefers: ContextPreference = "core"

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the supporting sentences of ``context``."""
        citations = tuple(
            Citation(number, unit.id, start, end, unit.text[start:end])
            for number, (unit, spans) in enumerate(_best_sentences(question, context), 1)
            for start, end in spans
        )
        # A telling word of the question must stand in a title or a text, plurals aside.
        asked = set(terms_of(list(tokenize(question))))
        read = bounded(context, unit=_LONGEST_UNIT, total=_LONGEST_CONTEXT)
        touched = (not asked.isdisjoint(terms(encoded_text(unit.title, unit.text))) for unit in read)
        if state == "insufficient" or not citations or not any(touched):
            return Answer("", citations, abstained=True, reader=self.name)
        # One line each: where a line of the file ends tells nothing; the citations have the exact characters.
        text = " ".join(f"{' '.join((one.quote or '').split())} [{one.number}]" for one in citations)
        return Answer(text, citations, reader=self.name, quotes=True)


def condensed(question: str, context: Sequence[Candidate]) -> list[Candidate]:
    """Return the units with only their best sentences, for readers that lose themselves in more."""
    return [
        replace(unit, text=" ".join(unit.text[start:end] for start, end in spans)) if spans else unit
        for unit, spans in _best_sentences(question, context)
    ]


def _best_sentences(
    question: str, given: Sequence[Candidate]
) -> Iterator[tuple[Candidate, list[tuple[int, int]]]]:
    """Yield each unit with the spans of its best sentences, in reading order; headings are no sentences.

    Question words count by their rarity in the context, words shared with other units half as much; a
    sentence that speaks of what is asked (born, died, directed…), or that holds the year or number that is
    asked for, is worth two rare words more. A second sentence is quoted where it is half as good and does not
    merely resemble the first.
    """
    asked = read_question(question)
    context = bounded(given, unit=_LONGEST_UNIT, total=_LONGEST_CONTEXT)
    analyses = [_ANALYZER.analyze(unit.text) for unit in context]
    words = [[set(sentence) for sentence in analysis.tokens] for analysis in analyses]
    count = sum(map(len, words))
    seen_in = Counter(word for unit in words for sentence in unit for word in sentence)
    weight = {word: math.log((1 + count) / (1 + n)) + 1 for word, n in seen_in.items()}
    rare = math.log(1 + count) + 1
    for number, (unit, analysis) in enumerate(zip(context, analyses, strict=True)):
        others = set().union(*(s for i, other in enumerate(words) if i != number for s in other))
        own = set(tokenize(unit.title or ""))
        scores = []
        for tokens, cues, flags in zip(words[number], analysis.relations, analysis.flags, strict=True):
            # Words of a set come in another order in each process; fsum gives one result for all orders.
            score = math.fsum(weight[word] for word in tokens.intersection(asked.tokens))
            score += 0.5 * math.fsum(weight[word] for word in (tokens & others) - own - set(asked.tokens))
            score += 2 * rare * bool(cues & asked.relations)
            score += rare * bool(flags & _FLAG_OF.get(asked.answer, 0))
            scores.append(score)
        headings = {fold(name).strip(" .") for name in (unit.title or "", *unit.sections)}
        telling = [
            place
            for place, (start, end) in enumerate(analysis.spans)
            if fold(unit.text[start:end]).strip(" .") not in headings
        ] or list(range(len(scores)))
        order = sorted(telling, key=lambda place: (-scores[place], place))[:2]
        if len(order) == 2:
            first, second = (words[number][place].intersection(asked.tokens) for place in order)
            elsewhere = {
                name for i, other in enumerate(analyses) if i != number for s in other.entities for name in s
            }
            links = set(analysis.entities[order[1]]) - set(analysis.entities[order[0]])
            resembles = _resembles(second, first, weight) and links.isdisjoint(elsewhere)
            if resembles or scores[order[1]] < _AS_GOOD * scores[order[0]]:
                order.pop()
        yield given[number], [analysis.spans[place] for place in sorted(order)]


def _resembles(second: set[str], first: set[str], weight: Mapping[str, float]) -> bool:
    """Return whether a sentence has less of the question than the first, and lacks its rarest word.

    Both hold the question's words that their sentences have. In "Who wrote BBV?" the rarest is what is asked
    about: who wrote something else is no evidence beside it.
    """
    return second < first and max(first, key=lambda word: (weight[word], word)) not in second

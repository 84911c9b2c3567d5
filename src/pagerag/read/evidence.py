"""The reader that needs no model: it returns the sentences that support the answer."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pagerag.protocols import ContextPreference
from pagerag.read.base import AtOnceReader, bounded
from pagerag.text import Analyzer, read_question, tokenize
from pagerag.text.terms import encoded_text, terms, terms_of
from pagerag.text.tokens import fold
from pagerag.text.wording import bases
from pagerag.units import Answer, Candidate, Citation, State

__all__ = ["EvidenceReader", "condensed", "quotations", "quoting", "speaks_of"]

_ANALYZER = Analyzer()
_LONGEST_UNIT, _LONGEST_CONTEXT = 60_000, 300_000  # characters; a passage has some 1,000
_AS_GOOD = 0.25
"""The share of the best score at which a second sentence is quoted too."""
_AGAIN = 0.7
"""What a word of the question counts less in the second sentence where the first has it.

With both, one link a sentence, and what is introduced, of the 225 quotes that are the gold of train questions
over documents and stand in the first three units 178 are shown, not 161, in 596 characters a question, not
582 (one-off).
"""
_LONGEST_INTRODUCED = 400
_LONGEST_TOLD = 800
"""Characters of a unit that are quoted where it is to be told on: some six sentences."""
_FLAG_OF = {"date": 2, "number": 4}  # the bits of Analysis.flags: holds a year, holds a number
_MARKS = " \t#*_=.:"
_NUMBER = re.compile(r"^(?:\d{1,3}|[a-z](?=\.\d))(?:\.\d{1,3})*+(?:[.)]|(?=\s)|$)\s*")
"""Of a heading: 7.12., 3), A.1."""
_ASKS = re.compile(r"[?\uff1f][\"')*_]*$")
_BLANK_LINE = re.compile(r"\n[ \t\r]*+\n")
_PROMPT = re.compile(r"[$%] \S")


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
        citations = quotations(question, context)
        if state == "insufficient" or not citations or not speaks_of(question, context):
            return Answer("", citations, abstained=True, reader=self.name)
        return quoting(citations, self.name)


def speaks_of(question: str, context: Sequence[Candidate]) -> bool:
    """Tell whether a telling word of the question stands in a title or a text, plurals aside."""
    asked = set(terms_of(list(tokenize(question))))
    read = bounded(context, unit=_LONGEST_UNIT, total=_LONGEST_CONTEXT)
    return any(not asked.isdisjoint(terms(encoded_text(unit.title, unit.text))) for unit in read)


def quotations(
    question: str, units: Sequence[Candidate], numbers: Sequence[int] | None = None, *, whole: bool = False
) -> tuple[Citation, ...]:
    """Return the best sentences of each unit; ``numbers`` are those of the units, from 1 on unless told.

    ``whole`` adds what follows the first of them: steps and reasons do not repeat the question's words.
    """
    found = _best_sentences(question, units, whole=whole)
    numbered = zip(numbers or range(1, len(units) + 1), found, strict=True)
    return tuple(
        Citation(number, unit.id, start, end, unit.text[start:end])
        for number, (unit, spans) in numbered
        for start, end in spans
    )


def quoting(citations: tuple[Citation, ...], reader: str) -> Answer:
    """Return the answer that is nothing but these quotations, each with its number."""
    # One line each: where a line of the file ends tells nothing; the citations have the exact characters.
    text = " ".join(f"{' '.join((one.quote or '').split())} [{one.number}]" for one in citations)
    return Answer(text, citations, reader=reader, quotes=True)


def condensed(question: str, context: Sequence[Candidate]) -> list[Candidate]:
    """Return the units with only their best sentences, for readers that lose themselves in more."""
    return [
        replace(unit, text=" ".join(unit.text[start:end] for start, end in spans)) if spans else unit
        for unit, spans in _best_sentences(question, context)
    ]


def _best_sentences(
    question: str, given: Sequence[Candidate], *, whole: bool = False
) -> Iterator[tuple[Candidate, list[tuple[int, int]]]]:
    """Yield each unit with the spans of its best sentences, in reading order.

    Question words count by their rarity in the context, in any of their forms; of the words shared with other
    units the rarest counts half as much (a long sentence shares words with anything). A sentence that speaks
    of what is asked (born, died, directed…), or that holds the year or number that is asked for, is worth two
    rare words more. A second sentence is quoted for what the first has not said, where it does not merely
    resemble it. Headings and questions are no such sentences; what one introduces is quoted with it.
    ``whole`` quotes the text from the first of them on.
    """
    asked = read_question(question)
    context = bounded(given, unit=_LONGEST_UNIT, total=_LONGEST_CONTEXT)
    analyses = [_ANALYZER.analyze(unit.text) for unit in context]
    words = _in_the_words_of(asked.tokens, [analysis.tokens for analysis in analyses])
    count = sum(map(len, words))
    seen_in = Counter(word for unit in words for sentence in unit for word in sentence)
    weight = {word: math.log((1 + count) / (1 + n)) + 1 for word, n in seen_in.items()}
    rare = math.log(1 + count) + 1
    for number, (unit, analysis) in enumerate(zip(context, analyses, strict=True)):
        others = set().union(*(s for i, other in enumerate(words) if i != number for s in other))
        known = {*tokenize(unit.title or ""), *asked.tokens}
        held = [tokens.intersection(asked.tokens) for tokens in words[number]]
        scores = []
        for place, (cues, flags) in enumerate(zip(analysis.relations, analysis.flags, strict=True)):
            score = _sum(weight, held[place])
            shared = (words[number][place] & others) - known
            score += 0.5 * max((weight[word] for word in shared), default=0.0)
            score += 2 * rare * bool(cues & asked.relations)
            score += rare * bool(flags & _FLAG_OF.get(asked.answer, 0))
            scores.append(score)
        telling = _telling(unit, analysis.spans)
        first = min(telling, key=lambda place: (-scores[place], place))
        said = analysis.relations[first] & asked.relations
        more = [
            scores[place] - _AGAIN * _sum(weight, has & held[first]) - 2 * rare * bool(cues & said)
            for place, (has, cues) in enumerate(zip(held, analysis.relations, strict=True))
        ]
        chosen = [first]
        if rest := [place for place in telling if place != first]:
            second = min(rest, key=lambda place: (-more[place], place))
            elsewhere = {
                name for i, other in enumerate(analyses) if i != number for s in other.entities for name in s
            }
            links = set(analysis.entities[second]) - set(analysis.entities[first])
            resembles = _resembles(held[second], held[first], weight) and links.isdisjoint(elsewhere)
            if not resembles and more[second] >= _AS_GOOD * (scores[first] - 2 * rare * bool(said)):
                chosen.append(second)
        spans = _introduced(unit.text, analysis.spans, sorted(chosen))
        yield given[number], _told_on(analysis.spans, spans, telling) if whole else spans


def _sum(weight: Mapping[str, float], words: Iterable[str]) -> float:
    """Return the weight of words; those of a set come in another order in each process, the sum does not."""
    return math.fsum(weight[word] for word in words)


def _in_the_words_of(asked: Sequence[str], texts: Sequence[Sequence[Sequence[str]]]) -> list[list[set[str]]]:
    """Return the words of each sentence; a form of one that is asked for ("sizes") as that one."""
    forms = {form: word for word in asked for form in bases(word)}
    begun = {word[:3] for word in asked}
    same: dict[str, str] = {}
    for word in {word for text in texts for sentence in text for word in sentence}:
        if word[:3] in begun:
            same[word] = next((forms[form] for form in sorted(bases(word)) if form in forms), word)
    same |= {word: word for word in asked}
    return [[{same.get(word, word) for word in sentence} for sentence in text] for text in texts]


def _telling(unit: Candidate, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the places of the sentences that are no headings, nor their numbers, nor questions; else all."""
    headings = {_heading(name) for name in (unit.title or "", *unit.sections)} | {""}
    telling = []
    for place, (start, end) in enumerate(spans):
        said = unit.text[start:end]
        if _heading(said) not in headings and not _ASKS.search(said[-10:]):
            telling.append(place)
    return telling or list(range(len(spans)))


def _introduced(text: str, spans: Sequence[tuple[int, int]], places: Sequence[int]) -> list[tuple[int, int]]:
    """Return the spans at these places, each with the block that it introduces where that is short.

    That is what stands behind a colon or behind words without a stop, and commands behind any sentence:
    "Install it." says less than the command below it. A span that lies in such a block is not told again.
    """
    found: list[tuple[int, int]] = []
    for place in places:
        start, end = spans[place]
        if found and start < found[-1][1]:
            continue
        if place + 1 < len(spans):
            low = spans[place + 1][0]
            blank = _BLANK_LINE.search(text, low, low + _LONGEST_INTRODUCED)
            high = low + len(text[low : blank.start()].rstrip()) if blank else spans[-1][1]
            leads = text[end - 1] in ":\uff1a" or text[end - 1].islower() or _PROMPT.match(text, low)
            end = high if leads and high - low <= _LONGEST_INTRODUCED else end
        found.append((start, end))
    return found


def _told_on(
    sentences: Sequence[tuple[int, int]], chosen: Sequence[tuple[int, int]], telling: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the first chosen span with the sentences that follow it up to a heading, then the others."""
    start, end = chosen[0]
    for place, (low, high) in enumerate(sentences):
        if low < end:
            continue
        if place not in telling or high - start > _LONGEST_TOLD:
            break
        end = high
    return [(start, end), *(span for span in chosen[1:] if span[0] >= end)]


def _heading(name: str) -> str:
    """Return a heading as it is compared: without case, marks and its number."""
    return _NUMBER.sub("", fold(name).strip(_MARKS)).strip(_MARKS)


def _resembles(second: set[str], first: set[str], weight: Mapping[str, float]) -> bool:
    """Return whether a sentence has less of the question than the first, and lacks its rarest word.

    Both hold the question's words that their sentences have. In "Who wrote BBV?" the rarest is what is asked
    about: who wrote something else is no evidence beside it.
    """
    return second < first and max(first, key=lambda word: (weight[word], word)) not in second

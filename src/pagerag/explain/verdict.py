"""What of a question the evidence speaks of, what it does not, and the verdict on it in plain words."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from pagerag.promotion import Promotion
from pagerag.text import read_question, split_sentences
from pagerag.text.lexicon import ANSWER_WORDS, STOP_WORDS
from pagerag.text.sub_questions import things_asked
from pagerag.text.tokens import all_words, fold
from pagerag.text.wording import PlainText, is_identifier
from pagerag.units import Answer, Candidate

_WH = frozenset("who whom whose what which when where why how".split())
_ALONE = frozenset("who whom when where why".split())  # ask for something without a noun
_BEFORE_WH = frozenset("since until till by from for with to at in on under".split())
_MEASURES = frozenset("many much long old far large big often tall high deep hot heavy wide soon".split())
_LIGHT = STOP_WORDS | frozenset(
    "may might must shall need needs want get gets got take takes took come comes came go goes went make "
    "makes made use uses used give gives gave tell say says said put let know find one ones vs please "
    "exactly usually actually total recommend recommended suggest suggests kind sort type name called "
    "happen happens happened".split()
)
"""Words that hold a question together: evidence need not repeat them, and none of them is reported."""
_JOINING = frozenset("of the a an s in on at for with to by from".split())
_GAP = 2  # joining words in a row inside a phrase: "serving of the lasagna"
_MOST_WORDS = 7
_LONGEST = 60_000  # characters of a unit that are looked at, as readers do
_MOST_SENTENCES = 500  # of all units, in which a phrase is looked for
_LONGEST_QUESTION = 4_000  # as promotion does
# A version, a number or a name with signs inside is one word: 9.9.9, 1,000, man-db, foo_bar, 10.16+, C++.
_WORD = re.compile(r"[^\W_]+(?:(?:[._-]|(?<=\d),(?=\d))[^\W_]+)*(?:[+#]+(?!\w))?")
_FEW = frozenset(["first", "second"])
_ORDINALS = frozenset("third fourth fifth sixth seventh eighth ninth tenth".split())
_BEFORE_ORDINAL = frozenset("the this that its his her their our my your s".split())
# Other languages write every noun, or none, with a capital: there capitals do not tell names.
_ENGLISH = _WH | frozenset("the of is are were did does do has have".split())
_KIND = {word: kind for kind, words in ANSWER_WORDS.items() for word in words.split()}
_FLAG = {"date": 2, "number": 4}  # bits of an analysis: holds a year, holds a number
_IS = frozenset("is are was were".split())
_NOUN_ENDINGS = ("ss", "us", "is", "ities", "ions", "ments", "ers", "ors", "ings")
_LIKELY = 0.5
"""Confidence below which an answer is more likely wrong than right."""
_ITEMS = re.compile(r"[;,\n]\s*(?:(?:and|or) )?|\s(?:and|or|&)\s")
_Run = tuple[int, int]  # the first and the last word of a phrase


@dataclass(frozen=True, slots=True)
class Coverage:
    """Phrases of the question, in its order: those the evidence speaks of, and those it does not.

    ``unsaid`` are the numbers, versions, ordinals and names among its words that the evidence has in no form:
    they can hardly be paraphrased, so that an answer without them may answer another question.
    """

    covered: tuple[str, ...]
    missing: tuple[str, ...]
    unsaid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person should take from a result.

    ``tone`` is good, unsure or bad and never contradicts ``label``. ``words`` is one line; ``covered`` and
    ``missing`` are the phrases of the question that the evidence speaks of and those it does not. Where the
    evidence is enough, words may be paraphrased: missing are only numbers, versions, ordinals and names.
    """

    tone: str
    label: str
    words: str
    covered: tuple[str, ...]
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        return {**asdict(self), "covered": list(self.covered), "missing": list(self.missing)}


def verdict(promotion: Promotion, answer: Answer | None = None) -> Verdict:
    """Return the verdict on the evidence, together with what the reader made of it."""
    found = coverage(promotion, answer)
    state, count = promotion.state, len(evidence_places(promotion, answer))
    silent = answer is not None and not answer.text
    if state == "enough" and not silent:
        what = "an answer" if answer is None else "the answer"
        if found.unsaid:
            these = "1 passage speaks" if count == 1 else f"{count} passages speak"
            words = (
                f"{these} for {what}, but nothing there says {_listed(found.unsaid, 'or')}{_sure(answer)}."
            )
            return Verdict("unsure", "not every detail found", words, found.covered, found.unsaid)
        these, s = ("1 passage", "s") if count == 1 else (f"{count} passages together", "")
        if (limit := _limit(promotion.question, answer)) is not None:
            label, why = limit
            words = f"{these} speak{s} for {what}, but {why}{_sure(answer)}."
            return Verdict("unsure", label, words, found.covered, ())
        words = f"{these} support{s} {what}{_sure(answer)}."
        return Verdict("good", "enough evidence", words, found.covered, ())
    told = _told(found, answered=answer is not None and not silent)
    if state == "enough":
        tone, label = "unsure", "no answer found"
        words = f"No short answer was read from the evidence: {told}."
    else:
        tone, label = ("unsure", "may be enough") if state == "ambiguous" else ("bad", "not enough evidence")
        if answer is None or silent:
            words = f"{told[:1].upper()}{told[1:]}."
        else:
            limit = _limit(promotion.question, answer)
            told = f"{told}; {limit[1]}" if limit else told
            uncertain = f"Not certain{_sure(answer, ' (', ')')}"
            words = f"{uncertain if state == 'ambiguous' else 'A guess from the nearest passages'}: {told}."
    return Verdict(tone, label, words, found.covered, found.missing)


def _limit(question: str, answer: Answer | None) -> tuple[str, str] | None:
    """Return in a label and in words how far an answer goes, where it may go less far than it looks."""
    if answer is None:
        return None
    if answer.unfound:
        return "not every part found", f"nothing was found for {_listed(answer.unfound, 'or')}"
    if answer.confidence is not None and answer.confidence < _LIKELY:
        return "hardly sure", "it is more likely wrong than right"
    lists = read_question(question).asks in {"which", "what", "list"}  # not "how do I see which files ...?"
    if lists and not answer.quotes and 0 < len(_ITEMS.split(answer.text.strip())) < things_asked(question):
        return "maybe not all", "several are asked for, and there may be more"
    return None


def _told(found: Coverage, *, answered: bool) -> str:
    """Return in words what is there and what is not; above an answer, nothing is said against it."""
    if found.covered and found.missing:
        return f"found {_listed(found.covered)}, not {_listed(found.missing, 'or')}"
    if found.missing:
        return f"found nothing about {_listed(found.missing, 'or')}"
    if found.covered:
        spoken = _listed(found.covered)
        return f"found {spoken}" if answered else f"the nearest passages speak of {spoken}"
    return "the question names nothing to look for"


def _listed(phrases: Sequence[str], joiner: str = "and", most: int = 3) -> str:
    """Return phrases in quotation marks as a person lists them."""
    shown = [f"“{phrase}”" for phrase in phrases[:most]]
    if len(phrases) > most:
        return f"{', '.join(shown)} {joiner} {len(phrases) - most} more"
    return f"{', '.join(shown[:-1])} {joiner} {shown[-1]}" if len(shown) > 1 else "".join(shown)


def _sure(answer: Answer | None, opens: str = "; ", closes: str = "") -> str:
    """Return the reader's confidence in words, where it has one."""
    if answer is None or answer.confidence is None:
        return ""
    return f"{opens}confidence {answer.confidence:.2f}{closes}"


def evidence_places(promotion: Promotion, answer: Answer | None) -> list[int]:
    """Return the places in the pool of the core and of what the answer cites."""
    cited = {citation.candidate_id for citation in answer.citations} if answer and answer.text else set()
    found = (place for place in promotion.context_places if promotion.candidates[place].id in cited)
    return sorted({*promotion.core_places, *found})


def nodes_of(promotion: Promotion, places: Collection[int]) -> list[int]:
    """Return the sentences of the graph that stand in the units at these places of the pool."""
    inner = {place: i for i, place in enumerate(promotion.order)}
    return promotion.evidence.nodes_of({inner[place] for place in places})


@dataclass(slots=True)
class _Word:
    """A word of the question: where it stands, whether it names something, whether evidence has it."""

    start: int
    end: int
    folded: str
    telling: bool
    there: bool


def coverage(promotion: Promotion, answer: Answer | None = None) -> Coverage:
    """Return which phrases of the question the core has, with the units that ``answer`` cites.

    What is asked ("who", "how many calories") counts as missing when the reader was silent, and in a question
    that asks several things when the evidence holds nothing of its kind.
    """
    units = evidence_places(promotion, answer)
    question = promotion.question[:_LONGEST_QUESTION]
    text = PlainText(" ".join(_all_text(promotion.candidates[place]) for place in units))
    words = _words(question, text)
    asked = _asked(words)
    silent = answer is not None and not answer.text
    lacking: list[_Run] = []
    for first, last in asked:
        held = _holds_kind(promotion, units, words[first : last + 1])
        if silent if len(asked) == 1 else not held:
            lacking.append((first, last))
        elif held and words[last].folded in _KIND:  # any place answers "which city", whatever it is called
            words[last].there = True
    wanted = _wanted(words) if silent and not asked else None
    if wanted:
        lacking.append(wanted)
    heads = {last if last > first else last + 1: first for first, last in asked}
    taken = _inside(lacking)
    runs = _runs(words, question, False, taken, heads)
    begun = {first for first, _ in runs}
    # "who" alone tells less than what else is missing, and nothing beside "who invented".
    lacking = [
        (first, last)
        for first, last in lacking
        if last > first or not runs or (len(asked) > 1 and first not in begun)
    ]
    missing = sorted([*lacking, *runs])
    covered = _runs(words, question, True, taken | _inside(missing), {})
    covered = _said_together(covered, words, [promotion.candidates[place] for place in units])
    sources = PlainText(" ".join(promotion.candidates[place].source or "" for place in units))
    unsaid = _unsaid(question, words, _inside(asked), text, sources)
    return Coverage(*(_texts(words, question, part) for part in (covered, missing, unsaid)))


def _said_together(runs: Sequence[_Run], words: Sequence[_Word], units: Sequence[Candidate]) -> list[_Run]:
    """Return phrases cut where no sentence, with its title, has all their words.

    Evidence that has "gzip" here and "zstd" there does not speak of "gzip support zstd".
    """
    if all(first == last for first, last in runs):
        return list(runs)
    sentences: list[PlainText] = []
    for unit in units:
        text, about = unit.text[:_LONGEST], _all_text(replace(unit, text=""))
        spans = split_sentences(text)[: _MOST_SENTENCES - len(sentences)]
        sentences += [PlainText(f"{about}{text[start:end]}") for start, end in spans]
    found: list[_Run] = []
    for first, last in runs:
        holding = sentences
        for place in range(first, last + 1):
            if not words[place].telling:
                continue
            still = [text for text in holding if _has(text, words[place])]
            if not still and place > first:
                before = next(n for n in range(place - 1, first - 1, -1) if words[n].telling)
                found.append((first, before))
                first, still = place, [text for text in sentences if _has(text, words[place])]
            holding = still
        found.append((first, last))
    return found


def _inside(runs: Sequence[_Run]) -> set[int]:
    return {place for first, last in runs for place in range(first, last + 1)}


def _texts(words: Sequence[_Word], question: str, runs: Sequence[_Run]) -> tuple[str, ...]:
    """Return phrases as the question has them; what it has twice is told once."""
    found: dict[str, None] = {}
    for first, last in runs:
        text = " ".join(question[words[first].start : words[last].end].split())
        lower = words[first].folded in _WH | _BEFORE_WH
        found[text[:1].lower() + text[1:] if lower else text] = None
    return tuple(found)


def _unsaid(
    question: str, words: Sequence[_Word], asked: set[int], text: PlainText, sources: PlainText
) -> list[_Run]:
    """Return the numbers, versions, ordinals and names of the question that the evidence has in no form.

    A name of several words is there with its last one ("Obama") or most of them; what is asked for ("which
    French city") need not be said.
    """
    # Capitals tell names in English, where not every word has one.
    capitals = any(question[word.start].islower() for word in words[1:]) and any(
        word.folded in _ENGLISH for word in words
    )
    names = [span for name in read_question(question).surfaces if (span := _places(question, words, name))]
    found: dict[_Run, None] = {}
    for place, word in enumerate(words):
        if not word.telling and word.folded not in _FEW:
            continue
        if _has_digit(word.folded) or _is_ordinal(question, words, place):
            if not (text.may_have(word.folded) or sources.may_have(word.folded)):
                found[place, place] = None
        elif capitals and place and place not in asked and question[word.start].isupper():
            span = next((span for span in names if span[0] <= place <= span[-1]), [place])
            first, last = max(span[0], 1), span[-1]
            parts = [one.folded for one in words[first : last + 1] if one.telling]
            said = [text.may_have(part) or sources.may_have(part) for part in parts]
            if not said[-1] and 2 * sum(said) <= len(said) and len("".join(parts)) > 1:  # "starts with J"
                found[first, last] = None
    return list(found)


def _has_digit(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


def _places(question: str, words: Sequence[_Word], name: str) -> list[int]:
    """Return the places of a name's words in the question."""
    start = question.find(name)
    end = start + len(name) if start >= 0 else -1
    return [place for place, word in enumerate(words) if start <= word.start < end]


def _is_ordinal(question: str, words: Sequence[_Word], place: int) -> bool:
    """Return whether a word counts things ("the second phase"), and not time or precedence."""
    word = words[place].folded
    if word in _ORDINALS:
        return True
    if word not in _FEW or read_question(question).form == "comparison":
        return False
    return place > 0 and words[place - 1].folded in _BEFORE_ORDINAL  # not "per second", "born first"


def _words(question: str, text: PlainText) -> list[_Word]:
    """Return the question's words; those of a name are there when all of them are: half a name is none."""
    words = []
    for found in _WORD.finditer(question):
        pieces = all_words(found[0])  # several in scripts that write no spaces
        folded = fold(found[0]) if is_identifier(found[0]) else " ".join(pieces)
        if pieces:
            word = _Word(found.start(), found.end(), folded, folded not in _LIGHT, False)
            word.there = _has(text, word)
            words.append(word)
    for name in read_question(question).surfaces:
        # A number beside a name is told on its own: “Helgrind” is there where “Helgrind 4.0” is not.
        inside = [words[n] for n in _places(question, words, name) if not _has_digit(words[n].folded)]
        if any(word.telling and not word.there for word in inside):
            for word in inside:
                word.there = False
    return words


def _has(text: PlainText, word: _Word) -> bool:
    if is_identifier(word.folded):
        return text.has_literally(word.folded)
    pieces = word.folded.split()
    return 2 * sum(map(text.has, pieces)) > len(pieces)


def _all_text(unit: Candidate) -> str:
    return f"{unit.title or ''} {' '.join(unit.sections)} {unit.text[:_LONGEST]}"


def _asked(words: Sequence[_Word]) -> list[_Run]:
    """Return the first and the last word of each phrase that asks: "who", "how many calories", "which city".

    A wh-word in the middle of a clause ("the dish which …") asks nothing: it must open the question, stand
    after a preposition, "and" or a comma, or be the question's only one.
    """
    found = []
    places = [place for place, word in enumerate(words) if word.folded in _WH]
    for place in places:
        before = words[place - 1].folded if place else ""
        if place and len(places) > 1 and before not in {"and", "or", "in", "at", "on", "for", "from", "of"}:
            continue
        last = place
        follows = [word.folded for word in words[place + 1 : place + 4]]
        if words[place].folded == "how" and follows and follows[0] in _MEASURES:
            last = place + 1
            if follows[0] in {"many", "much"} and len(follows) > 1 and follows[1] not in _LIGHT:
                last = place + 2
        elif words[place].folded in {"what", "which", "whose"}:
            # up to three words before a light one or a verb belong to "which", of more only the first
            nouns = _until_verb(list(takewhile(lambda word: word.telling, words[place + 1 : place + 5])))
            last = place + (nouns if nouns <= 3 else 1)
        if last > place or words[place].folded in _ALONE:
            found.append((place - (before in _BEFORE_WH), last))  # "since when"
    return found


def _until_verb(words: Sequence[_Word]) -> int:
    """Return how many words stand before the verb, as endings tell: "command | installs", "files | count"."""
    for place, word in enumerate(words[1:], 1):
        before = words[place - 1].folded
        ends = word.folded.endswith(("s", "ed")) and not word.folded.endswith(_NOUN_ENDINGS)
        if ends or (before.endswith("s") and not before.endswith(("ss", "us", "is"))):
            return place
    return len(words)


def _wanted(words: Sequence[_Word]) -> _Run | None:
    """Return the phrase of "what is the phone number of ...?" that names what is asked for."""
    start = [word.folded for word in words[:3]]
    if len(start) < 3 or start[0] not in {"what", "which"} or start[1] not in _IS or start[2] != "the":
        return None
    last = 2 + sum(1 for _ in takewhile(lambda word: word.telling, words[3:7]))
    behind = words[last + 1].folded if last + 1 < len(words) else ""
    return (3, last) if 3 <= last <= 5 and behind in _JOINING else None


def _holds_kind(promotion: Promotion, places: Sequence[int], part: Sequence[_Word]) -> bool:
    """Return whether the units hold something of the kind that a phrase asks for; unknown kinds are held."""
    kind = next((_KIND[word.folded] for word in part if word.folded in _KIND), None)
    nodes = nodes_of(promotion, places)
    reading = promotion.evidence.reading
    if kind in _FLAG:
        return bool((np.asarray(reading.flags)[nodes] & _FLAG[kind]).any())
    if kind in {"person", "place"}:
        return bool((np.asarray(reading.named)[nodes] > 0).any())
    return True


def _runs(
    words: Sequence[_Word], question: str, there: bool, taken: set[int], heads: dict[int, int]
) -> list[_Run]:
    """Return runs of telling words that are there, or not, with few light words and no sign between them."""
    found: list[_Run] = []
    for place, word in enumerate(words):
        if not word.telling or word.folded in _MEASURES or word.there != there or place in taken:
            continue
        if found:
            first, last = found[-1]
            between = words[last + 1 : place]
            plain = not re.search(r"[^\w\s'’-]", question[words[last].end : word.start])
            joined = len(between) <= _GAP and all(one.folded in _JOINING for one in between)
            if plain and joined and place - first < _MOST_WORDS:
                found[-1] = (first, place)
                continue
        found.append((heads.get(place, place), place))
    return found

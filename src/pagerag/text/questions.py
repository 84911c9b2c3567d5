"""What the question itself tells: its tokens and entities, its form, and the kind of answer it wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pagerag._remember import remember
from pagerag.text.entities import extract_entities, name_key
from pagerag.text.lexicon import (
    ANSWER_WORDS,
    BY_DATE,
    COMPARATIVES,
    LISTING_WORDS,
    QUESTION_WORDS,
    RELATION_OF,
    STOP_WORDS,
)
from pagerag.text.tokens import all_words

Form = Literal["bridge", "comparison", "yes-no"]

_YES_NO = frozenset("is are was were do does did has have had can could will would should".split())
_ANSWER_TYPE = {word: kind for kind, words in ANSWER_WORDS.items() for word in words.split()}
_CUES = frozenset(RELATION_OF)
_DATES_DECIDE = BY_DATE | {"lived"}  # who is older, which came out first, who lived longer
_LONGEST_RUN = 8  # words of a name
_COUNTED = frozenset(["many", "much", "long", "old", "far", "large", "big", "often", "tall", "high", "deep"])
_WH_WITHIN = 4  # words: "in which year", "on what date" open with a preposition
_SHORT = 12  # words; a longer text with a wh-word inside and no question mark is a claim
_NESTED = re.compile(
    r"\bof (?:the|a|an|this|that|its|his|her|their)\b|['’]s\b|\b(?:whose|that|which|who|where|when)\b"
)
_AT_LENGTH = re.compile(
    r"(?:(?:please|can you|could you) )?"
    r"(?:explain|describe|outline|summari[sz]e|show me how|tell me (?:how|why|about)|what happens|"
    r"what(?:'s| is| are| was| were) the (?:main |exact |real )?"
    r"(?:difference|purpose|meaning|reason|role|function|process|procedure|step)s?\b|"
    r"what (?:does|do|did) [^?]{1,200}? (?:do|mean|stand for)\b)"
)
"""How a question opens that is answered by telling, besides "how" and "why"."""
_HOW = re.compile(
    r"\bhow (?:do|does|did|can|could|should|would|will|must|may|might|is|are|was|were|has|have|had|to|come)\b"
)
"""How something is done or comes about; "how heavy" and "how soon" ask for a measure."""
_WORD = re.compile(r"\w+")
_OR = re.compile(r"\bor\b")
# "Both" compares when it stands before names, or after the verb: not in "plays both guard positions".
_BOTH = re.compile(r"\b[Bb]oth (?:the )?[^\W\d_a-z]|\b(?:are|were|is|was|have|had|do|did|has|been) both\b")


@dataclass(frozen=True, slots=True)
class Question:
    """A question as promotion reads it.

    ``form`` follows the paper's split: comparison and yes-no questions weigh two things against each
    other, every other question is a bridge question. ``answer`` is the kind of answer that is asked for:
    person, date, place, number, yes-no, or entity when the words do not tell.
    """

    text: str
    tokens: tuple[str, ...]
    entities: tuple[str, ...]
    surfaces: tuple[str, ...]
    relations: int
    form: Form
    answer: str
    near: int
    """The relation said of the question's names, as one bit: the director, in "the birthplace of the
    director of X"."""
    target: int
    """The relation that is asked for in the end, as one bit: the birthplace."""
    weighed: str = ""
    """The kind of thing that a comparison weighs, where its words tell: date, in "which came out first"."""
    asks: str = "claim"
    """The word that asks: who, what, which, when, where, why, how, how-many, yes-no, list; else claim."""
    nested: int = 0
    """How often one thing is told by another: "of the", possessives, relative clauses."""
    runs: tuple[str, ...] = ()
    """Its words in a row, two or more of them (one, in a question without capitals): any may be the name of
    something in the pool."""


@remember(4 << 20)
def read_question(text: str) -> Question:
    """Read a question; the last ones are kept, because one question is often put to several pools."""
    words = all_words(text)
    tokens = tuple(word for word in words if word not in STOP_WORDS) or tuple(words)
    keys: dict[str, str] = {}
    for surface in extract_entities(text):
        head, _, rest = surface.partition(" ")
        if head.lower() in STOP_WORDS and rest and head != "The":
            surface = rest  # a capital by its place alone: "Which", "What", "Were" at the head
        if key := name_key(surface):
            keys.setdefault(key, surface)
    form = _form(words, text, len(keys))
    near, target = _order(text, tuple(keys.values()))
    return Question(
        text=text,
        tokens=tokens,
        entities=tuple(keys),
        surfaces=tuple(keys.values()),
        relations=relation_mask(tokens),
        form=form,
        answer="yes-no" if form == "yes-no" else _answer_type(words),
        near=near,
        target=target,
        weighed="date" if form == "comparison" and not _DATES_DECIDE.isdisjoint(words) else "",
        asks=_asks(words, text),
        nested=len(_NESTED.findall(text.lower())),
        runs=_runs(tokens, 1 if text == text.lower() else 2),
    )


def _asks(words: list[str], text: str) -> str:
    """Return the word that asks; a sentence that opens otherwise and has no question mark states a claim."""
    first = words[0] if words else ""
    if first in _YES_NO:
        return "yes-no"
    if first in LISTING_WORDS:
        return "list"
    for place, word in enumerate(words[:_WH_WITHIN] if "?" not in text else words):
        if word == "how" and place + 1 < len(words) and words[place + 1] in _COUNTED:
            return "how-many"
        if word in QUESTION_WORDS and (place == 0 or "?" in text or len(words) < _SHORT):
            return "who" if word in {"whom", "whose"} else word
    return "what" if "?" in text else "claim"


def told_at_length(question: Question) -> bool:
    """Tell whether a question asks how, why or what something means: no short answer tells it.

    "How many" and its like ask for a number; so do "how long" and "how soon".
    """
    text = question.text.strip().lower()
    how = question.asks == "how" and _HOW.search(text) is not None
    return how or question.asks == "why" or _AT_LENGTH.match(text) is not None


def _runs(tokens: tuple[str, ...], least: int) -> tuple[str, ...]:
    size = len(tokens)
    ends = [range(start + least, min(start + _LONGEST_RUN, size) + 1) for start in range(size)]
    return tuple([" ".join(tokens[start:end]) for start in range(size) for end in ends[start]])


def relation_mask(tokens: tuple[str, ...] | list[str]) -> int:
    """Return the relations that ``tokens`` signal, one bit each (the order of ``lexicon.RELATIONS``)."""
    mask = 0
    for token in _CUES.intersection(tokens):
        mask |= 1 << RELATION_OF[token]
    return mask


def _order(text: str, names: tuple[str, ...]) -> tuple[int, int]:
    """Return the relation nearest to a name, and the farthest.

    A chain of relations is said from the name outwards: the nearest is the first hop, the farthest the last.
    """
    places = [(start, start + len(name)) for name in names if (start := text.find(name)) >= 0]
    found: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        relation = RELATION_OF.get(match[0].lower())
        start, end = match.span()
        if relation is None or any(a <= start < b for a, b in places):
            continue  # no relation, or part of a name
        found.append((min((max(a - end, start - b) for a, b in places), default=-start), 1 << relation))
    return (min(found)[1], max(found)[1]) if found else (0, 0)


def _form(words: list[str], text: str, entities: int) -> Form:
    """Tell the form of a question from its words alone.

    Comparison needs two things to compare and a form that compares; a yes-no question opens with its verb.
    """
    opens_with_verb = bool(words) and words[0] in _YES_NO
    if opens_with_verb and not _OR.search(text):
        return "yes-no"
    offers = opens_with_verb or _OR.search(text.lower()) is not None
    compares = not COMPARATIVES.isdisjoint(words) and (
        "common" in words or "same" in words or _BOTH.search(text) is not None
    )
    return "comparison" if entities >= 2 and (offers or compares) else "bridge"


def _answer_type(words: list[str]) -> str:
    """Return the type of the first telling word: the question word, or the noun after "what" or "which"."""
    for index, word in enumerate(words):
        if word in {"who", "whom", "whose"}:
            return "person"
        if word == "when":
            return "date"
        if word == "where":
            return "place"
        if word == "how" and index + 1 < len(words):
            return _ANSWER_TYPE.get(words[index + 1], "entity")
        if word in {"what", "which"}:
            nouns = (noun for noun in words[index + 1 : index + 4] if noun in _ANSWER_TYPE)
            return _ANSWER_TYPE.get(next(nouns, ""), "entity")
    return "entity"

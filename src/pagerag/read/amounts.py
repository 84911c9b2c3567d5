"""Which of several has more: a question that compares amounts is answered by reading each amount.

A span model points at words; it cannot tell 90 minutes from two hours. "What cooks longer, A or B?" is taken
apart into "cooks how long: A?" and "cooks how long: B?"; the reader finds an amount for each among the units
that are about it, and the amounts decide, by rules made for English. Where an amount is missing, both are the
same or their units do not compare, nothing is decided and the model's own answer stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pagerag.read.dates import dates
from pagerag.text.sub_questions import named_things, offers_choice, opens_list, without_asides
from pagerag.text.terms import terms
from pagerag.units import Candidate

__all__ = ["Amount", "Contest", "amounts", "contest", "decide", "told_amount", "units_about"]

_LONGEST_QUESTION = 400
_MOST_OPTIONS = 4
_UP, _DOWN = (
    {word: asked for asked, words in table.items() for word in words.split()}
    for table in (
        {
            "how much": "more most", "how long": "longer longest", "how big": "bigger biggest",
            "how large": "larger largest", "how high": "higher highest", "how great": "greater greatest",
            "how deep": "deeper deepest", "how tall": "taller tallest", "how wide": "wider widest",
            "how heavy": "heavier heaviest", "how hot": "hotter hottest", "how far": "farther farthest",
            "how much cost": "costlier dearer", "when": "later latest",
            "since when": "newer newest younger youngest",
        },
        {
            "how much": "less least", "how many": "fewer fewest", "how long": "shorter shortest",
            "how big": "smaller smallest", "how high": "lower lowest", "how much cost": "cheaper cheapest",
            "how heavy": "lighter lightest", "how hot": "cooler", "how much time": "quicker quickest",
            "when": "sooner earlier earliest first", "since when": "older oldest",
        },
    )
)  # fmt: skip
_HOW = _UP | _DOWN
_NOT_BEFORE = frozenset("at no not any than how much many second third fourth nearly".split())
"""Words before which "least", "longer" or "highest" compare nothing that has an amount."""
_COMPARES = re.compile(rf"\b(?:{'|'.join(sorted(_HOW, key=len, reverse=True))})\b", re.IGNORECASE)
# A question has single spaces when these are tried on it.
_BETWEEN = re.compile(r" ?(?:[,;:?]|\.(?= )|(?<= )[-–—](?= )) ?")
_MORE_ASKED = re.compile(r",? and (?:by )?(?:why|which|what|how|when|who)\b.*", re.IGNORECASE)
_VERBS = (
    "need|needs|have|has|take|takes|use|uses|cost|costs|contain|contains|last|lasts|get|gets|hold|holds|allow|allows"
    "|require|requires|run|runs|cook|cooks|make|makes|give|gives|want|wants|call|calls|stay|stays|keep|keeps"
    "|weigh|weighs|go|goes|come|comes|serve|serves|feed|feeds|created|released|founded|introduced|added|built"
)
_ASKED = re.compile(
    rf"^(?:does|do|did|is|are|was|were|has|have|can|will|would)\s+(?P<options>.+?\s+or\s+.+?)\s+(?P<rest>(?:{_VERBS})\b.*)$",
    re.IGNORECASE,
)
_SMALL = re.compile(
    r"\b(?:which|what|who|whose|where|ones?|is|are|was|were|does|do|did|has|have|the|an?|of|there)\b",
    re.IGNORECASE,
)

_UMLAUT = re.compile(r"(?<=[aou])e", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Contest:
    """What a question compares: the options, what is asked of each, and whether the greatest wins.

    ``often`` says that it is how often: then the shorter of two times is the greater.
    """

    options: tuple[str, ...]
    asked: tuple[str, ...]
    greatest: bool
    often: bool = False


def contest(question: str) -> Contest | None:
    """Return what a question compares: "more votes: A or B?", "A vs B, which is older?", "is A or B ...?"."""
    if len(question) > _LONGEST_QUESTION:
        return None
    text = " ".join(question.partition("?")[0].split()).rstrip(" .!")
    for options, criterion in _readings(without_asides(text)):
        word = _COMPARES.search(criterion)
        asked = None if word is None else _amount_asked(criterion, word)
        if word is None or asked is None:
            continue
        names = tuple(named_things(_MORE_ASKED.sub("", options)))
        if not 2 <= len(names) <= _MOST_OPTIONS or any(len(name.split()) > 10 for name in names):
            continue
        amount, rest = asked
        before, after = (_SMALL.sub(" ", part) for part in (criterion[: word.start()], rest))
        told = " ".join(f"{before} {amount} {after}".split())
        questions = tuple(f"{told}: {name}?" for name in names)
        return Contest(names, questions, word[0].lower() in _UP, amount == "how often")
    return None


def _amount_asked(criterion: str, word: re.Match[str]) -> tuple[str, str] | None:
    """Return what is asked of each option and what follows; None where the word compares no amounts."""
    amount = _HOW.get(word[0].lower())
    before = criterion[: word.start()].lower().split()
    if amount is None or (before and before[-1] in _NOT_BEFORE):
        return None
    rest = criterion[word.end() :]
    following = rest.split()
    if amount != "how much" or not following:
        return amount, rest
    if following[0].endswith("ly") or following[0] == "often":
        by_word = {"often": "how often", "frequently": "how often", "recently": "when"}
        adverb = by_word.get(following[0].lower())
        return None if adverb is None else (adverb, " ".join(following[1:]))
    return ("how many" if re.match(r"\s+(?:\w+\s+)?\w+s\b", rest) else amount), rest


def _readings(text: str) -> list[tuple[str, str]]:
    """Return the ways to read a question as (options, what is compared), the likeliest first."""
    asked = _ASKED.match(text)
    found = [] if asked is None else [(asked["options"], asked["rest"])]
    for place in _BETWEEN.finditer(text):
        before, after = text[: place.start()], text[place.end() :]
        if offers_choice(after) and _COMPARES.search(before) and not offers_choice(before):
            found.append((after, before))
        listed = offers_choice(before) or opens_list(before)
        if listed and _COMPARES.search(after) and not offers_choice(after):
            found.append((before, after))
    return found


@dataclass(frozen=True, slots=True)
class Amount:
    """How much, in the base unit of its kind: time, bytes, a currency, date, version, or an own word."""

    kind: str
    value: tuple[float, ...]


_NUMBERS = dict(zip(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety".split(),
    [*range(20), *range(20, 100, 10)],
    strict=True,
))  # fmt: skip
_TIMES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0,
    "k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9,
}  # fmt: skip
_UNITS: dict[str, tuple[str, float]] = {
    name: (kind, size)
    for kind, table in {
        "time": {
            "ms millisecond": 1e-3, "s sec second": 1.0, "min minute": 60.0, "h hr hour": 3600.0,
            "day night": 86400.0, "week": 604800.0, "month": 2.63e6, "yr year": 3.156e7,
        },
        "bytes": {
            "b byte": 1.0, "kb kib kilobyte": 2.0**10, "mb mib megabyte": 2.0**20, "gb gib gigabyte": 2.0**30,
            "tb tib terabyte": 2.0**40,
        },
        "mass": {"mg": 1e-3, "g gram": 1.0, "kg kilogram kilo": 1e3, "oz ounce": 28.35, "lb pound": 453.6},
        "volume": {
            "ml": 1.0, "cl": 10.0, "dl": 100.0, "l litre liter": 1e3, "tsp teaspoon": 5.0,
            "tbsp tablespoon": 15.0, "cup": 240.0, "pint": 473.0, "quart": 946.0, "gallon": 3785.0,
        },
        "length": {
            "mm": 1e-3, "cm": 1e-2, "metre meter": 1.0, "km kilometre kilometer": 1e3, "inch": 0.0254,
            "ft foot feet": 0.3048, "yard": 0.9144, "mile": 1609.0,
        },
        "frequency": {"hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
    }.items()
    for names, size in table.items()
    for name in names.split()
}  # fmt: skip
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
_MEASURED = frozenset(kind for kind, _ in _UNITS.values())
_DIGITS = (
    r"\d{1,3}(?:[, \u00a0]\d{3})+(?:\.\d+)?(?!\d)|\d+ \d+/\d+|\d+/\d+"
    r"|\d+(?:\.\d+)?(?!,?\d)(?: ?[½¼¾⅓⅔])?|[½¼¾⅓⅔]"
)
_WORD = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_PERIOD = "second|minute|hour|day|week|month|year"
_AMOUNT = re.compile(
    rf"(?P<money>[$€£]\s?)?(?<![\w.,])(?:(?P<version>v?\d+(?:\.\d+){{2,}})|(?P<number>{_DIGITS}"
    rf"|\b(?:{_WORD})(?:-(?:{_WORD}))?\b|\b(?:an?|every|half an?)\b(?=\s(?:{_PERIOD})s?\b)))"
    r"(?P<times>(?:k|mn?|bn)(?![^\W_])|(?:\s(?:hundred|thousand|million|billion|trillion|dozen)\b){0,2})"
    rf"(?:\s?(?:[-–]|to)\s?(?:{_DIGITS}|(?:{_WORD})\b))?[\s-]?(?P<unit>[^\W\d_]+)?(?:\s(?P<next>[^\W\d_]+))?",
    re.IGNORECASE,
)
_RATE = re.compile(
    rf"\s*(?:/\s?(?P<sign>\w+)|\b(?:per|an?|each|every)\s+(?P<word>{_PERIOD})\b)", re.IGNORECASE
)
_SIGNED = re.compile(r"(?:^|[\s(])[-−]$")
_JOINING = frozenset(["and", "or", "to", "times", "time"])
"""Behind these the amount is another one, or a count of which the period must be known."""
_EMPTY = frozenset("a an of per in at on for the by with each every from".split())
_PARTS = 5
"""Characters between the parts of one duration: "8 hr 30 min", "8 hours and 30 minutes"."""


def amounts(text: str) -> list[Amount]:
    """Return the amounts that ``text`` tells, in order; the parts of one duration are added up.

    A range counts as its lower end. An unknown unit is its own word ("=ducat"), a rate has its period
    ("time/week"): such amounts compare with their like alone. What is not clear is left out.
    """
    found: list[Amount] = []
    ends = -_PARTS - 1
    for match in _AMOUNT.finditer(text):
        if match["version"]:
            found.append(Amount("version", tuple(map(float, match["version"].strip("vV").split(".")))))
            continue
        unit = (match["unit"] or "").lower()
        value = _number(match["number"].lower())
        for times in match["times"].lower().split():
            value *= _TIMES.get(times, 1.0)
        if unit in _JOINING or (match["times"].lower() == "m" and not match["money"]):
            continue
        if _SIGNED.search(text, max(0, match.start() - 2), match.start()):
            value = -value
        own = "" if unit in _EMPTY else unit.removesuffix("s")
        kind, size = _unit(unit) or (_unit(match["next"]) if own else None) or (f"={own}" if own else "", 1.0)
        if match["money"]:
            kind, size = match["money"].strip(), 1.0
        counted = match.end("unit") if match["unit"] and unit not in _EMPTY else match.end("times")
        rate = _RATE.match(text, max(counted, match.end("number")))
        if rate is not None and not (match["number"][0].isalpha() and value == 1):
            kind = f"{kind}/{(rate['sign'] or rate['word']).lower()}"
        if found and kind == "time" == found[-1].kind and match.start() - ends <= _PARTS:
            found[-1] = Amount(kind, (found[-1].value[0] + value * size,))
        else:
            found.append(Amount(kind, (value * size,)))
        ends = match.end()
    return found


def _unit(word: str | None) -> tuple[str, float] | None:
    lowered = (word or "").lower()
    return _UNITS.get(lowered) or _UNITS.get(lowered.removesuffix("s"))


def _number(text: str) -> float:
    """Return the value of a number in digits or in words."""
    if text.startswith("half"):
        return 0.5
    if text[0].isalpha():
        return float(sum(_NUMBERS.get(word, 1) for word in text.split("-")))
    total = 0.0
    whole = re.sub(r"(?<=\d)[, \u00a0](?=\d{3}(?!\d))", "", text)
    for part in re.findall(r"\d+/\d+|[\d.]+|[½¼¾⅓⅔]", whole):
        over, _, under = part.partition("/")
        total += _FRACTIONS[part] if part in _FRACTIONS else float(over) / max(float(under or 1), 1.0)
    return total


def told_amount(text: str, asked: str) -> Amount | None:
    """Return the amount that a span tells, if it is of the kind that is asked for.

    When is told by a date, a version or a time to wait; how old something is, by the first two alone: a thing
    of 72 years is older than one of 61. How long is told by a time or a length.
    """
    first = next(iter(amounts(text)), None)
    if re.search(r"\bwhen\b", asked):
        told = None if re.search(r"\bB\.?\s?C\b", text) else next(dates(text), None)
        version = re.fullmatch(r"\D*(\d+)\.(\d+)\D*", text)
        if told is not None:
            return Amount("date", told[1])
        if version is not None:
            return Amount("version", (float(version[1]), float(version[2])))
        kinds = {"version"} if "since when" in asked else {"version", "time"}
        return first if first is not None and first.kind in kinds else None
    wanted = {"how long": {"time", "length"}, "how much time": {"time"}}
    kinds = next((kinds for words, kinds in wanted.items() if words in asked), set())
    return None if first is None or (kinds and first.kind not in kinds) else first


def units_about(options: Sequence[str], context: Sequence[Candidate]) -> list[list[int]]:
    """Return which units are about each option: those with most of the words that it has alone.

    "Gluehwein" is Glühwein: who has no umlauts writes ae, oe and ue.
    """
    named = [set(terms(_UMLAUT.sub("", option))) for option in options]
    shared = set.intersection(*named)
    said = [set(terms(_UMLAUT.sub("", f"{unit.title or ''} {unit.text}"))) for unit in context]
    found = []
    for words in named:
        own = words - shared or words
        held = [len(own & unit) for unit in said]
        best = max(held, default=0)
        told = 2 * best >= len(own)
        found.append([place for place, count in enumerate(held) if told and count == best])
    return found


def decide(found: Sequence[Amount], asked: Contest) -> int | None:
    """Return which of the amounts wins, or None where they do not compare or two may be the same."""
    kinds = {amount.kind for amount in found}
    if len(kinds - {""}) > 1 or ("" in kinds and kinds & (_MEASURED | {"date", "version"})):
        return None
    values = [amount.value for amount in found]
    greatest = asked.greatest != (asked.often and "time" in kinds)
    best = (max if greatest else min)(values)
    if values.count(best) > 1:
        return None
    # "2013" and "April 2013" cannot be told apart: what is missing is 0
    if kinds == {"date"} and any(v != best and v[0] == best[0] and 0 in v[1:2] + best[1:2] for v in values):
        return None
    return values.index(best)

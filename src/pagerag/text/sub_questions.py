"""Several questions in one text: how many things are asked for, and the questions one by one."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from pagerag._remember import remember
from pagerag.text.lexicon import LISTING_WORDS, QUESTION_WORDS, STOP_WORDS

MOST_PARTS = 4
LONGEST = 500
"""Characters of a text that is split; a longer one is no question that somebody typed."""
_YES_NO = frozenset(["is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "could"])
_ASKING_WORDS = _YES_NO | QUESTION_WORDS
_VERBS = _YES_NO | frozenset("does happens causes makes means goes comes takes gives says keeps sets".split())
"""Words behind "what" that end like plurals and are none."""
_PAIRED = frozenset(["vs", "versus", "respectively"])
_SEVERAL = {"two": 2, "both": 2, "three": 3, "four": 4, "2": 2, "3": 3, "4": 4}
_WORD = re.compile(r"\w+")
_CLAUSES = re.compile(r"[;?,/–—:]| - |\b(?:and|vs|versus|but)\b")
_ASKING = f"(?:{'|'.join(sorted(sorted(QUESTION_WORDS), key=len, reverse=True))})"
_BEFORE = r"(?:(?:by|to|for|in|on|at|of|from|since|until|with|under|via) ){0,2}"
_ASKS = re.compile(rf"\b{_BEFORE}{_ASKING}\b", re.IGNORECASE)
_PHRASE = re.compile(
    rf"{_BEFORE}{_ASKING}\b(?: (?:many|much|long|old|far|large|big|often|tall|high|deep|soon)\b)?",
    re.IGNORECASE,
)
"""What asks, at the head of a clause: "who", "since when", "how long"."""
_NOUN = re.compile(r"(?<=what|hich) [^\W_]+$", re.IGNORECASE)
_ASKED_LAST = re.compile(rf" {_BEFORE}{_ASKING}(?: [^\W_]+)?$", re.IGNORECASE)
_ALONE = frozenset(["who", "where", "when", "why", "how"])
_BACK = frozenset("it its they them their he him his she her this these those one ones".split())
_LEAD_END = re.compile(r"(?:[:;?!.]| [-\u2013\u2014]) ")
"""The end of what leads to a question: "X is old: who made it"."""
_LONGEST_LEAD = 16
"""Words that are carried over from the first of several questions to another."""
_LISTED = re.compile(
    rf"{_BEFORE}(?:what|how|when|why)\b|(?:by|to|for|on|from|since|until|via) {_ASKING}\b", re.IGNORECASE
)
_CUTS = (";", "?", "–", "—", " -", " and", " plus")
_VERSUS = re.compile(r" (?:vs\.?|versus) ", re.IGNORECASE)
_WEIGHS = re.compile(r"\b(?:which|more|less|or)\b", re.IGNORECASE)
_THINGS = re.compile(r", (?:and )?| and ")
_LINKS = frozenset(
    ["for", "of", "in", "from", "were", "was", "are", "is", "by", "on", "did", "do", "with", "to", "the"]
)
_ENDINGS = frozenset(
    "created added introduced released removed founded made counted called had have has get gets need needs "
    "take takes use uses cost costs give gives ship ships arrive arrived".split()
)
_MOST_WORDS = 6
"""Words of one thing of an enumeration."""
_ASIDE = re.compile(r"\([^()]*+\)")
_LEADS = re.compile(r"^(?:of|between|among|out of|from) ", re.IGNORECASE)
_CHOICE = re.compile(r"\b(?:or|vs\.?|versus)\b", re.IGNORECASE)
_CHOSEN = re.compile(r", ?(?:or )?| (?:or|vs\.?|versus) ", re.IGNORECASE)
_JOINED = re.compile(r", ?(?:and )?| and ", re.IGNORECASE)
_STOPS = re.compile(r"([:;?!]) | [-–—] |[?!.]$")
_NAMED = re.compile(r"[^\W_]*[A-Z0-9_]|-")
"""How a word begins that is a name, a version, an option or an identifier, not a common word."""


class SubQuestion(NamedTuple):
    """One of the questions of a text; of an enumeration, with the thing that it asks about.

    ``clause`` is what stands in the text of a question that took over words of another.
    """

    text: str
    thing: str = ""
    clause: str = ""

    @property
    def asked(self) -> str:
        """The words of the text that ask for this."""
        return self.thing or self.clause or self.text.rstrip("?")


def parts_asked(text: str) -> int:
    """Return how many things a question asks for, as far as its words tell: 1 to 4.

    Clauses that begin with a question word count ("who signs it, and by when?"), numbers that say how many
    are wanted ("which three ..."), and plurals and lists, of which two and four are expected.
    """
    lowered = text.lower()
    clauses = map(_WORD.findall, _CLAUSES.split(lowered))
    asking = sum(not QUESTION_WORDS.isdisjoint(words[:3]) for words in clauses)
    words = _WORD.findall(lowered)
    told = things_asked(text)
    if _PAIRED.intersection(words) and words[0] not in LISTING_WORDS:
        told = max(told, 2)
    return min(max(asking, told), MOST_PARTS)


def things_asked(text: str) -> int:
    """Return how many things a text asks for with one question word: numbers, plurals and lists tell."""
    words = _WORD.findall(text.lower())
    if words and words[0] in LISTING_WORDS:
        return MOST_PARTS
    told = 1
    for first, second in pairwise(words):
        plural = len(second) > 3 and second.endswith("s") and not second.endswith(("ss", "us", "is"))
        if first in _SEVERAL and plural:
            told = max(told, _SEVERAL[first])
        if first in {"which", "what"} and second not in _VERBS:
            told = max(told, _SEVERAL.get(second, 2 if plural else 1))
    return told


def sub_questions(text: str) -> tuple[SubQuestion, ...]:
    """Return the questions that a text asks one after another; the text itself where it is one question.

    "Who signs it, and by when?" is two questions; "how long may it last for A, B and C?" three; "the licence
    of 4.9 vs that of 7.10" two. What stands before the first question word belongs to all of them, and one
    that says too little by itself ("by when?", "how long is the term?") takes over what the first asks about.
    """
    if len(text) > LONGEST:
        return (SubQuestion(text),)
    whole = " ".join(text.split())
    parts = _by_clause(whole)
    if len(parts) < 2:
        parts = _versus(whole) or _enumerated(whole)
    return tuple(parts[:MOST_PARTS]) if len(parts) > 1 else (SubQuestion(text),)


@remember(1 << 20)
def separate_questions(text: str) -> tuple[SubQuestion, ...]:
    """Return the questions whose evidence may stand in different places; none where a text asks one thing.

    Besides ``sub_questions`` they are what the text asks of several things in a clause of their own: "which
    is older, A or B?", "of A, B and C, which is first?", "A, B and C: which port?".
    """
    parts = sub_questions(text)
    if len(parts) > 1 or len(text) > LONGEST:
        return parts if len(parts) > 1 else ()
    return tuple(_of_things(text))


def _of_things(text: str) -> list[SubQuestion]:
    """Return what is asked of each of several things that have a clause of their own."""
    pieces = _STOPS.split(without_asides(text))
    clauses, signs = [clause.strip() for clause in pieces[::2]], ["", *pieces[1::2]]
    for place, clause in enumerate(clauses):
        named = named_things(clause)
        asked = [thing for thing in named if thing.partition(" ")[0].lower() in _ASKING_WORDS]
        things = [thing for thing in named if thing not in asked]
        chosen = len(things) > 1 and offers_choice(clause)
        # "salt and pepper" may be one thing, and so may what has commas alone, unless a colon opens a list
        listed = len(things) > 2 and (" and " in clause or signs[place] == ":") and asked in ([], named[-1:])
        if (chosen or listed) and len(things) <= MOST_PARTS and all(map(_is_thing, things)):
            asked += [other for other in (*clauses[:place], *clauses[place + 1 :]) if other]
            head = ": ".join(asked)
            return [SubQuestion(f"{head}: {thing}?", thing) for thing in things] if head else []
    return []


def without_asides(text: str) -> str:
    """Return a question on one line, without what stands in brackets."""
    return " ".join(_ASIDE.sub(" ", text).split())


def named_things(clause: str) -> list[str]:
    """Return the things of "of A, B and C" or "A, B or C", each once; one where the clause names no more."""
    split = _CHOSEN if offers_choice(clause) else _JOINED
    found = (thing.strip(" \"'.") for thing in split.split(_LEADS.sub("", clause.strip())))
    return list(dict.fromkeys(filter(None, found)))


def offers_choice(text: str) -> bool:
    """Tell whether a text names things to choose from: "A or B", "A vs B"."""
    return _CHOICE.search(text) is not None


def opens_list(text: str) -> bool:
    """Tell whether a text begins as a list of things does: "of A, B and C"."""
    return _LEADS.match(text) is not None


def _is_thing(text: str) -> bool:
    """Tell whether a text may name one thing: it has few words, and none of them asks."""
    words = text.lower().split(" ")
    return len(words) <= _MOST_WORDS and QUESTION_WORDS.isdisjoint(words)


def _by_clause(text: str) -> list[SubQuestion]:
    """Cut before each question word that begins a clause of its own."""
    cuts = [0]
    for found in _ASKS.finditer(text):
        before = text[: found.start()].rstrip().lower()
        # A relative clause, too, begins with "which", "who" or "where" behind a comma.
        listed = before.endswith(",") and _LISTED.match(text, found.start())
        if before.endswith(_CUTS) or listed:
            cuts.append(found.start())
    asking: list[tuple[str, str]] = []  # what leads to a question, and the question
    told = ""
    for low, high in pairwise([*cuts, len(text)]):
        bare = _bare(text[low:high])
        if _asks(bare):
            asking.append((told, bare))
            told = ""
        elif asking:
            lead, before = asking[-1]
            asking[-1] = lead, f"{before}, {bare}"
        else:
            told = f"{told}{bare}: "
    first = "".join(asking[0]) if asking else ""
    return [
        SubQuestion(f"{lead}{clause}?") if place == 0 or lead else _carried(clause, first)
        for place, (lead, clause) in enumerate(asking)
    ]


def _carried(clause: str, first: str) -> SubQuestion:
    """Return a question behind another with what it needs of that: what leads to both, or what it is about.

    "When?" behind "who signs the contract?" asks when it is signed, and "how long is the term?" behind "who
    appoints the Secretary?" the Secretary's.
    """
    lead = first[: max((found.end() for found in _LEAD_END.finditer(first)), default=0)]
    if lead and (lead.endswith(": ") or _PHRASE.match(first, len(lead))):
        short = len(lead.split()) <= _LONGEST_LEAD
        return SubQuestion(f"{lead}{clause}?", clause=clause) if short else SubQuestion(f"{clause}?")
    opening, phrase = _PHRASE.match(first), _PHRASE.match(clause)
    about = (first[opening.end() :] if opening else _ASKED_LAST.sub("", first)).strip()
    left = _WORD.findall((clause[phrase.end() :] if phrase else clause).lower())
    bare = not left or (len(left) == 1 and _NOUN.search(clause) is not None)
    refers = not _BACK.isdisjoint(left) or len(set(left) - STOP_WORDS) <= 1
    if not about or len(about.split()) > _LONGEST_LEAD or not (bare or refers):
        return SubQuestion(f"{clause}?")
    # "when was Ada born" for "where was Ada born, and when"; a noun behind "which" is no part of "when"
    alone = opening is not None and opening[0].lower() in _ALONE
    return SubQuestion(f"{clause} {about}?" if bare and alone else f"{about}: {clause}?", clause=clause)


def _bare(clause: str) -> str:
    """Return a clause without what joins it to the next."""
    bare = clause.strip(" ,;?–—-")
    for word in (" and", " plus"):
        if bare.lower().endswith(word):
            bare = bare[: -len(word)].rstrip(" ,;?–—-")
    return bare


def _asks(clause: str) -> bool:
    """Tell whether a clause asks: its question word opens it, or what follows a stop in it, or ends it."""
    words = [word.lower() for word in _WORD.findall(re.split(r"[.:] ", clause)[-1])]
    return not QUESTION_WORDS.isdisjoint([*words[:4], *words[-3:]])


def _versus(text: str) -> list[SubQuestion]:
    """Return the two sides of "A vs B" where both are asked for, not weighed against each other."""
    head, colon, rest = text.rpartition(": ")
    sides = _VERSUS.split(rest.rstrip("?. "))
    if len(sides) != 2 or _WEIGHS.search(text):
        return []
    return [SubQuestion(f"{head}{colon}{side}") for side in sides]


def _enumerated(text: str) -> list[SubQuestion]:
    """Return the question once for each of three or four things that it enumerates."""
    body = text.rstrip("?. ")
    pieces, between = _THINGS.split(body), _THINGS.findall(body)
    ends = bool(between) and "and" in between[-1] and not any("and" in one for one in between[:-1])
    words = _WORD.findall(body.lower())
    weighs = bool(words) and (words[0] in _YES_NO or not {"both", "same"}.isdisjoint(words))
    asks = QUESTION_WORDS.intersection(words) or LISTING_WORDS.intersection(words[:1])
    says = text.endswith(".") and not asks
    if not 3 <= len(pieces) <= MOST_PARTS or not ends or weighs or says:
        return []
    first, last = pieces[0].split(" "), pieces[-1].split(" ")
    link = max((n for n, word in enumerate(first) if word.lower() in _LINKS), default=-1)
    if link < 0:  # "who wrote DRD, ...": a name at the end is the thing
        link = max((n for n, word in enumerate(first) if not _NAMED.match(word)), default=-1)
    if link < 0 or link == len(first) - 1:
        return []
    end = next((n for n, word in enumerate(last) if word.lower() in _ENDINGS and n), len(last))
    things = [" ".join(first[link + 1 :]), *pieces[1:-1], " ".join(last[:end])]
    if not all(map(_is_thing, things)):
        return []
    head, tail = " ".join(first[: link + 1]), " ".join(last[end:])
    return [SubQuestion(" ".join(filter(None, (head, thing, tail))) + "?", thing) for thing in things]

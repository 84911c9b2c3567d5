"""More questions from the same train files: steps, triples, recombined comparisons, cloze.

Every function takes loaded train examples and returns new ones; nothing here reads a dev file. The
questions are stiff, so they are used before the real ones, never instead of them.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pagerag_lab.training.examples import Example, Unit, kind_of, read_lines

__all__ = ["cloze", "comparisons", "steps", "triples", "two_hop_cloze", "wiki_steps"]

_SPAN = re.compile(
    r"(?:(?:[A-Z][\w'’&.-]*|\d[\d,.]*\d|\d+)(?:\s+(?:of|the|and|de|von|van|la|for|in)\s+(?=[A-Z]))?\s*)+"
)
_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-2][0-9])\b")
PAREN = re.compile(r"\s*\([^)]*\)$")
_LEADS = {
    "The",
    "A",
    "An",
    "In",
    "On",
    "At",
    "It",
    "He",
    "She",
    "His",
    "Her",
    "Its",
    "They",
    "This",
    "As",
    "After",
    "During",
    "By",
    "For",
    "From",
    "With",
    "When",
    "While",
    "There",
    "These",
    "Their",
    "Of",
}


def steps(musique: Iterable[Example]) -> list[Example]:
    """Return the single-hop steps of MuSiQue's train questions, ``#1`` filled in, one gold paragraph each."""
    found = []
    for example in musique:
        answers: list[str] = []
        for n, step in enumerate(example.extra["steps"]):
            text = step["question"]
            for i, earlier in enumerate(answers):
                text = text.replace(f"#{i + 1}", earlier)
            answers.append(step["answer"])
            gold = f"p{step['paragraph_support_idx']}"
            units = tuple(replace(u, support=u.id == gold) for u in example.units)
            for form, question in enumerate(_triple_forms(text)):
                found.append(
                    Example(
                        f"{example.id}~{n}.{form}",
                        "musique_step",
                        question,
                        units,
                        (step["answer"],),
                        kind_of(step["answer"]),
                        base=example.base,
                    )
                )
    return found


def _triple_forms(text: str) -> list[str]:
    if ">>" not in text:
        return [text]
    subject, relation = (part.strip() for part in text.split(">>", 1))
    return [f"What is the {relation} of {subject}?", f"{subject} {relation}"]


def wiki_steps(wiki: Iterable[Example]) -> list[Example]:
    """Make one question for each 2Wiki evidence triple; its subject's gold sentence is the support."""
    found = []
    for example in wiki:
        for n, (head, relation, tail) in enumerate(example.extra["evidences"]):
            units = tuple(
                replace(u, support=u.support and _same(u.title, head) and _holds(u, tail))
                for u in example.units
            )
            if any(u.support for u in units):
                question = f"What is the {relation} of {head}?"
                found.append(
                    Example(
                        f"{example.id}~{n}",
                        "wiki_step",
                        question,
                        units,
                        (tail,),
                        kind_of(tail),
                        base=example.base,
                    )
                )
    return found


def _same(title: str, name: str) -> bool:
    short = PAREN.sub("", title).lower()
    return short in name.lower() or PAREN.sub("", name).lower() in title.lower()


def _holds(unit: Unit, text: str) -> bool:
    return text.lower() in unit.text.lower() or text.lower() in unit.title.lower()


# --- comparisons made again from the evidence of different questions -----------------------------------

_DATES = ("date of birth", "date of death", "publication date")
FORMS: dict[str, tuple[tuple[str, bool], ...]] = {
    "date of birth": (
        ("Who is older, {a} or {b}?", True),
        ("Who was born first, {a} or {b}?", True),
        ("Who was born earlier, {a} or {b}?", True),
        ("Who is younger, {a} or {b}?", False),
        ("Who was born later, {a} or {b}?", False),
    ),
    "date of death": (
        ("Who died first, {a} or {b}?", True),
        ("Who died earlier, {a} or {b}?", True),
        ("Who died later, {a} or {b}?", False),
    ),
    "publication date": (
        ("Which film came out first, {a} or {b}?", True),
        ("Which film was released earlier, {a} or {b}?", True),
        ("Which film was released more recently, {a} or {b}?", False),
        ("Which film came out later, {a} or {b}?", False),
    ),
}
_BRIDGE_FORMS: dict[str, tuple[tuple[str, bool], ...]] = {
    "date of birth": (
        ("Which film has the director born first, {a} or {b}?", True),
        ("Which film has the director who was born earlier, {a} or {b}?", True),
        ("Which film has the director who is older, {a} or {b}?", True),
        ("Which film has the director born later, {a} or {b}?", False),
        ("Which film whose director is younger, {a} or {b}?", False),
    ),
    "date of death": (
        ("Which film has the director died first, {a} or {b}?", True),
        ("Which film has the director who died earlier, {a} or {b}?", True),
        ("Which film has the director died later, {a} or {b}?", False),
    ),
}
_SAME = (
    "Are both {a} and {b} located in the same country?",
    "Are {a} and {b} from the same country?",
    "Were both {a} and {b} from the same country?",
    "Do {a} and {b} have the same nationality?",
    "Were {a} and {b} of the same nationality?",
)
_SAME_BRIDGE = (
    "Do both films {a} and {b} have the directors that share the same nationality?",
    "Are the directors of both films {a} and {b} from the same country?",
    "Are director of film {a} and director of film {b} both from the same country?",
)
_COUNTRY = ("country", "country of citizenship", "country of origin")


def comparisons(wiki: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Comparison questions over pages of *different* questions, answered from their evidence triples."""
    rng = random.Random(seed)
    facts: dict[tuple[bool, str], list[tuple[str, str, tuple[Unit, ...], Example]]] = defaultdict(list)
    for example in wiki:
        gold = [u for u in example.units if u.support]
        films = {tail: head for head, relation, tail in example.extra["evidences"] if relation == "director"}
        for head, relation, tail in example.extra["evidences"]:
            if relation not in (*_DATES, *_COUNTRY):
                continue
            own = tuple(u for u in gold if _same(u.title, head))
            if not own:
                continue
            facts[False, relation].append((own[0].title, tail, own, example))
            film = next((films[d] for d in films if _same(d, head)), None)
            if film is not None and relation != "publication date":
                bridge = tuple(u for u in gold if _same(u.title, film))
                if bridge:
                    facts[True, relation].append((bridge[0].title, tail, bridge + own, example))
    keys = [k for k in facts if len(facts[k]) > 3 and (not k[0] or k[1] in (*_BRIDGE_FORMS, *_COUNTRY))]
    found: list[Example] = []
    while len(found) < count:
        bridged, relation = rng.choice(keys)
        (a, value_a, gold_a, from_a), (b, value_b, gold_b, from_b) = rng.sample(facts[bridged, relation], 2)
        if _same(a, b) or from_a is from_b:
            continue
        if relation in _COUNTRY:
            same = _country(value_a) == _country(value_b)
            if same != (rng.random() < 0.5):  # chance would make nearly all of them "no"
                continue
            question = rng.choice(_SAME_BRIDGE if bridged else _SAME)
            kind, answer = ("yes", "yes") if same else ("no", "no")
        else:
            year_a, year_b = _year(value_a), _year(value_b)
            if not year_a or not year_b or year_a == year_b:
                continue
            forms = (_BRIDGE_FORMS if bridged else FORMS)[relation]
            question, earlier = rng.choice(forms)
            kind, answer = "span", a if (year_a < year_b) == earlier else b
        units = [replace(u, support=True) for u in (*gold_a, *gold_b)]
        taken = {u.title for u in units}
        spare = [u for u in (*from_a.units, *from_b.units) if u.title not in taken or not u.support]
        units += [
            replace(u, support=False)
            for u in rng.sample(spare, min(24, len(spare)))
            if u.id not in {x.id for x in units}
        ]
        text = question.format(a=a, b=b)
        found.append(
            Example(
                f"compare{len(found)}",
                "comparison",
                text,
                tuple(units),
                (answer, PAREN.sub("", answer)),
                kind,
            )
        )
    return found


_NATIONS = {
    "american": "united states",
    "u.s.": "united states",
    "us": "united states",
    "usa": "united states",
    "british": "united kingdom",
    "english": "united kingdom",
    "england": "united kingdom",
    "french": "france",
    "german": "germany",
    "italian": "italy",
    "indian": "india",
    "australian": "australia",
    "canadian": "canada",
    "japanese": "japan",
    "spanish": "spain",
    "russian": "russia",
    "chinese": "china",
    "swedish": "sweden",
    "danish": "denmark",
    "irish": "ireland",
    "dutch": "netherlands",
    "polish": "poland",
    "iranian": "iran",
    "norwegian": "norway",
    "uk": "united kingdom",
    "mexican": "mexico",
    "turkish": "turkey",
}


def _country(value: str) -> str:
    lowered = value.lower().removeprefix("the ").strip()
    return _NATIONS.get(lowered, lowered)


def _year(value: str) -> int:
    found = _YEAR.findall(value)
    return int(found[-1]) if found else 0


# --- triples of the MuSiQue train passages --------------------------------------------------------------


def triples(path: Path, musique: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Make one- and two-hop questions from the OpenIE triples of the train passages."""
    rng = random.Random(seed)
    rows = list(read_lines(path))
    by_title: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
    every: list[tuple[int, list[str]]] = []
    for n, row in enumerate(rows):
        for triple in row["extracted_triples"]:
            if len(triple) == 3 and all(isinstance(t, str) and t.strip() for t in triple):
                every.append((n, triple))
                by_title[triple[0].lower()].append((n, triple))
    neighbours = defaultdict(set)  # passages seen in one question's context: hard distractors
    place = {(row["title"], row["text"][:80]): n for n, row in enumerate(rows)}
    for example in musique:
        own = [place[key] for u in example.units if (key := (u.title, u.text[:80])) in place]
        for n in own:
            neighbours[n].update(own)
    found: list[Example] = []
    for n, (head, relation, tail) in rng.sample(every, len(every)):
        if len(found) >= count:
            break
        if not _holds_text(rows[n], tail) or len(tail) > 60:
            continue
        forms = [(f"{head} {relation} what?", tail), (f"What {relation} {tail}?", head)]
        question, answer = forms[rng.random() < 0.25]
        gold = [n]
        onward = [t for t in by_title.get(tail.lower(), []) if t[0] != n and len(t[1][2]) < 60]
        if onward:
            m, (_, second, last) = rng.choice(onward)
            if _holds_text(rows[m], last):
                question, answer, gold = f"What {second} the one that {head} {relation}?", last, [n, m]
        if not _holds_text(rows[gold[-1]], answer):
            continue
        spare = sorted((neighbours[n] | neighbours[gold[-1]]) - set(gold))
        others = rng.sample(spare, min(8, len(spare)))
        units = tuple(Unit(str(i), rows[i]["title"], rows[i]["text"], 0, i in gold) for i in [*gold, *others])
        found.append(Example(f"triple{len(found)}", "triple", question, units, (answer,), "span"))
    return found


def _holds_text(row: dict[str, str], text: str) -> bool:
    return text.lower() in row["text"].lower() or text.lower() in row["title"].lower()


# --- cloze ----------------------------------------------------------------------------------------------


def spans(text: str) -> list[str]:
    """Capitalised runs and numbers, without a leading function word."""
    found = []
    for match in _SPAN.finditer(text):
        words = match.group().strip(" .,'-").split()
        while words and words[0] in _LEADS:
            words = words[1:]
        span = " ".join(words)
        if len(span) > 2 and len(words) <= 6:
            found.append(span)
    return found


def cloze(pools: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Make questions of sentences with a recurring span taken out; another sentence that has it answers."""
    rng = random.Random(seed)
    found: list[Example] = []
    order = [*pools]
    while len(found) < count:
        rng.shuffle(order)
        before = len(found)
        for example in order:
            made = _one_cloze(example, rng, len(found))
            if made is not None:
                found.append(made)
        if len(found) == before:
            break
    return found[:count]


def _one_cloze(example: Example, rng: random.Random, number: int) -> Example | None:
    units = list(example.units)
    for _ in range(6):
        asked = rng.choice(units)
        options = spans(asked.text)
        if not options:
            continue
        span = rng.choice(options)
        pattern = re.compile(rf"(?<!\w){re.escape(span)}(?!\w)")
        others = [u for u in units if u.id != asked.id]
        hits = {u.id for u in others if pattern.search(u.text) or pattern.search(u.title)}
        if not 1 <= len(hits) <= 3:
            continue
        wh = "when" if _YEAR.fullmatch(span) else rng.choice(("what", "which", "who", "[MASK]"))
        question = pattern.sub(wh, asked.text)
        if rng.random() < 0.5 and asked.title and asked.title not in question:
            question = f"{asked.title}: {question}"
        if pattern.search(question):
            continue
        kept = [replace(u, support=u.id in hits) for u in others]
        return Example(f"cloze{number}", "cloze", question[:400], tuple(kept), (span,), "span", weight=0.5)
    return None


def two_hop_cloze(pools: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Page A names page B; the question describes B by A's sentence and asks for a span of B's text."""
    rng = random.Random(seed)
    found: list[Example] = []
    for _ in range(40):
        for example in rng.sample(pools, len(pools)):
            if len(found) >= count:
                return found
            made = _one_bridge(example, rng, len(found))
            if made is not None:
                found.append(made)
    return found


def _one_bridge(example: Example, rng: random.Random, number: int) -> Example | None:
    by_title: dict[str, list[Unit]] = defaultdict(list)
    for unit in example.units:
        by_title[unit.title].append(unit)
    titles = list(by_title)
    rng.shuffle(titles)
    for title in titles:
        name = PAREN.sub("", title)
        if len(name) < 4:
            continue
        mention = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        sources = [u for u in example.units if u.title != title and mention.search(u.text)]
        if not sources:
            continue
        source, target = rng.choice(sources), rng.choice(by_title[title])
        options = [s for s in spans(target.text) if s not in source.text and s not in name and name not in s]
        if not options:
            continue
        answer = rng.choice(options)
        first = mention.sub("it", source.text)
        second = mention.sub("it", target.text)
        second = re.sub(rf"(?<!\w){re.escape(answer)}(?!\w)", "what", second)
        # Half of the target's words go, or the question would give its sentence away.
        words = second.split()
        at = next((i for i, w in enumerate(words) if w.startswith("what")), 0)
        near = words[max(0, at - rng.randint(2, 6)) : at + rng.randint(2, 5)]
        lead = source.title if source.title and rng.random() < 0.7 else ""
        question = f"{' '.join(near)}, {lead} {' '.join(first.split()[: rng.randint(8, 20)])}?"
        gold = {source.id, target.id}
        units = tuple(replace(u, support=u.id in gold) for u in example.units)
        return Example(f"bridge{number}", "bridge", question, units, (answer,), "span", weight=0.5)
    return None

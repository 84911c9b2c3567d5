"""The evidence paths: question → units → answer, what was kept in green, what was merely connected in red."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from pagerag.explain.reasons import cited, clip, naming_asked, path_reason, scores_of, sentences_of
from pagerag.promotion import Promotion
from pagerag.promotion.trace import SupportPath, unit_label
from pagerag.units import Answer, Candidate

CARD, SIDE, GAP_X, GAP_Y, MARGIN = 236.0, 158.0, 148.0, 26.0, 16.0
MOST_LINES, MOST_TITLE_LINES = 6, 4
MOST_KEPT, MOST_REJECTED = 4, 4
LANE = 22.0  # below the cards: where edges to the answer run that would pass behind a card
_NAMES = {"core": "core", "fill": "fills the budget", "pool": "rejected"}


@cache
def asset(name: str) -> str:
    """Return a style, a script or a piece of a page."""
    return (Path(__file__).with_name("assets") / name).read_text(encoding="utf-8")


@dataclass(slots=True)
class _Card:
    unit: Candidate
    role: str
    badge: str
    title: list[str]
    lines: list[str]
    layer: int
    y: float = 0.0

    @property
    def x(self) -> float:
        return MARGIN + SIDE + GAP_X * 0.62 + (self.layer - 1) * (CARD + GAP_X)

    @property
    def height(self) -> float:
        return 26.0 + 16.0 * len(self.title) + 15.0 * len(self.lines) + 10.0

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class _Link:
    start: str
    end: str
    kind: str
    label: str
    detail: str


def paths_svg(
    promotion: Promotion,
    answer: Answer | None = None,
    numbers: Sequence[Candidate] = (),
    *,
    alone: bool = False,
) -> str:
    """Draw the picture as SVG; ``numbers`` are the units as the reader numbered them, for its citations.

    ``alone`` gives it a style and a background of its own, so that it can be a file.
    """
    asking = naming_asked(promotion)
    cards, links = _layout(promotion, answer, numbers, asking)
    height = _stack(cards)
    deepest = max((card.layer for card in cards.values()), default=1)
    right = MARGIN + SIDE + GAP_X * 0.62 + deepest * (CARD + GAP_X) - GAP_X
    middle = height / 2
    parts = [_box("Question", promotion.question, MARGIN, middle, "question")[0]]
    ends = {link.end for link in links if link.kind == "kept"}
    for name, card in cards.items():
        if card.layer == 1 and (name in asking or (card.role == "core" and name not in ends)):
            kind = "kept" if card.role == "core" else "asked"
            parts.append(_curve(MARGIN + SIDE, middle, card.x, card.middle, kind))
    parts += [
        _curve(*_ends(link, cards), link.kind, 3.0 if link.kind == "kept" else 1.6, link.detail)
        for link in sorted(links, key=lambda one: one.kind == "kept")
    ]
    width = right + MARGIN
    # An evidence reader answers with the sentences themselves, which are drawn already.
    if answer is not None and not answer.quotes:
        units = [unit for _, unit in cited(answer, numbers)] or promotion.core
        known = [cards[name] for name in dict.fromkeys(unit.id for unit in units) if name in cards]
        # A label between two cards of the last column stands where the answer's card would begin.
        beside = any(cards[link.start].layer == cards[link.end].layer == deepest for link in links)
        left = right + GAP_X * (1.1 if beside else 0.62)
        parts.append(_answer(answer, known, cards, left, middle, height + LANE))
        width = left + SIDE + MARGIN
        height += LANE
    parts += [_card(card) for card in cards.values()]
    parts.append(_labels(links, cards))
    if alone:
        fonts = "svg{font-family:system-ui,'Segoe UI',Roboto,'Helvetica Neue','DejaVu Sans',sans-serif}"
        ground = f'<rect width="{width:.0f}" height="{height:.0f}" rx="12" class="ground"/>'
        parts.insert(0, f"<style>{fonts}{asset('drawing.css')}</style>{ground}")
    return (
        f'<svg class="paths" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'xmlns="http://www.w3.org/2000/svg" role="group" aria-label="Evidence paths">{"".join(parts)}</svg>'
    )


def _worth(path: SupportPath, scores: Mapping[str, float]) -> tuple[bool, float, bool, bool, int]:
    """Rank kept paths first, by their weakest unit; of the others, short ones between documents tell most."""
    if path.verdict == "kept":
        return False, -min(scores[unit.id] for unit in path.units), False, False, len(path.units)
    neighbours = any(edge.kind == "adjacent" for edge in path.edges)
    return True, 0.0, neighbours, len(path.units) > 3, path.rank


def _layout(
    promotion: Promotion, answer: Answer | None, numbers: Sequence[Candidate], asking: set[str]
) -> tuple[dict[str, _Card], list[_Link]]:
    """Return cards and links of the paths worth drawing, each from the unit that names what is asked."""
    core = {unit.id for unit in promotion.core}
    context = {unit.id for unit in promotion.context}
    shown = [unit.id for unit in numbers or promotion.context]
    scores = scores_of(promotion)
    ranked = sorted(promotion.paths, key=lambda path: _worth(path, scores))
    said = _said(ranked, answer, numbers)
    cards: dict[str, _Card] = {}

    def place(unit: Candidate, layer: int) -> _Card:
        if unit.id not in cards:
            role = "core" if unit.id in core else "fill" if unit.id in context else "pool"
            rank = f"[{shown.index(unit.id) + 1}] " if unit.id in shown else ""
            badge = f"{rank}{_NAMES[role]} · {scores[unit.id]:.2f}"
            title = _lines_of(unit_label(unit), CARD - 26, 14.0, MOST_TITLE_LINES) if unit.title else []
            lines = _lines_of(said.get(unit.id, unit.text), CARD - 26, 11.5, MOST_LINES)
            cards[unit.id] = _Card(unit, role, badge, title, lines, layer)
        return cards[unit.id]

    links: dict[tuple[str, str], _Link] = {}
    seen: set[frozenset[str]] = set()
    room = {"kept": MOST_KEPT, "rejected": MOST_REJECTED}
    for path in ranked:
        ids = frozenset(unit.id for unit in path.units)
        if len(ids) < 2 or ids in seen or not room[path.verdict]:
            continue
        seen.add(ids)
        room[path.verdict] -= 1
        units, edges = path.units, path.edges
        if units[-1].id in asking and units[0].id not in asking:
            units, edges = units[::-1], edges[::-1]
        layer = 1
        for unit in units:
            layer = place(unit, layer).layer + 1
        for a, b, edge in zip(units, units[1:], edges, strict=False):
            if a.id == b.id or (a.id, b.id) in links or (b.id, a.id) in links:
                continue
            detail = (
                f"{edge.kind}: {', '.join(edge.trig) or 'neighbours'} · score {edge.score:+.2f} · "
                f"specificity {edge.spec:.2f} · hubness {edge.hub:.2f} · noise {edge.noise:.2f} · "
                f"{path_reason(promotion, path)}"
            )
            label = edge.trig[0] if edge.trig else edge.kind
            links[a.id, b.id] = _Link(a.id, b.id, path.verdict, label, detail)
    for unit in promotion.core:
        place(unit, 1)
    return cards, list(links.values())


def _said(
    paths: Sequence[SupportPath], answer: Answer | None, numbers: Sequence[Candidate]
) -> dict[str, str]:
    """Return, of longer units, the sentences that the answer cites, else the one that a path runs through."""
    quotes: dict[str, dict[str, None]] = {}
    for citation, unit in cited(answer, numbers):
        for start, end in sentences_of(citation, unit):
            quotes.setdefault(unit.id, {})[unit.text[start:end]] = None
    said = {name: " ".join(sentences) for name, sentences in quotes.items()}
    for path in paths:
        for unit, sentence in zip(path.units, path.sentences, strict=True):
            said.setdefault(unit.id, sentence)
    return said


def _stack(cards: dict[str, _Card]) -> float:
    """Give every card its height in its layer: core above, the rest below, each layer centred."""
    layers: dict[int, list[_Card]] = {}
    for card in cards.values():
        layers.setdefault(card.layer, []).append(card)
    heights = {layer: sum(c.height + GAP_Y for c in group) - GAP_Y for layer, group in layers.items()}
    total = max([*heights.values(), 150.0]) + 2 * MARGIN
    for layer, group in layers.items():
        y = (total - heights[layer]) / 2
        for card in sorted(group, key=lambda one: list(_NAMES).index(one.role)):
            card.y = y
            y += card.height + GAP_Y
    return total


def _box(
    name: str,
    text: str,
    x: float,
    middle: float,
    kind: str,
    *,
    on: str = "",
    room: float = 13.6,
    step: int = 16,
) -> tuple[str, int]:
    """Draw the question or the answer in a box that stands around ``middle``; return its height, too."""
    lines = _lines_of(text, SIDE - 26, room, 9)
    tall = 34 + step * len(lines) + 8
    top = middle - tall / 2
    return (
        f'<rect class="card {kind}" x="{x:.1f}" y="{top:.1f}" width="{SIDE}" height="{tall}" rx="10"/>'
        + _text_lines([name], x + 12, top + 20, size=10.5, kind=f"badge{on}")
        + _text_lines(lines, x + 12, top + 22 + step, size=step - 3.5, step=step, kind=f"strong{on}")
    ), tall


def _card(card: _Card) -> str:
    title = 20.0 + 16.0 * len(card.title)
    return (
        f'<g class="unit" data-unit="{escape(card.unit.id, quote=True)}" tabindex="0" role="img" '
        f'aria-label="{escape(f"{unit_label(card.unit)}, {card.badge}", quote=True)}">'
        f"<title>{escape(card.unit.text[:600])}</title>"
        f'<rect class="card {card.role}" x="{card.x:.1f}" y="{card.y:.1f}" width="{CARD}" '
        f'height="{card.height:.1f}" rx="8"/>'
        + _text_lines([card.badge], card.x + 12, card.y + 18, size=10, kind="badge")
        + _text_lines(card.title, card.x + 12, card.y + 36, size=12.5, step=16, kind="strong")
        + _text_lines(card.lines, card.x + 12, card.y + title + 15, size=11.5, step=15, kind="body")
        + "</g>"
    )


def _ends(link: _Link, cards: dict[str, _Card]) -> tuple[float, float, float, float]:
    a, b = cards[link.start], cards[link.end]
    if a.layer > b.layer:
        a, b = b, a
    # neighbours in one column: leave and come back on the right
    return a.x + CARD, a.middle, b.x + (CARD if a.layer == b.layer else 0), b.middle


def _labels(links: Sequence[_Link], cards: dict[str, _Card]) -> str:
    """Draw a pill on every link, in the gap before the card it leads to, moved down while it hits another."""
    taken: list[tuple[float, float, float]] = []
    drawn = []
    for link in sorted(links, key=lambda one: one.kind != "kept"):
        x1, y1, x2, y2 = _ends(link, cards)
        near = x2 - x1 <= GAP_X + 1
        x = (x1 + x2) / 2 if near else x2 - GAP_X / 2
        y = (y1 + y2) / 2 if near else y1 + 0.82 * (y2 - y1)
        whole = label = clip(link.label, 60)
        while len(label) > 1 and _width_of(label, 10.5) > GAP_X - 30:
            label = label[:-1]
        if label != whole:
            label = label[:-1].rstrip() + "…"
        wide = _width_of(label, 10.5) + 14
        if x1 == x2:  # neighbours in one column: the label stands beside them, not on them
            x = x1 + wide / 2 + 10
        while any(abs(x - a) < (wide + w) / 2 + 4 and abs(y - b) < 23 for a, b, w in taken):
            y += 6
        taken.append((x, y, wide))
        drawn.append(
            f'<g class="pill {link.kind}" tabindex="0" role="img" '
            f'aria-label="{escape(link.detail, quote=True)}">'
            f"<title>{escape(link.detail)}</title>"
            f'<rect x="{x - wide / 2:.1f}" y="{y - 10:.1f}" width="{wide:.1f}" height="20" rx="10"/>'
            + _text_lines([label], x, y + 3.7, size=10.5, kind="pilltext", more=' text-anchor="middle"')
            + "</g>"
        )
    return "".join(drawn)


def _answer(
    answer: Answer, known: Sequence[_Card], cards: Mapping[str, _Card], x: float, middle: float, height: float
) -> str:
    """Draw the answer with an edge from each card it rests on; "no answer" where the reader gave none.

    An edge is straight where nothing stands between, else it runs along the lower edge.
    """
    kind, line = ("answer", "kept") if answer.text else ("noanswer", "asked")
    said = answer.text or "The reader gave no answer."
    box, tall = _box("Answer", said, x, middle, kind, on=f" on{kind}", room=14.8, step=17)
    edges = []
    for place, card in enumerate(known):
        low, high = min(card.middle, middle) - 12, max(card.middle, middle) + 12
        between = [other for other in cards.values() if other.layer > card.layer]
        if not any(other.y < high and other.y + other.height > low for other in between):
            edges.append(_curve(card.x + CARD, card.middle, x, middle, line))
            continue
        # Down the gap beside the card, along a lane under all cards, up to the answer: no card is in the way.
        lane = height - MARGIN / 2 - 5.0 * place
        start, gap, end = card.x + CARD, card.x + CARD + 16 + 6.0 * place, x + SIDE / 2 + 8.0 * place
        edges.append(
            f'<path class="link {line}" stroke-width="2" fill="none" d="M{start:.1f},{card.middle:.1f} '
            f"Q{gap:.1f},{card.middle:.1f} {gap:.1f},{card.middle + 16:.1f} L{gap:.1f},{lane - 12:.1f} "
            f"Q{gap:.1f},{lane:.1f} {gap + 12:.1f},{lane:.1f} L{end - 12:.1f},{lane:.1f} "
            f'Q{end:.1f},{lane:.1f} {end:.1f},{lane - 12:.1f} L{end:.1f},{middle + tall / 2:.1f}"/>'
        )
    return "".join(edges) + box


# -- small drawing words


def _width_of(text: str, size: float) -> float:
    """Return about how wide ``text`` is at this font size: wide characters count double, narrow ones less."""
    units = 0.0
    for letter in text:
        if unicodedata.east_asian_width(letter) in "WF":
            units += 1.0
        elif letter in "iljtf.,;:'|!()[] ":
            units += 0.34
        elif letter in "mwMW":
            units += 0.74
        else:
            units += 0.68 if letter.isupper() else 0.575
    return units * size


def _lines_of(text: str, room: float, size: float, most: int) -> list[str]:
    """Return ``text`` wrapped to ``room`` pixels, at most ``most`` lines, the last ending in … when cut."""
    columns = max(4, int(room / (size * 0.5)))
    lines = [""]
    for word in (piece for long in text.split() for piece in textwrap.wrap(long, columns)):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _width_of(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    if len(lines) > most:
        lines = lines[:most]
        while lines[-1] and _width_of(lines[-1] + "…", size) > room:
            lines[-1] = lines[-1][:-1].rstrip()
        lines[-1] += "…"
    return lines


def _text_lines(
    lines: Sequence[str], x: float, y: float, *, size: float, step: float = 0, kind: str = "", more: str = ""
) -> str:
    """Draw lines of text under one another; ``y`` is the first baseline."""
    spans = "".join(
        f'<tspan x="{x:.1f}" y="{y + step * number:.1f}">{escape(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    return f'<text class="{kind}" font-size="{size:g}"{more}>{spans}</text>'


def _curve(x1: float, y1: float, x2: float, y2: float, kind: str, width: float = 2, title: str = "") -> str:
    """Draw a curve from one point to another with what a hover shows: an S, or a bow between neighbours."""
    bend = max(30.0, abs(x2 - x1) * 0.5)
    first, last = (x1 + 60, x2 + 60) if x1 == x2 else (x1 + bend, x2 - bend)
    told = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<path class="link {kind}" stroke-width="{width:.1f}" fill="none" '
        f'd="M{x1:.1f},{y1:.1f} C{first:.1f},{y1:.1f} {last:.1f},{y2:.1f} {x2:.1f},{y2:.1f}">{told}</path>'
    )

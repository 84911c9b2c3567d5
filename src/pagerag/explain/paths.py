"""The evidence paths: question → units → answer, what was kept in green, what was merely connected in red."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pagerag.explain.reasons import path_reason, scores_of
from pagerag.explain.shapes import asset, clip, curve, lines_of, text_lines, width_of
from pagerag.promotion import Promotion
from pagerag.promotion.trace import SupportPath, unit_label
from pagerag.text import split_sentences
from pagerag.units import Answer, Candidate

CARD, SIDE, GAP_X, GAP_Y, MARGIN = 236.0, 158.0, 148.0, 26.0, 16.0
MOST_LINES, MOST_TITLE_LINES = 6, 4
MOST_KEPT, MOST_REJECTED = 4, 4
LANE = 22.0  # below the cards: where edges to the answer run that would pass behind a card


@dataclass(slots=True)
class _Card:
    unit: Candidate
    role: str
    badge: str
    title: list[str]
    lines: list[str]
    layer: int
    x: float = 0.0
    y: float = 0.0

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
    steps = _steps(promotion)
    shown = [unit.id for unit in numbers or promotion.context]
    cards, links = _layout(promotion, steps, _quotes(answer, numbers), shown)
    for card in cards.values():
        card.x = MARGIN + SIDE + GAP_X * 0.62 + (card.layer - 1) * (CARD + GAP_X)
    height = _stack(cards)
    deepest = max((card.layer for card in cards.values()), default=1)
    right = MARGIN + SIDE + GAP_X * 0.62 + deepest * (CARD + GAP_X) - GAP_X
    parts = [_question(promotion.question, height)]
    middle = height / 2
    asked = _first_cards(cards, links, promotion)
    parts += [
        curve(MARGIN + SIDE, middle, card.x, card.middle, "kept" if card.role == "core" else "asked", 2)
        for card in asked
    ]
    parts += [_link(link, cards) for link in sorted(links, key=lambda one: one.kind == "kept")]
    width = right + MARGIN
    # An evidence reader answers with the sentences themselves, which are drawn already.
    if answer is not None and not answer.quotes:
        cited = dict.fromkeys(
            numbers[c.number - 1].id for c in answer.citations if 0 < c.number <= len(numbers)
        ) or dict.fromkeys(unit.id for unit in promotion.core)
        known = [cards[name] for name in cited if name in cards]
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


def _steps(promotion: Promotion) -> list[tuple[bool, list[Candidate], list[_Link]]]:
    """Return the paths worth drawing: kept ones first, each from the unit that names what is asked."""
    chosen: list[tuple[bool, list[Candidate], list[_Link]]] = []
    asking = naming_asked(promotion)
    scores = scores_of(promotion)
    seen: set[frozenset[str]] = set()
    counts = {True: 0, False: 0}
    limits = {True: MOST_KEPT, False: MOST_REJECTED}
    for path in sorted(promotion.paths, key=lambda one: _worth(one, scores)):
        kept = path.verdict == "kept"
        ids = [unit.id for unit in path.units]
        if len(set(ids)) < 2 or frozenset(ids) in seen or counts[kept] >= limits[kept]:
            continue
        seen.add(frozenset(ids))
        counts[kept] += 1
        units, edges = list(path.units), list(path.edges)
        if units[-1].id in asking and units[0].id not in asking:
            units.reverse()
            edges.reverse()
        kind = "kept" if kept else "rejected"
        links = [
            _Link(
                a.id,
                b.id,
                kind,
                edge.trig[0] if edge.trig else edge.kind,
                f"{edge.kind}: {', '.join(edge.trig) or 'neighbours'} · score {edge.score:+.2f} · "
                f"specificity {edge.spec:.2f} · hubness {edge.hub:.2f} · noise {edge.noise:.2f} · "
                f"{path_reason(promotion, path)}",
            )
            for a, b, edge in zip(units, units[1:], edges, strict=False)
            if a.id != b.id
        ]
        chosen.append((kept, units, links))
    return chosen


def _worth(path: SupportPath, scores: Mapping[str, float]) -> tuple[bool, float, bool, bool, int]:
    """Rank kept paths first, by their weakest unit; of the others, short ones between documents tell most."""
    if path.verdict == "kept":
        return False, -min(scores[unit.id] for unit in path.units), False, False, len(path.units)
    neighbours = any(edge.kind == "adjacent" for edge in path.edges)
    return True, 0.0, neighbours, len(path.units) > 3, path.rank


def naming_asked(promotion: Promotion) -> set[str]:
    """Return the units that name an entity of the question."""
    graph = promotion.graph
    asked = {node["id"] for node in graph.nodes if node.get("asked")}
    unit_of = {node["id"]: node["unit"] for node in graph.nodes if node["kind"] == "sentence"}
    return {
        unit_of[edge["from"]] for edge in graph.edges if edge["kind"] == "mention" and edge["to"] in asked
    }


def _quotes(answer: Answer | None, numbers: Sequence[Candidate]) -> dict[str, str]:
    """Return, of each cited unit, the sentences in which the citations stand."""
    said: dict[str, dict[str, None]] = {}
    for citation in answer.citations if answer is not None else ():
        if 0 < citation.number <= len(numbers) and citation.start is not None and citation.end is not None:
            unit = numbers[citation.number - 1]
            for start, end in split_sentences(unit.text):
                if start < citation.end and end > citation.start:
                    said.setdefault(unit.id, {})[unit.text[start:end]] = None
    return {unit: " ".join(sentences) for unit, sentences in said.items()}


def _layout(
    promotion: Promotion,
    steps: Sequence[tuple[bool, list[Candidate], list[_Link]]],
    quotes: Mapping[str, str],
    shown: Sequence[str],
) -> tuple[dict[str, _Card], list[_Link]]:
    core = [unit.id for unit in promotion.core]
    context = [unit.id for unit in promotion.context]
    scores = scores_of(promotion)
    cards: dict[str, _Card] = {}

    said = dict(quotes)  # of a longer unit, what the answer cites, else the sentence the path runs through
    for path in sorted(promotion.paths, key=lambda one: _worth(one, scores)):
        for unit, sentence in zip(path.units, path.sentences, strict=True):
            said.setdefault(unit.id, sentence)

    def place(unit: Candidate, layer: int) -> _Card:
        if unit.id not in cards:
            role = "core" if unit.id in core else "fill" if unit.id in context else "pool"
            rank = f"[{shown.index(unit.id) + 1}] " if unit.id in shown else ""
            title = lines_of(unit_label(unit), CARD - 26, 14.0, MOST_TITLE_LINES) if unit.title else []
            lines = lines_of(said.get(unit.id, unit.text), CARD - 26, 11.5, MOST_LINES)
            name = {"core": "core", "fill": "fills the budget", "pool": "rejected"}[role]
            cards[unit.id] = _Card(unit, role, f"{rank}{name} · {scores[unit.id]:.2f}", title, lines, layer)
        return cards[unit.id]

    links: dict[tuple[str, str], _Link] = {}
    for _, units, found in steps:
        layer = 1
        for unit in units:
            layer = place(unit, layer).layer + 1
        for link in found:
            if (link.end, link.start) not in links:
                links.setdefault((link.start, link.end), link)
    for unit in promotion.core:
        place(unit, 1)
    return cards, list(links.values())


def _first_cards(cards: dict[str, _Card], links: Sequence[_Link], promotion: Promotion) -> list[_Card]:
    ends = {link.end for link in links if link.kind == "kept"}
    asking = naming_asked(promotion)
    return [
        card
        for name, card in cards.items()
        if card.layer == 1 and (name in asking or (card.role == "core" and name not in ends))
    ]


def _stack(cards: dict[str, _Card]) -> float:
    """Give every card its height in its layer: core above, the rest below, each layer centred."""
    order = {"core": 0, "fill": 1, "pool": 2}
    layers: dict[int, list[_Card]] = {}
    for card in cards.values():
        layers.setdefault(card.layer, []).append(card)
    heights = {layer: sum(c.height + GAP_Y for c in group) - GAP_Y for layer, group in layers.items()}
    total = max([*heights.values(), 150.0]) + 2 * MARGIN
    for layer, group in layers.items():
        y = (total - heights[layer]) / 2
        for card in sorted(group, key=lambda one: order[one.role]):
            card.y = y
            y += card.height + GAP_Y
    return total


def _question(question: str, height: float) -> str:
    lines = lines_of(question, SIDE - 26, 13.6, 9)
    tall = 34 + 16 * len(lines) + 8
    top = height / 2 - tall / 2
    return (
        f'<rect class="card question" x="{MARGIN}" y="{top:.1f}" width="{SIDE}" height="{tall}" rx="10"/>'
        + text_lines(["Question"], MARGIN + 12, top + 20, size=10.5, step=0, kind="badge")
        + text_lines(lines, MARGIN + 12, top + 38, size=12.5, step=16, kind="strong")
    )


def _card(card: _Card) -> str:
    title = 20.0 + 16.0 * len(card.title)
    return (
        f'<g class="unit" data-unit="{escape(card.unit.id, quote=True)}" tabindex="0" role="img" '
        f'aria-label="{escape(f"{unit_label(card.unit)}, {card.badge}", quote=True)}">'
        f"<title>{escape(card.unit.text[:600])}</title>"
        f'<rect class="card {card.role}" x="{card.x:.1f}" y="{card.y:.1f}" width="{CARD}" '
        f'height="{card.height:.1f}" rx="8"/>'
        + text_lines([card.badge], card.x + 12, card.y + 18, size=10, step=0, kind="badge")
        + text_lines(card.title, card.x + 12, card.y + 36, size=12.5, step=16, kind="strong")
        + text_lines(card.lines, card.x + 12, card.y + title + 15, size=11.5, step=15, kind="body")
        + "</g>"
    )


def _cut(text: str, room: float, size: float) -> str:
    """Return ``text`` on one line of ``room`` pixels."""
    whole = clip(text, 60)
    short = whole
    while len(short) > 1 and width_of(short, size) > room:
        short = short[:-1]
    return short if short == whole else short[:-1].rstrip() + "…"


def _ends(link: _Link, cards: dict[str, _Card]) -> tuple[float, float, float, float]:
    a, b = cards[link.start], cards[link.end]
    if a.layer > b.layer:
        a, b = b, a
    if a.layer == b.layer:  # neighbours in one column: leave and come back on the right
        return a.x + CARD, a.middle, b.x + CARD, b.middle
    return a.x + CARD, a.middle, b.x, b.middle


def _link(link: _Link, cards: dict[str, _Card]) -> str:
    x1, y1, x2, y2 = _ends(link, cards)
    width = 3.0 if link.kind == "kept" else 1.6
    if x1 == x2:
        return (
            f'<path class="link {link.kind}" stroke-width="{width}" fill="none" d="M{x1:.1f},{y1:.1f} '
            f'C{x1 + 60:.1f},{y1:.1f} {x1 + 60:.1f},{y2:.1f} {x2:.1f},{y2:.1f}">'
            f"<title>{escape(link.detail)}</title></path>"
        )
    return curve(x1, y1, x2, y2, link.kind, width, link.detail)


def _labels(links: Sequence[_Link], cards: dict[str, _Card]) -> str:
    """Draw a pill on every link, in the gap before the card it leads to, moved down while it hits another."""
    taken: list[tuple[float, float, float]] = []
    drawn = []
    for link in sorted(links, key=lambda one: one.kind != "kept"):
        x1, y1, x2, y2 = _ends(link, cards)
        near = x2 - x1 <= GAP_X + 1
        x = (x1 + x2) / 2 if near else x2 - GAP_X / 2
        y = (y1 + y2) / 2 if near or x1 == x2 else y1 + 0.82 * (y2 - y1)
        label = _cut(link.label, GAP_X - 30, 10.5)
        wide = width_of(label, 10.5) + 14
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
            + text_lines([label], x, y + 3.7, size=10.5, step=0, kind="pilltext", anchor="middle")
            + "</g>"
        )
    return "".join(drawn)


def _answer(
    answer: Answer, cited: Sequence[_Card], cards: Mapping[str, _Card], x: float, middle: float, height: float
) -> str:
    """Draw the answer with an edge from each card it rests on; "no answer" where the reader gave none."""
    lines = lines_of(answer.text or "The reader gave no answer.", SIDE - 26, 14.8, 9)
    tall = 34 + 17 * len(lines) + 8
    top = middle - tall / 2
    kind = "answer" if answer.text else "noanswer"
    edges = "".join(
        _to_answer(card, place, cards, x, middle, tall, height, "kept" if answer.text else "asked")
        for place, card in enumerate(cited)
    )
    return (
        f'{edges}<rect class="card {kind}" x="{x:.1f}" y="{top:.1f}" width="{SIDE}" height="{tall}" rx="10"/>'
        + text_lines(["Answer"], x + 12, top + 20, size=10.5, step=0, kind=f"badge on{kind}")
        + text_lines(lines, x + 12, top + 39, size=13.5, step=17, kind=f"strong on{kind}")
    )


def _to_answer(
    card: _Card,
    place: int,
    cards: Mapping[str, _Card],
    x: float,
    middle: float,
    tall: float,
    height: float,
    kind: str,
) -> str:
    """Return an edge to the answer: straight where nothing stands between, else along the lower edge."""
    between = [other for other in cards.values() if other.layer > card.layer]
    low, high = min(card.middle, middle) - 12, max(card.middle, middle) + 12
    if not any(other.y < high and other.y + other.height > low for other in between):
        return curve(card.x + CARD, card.middle, x, middle, kind, 2)
    # Down the gap beside the card, along a lane under all cards, up to the answer: no card is in the way.
    lane = height - MARGIN / 2 - 5.0 * place
    start, gap, end = card.x + CARD, card.x + CARD + 16 + 6.0 * place, x + SIDE / 2 + 8.0 * place
    foot = middle + tall / 2
    return (
        f'<path class="link {kind}" stroke-width="2" fill="none" d="M{start:.1f},{card.middle:.1f} '
        f"Q{gap:.1f},{card.middle:.1f} {gap:.1f},{card.middle + 16:.1f} L{gap:.1f},{lane - 12:.1f} "
        f"Q{gap:.1f},{lane:.1f} {gap + 12:.1f},{lane:.1f} L{end - 12:.1f},{lane:.1f} "
        f'Q{end:.1f},{lane:.1f} {end:.1f},{lane - 12:.1f} L{end:.1f},{foot:.1f}"/>'
    )

"""The query-local graph as a picture: documents, sentences and entities, laid out by springs."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.explain.shapes import clip, text_lines, width_of
from pagerag.promotion import Promotion

__all__ = ["graph_svg", "spring_layout"]

WIDTH, MARGIN = 1180.0, 60.0
_HEIGHTS = ((40, 560.0), (80, 760.0), (10**9, 1040.0))  # by the number of nodes
MOST_ENTITIES = 46
_PULL = {"contains": 1.6, "mention": 1.0, "adjacent": 0.7, "shared entity": 0.5, "relation": 0.7}


def graph_svg(promotion: Promotion) -> str:
    """All sentences and documents, with the entities that connect them or that the question asks about.

    Sentences carry their place in the pool; the core is green. Names that occur once and connect nothing
    are left out, or the picture would say nothing.
    """
    nodes, edges = _worth_drawing(promotion)
    index = {node["id"]: place for place, node in enumerate(nodes)}
    pairs = [(index[e["from"]], index[e["to"]], _PULL.get(e["kind"], 0.5)) for e in edges]
    positions = spring_layout(len(nodes), pairs)
    height = next(tall for most, tall in _HEIGHTS if len(nodes) <= most)
    at = MARGIN + positions * [WIDTH - 2 * MARGIN, height - 2 * MARGIN]
    core = {unit.id for unit in promotion.core}
    chosen = {node["id"] for node in nodes if node.get("unit") in core}
    parts = [_edge(edge, at[index[edge["from"]]], at[index[edge["to"]]], chosen) for edge in edges]
    ranks = {unit.id: number for number, unit in enumerate(promotion.pool, 1)}
    roles = _roles(promotion)
    order = {"document": 0, "entity": 1, "sentence": 2}
    for place, node in sorted(enumerate(nodes), key=lambda one: order[one[1]["kind"]]):
        parts.append(_node(node, float(at[place][0]), float(at[place][1]), ranks, roles))
    return (
        f'<svg class="graph" viewBox="0 0 {WIDTH:.0f} {height:.0f}" xmlns="http://www.w3.org/2000/svg" '
        f'role="img" aria-label="Query-local graph">{"".join(parts)}</svg>'
    )


def spring_layout(count: int, edges: list[tuple[int, int, float]], rounds: int = 260) -> NDArray[np.float64]:
    """Positions in the unit square: linked nodes attract, all repel (Fruchterman–Reingold), seeded.

    The same graph gives the same picture.
    """
    if count == 0:
        return np.zeros((0, 2))
    angle = np.arange(count) * np.pi * (3 - np.sqrt(5))  # a sunflower: spread out and deterministic
    radius = np.sqrt((np.arange(count) + 0.5) / count) / 2
    place = 0.5 + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    pull = np.zeros((count, count))
    for a, b, weight in edges:
        pull[a, b] = pull[b, a] = max(pull[a, b], weight)
    ideal = 0.92 / np.sqrt(count)
    for step in range(rounds):
        apart = place[:, None] - place[None]
        distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-4)
        force = ideal**2 / distance**2 - pull * distance / ideal
        move = (apart * force[..., None]).sum(axis=1) + (0.5 - place) * 0.6
        length = np.maximum(np.hypot(move[:, 0], move[:, 1]), 1e-9)
        heat = 0.11 * (1 - step / rounds) ** 1.5 + 0.001
        place = place + move / length[:, None] * np.minimum(length * 0.1, heat)[:, None]
    low, high = place.min(axis=0), place.max(axis=0)
    spread: NDArray[np.float64] = (place - low) / np.maximum(high - low, 1e-9)
    return spread if count > 1 else np.full((1, 2), 0.5)


def _worth_drawing(promotion: Promotion) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    graph = promotion.graph
    core = {unit.id for unit in promotion.core}
    unit_of = {node["id"]: node["unit"] for node in graph.nodes if node["kind"] == "sentence"}
    near_core = {
        edge["to"] for edge in graph.edges if edge["kind"] == "mention" and unit_of[edge["from"]] in core
    }
    degree = Counter(edge["to"] for edge in graph.edges if edge["kind"] == "mention")
    entities = [
        node
        for node in graph.nodes
        if node["kind"] == "entity" and (node["asked"] or degree[node["id"]] > 1 or node["id"] in near_core)
    ]
    entities.sort(key=lambda n: (not n["asked"], n["id"] not in near_core, -degree[n["id"]], n["id"]))
    kept = {node["id"] for node in entities[:MOST_ENTITIES]}
    nodes = [node for node in graph.nodes if node["kind"] != "entity" or node["id"] in kept]
    inside = {node["id"] for node in nodes}
    edges = [e for e in graph.edges if e["from"] in inside and e["to"] in inside]
    # Where an entity is drawn, the shared-entity edge it makes is seen already.
    drawn = {node["label"] for node in nodes if node["kind"] == "entity"}
    return nodes, [e for e in edges if e["kind"] != "shared entity" or not set(e["trig"]) & drawn]


def _roles(promotion: Promotion) -> dict[str, str]:
    roles = {unit.id: "fill" for unit in promotion.context}
    return {**roles, **{unit.id: "core" for unit in promotion.core}}


def _edge(edge: dict[str, Any], a: NDArray[np.float64], b: NDArray[np.float64], chosen: set[str]) -> str:
    on_core = edge["from"] in chosen and edge["kind"] == "mention"
    kind = edge["kind"].replace(" ", "-")
    told = escape(f"{edge['kind']}: {', '.join(edge['trig'])}")
    return (
        f'<line class="edge {kind}{" oncore" if on_core else ""}" x1="{a[0]:.1f}" y1="{a[1]:.1f}" '
        f'x2="{b[0]:.1f}" y2="{b[1]:.1f}"><title>{told}</title></line>'
    )


def _node(node: dict[str, Any], x: float, y: float, ranks: dict[str, int], roles: dict[str, str]) -> str:
    told = f"<title>{escape(str(node['label']))}</title>"
    if node["kind"] == "sentence":
        role = roles.get(node["unit"], "pool")
        radius = 15 if role == "core" else 12
        return (
            f'<g>{told}<circle class="node {role}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
            + text_lines(
                [str(ranks.get(node["unit"], "?"))], x, y + 4, size=11, step=0, kind="strong", anchor="middle"
            )
            + "</g>"
        )
    label = clip(str(node["label"]), 26)
    if node["kind"] == "document":
        return (
            f'<g>{told}<rect class="node document" x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"/>'
            + text_lines([label], x, y - 9, size=9.5, step=0, kind="faint", anchor="middle")
            + "</g>"
        )
    wide = width_of(label, 10.5) + 14
    asked = " asked" if node.get("asked") else ""
    return (
        f'<g class="entity{asked}">{told}<rect x="{x - wide / 2:.1f}" y="{y - 9.5:.1f}" width="{wide:.1f}" '
        f'height="19" rx="9.5"/>'
        + text_lines([label], x, y + 3.6, size=10.5, step=0, kind="pilltext", anchor="middle")
        + "</g>"
    )

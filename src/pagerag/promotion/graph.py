"""The query-local graph (3.2, A.1, A.3): sentence-level links as arrays, every one with its metadata.

A link is a hypothesis of support, never support itself. The arrays are what scoring needs; the graph
with its documents, sentences, entities and typed edges is drawn from them on demand (``export.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion import score
from pagerag.promotion.reading import Reading
from pagerag.promotion.sentence_arrays import STRIDE
from pagerag.promotion.weights import Weights

__all__ = ["ADJACENT", "KINDS", "NONE", "RELATION", "SHARED", "Links", "build_links"]

NONE, ADJACENT, SHARED, RELATION = -1, 0, 1, 2
REPEATS = 0.85
"""Sentences that share more of the shorter one's words than this repeat each other."""

KINDS = ("adjacent", "shared entity", "relation")

Floats = NDArray[np.float32]
Square = NDArray[np.float32]
Layer = tuple[NDArray[np.intp], dict[str, Any]]
"""Links of one kind: the places of their pairs in a flattened square, and m(e) of each by name."""


@dataclass(frozen=True, eq=False)
class Links:
    """For each pair of sentences the link that joins them, if any, and its m(e). Symmetric n x n arrays.

    Where several links join a pair (two neighbours that also share a name), the best-scored one counts.
    What only a trace shows is drawn from ``layers`` when it is asked for.
    """

    kind: NDArray[np.int8]
    spec: Square
    hub: Square
    noise: Square
    relevance: Square
    unasked: Square  # triggers that the question does not name
    towards: NDArray[np.bool_]  # [i, j]: i names the title of j's document, another one than its own
    same: Square  # 1 where both are of one document
    cross: NDArray[np.bool_]  # a link of any kind joins two documents
    score: Square  # -inf where there is no link
    pair_coh: Square
    stated: dict[tuple[int, int], int]  # relation links: which of Reading.stated made it
    df: Floats  # E
    idf: Floats  # E
    layers: list[Layer]  # what was laid where; a later layer lies over an earlier one

    @cached_property
    def triggers(self) -> Square:
        """Number of triggers of each edge: |T_e|."""
        return _square(self.layers, "triggers", len(self.kind))

    @cached_property
    def conf(self) -> Square:
        """Confidence of each edge: conf(e)."""
        return _square(self.layers, "conf", len(self.kind))

    @cached_property
    def div(self) -> Square:
        """Diversity of sources of each edge: div(e)."""
        return _square(self.layers, "div", len(self.kind))

    @cached_property
    def reliability(self) -> Square:
        """Reliability of each edge: reliability(e)."""
        return _square(self.layers, "reliability", len(self.kind))

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Whether the question names a trigger."""
        return _square(self.layers, "asked", len(self.kind)) > 0

    @cached_property
    def names(self) -> NDArray[np.bool_]:
        """Whether one end names the other's document."""
        return _square(self.layers, "names", len(self.kind)) > 0


def _square(layers: list[Layer], name: str, n: int) -> Square:
    square = np.zeros(n * n, dtype=np.float32)
    for places, fields in layers:
        square[places] = fields[name]
    return square.reshape(n, n)


def build_links(reading: Reading, w: Weights, *, paragraph: bool) -> Links:
    """Link the sentences of the pool and score each link as a hypothesis."""
    n = len(reading)
    df = np.add.reduce(reading.entity, axis=0)
    idf = score.idf_by_df(n)
    rarity = idf.take(df.astype(np.intp))
    one = reading.document[:, None] == reading.document
    same = one.astype(np.float32)
    sums = _trigger_sums(reading, rarity, df, same)
    # Two sentences that say the same in nearly the same words complete nothing: no hypothesis of support.
    most = REPEATS * np.maximum(reading.size, 1.0)
    is_shared = (sums[0] > 0) & (reading.overlap <= np.minimum(most[:, None], most))
    is_shared.ravel()[:: n + 1] = False
    # Few pairs share a name: the rest of the work is on those alone.
    pairs = is_shared.ravel().nonzero()[0]
    triggers, idf_sum, df_sum, asked_sum = sums.reshape(4, n * n).take(pairs, axis=1)
    sources = 2.0 - same.ravel().take(pairs)
    unnamed = np.maximum(same, reading.own < 0)  # what cannot be named from another document
    towards = reading.explicit.take(reading.own, axis=1) > unnamed

    conf = score.confidence(triggers, w)
    # idf falls with df: no entity is rarer than one that a single sentence names
    rarest = float(idf[1] if reading.entities.has_singles else rarity[df > 0].max(initial=0.0))
    spec = score.share(idf_sum, triggers, rarest)
    hub = score.share(df_sum, triggers, float(df.max(initial=1.0)))
    div = score.diversity(sources, w)
    noisy = score.noise(spec, conf, sources, w, paragraph=paragraph)
    asked = asked_sum > 0
    names = (towards | towards.T).ravel().take(pairs)
    relevance = _relevance(reading)
    reliable = score.reliability(div, conf, w)
    value = score.edge_score(relevance.ravel().take(pairs), reliable, spec, hub, noisy, w, asked, names)
    shared: Layer = (
        pairs,
        {
            "conf": conf, "div": div, "spec": spec, "hub": hub, "noise": noisy, "reliability": reliable,
            "triggers": triggers, "asked": asked, "names": names,
        },
    )  # fmt: skip
    layers = [shared]
    kind = np.empty((n, n), dtype=np.int8)
    kind.fill(NONE)
    best = np.empty((n, n), dtype=np.float32)
    best.fill(-np.inf)
    unasked = np.zeros((n, n), dtype=np.float32)
    kind.ravel()[pairs] = SHARED
    best.ravel()[pairs] = value
    unasked.ravel()[pairs] = triggers - asked_sum
    _lay_adjacent(reading, w, one, relevance, kind, best, layers)
    stated = _lay_relations(reading, w, same, relevance, kind, best, layers)
    return Links(
        kind=kind,
        spec=_square(layers, "spec", n),
        hub=_square(layers, "hub", n),
        noise=_square(layers, "noise", n),
        relevance=relevance,
        unasked=unasked,
        towards=towards,
        same=same,
        cross=(kind != NONE) > one,
        score=best,
        pair_coh=_pair_coherence(reading, sums[0], w),
        stated=stated,
        df=df,
        idf=rarity,
        layers=layers,
    )


def _trigger_sums(reading: Reading, rarity: Floats, df: Floats, same: Square) -> NDArray[np.float32]:
    """Return Σ over T_e = Ent(s_i) ∩ Ent(s_j) of 1, idf(t), df(t) and [the question names t]: 4 x n x n.

    The last three have meaning only where there is a trigger.

    Sentences of one document all have its title; that says only that they are of one document, so it is
    not a trigger between them.
    """
    entity, own = reading.entity, reading.own
    n, count = entity.shape
    worth = np.empty((4, count), dtype=np.float32)
    worth[0], worth[1], worth[2], worth[3] = 1.0, rarity, df, reading.asked
    sums = ((worth[:, None, :] * entity).reshape(4 * n, count) @ entity.T).reshape(4, n, n)
    title = worth.take(own, axis=1)
    title *= own >= 0
    sums -= title[:, :, None] * same
    return np.asarray(sums)


def _relevance(reading: Reading) -> Square:
    """Compute edge_rel over prov(e) = the two sentences, from counts of shared words."""
    has = reading.query_has
    one = np.add.reduce(has, axis=1)
    asked = one[:, None] + one
    asked -= has @ has.T
    union = reading.size[:, None] + (reading.size + has.shape[1])
    union -= reading.overlap
    union -= asked
    return score.edge_relevance(asked, union)


def _pair_coherence(reading: Reading, shared: Square, w: Weights) -> Square:
    count = np.add.reduce(reading.entity, axis=1)
    union = count[:, None] + count
    union -= shared
    jaccard = shared / np.maximum(union, 1.0, out=union)
    lex = score.lexical_coverage(reading.overlap, reading.size[:, None])
    return score.pair_coherence(jaccard, (lex + lex.T) / 2.0, w)


def _lay_adjacent(
    reading: Reading,
    w: Weights,
    same: NDArray[np.bool_],
    relevance: Square,
    kind: NDArray[np.int8],
    best: Square,
    layers: list[Layer],
) -> None:
    """Link neighbours in one document: confidence 1, and fixed spec, hub and noise for want of a trigger."""
    near = (_neighbours(reading) & same).ravel().nonzero()[0]
    if not len(near):
        return
    reliable = float(score.reliability(0.0, 1.0, w))
    value = score.edge_score(relevance.ravel().take(near), reliable, w.adj_spec, w.adj_hub, w.adj_noise, w)
    chosen = value > best.ravel().take(near)
    near = near[chosen]
    kind.ravel()[near] = ADJACENT
    best.ravel()[near] = value[chosen]
    fields = {
        "conf": 1.0, "div": 0.0, "spec": w.adj_spec, "hub": w.adj_hub, "noise": w.adj_noise,
        "reliability": reliable, "triggers": 0.0, "asked": False, "names": False,
    }  # fmt: skip
    layers.append((near, fields))


def _neighbours(reading: Reading) -> NDArray[np.bool_]:
    """Tell which sentences follow each other, across the border of two pieces of a document too."""
    place, first = reading.place, reading.sentence == 0
    apart = place[:, None] - place
    near: NDArray[np.bool_] = np.abs(apart) == 1
    if (place >= STRIDE).any():
        piece = place // STRIDE
        after = (piece - piece[:, None] == 1) & reading.closes[:, None] & first
        near |= after | after.T
    return near


def _lay_relations(
    reading: Reading,
    w: Weights,
    same: Square,
    relevance: Square,
    kind: NDArray[np.int8],
    best: Square,
    layers: list[Layer],
) -> dict[tuple[int, int], int]:
    """Link each sentence that states a given relation with those elsewhere that have one of its ends.

    conf(e) is the relation's own.
    """
    made: dict[tuple[int, int], int] = {}
    n = len(reading)
    for index, (head, tail, relation, nodes) in enumerate(reading.stated):
        ends = (reading.entity[:, head] > 0) | (reading.entity[:, tail] > 0)
        asked = reading.asked[head] | reading.asked[tail]
        conf = float(relation.confidence)
        for node in nodes:
            div = score.diversity(2.0 - same[node], w)
            reliable = score.reliability(div, conf, w)
            value = score.edge_score(relevance[node], reliable, w.rel_spec, w.rel_hub, 0.0, w, asked)
            others = np.nonzero(ends & (reading.unit != reading.unit[node]) & (value > best[node]))[0]
            for places in (node * n + others, others * n + node):
                kind.ravel()[places] = RELATION
                best.ravel()[places] = value[others]
                fields = {
                    "conf": conf, "div": div[others], "spec": w.rel_spec, "hub": w.rel_hub, "noise": 0.0,
                    "reliability": reliable[others], "triggers": 0.0, "asked": False, "names": False,
                }  # fmt: skip
                layers.append((places, fields))
            for other in others.tolist():
                made[node, other] = made[other, node] = index
    return made

"""The query-local graph (3.2, A.1, A.3): sentence-level links as arrays, every one with its metadata.

A link is a hypothesis of support, never support itself. The arrays are what scoring needs; the graph
with its documents, sentences, entities and typed edges is drawn from them on demand (``export.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagerag.promote import score
from pagerag.promote.reading import Reading
from pagerag.promote.weights import Weights

__all__ = ["ADJACENT", "KINDS", "NONE", "RELATION", "SHARED", "Links", "build_links"]

NONE, ADJACENT, SHARED, RELATION = -1, 0, 1, 2
REPEATS = 0.85
"""Sentences that share more of the shorter one's words than this repeat each other."""

KINDS = ("adjacent", "shared entity", "relation")

Floats = NDArray[np.float32]
Square = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """For each pair of sentences the link that joins them, if any, and its m(e). Symmetric n x n arrays.

    Where several links join a pair (two neighbours that also share a name), the best-scored one counts.
    """

    kind: NDArray[np.int8]
    triggers: Square  # |T_e|
    conf: Square
    div: Square
    spec: Square
    hub: Square
    noise: Square
    relevance: Square
    reliability: Square
    unasked: Square  # triggers that the question does not name
    asked: NDArray[np.bool_]  # the question names a trigger
    names: NDArray[np.bool_]  # one end names the other's document
    towards: NDArray[np.bool_]  # [i, j]: i names the title of j's document, another one than its own
    same: Square  # 1 where both are of one document
    cross: NDArray[np.bool_]  # a link of any kind joins two documents
    score: Square  # -inf where there is no link
    pair_coh: Square
    stated: dict[tuple[int, int], int]  # relation links: which of Reading.stated made it
    df: Floats  # E
    idf: Floats  # E


def build_links(reading: Reading, w: Weights, *, paragraph: bool) -> Links:
    """Link the sentences of the pool and score each link as a hypothesis."""
    n = len(reading)
    df = reading.entity.sum(axis=0)
    rarity = score.idf(df, n)
    one = reading.document[:, None] == reading.document
    same = one.astype(np.float32)
    shared, idf_sum, df_sum, asked_sum = _trigger_sums(reading, rarity, df, same)
    # Two sentences that say the same in nearly the same words complete nothing: no hypothesis of support.
    small = np.minimum(reading.size[:, None], reading.size)
    is_shared = (shared > 0) & (reading.overlap <= REPEATS * np.maximum(small, 1.0))
    is_shared.flat[:: n + 1] = False
    sources = 2.0 - same

    conf = score.confidence(shared, w)
    rarest = float(rarity[df > 0].max(initial=0.0))
    if reading.single[0]:
        rarest = max(rarest, float(score.idf(1, n)))
    spec = score.share(idf_sum, shared, rarest)
    hub = score.share(df_sum, shared, float(df.max(initial=1.0)))
    div = score.diversity(sources, w)
    noisy = score.noise(spec, conf, sources, w, paragraph=paragraph)
    asked = (asked_sum > 0) & is_shared
    towards = (reading.explicit.take(reading.own, axis=1) > 0) & (reading.own >= 0) & ~one
    names = towards | towards.T
    relevance = _relevance(reading)
    reliable = score.reliability(div, conf, w)
    value = score.edge_score(relevance, reliable, spec, hub, noisy, w, asked, names & is_shared)

    kind = np.where(is_shared, np.int8(SHARED), np.int8(NONE))
    best = np.where(is_shared, value, np.float32(-np.inf))
    fields = {"conf": conf, "div": div, "spec": spec, "hub": hub, "noise": noisy, "reliability": reliable}
    _lay_adjacent(reading, w, one, relevance, kind, best, fields)
    stated = _lay_relations(reading, w, sources, relevance, kind, best, fields)
    linked = kind != NONE
    for name, values in fields.items():
        fields[name] = values * linked
    return Links(
        kind=kind,
        triggers=(kind == SHARED) * shared,
        relevance=relevance,
        unasked=is_shared * (shared - asked_sum),
        asked=asked & (kind == SHARED),
        names=names & (kind == SHARED),
        towards=towards,
        same=same,
        cross=linked & ~one,
        score=best,
        pair_coh=_pair_coherence(reading, shared, w),
        stated=stated,
        df=df,
        idf=rarity,
        **fields,
    )


def _trigger_sums(
    reading: Reading, rarity: Floats, df: Floats, same: Square
) -> tuple[Square, Square, Square, Square]:
    """Σ over T_e = Ent(s_i) ∩ Ent(s_j) of 1, idf(t), df(t) and [the question names t].

    Sentences of one document all have its title; that says only that they are of one document, so it is
    not a trigger between them.
    """
    entity, own = reading.entity, reading.own
    weighted = np.concatenate([entity, entity * rarity, entity * df, entity * reading.asked])
    sums = (weighted @ entity.T).reshape(4, len(entity), len(entity))
    titled = own >= 0
    values = np.stack([titled, titled * rarity[own], titled * df[own], titled * reading.asked[own]]).astype(
        np.float32
    )
    sums -= values[:, :, None] * same
    np.maximum(sums, 0.0, out=sums)
    sums[1:] *= sums[0] > 0.5
    return sums[0].round(), sums[1], sums[2], sums[3]


def _relevance(reading: Reading) -> Square:
    """edge_rel over prov(e) = the two sentences, from counts of shared words."""
    has = (reading.query_count > 0).astype(np.float32)
    one = has.sum(axis=1)
    both = has @ has.T
    asked = one[:, None] + one[None, :] - both
    union = reading.size[:, None] + reading.size[None, :] - reading.overlap
    return score.edge_relevance(asked, union + has.shape[1] - asked)


def _pair_coherence(reading: Reading, shared: Square, w: Weights) -> Square:
    count = reading.entity.sum(axis=1)
    union = count[:, None] + count[None, :] - shared
    jaccard = shared / np.maximum(union, 1.0)
    lex = score.lexical_coverage(reading.overlap, reading.size[:, None])
    return score.pair_coherence(jaccard, (lex + lex.T) / 2.0, w)


def _lay_adjacent(
    reading: Reading,
    w: Weights,
    same: NDArray[np.bool_],
    relevance: Square,
    kind: NDArray[np.int8],
    best: Square,
    fields: dict[str, Square],
) -> None:
    """Neighbours in one document: confidence 1, and fixed spec, hub and noise for want of a trigger."""
    gap = np.abs(reading.place[:, None] - reading.place[None, :])
    near = same & (gap == 1)
    if not near.any():
        return
    constants = {
        "conf": 1.0,
        "div": 0.0,
        "spec": w.adj_spec,
        "hub": w.adj_hub,
        "noise": w.adj_noise,
        "reliability": float(score.reliability(0.0, 1.0, w)),
    }
    value = score.edge_score(relevance, constants["reliability"], w.adj_spec, w.adj_hub, w.adj_noise, w)
    chosen = near & (value > best)
    kind[chosen] = ADJACENT
    best[chosen] = value[chosen]
    for name, constant in constants.items():
        fields[name][chosen] = constant


def _lay_relations(
    reading: Reading,
    w: Weights,
    sources: Square,
    relevance: Square,
    kind: NDArray[np.int8],
    best: Square,
    fields: dict[str, Square],
) -> dict[tuple[int, int], int]:
    """A given relation links each sentence that states it with the sentences elsewhere that have one of its
    ends; conf(e) is the relation's own."""
    made: dict[tuple[int, int], int] = {}
    for index, (head, tail, relation, nodes) in enumerate(reading.stated):
        ends = (reading.entity[:, head] > 0) | (reading.entity[:, tail] > 0)
        asked = reading.asked[head] | reading.asked[tail]
        conf = float(relation.confidence)
        for node in nodes:
            div = score.diversity(sources[node], w)
            reliable = score.reliability(div, conf, w)
            value = score.edge_score(relevance[node], reliable, w.rel_spec, w.rel_hub, 0.0, w, asked)
            others = np.nonzero(ends & (reading.unit != reading.unit[node]) & (value > best[node]))[0]
            for pair in ((node, others), (others, node)):
                kind[pair] = RELATION
                best[pair] = value[others]
                fields["conf"][pair] = conf
                fields["spec"][pair] = w.rel_spec
                fields["hub"][pair] = w.rel_hub
                fields["noise"][pair] = 0.0
                fields["div"][pair] = div[others]
                fields["reliability"][pair] = reliable[others]
            for other in others.tolist():
                made[node, other] = made[other, node] = index
    return made

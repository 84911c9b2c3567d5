"""The paper's signals as one row of numbers per sentence: what the learned scorer judges by.

Every feature is a signal that the formulas use as well (relevance, entities, relation cues, provenance,
specificity, hubness, noise, paths, the retriever's score), measured in several ways; none knows anything
of the answer or of gold annotations. Missing signals are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promote.evidence import Evidence

__all__ = [
    "ABLATED_FEATURES",
    "AGGREGATED",
    "FEATURES",
    "SECOND",
    "View",
    "node_features",
    "second_features",
    "unit_features",
    "unit_segments",
    "unit_view",
]

Floats = NDArray[Any]

FEATURES: tuple[str, ...] = (
    # the retriever
    "ret", "ret_rank", "sim_seed", "sim_top",
    # question words and names
    "lex", "idf_cover", "idf_cover_own", "stem_cover", "stem_only", "cover_rank", "asked_share", "literal_share", "titled", "title_share",
    "cues", "cue_rank_doc",
    # the sentence
    "size", "place", "pronoun", "answer_kind", "names", "new_names",
    # its document
    "doc_ret", "doc_cover", "doc_share", "doc_rank", "rank_in_doc_ret", "rank_in_doc_cover",
    "doc_titles_asked", "doc_mass",
    # directed mention
    "in_best", "in_anchored", "in_count", "out_best", "out_titled", "out_count", "doc_in_best", "bridge_in", "bridge_both",
    # links
    "link_best", "link_unasked", "link_anchor", "link_spec", "link_hub", "link_noise", "degree", "adjacent",
    "pair_cover", "pair_cover_link", "pair_stem_link", "cover_gain", "redundant",
    # paths
    "path1", "path2", "path3", "path_best", "path_rank",
    # the question
    "q_bridge", "q_compare", "q_yesno", "q_entities", "q_tokens", "q_titles", "q_person", "q_date", "q_place",
    "q_number",
)  # fmt: skip


_OF_QUESTION = FEATURES.index("q_bridge")  # from here on, features of the question: the same for every unit

ABLATED_FEATURES: dict[str, tuple[str, ...]] = {
    "query_alignment": (
        "sim_seed", "sim_top", "lex", "idf_cover", "idf_cover_own", "stem_cover", "stem_only", "pair_stem_link", "cover_rank",
        "asked_share", "literal_share", "titled", "title_share", "cues", "cue_rank_doc", "doc_cover",
        "rank_in_doc_cover", "pair_cover", "pair_cover_link", "cover_gain", "answer_kind", "doc_whole_cover",
        "doc_whole_asked",
    ),
    "provenance_reliability": (
        "doc_share", "doc_rank", "doc_mass", "doc_titles_asked", "in_count", "out_count", "degree", "link_best",
    ),
    "bridge_specificity": (
        "link_spec", "link_hub", "link_unasked", "link_anchor", "bridge_in", "bridge_both", "in_best",
        "in_anchored", "out_best", "out_titled", "doc_in_best",
    ),
    "path_quality": ("link_noise", "path1", "path2", "path3", "path_best", "path_rank", "redundant", "adjacent"),
}  # fmt: skip
"""The learned scorer's features by the feature groups of Appendix B."""


def _rank(values: Floats) -> Floats:
    """0 for the best, towards 1 for the last."""
    order = np.argsort(-values, kind="stable")
    rank = np.empty(len(values), dtype=np.float32)
    rank[order] = np.arange(len(values), dtype=np.float32)
    return rank / max(len(values) - 1, 1)


def _group_max(values: Floats, same: NDArray[np.bool_]) -> Floats:
    """The maximum over the sentences of the same document."""
    return np.where(same, values[None, :], -np.inf).max(axis=1).astype(np.float32)


def _rank_in_group(values: Floats, same: NDArray[np.bool_]) -> Floats:
    return ((values[None, :] > values[:, None]) & same).sum(axis=1).astype(np.float32)


def node_features(evidence: Evidence) -> Floats:
    """One row per sentence, one column per name in ``FEATURES``."""
    r, signals = evidence.reading, evidence.signals
    n = len(r)
    column: dict[str, Any] = {}
    ret = signals.retrieved[r.unit]
    doc = r.document
    docs = int(doc.max()) + 1
    same = doc[:, None] == doc[None, :]
    other = ~same
    idf_total = max(float(r.idf.sum()), 1e-9)
    has = (r.query_count > 0).astype(np.float32)
    cover = has @ r.idf / idf_total
    cover_own = r.query_own.astype(np.float32) @ r.idf / idf_total
    asked_total = max(int(r.asked.sum()), 1)
    anchored = evidence.asked_entities > 0
    titled = evidence.titled
    base = 0.5 * ret + 0.5 * cover

    column["ret"] = ret
    column["ret_rank"] = _rank(ret)
    _vector_features(column, evidence, base, other)
    column["lex"] = evidence.lex
    column["idf_cover"] = cover
    column["idf_cover_own"] = cover_own
    stem = r.query_stem.astype(np.float32) @ r.idf / idf_total
    column["stem_cover"] = stem
    column["stem_only"] = stem - cover
    column["cover_rank"] = _rank(stem)
    column["asked_share"] = evidence.asked_entities / asked_total
    column["literal_share"] = evidence.literal / asked_total
    column["titled"] = titled.astype(np.float32)
    column["title_share"] = r.title_share
    column["cues"] = evidence.cues
    column["cue_rank_doc"] = _rank_in_group(evidence.cues + 0.01 * cover_own, same)

    column["size"] = np.log1p(r.size)
    place = r.place % 100_000 if evidence.mode == "document" else r.place
    column["place"] = np.minimum(place, 12).astype(np.float32)
    column["pronoun"] = (r.flags & 1).astype(np.float32)
    kind = r.question.answer
    column["answer_kind"] = evidence.answer_kind.astype(np.float32)
    column["names"] = r.named
    column["new_names"] = r.named - evidence.literal

    doc_ret = _group_max(ret, same)
    column["doc_ret"] = doc_ret
    column["doc_cover"] = _group_max(cover, same)
    count = np.bincount(doc, minlength=docs).astype(np.float32)
    column["doc_share"] = count[doc] / n
    column["doc_rank"] = (doc_ret[None, :] > doc_ret[:, None]).astype(np.float32) @ (1.0 / count[doc])
    column["rank_in_doc_ret"] = _rank_in_group(ret, same)
    column["rank_in_doc_cover"] = _rank_in_group(cover_own, same)
    column["doc_titles_asked"] = float(len(set(doc[titled].tolist())))
    column["doc_mass"] = np.bincount(doc, weights=base, minlength=docs).astype(np.float32)[doc]

    _mention_features(column, evidence, base, anchored, titled, same)
    _link_features(column, evidence, base, cover, has, idf_total, anchored, same)
    _path_features(column, evidence, n)

    form = r.question.form
    column["q_bridge"] = float(form == "bridge")
    column["q_compare"] = float(form == "comparison")
    column["q_yesno"] = float(form == "yes-no")
    column["q_entities"] = float(r.asked.sum())
    column["q_tokens"] = float(len(r.question.tokens))
    column["q_titles"] = float((r.asked & r.is_title).sum())
    for name in ("person", "date", "place", "number"):
        column[f"q_{name}"] = float(kind == name)
    table = np.empty((n, len(FEATURES)), dtype=np.float32)
    for index, name in enumerate(FEATURES):
        table[:, index] = column[name]
    return table


def _vector_features(
    column: dict[str, Any], evidence: Evidence, base: Floats, other: NDArray[np.bool_]
) -> None:
    """Similarity to the question, and to the question ⊕ one of the best sentences elsewhere."""
    signals, unit = evidence.signals, evidence.reading.unit
    if signals.similarity is None or signals.between is None:
        column["sim_seed"] = column["sim_top"] = np.nan
        return
    sim = signals.similarity[unit]
    column["sim_top"] = sim - float(sim.max())
    first = np.argsort(-base, kind="stable")[:5]
    # |q + v|² = 2 + 2 q·v for unit vectors
    joint = sim[None, :] + signals.between[np.ix_(unit[first], unit)]
    joint = joint / np.sqrt(np.maximum(2.0 + 2.0 * sim[first, None], 1e-6))
    column["sim_seed"] = np.where(other[first], joint, -1.0).max(axis=0)


def _mention_features(
    column: dict[str, Any],
    evidence: Evidence,
    base: Floats,
    anchored: NDArray[np.bool_],
    titled: NDArray[np.bool_],
    same: NDArray[np.bool_],
) -> None:
    """Directed mention: a well-scored sentence of another document names this document's title."""
    r = evidence.reading
    has_title = r.own >= 0
    names = (r.explicit[:, r.own] > 0) & has_title[None, :] & ~same  # names[i, j]: i names j's title
    weight = names * base[:, None]
    column["in_best"] = weight.max(axis=0, initial=0.0)
    from_anchor = names & anchored[:, None]
    column["in_anchored"] = (from_anchor * base[:, None]).max(axis=0, initial=0.0)
    column["in_count"] = names.sum(axis=0).astype(np.float32)
    column["out_best"] = (names * base[None, :]).max(axis=1, initial=0.0)
    column["out_titled"] = (names & titled[None, :]).any(axis=1).astype(np.float32)
    column["out_count"] = names.sum(axis=1).astype(np.float32)
    column["doc_in_best"] = _group_max(np.asarray(column["in_best"]), same)
    # the textbook bridge: an anchored sentence names this title, and the question does not
    fresh = ~titled
    bridge_in = (from_anchor & fresh[None, :]).any(axis=0)
    column["bridge_in"] = bridge_in.astype(np.float32)
    bridge_out = (from_anchor & fresh[None, :]).any(axis=1)
    column["bridge_both"] = bridge_out.astype(np.float32)


def _link_features(
    column: dict[str, Any],
    evidence: Evidence,
    base: Floats,
    cover: Floats,
    has: Floats,
    idf_total: float,
    anchored: NDArray[np.bool_],
    same: NDArray[np.bool_],
) -> None:
    r, links = evidence.reading, evidence.links
    n = len(r)
    linked = np.isfinite(links.score)
    np.fill_diagonal(linked, False)
    cross = linked & ~same
    value = np.where(cross, links.score, -1.0)
    column["link_best"] = value.max(axis=1, initial=-1.0)
    unasked = cross & (links.unasked > 0.5)
    worth = np.where(unasked, links.spec * (0.2 + base[None, :]), 0.0)
    column["link_unasked"] = worth.max(axis=1, initial=0.0)
    column["link_anchor"] = np.where(
        unasked & anchored[None, :], links.spec * (0.2 + base[None, :]), 0.0
    ).max(axis=1, initial=0.0)
    best = np.argmax(value, axis=1)
    row = np.arange(n)
    column["link_spec"] = links.spec[row, best]
    column["link_hub"] = links.hub[row, best]
    column["link_noise"] = links.noise[row, best]
    column["degree"] = cross.sum(axis=1) / max(n - 1, 1)
    column["adjacent"] = np.where(links.kind == 0, base[None, :], 0.0).max(axis=1, initial=0.0)
    # |q ∩ (s_i ∪ s_j)| by idf
    weighted = has * r.idf
    union = (cover[:, None] + cover[None, :]) - (weighted @ has.T) / idf_total
    column["pair_cover"] = np.where(same, 0.0, union).max(axis=1, initial=0.0)
    column["pair_cover_link"] = np.where(cross, union, 0.0).max(axis=1, initial=0.0)
    stemmed = r.query_stem.astype(np.float32)
    either = stemmed @ r.idf / idf_total
    joint = (either[:, None] + either[None, :]) - ((stemmed * r.idf) @ stemmed.T) / idf_total
    column["pair_stem_link"] = np.where(cross, joint, 0.0).max(axis=1, initial=0.0)
    top = int(np.argmax(base))
    column["cover_gain"] = union[top] - cover[top]
    better = base[None, :] > base[:, None]
    repeat = r.overlap / np.maximum(r.size[:, None], 1.0)
    column["redundant"] = np.where(better, repeat, 0.0).max(axis=1, initial=0.0)


def _path_features(column: dict[str, Any], evidence: Evidence, n: int) -> None:
    best, rank = evidence.paths.best_through(n)
    best -= evidence.paths.score[0]
    best[~np.isfinite(best)] = np.nan
    column["path1"], column["path2"], column["path3"] = best[0], best[1], best[2]
    column["path_best"] = np.fmax.reduce(best)
    column["path_rank"] = np.minimum(rank, 60).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The units that take part and how they relate, at the caller's own granularity (arrays over rows)."""

    unit: NDArray[np.int64]  # which candidate each row is
    document: NDArray[np.int64]
    place: NDArray[np.int64]
    linked: NDArray[np.bool_]  # some link joins the two, across documents
    unasked: NDArray[np.bool_]  # ... by a trigger that the question does not name
    names: NDArray[np.bool_]  # [i, j]: i names the title of j's document


def unit_segments(evidence: Evidence) -> NDArray[np.int64]:
    """Where each unit's sentences start: they stand in the order of their units."""
    return np.flatnonzero(np.diff(evidence.reading.unit, prepend=-1))


def unit_view(evidence: Evidence) -> View:
    """Sentence by sentence, or, in document mode, gathered over the sentences of each unit."""
    r, links = evidence.reading, evidence.links
    other = r.document[:, None] != r.document[None, :]
    linked = np.isfinite(links.score) & other
    unasked = linked & (links.unasked > 0.5)
    names = (r.explicit[:, r.own] > 0) & (r.own >= 0)[None, :] & other
    if evidence.mode != "document":
        return View(r.unit, r.document, r.place, linked, unasked, names)
    starts = unit_segments(evidence)
    present = r.unit[starts]
    squares = np.stack([linked, unasked, names])
    gathered = np.logical_or.reduceat(np.logical_or.reduceat(squares, starts, axis=1), starts, axis=2)
    place = np.array([r.candidates[i].position or 0 for i in present.tolist()], dtype=np.int64)
    return View(present, r.document[starts], place, gathered[0], gathered[1], gathered[2])


AGGREGATED = (
    tuple(f"max_{name}" for name in FEATURES[:_OF_QUESTION])
    + tuple(f"mean_{name}" for name in FEATURES[:_OF_QUESTION])
    + ("doc_whole_cover", "doc_whole_asked", "doc_sentences", "doc_ret_own", *FEATURES[_OF_QUESTION:])
)


def unit_features(evidence: Evidence) -> Floats:
    """One row per unit that takes part: its sentence's own, or in document mode the best and the mean of its
    sentences with what only the whole unit tells (A.6)."""
    nodes = node_features(evidence)
    if evidence.mode != "document":
        return nodes
    r = evidence.reading
    starts = unit_segments(evidence)
    size = np.diff(starts, append=len(r)).astype(np.float32)
    own = nodes[:, :_OF_QUESTION]
    gaps = np.isnan(own)
    gone = gaps.all(axis=0)
    filled = np.where(gaps, np.float32(-9.0), own)
    best = np.maximum.reduceat(filled, starts, axis=0)
    mean = np.add.reduceat(filled, starts, axis=0) / size[:, None]
    best[:, gone] = mean[:, gone] = np.nan
    covered = np.logical_or.reduceat(r.query_count > 0, starts, axis=0).astype(np.float32)
    named = np.maximum.reduceat(r.entity, starts, axis=0)
    whole = np.stack(
        [
            covered @ r.idf / max(float(r.idf.sum()), 1e-9),
            named @ r.asked.astype(np.float32) / max(int(r.asked.sum()), 1),
            np.log1p(size),
            evidence.signals.retrieved[r.unit[starts]],
        ],
        axis=1,
    )
    question = np.broadcast_to(nodes[:1, _OF_QUESTION:], (len(starts), len(FEATURES) - _OF_QUESTION))
    return np.concatenate([best, mean, whole, question], axis=1).astype(np.float32)


SECOND: tuple[str, ...] = (
    "p", "p_rank", "p_top", "p_sum", "p_other_doc", "p_same_doc", "p_before", "p_after", "p_linked", "p_in", "p_out",
    "p_unasked", "p_doc", "p_doc_rank", "p_doc_sum", "p_second_doc", "p_gap",
)  # fmt: skip


def second_features(view: View, p: Floats) -> Floats:
    """What the first round's scores of the other units say about each: the set, not the unit alone."""
    n = len(p)
    docs = int(view.document.max()) + 1
    same = view.document[:, None] == view.document[None, :]
    gap = view.place[None, :] - view.place[:, None]
    doc_best = np.zeros(docs, dtype=np.float32)
    np.maximum.at(doc_best, view.document, p)
    ordered = np.sort(doc_best)[::-1]
    ranked = np.sort(p)[::-1]
    # the largest p among the others that stand in some relation to each unit
    masks = np.stack(
        [
            ~same,
            same & ~np.eye(n, dtype=bool),
            same & (gap == -1),
            same & (gap == 1),
            view.linked,
            view.names.T,
            view.names,
            view.unasked,
        ]
    )
    related = (masks * p).max(axis=2, initial=0.0)
    own = doc_best[view.document]
    table = np.empty((n, len(SECOND)), dtype=np.float32)
    table[:, 0] = p
    table[:, 1] = _rank(p)
    table[:, 2] = ranked[0]
    table[:, 3] = p.sum()
    table[:, 4:12] = related.T
    table[:, 12] = own
    table[:, 13] = (doc_best[None, :] > own[:, None]).sum(axis=1)
    table[:, 14] = np.bincount(view.document, weights=p, minlength=docs)[view.document]
    table[:, 15] = ordered[1] if docs > 1 else 0.0
    table[:, 16] = p - ranked[min(2, n - 1)]
    return table

"""The paper's signals as one row of numbers per sentence: what the learned scorer judges by.

Every feature is a signal that the formulas use as well (relevance, entities, relation cues, provenance,
specificity, hubness, noise, paths, the retriever's score), measured in several ways; none knows anything
of the answer or of gold annotations. What the caller gave no signal for has a value below all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promote.evidence import Evidence
from pagerag.promote.graph import ADJACENT

__all__ = [
    "ABLATED_FEATURES",
    "AGGREGATED",
    "FEATURES",
    "SECOND",
    "View",
    "node_features",
    "second_features",
    "unit_features",
    "unit_view",
]

Floats = NDArray[Any]

FEATURES: tuple[str, ...] = (
    # the retriever
    "ret", "ret_rank", "sim_seed",
    # question words and names
    "lex", "idf_cover", "idf_cover_own", "stem_cover", "stem_only", "cover_rank", "asked_share", "literal_share",
    "titled", "title_share", "cues", "other_cues",
    # the sentence
    "size", "place", "pronoun", "answer_kind", "names", "new_names",
    # its document
    "doc_ret", "doc_cover", "doc_size", "doc_rank", "rank_in_doc_cover", "doc_mass",
    # directed mention
    "in_best", "in_anchored", "in_count", "out_best", "out_titled", "out_count", "in_cued", "out_cued",
    "bridge_in", "bridge_both",
    # links
    "link_best", "link_unasked", "link_anchor", "link_spec", "link_hub", "link_noise", "adjacent", "pair_cover",
    "pair_stem_link", "pair_cues_link", "cover_gain", "redundant",
    # paths
    "path1", "path2", "path3", "path_best", "path_rank",
    # the question
    "q_bridge", "q_compare", "q_yesno", "q_entities", "q_tokens", "q_titles",
)  # fmt: skip

_COLUMN = {name: place for place, name in enumerate(FEATURES)}
_OF_QUESTION = _COLUMN["q_bridge"]  # from here on, features of the question: the same for every unit
_NO_PATH = -2.0  # below any path's distance from the best
_NO_VECTOR = -2.0  # below any cosine

ABLATED_FEATURES: dict[str, tuple[str, ...]] = {
    "query_alignment": (
        "sim_seed", "lex", "idf_cover", "idf_cover_own", "stem_cover", "stem_only", "pair_stem_link", "cover_rank",
        "asked_share", "literal_share", "titled", "title_share", "cues", "other_cues", "doc_cover",
        "rank_in_doc_cover", "pair_cover", "pair_cues_link", "cover_gain", "answer_kind", "doc_whole_cover", "doc_whole_asked",
    ),
    "provenance_reliability": (
        "doc_size", "doc_rank", "doc_mass", "in_count", "out_count", "link_best",
    ),
    "bridge_specificity": (
        "link_spec", "link_hub", "link_unasked", "link_anchor", "bridge_in", "bridge_both", "in_best",
        "in_anchored", "out_best", "out_titled", "in_cued", "out_cued",
    ),
    "path_quality": ("link_noise", "path1", "path2", "path3", "path_best", "path_rank", "redundant", "adjacent"),
}  # fmt: skip
"""The learned scorer's features by the feature groups of Appendix B."""


def _rank(values: Floats) -> Floats:
    """0 for the best, then 1, 2, ..."""
    rank = np.empty(len(values), dtype=np.float32)
    rank[np.argsort(-values, kind="stable")] = np.arange(len(values), dtype=np.float32)
    return rank


class _Table:
    """The features as they are found, one contiguous row each."""

    __slots__ = ("rows",)

    def __init__(self, nodes: int) -> None:
        self.rows = np.empty((len(FEATURES), nodes), dtype=np.float32)

    def __setitem__(self, name: str, values: Any) -> None:
        self.rows[_COLUMN[name]] = values


def node_features(evidence: Evidence) -> Floats:
    """One row per sentence, one column per name in ``FEATURES``."""
    r, signals, links = evidence.reading, evidence.signals, evidence.links
    n = len(r)
    table = _Table(n)
    ret = signals.retrieved[r.unit]
    idf = r.idf / max(float(r.idf.sum()), 1e-9)
    has = (r.query_count > 0).astype(np.float32)
    cover = has @ idf
    own = r.query_own @ idf
    stemmed = r.query_stem.astype(np.float32)
    stem = stemmed @ idf
    asked_total = max(int(r.asked.sum()), 1)
    base = 0.5 * ret + 0.5 * cover

    table["ret"] = ret
    table["ret_rank"] = _rank(ret)
    table["sim_seed"] = _joint_similarity(evidence, base)
    table["lex"] = evidence.lex
    table["idf_cover"] = cover
    table["idf_cover_own"] = own
    table["stem_cover"] = stem
    table["stem_only"] = stem - cover
    table["cover_rank"] = _rank(stem)
    table["asked_share"] = evidence.asked_entities / asked_total
    table["literal_share"] = evidence.literal / asked_total
    table["titled"] = evidence.titled
    table["title_share"] = r.title_share
    table["cues"] = evidence.cues
    table["other_cues"] = evidence.other_cues

    table["size"] = np.log1p(r.size)
    table["place"] = np.minimum(r.place % 100_000 if evidence.mode == "document" else r.place, 12)
    table["pronoun"] = r.flags & 1
    table["answer_kind"] = evidence.answer_kind
    table["names"] = r.named
    table["new_names"] = r.named - evidence.literal

    same = links.same
    ones = np.ones(n, dtype=np.float32)
    count = ones @ same
    doc_ret = _group_max(ret, same)
    table["doc_ret"] = doc_ret
    table["doc_cover"] = _group_max(cover, same)
    table["doc_size"] = count
    table["doc_rank"] = (1.0 / count) @ (doc_ret[:, None] > doc_ret).astype(np.float32)
    table["rank_in_doc_cover"] = ones @ ((own[:, None] > own) * same)
    table["doc_mass"] = base @ same

    _mention_features(table, evidence, base)
    _link_features(table, evidence, base)
    _cover_features(table, evidence, base, (has, cover), (stemmed, stem), idf)
    _path_features(table, evidence, n)

    form = r.question.form
    table["q_bridge"] = form == "bridge"
    table["q_compare"] = form == "comparison"
    table["q_yesno"] = form == "yes-no"
    table["q_entities"] = r.asked.sum()
    table["q_tokens"] = len(r.question.tokens)
    table["q_titles"] = (r.asked & r.is_title).sum()
    return table.rows.T


def _group_max(values: Floats, same: Floats) -> Floats:
    """The maximum of values that are not negative over the sentences of the same document."""
    return np.asarray((same * values[:, None]).max(axis=0))


def _joint_similarity(evidence: Evidence, base: Floats) -> Floats | float:
    """Similarity to the question ⊕ one of the best sentences of other documents."""
    signals, unit = evidence.signals, evidence.reading.unit
    if signals.similarity is None or signals.vectors is None:
        return _NO_VECTOR
    sim = signals.similarity[unit]
    first = np.argsort(-base, kind="stable")[:5]
    # |q + v|² = 2 + 2 q·v for unit vectors
    joint = sim[None, :] + signals.vectors[unit[first]] @ signals.vectors[unit].T
    joint = joint / np.sqrt(np.maximum(2.0 + 2.0 * sim[first, None], 1e-6))
    return np.asarray(np.where(evidence.links.same[first] > 0, -1.0, joint).max(axis=0))


def _mention_features(table: _Table, evidence: Evidence, base: Floats) -> None:
    """Directed mention: a well-scored sentence of another document names this document's title."""
    n = len(base)
    names = evidence.links.towards.astype(np.float32)  # [i, j]: i names the title of j's document
    anchored = (evidence.asked_entities > 0).astype(np.float32)
    titled = evidence.titled.astype(np.float32)
    fresh = 1.0 - titled
    ones = np.ones(n, dtype=np.float32)
    weight = names * base[:, None]
    table["in_best"] = weight.max(axis=0)
    table["in_anchored"] = (weight * anchored[:, None]).max(axis=0)
    table["in_count"] = ones @ names
    table["out_best"] = (names * base).max(axis=1)
    table["out_titled"] = names @ titled > 0
    table["out_count"] = names @ ones
    # the textbook bridge: an anchored sentence names this title, and the question does not
    table["bridge_in"] = (anchored @ names > 0) * fresh
    bridges = (names @ fresh > 0) * anchored
    table["bridge_both"] = bridges
    # ... and says of it what the question asks about: who composed the score, not who directed the film
    cued = np.minimum(evidence.cues, 2.0) * anchored
    table["in_cued"] = (names * cued[:, None]).max(axis=0) * fresh
    table["out_cued"] = bridges * cued


def _link_features(table: _Table, evidence: Evidence, base: Floats) -> None:
    """The best links of each sentence. Links are symmetric, so the maximum is taken down the columns."""
    r, links = evidence.reading, evidence.links
    row = np.arange(len(base))
    value = np.where(links.cross, links.score, -1.0)
    best = value.argmax(axis=0)
    table["link_best"] = value[best, row]
    table["link_spec"] = links.spec[best, row]
    table["link_hub"] = links.hub[best, row]
    table["link_noise"] = links.noise[best, row]
    worth = (links.cross & (links.unasked > 0.5)) * links.spec * (0.2 + base[:, None])
    table["link_unasked"] = worth.max(axis=0)
    table["link_anchor"] = (worth * (evidence.asked_entities > 0)[:, None]).max(axis=0)
    table["adjacent"] = ((links.kind == ADJACENT) * base[:, None]).max(axis=0)
    better = base[:, None] > base
    table["redundant"] = (better * r.overlap).max(axis=0) / np.maximum(r.size, 1.0)


def _cover_features(
    table: _Table,
    evidence: Evidence,
    base: Floats,
    exact: tuple[Floats, Floats],
    stemmed: tuple[Floats, Floats],
    idf: Floats,
) -> None:
    """|q ∩ (s_i ∪ s_j)| by idf: how much of the question two sentences cover together."""
    links = evidence.links
    union = _joint_cover(*exact, idf)
    table["pair_cover"] = ((1.0 - links.same) * union).max(axis=0)
    table["pair_stem_link"] = (links.cross * _joint_cover(*stemmed, idf)).max(axis=0)
    signals = evidence.signalled
    if signals.shape[1]:
        equal = np.full(signals.shape[1], 1.0 / signals.shape[1], dtype=np.float32)
        table["pair_cues_link"] = (links.cross * _joint_cover(signals, signals @ equal, equal)).max(axis=0)
    else:
        table["pair_cues_link"] = 0.0
    top = int(np.argmax(base))
    table["cover_gain"] = union[top] - exact[1][top]


def _joint_cover(has: Floats, cover: Floats, idf: Floats) -> Floats:
    return np.asarray(cover[:, None] + cover - (has * idf) @ has.T)


def _path_features(table: _Table, evidence: Evidence, n: int) -> None:
    best, rank = evidence.paths.best_through(n)
    best = np.maximum(best - evidence.paths.score[0], _NO_PATH)
    table["path1"], table["path2"], table["path3"] = best[0], best[1], best[2]
    table["path_best"] = best.max(axis=0)
    table["path_rank"] = np.minimum(rank, 60)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The units that take part and how they relate, at the caller's own granularity (arrays over rows)."""

    unit: NDArray[np.int64]  # which candidate each row is
    document: NDArray[np.int64]
    place: NDArray[np.int64]
    linked: NDArray[np.bool_]  # some link joins the two, across documents
    unasked: NDArray[np.bool_]  # ... by a trigger that the question does not name
    names: NDArray[np.bool_]  # [i, j]: i names the title of j's document


def unit_view(evidence: Evidence) -> View:
    """Sentence by sentence, or, in document mode, gathered over the sentences of each unit."""
    r, links = evidence.reading, evidence.links
    unasked = links.cross & (links.unasked > 0.5)
    if evidence.mode != "document":
        return View(r.unit, r.document, r.place, links.cross, unasked, links.towards)
    starts = evidence.segments
    present = r.unit[starts]
    squares = np.stack([links.cross, unasked, links.towards])
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
    starts = evidence.segments
    size = np.diff(np.append(starts, len(r))).astype(np.float32)
    own = nodes[:, :_OF_QUESTION]
    width = own.shape[1]
    table = np.empty((len(starts), len(AGGREGATED)), dtype=np.float32)
    table[:, :width] = np.maximum.reduceat(own, starts, axis=0)
    table[:, width : 2 * width] = np.add.reduceat(own, starts, axis=0) / size[:, None]
    covered = np.logical_or.reduceat(r.query_count > 0, starts, axis=0)
    named = np.maximum.reduceat(r.entity, starts, axis=0)
    table[:, 2 * width] = covered @ r.idf / max(float(r.idf.sum()), 1e-9)
    table[:, 2 * width + 1] = named @ r.asked / max(int(r.asked.sum()), 1)
    table[:, 2 * width + 2] = np.log1p(size)
    table[:, 2 * width + 3] = evidence.signals.retrieved[r.unit[starts]]
    table[:, 2 * width + 4 :] = nodes[:1, _OF_QUESTION:]
    return table


SECOND: tuple[str, ...] = (
    "p", "p_rank", "p_top", "p_sum", "p_other_doc", "p_same_doc", "p_before", "p_after", "p_linked", "p_in", "p_out",
    "p_unasked", "p_doc", "p_doc_rank", "p_doc_sum", "p_second_doc", "p_gap",
)  # fmt: skip


def second_features(view: View, p: Floats) -> Floats:
    """What the first round's scores of the other units say about each: the set, not the unit alone."""
    n = len(p)
    document = view.document
    same = document[:, None] == document
    apart = view.place - view.place[:, None]
    # [relation, i, j]: j stands in that relation to i; the largest p among such j, taken down the columns
    masks = np.empty((8, n, n), dtype=np.float32)
    masks[0] = ~same
    masks[1] = same
    masks[1].flat[:: n + 1] = 0.0
    masks[2] = same & (apart == 1)
    masks[3] = same & (apart == -1)
    masks[4] = view.linked
    masks[5] = view.names
    masks[6] = view.names.T
    masks[7] = view.unasked
    related = (masks * p[:, None]).max(axis=1)
    ranked = np.sort(p)[::-1]
    by_document = (same * p[:, None]).max(axis=0)
    best = np.zeros(int(document.max()) + 1, dtype=np.float32)
    best[document] = by_document
    ordered = np.sort(best)[::-1]
    table = np.empty((n, len(SECOND)), dtype=np.float32)
    table[:, 0] = p
    table[:, 1] = _rank(p)
    table[:, 2] = ranked[0]
    table[:, 3] = p.sum()
    table[:, 4:12] = related.T
    table[:, 12] = by_document
    table[:, 13] = (best > by_document[:, None]).sum(axis=1)
    table[:, 14] = p @ same
    table[:, 15] = ordered[1] if len(ordered) > 1 else 0.0
    table[:, 16] = p - ranked[min(2, n - 1)]
    return table

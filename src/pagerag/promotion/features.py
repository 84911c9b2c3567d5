"""The paper's signals as one row of numbers per sentence: what the learned scorer judges by.

Every feature is a signal that the formulas use as well (relevance, entities, relation cues, provenance,
specificity, hubness, noise, paths, the retriever's score), measured in several ways; none knows anything
of the answer or of gold annotations. What the caller gave no signal for has a value below all others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.admission import WIDTH
from pagerag.promotion.evidence import Evidence
from pagerag.promotion.graph import ADJACENT
from pagerag.promotion.sentence_arrays import STRIDE
from pagerag.promotion.whole_units import WHOLE, rarity
from pagerag.promotion.word_vectors import NEAR

__all__ = [
    "ABLATED_FEATURES",
    "AGGREGATED",
    "FEATURES",
    "OF_QUESTION",
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
    "lex", "idf_cover", "idf_cover_own", "stem_cover", "stem_only", "cover_rank", "asked_share",
    "literal_share", "titled", "title_share", "cues", "other_cues", "cue_near", "cue_target", "slot",
    # the sentence
    "size", "place", "pronoun", "answer_kind", "names", "new_names",
    # its document
    "doc_ret", "doc_cover", "doc_size", "doc_rank", "rank_in_doc_cover", "doc_mass",
    # directed mention
    "in_best", "in_anchored", "in_count", "out_best", "out_titled", "out_count", "in_cued", "out_cued",
    "in_near", "bridge_in", "bridge_both",
    # links
    "link_best", "link_unasked", "link_anchor", "link_spec", "link_hub", "link_noise", "adjacent",
    "pair_cover", "pair_stem_link", "pair_cues_link", "cover_gain", "redundant",
    # paths
    "path1", "path2", "path3", "path_best", "path_rank",
    # the unit as a whole
    *WHOLE, "sim", "same_title", "ret_gap", *NEAR,
    # the question and the pool
    "q_bridge", "q_compare", "q_yesno", "q_entities", "q_tokens", "q_titles", "q_asks", "q_nested",
    "pool_size", "pool_titled", "pool_documents", "pool_best", "pool_unknown", "pool_sim",
)  # fmt: skip

_OF_UNIT = FEATURES.index(WHOLE[0])
_OF_QUESTION = FEATURES.index("q_bridge")
OF_QUESTION = FEATURES[_OF_QUESTION:]
"""The features of the question and of the pool, the last ones: the same for every unit."""
_ASKS = ("claim", "yes-no", "who", "when", "where", "how-many", "which", "what", "how", "why", "list")
_PIECE = 6  # a later piece of a document lies so many sentences further on
_LARGEST = (
    "doc_ret", "doc_cover", "in_best", "in_anchored", "in_cued", "in_near", "out_best", "link_unasked",
    "link_anchor", "adjacent", "redundant", "pair_cover", "pair_stem_link", "pair_cues_link",
)  # fmt: skip
_NO_PATH = -2.0  # below any path's distance from the best
_NO_VECTOR = -2.0  # below any cosine

ABLATED_FEATURES: dict[str, tuple[str, ...]] = {
    "query_alignment": (
        "sim_seed", "lex", "idf_cover", "idf_cover_own", "stem_cover", "stem_only", "pair_stem_link",
        "cover_rank", "asked_share", "literal_share", "titled", "title_share", "cues", "other_cues",
        "cue_near", "cue_target", "slot", "doc_cover", "rank_in_doc_cover", "pair_cover", "pair_cues_link",
        "cover_gain", "answer_kind", "doc_whole_cover", "doc_whole_asked", *NEAR,
    ),
    "provenance_reliability": (
        "doc_size", "doc_rank", "doc_mass", "in_count", "out_count", "link_best",
    ),
    "bridge_specificity": (
        "link_spec", "link_hub", "link_unasked", "link_anchor", "bridge_in", "bridge_both", "in_best",
        "in_anchored", "out_best", "out_titled", "in_cued", "in_near", "out_cued",
    ),
    "path_quality": (
        "link_noise", "path1", "path2", "path3", "path_best", "path_rank", "redundant", "adjacent",
    ),
}  # fmt: skip
"""The learned scorer's features by the feature groups of Appendix B."""


def _rank(values: Floats) -> Floats:
    """Return 0 for the best, then 1, 2, ..."""
    rank = np.empty(len(values), dtype=np.float32)
    rank[(-values).argsort(kind="stable")] = np.arange(len(values), dtype=np.float32)
    return rank


def _beside(*values: Floats) -> Floats:
    """Return what the sentences give, laid beside each other: n x values x 1."""
    return np.array(values).T[:, :, None]


def node_features(evidence: Evidence) -> Floats:
    """Return one row per signal of the sentences, as ``FEATURES`` begins, one column per sentence."""
    r, links = evidence.reading, evidence.links
    n = len(r)
    ret = evidence.signals.retrieved.take(r.unit)
    idf = evidence.idf
    has = r.query_has
    cover = has @ idf
    own = r.query_own.astype(np.float32) @ idf
    stemmed = r.query_stem.astype(np.float32)
    stem = stemmed @ idf
    asked = len(r.asked_places)
    base = 0.5 * ret + 0.5 * cover
    anchored = (evidence.asked_entities > 0).astype(np.float32)

    same = links.same
    count = np.add.reduce(same, axis=0)
    table: dict[str, Floats] = {
        "ret": ret,
        "ret_rank": _rank(ret),
        "sim_seed": _joint_similarity(evidence, base),
        "lex": evidence.lex,
        "idf_cover": cover,
        "idf_cover_own": own,
        "stem_cover": stem,
        "stem_only": stem - cover,
        "cover_rank": _rank(stem),
        "asked_share": evidence.asked_entities / max(asked, 1),
        "literal_share": evidence.literal / max(asked, 1),
        "titled": evidence.titled,
        "title_share": r.title_share,
        "cues": evidence.cues,
        "other_cues": evidence.other_cues,
        "cue_near": evidence.steps[0],
        "cue_target": evidence.steps[1],
        "slot": evidence.slot,
        "size": np.log1p(r.size),
        "place": np.minimum(
            r.sentence + _PIECE * (r.place // STRIDE) if evidence.mode == "document" else r.place, 12
        ),
        "pronoun": r.flags & 1,
        "answer_kind": evidence.answer_kind,
        "names": r.named,
        "new_names": r.named - evidence.literal,
        "doc_size": count,
        "rank_in_doc_cover": np.add.reduce((own[:, None] > own) * same, axis=0),
        "doc_mass": base @ same,
    }
    # Most features are the best value among the sentences that stand in some relation to this one: one square
    # each, [i, j] what i gives to j, and the maximum over i of all of them at once. The squares lie beside
    # each other, [i, square, j], so that the maximum is taken of long rows.
    squares = np.empty((n, len(_LARGEST), n), dtype=np.float32)
    np.multiply(same[:, None], _beside(ret, cover), out=squares[:, :2])
    _mention_features(table, squares[:, 2:7], evidence, base, anchored)
    _link_features(table, squares[:, 7:11], evidence, base, anchored)
    _cover_features(table, squares[:, 11:], evidence, base, (has, cover), (stemmed, stem), idf)
    table.update(zip(_LARGEST, np.maximum.reduce(squares, axis=0), strict=True))
    table["in_cued"] = table["in_cued"] * (1.0 - evidence.titled)
    table["redundant"] = table["redundant"] / np.maximum(r.size, 1.0)
    doc_ret = table["doc_ret"]
    table["doc_rank"] = (1.0 / count) @ (doc_ret[:, None] > doc_ret).astype(np.float32)
    _path_features(table, evidence, n)

    rows = np.empty((_OF_UNIT, n), dtype=np.float32)
    found = [table[name] for name in FEATURES[:_OF_UNIT]]
    np.concatenate(found, out=rows.reshape(-1), casting="unsafe")
    return rows


def _of_units(evidence: Evidence) -> Floats:
    """Return one row per measure of the whole unit, one column per unit that takes part."""
    r, signals = evidence.reading, evidence.signals
    units = r.taking_part
    retrieved = signals.retrieved.take(units)
    titles = [r.candidates[i].title for i in units.tolist()]
    count = Counter(titles)
    rows = np.empty((_OF_QUESTION - _OF_UNIT, len(units)), dtype=np.float32)
    rows[: len(WHOLE)] = r.whole.T
    rows[len(WHOLE)] = _NO_VECTOR if signals.similarity is None else signals.similarity.take(units)
    rows[len(WHOLE) + 1] = [count[title] if title else 0 for title in titles]
    ranked = np.sort(retrieved)[::-1]
    # how far above or below the best of the others
    best = np.where(retrieved >= ranked[0], ranked[1] if len(ranked) > 1 else 0.0, ranked[0])
    rows[len(WHOLE) + 2] = retrieved - best
    rows[len(WHOLE) + 3 :] = r.near.T
    return rows


def _of_question(evidence: Evidence) -> Floats:
    """Return what is the same for every unit: the question's form, and what kind of pool this is."""
    r, question, similarity = evidence.reading, evidence.reading.question, evidence.signals.similarity
    form = question.form
    tokens = tuple(dict.fromkeys(question.tokens))
    rare, _ = rarity(tokens)
    known = np.logical_or.reduce(r.query_has, axis=0)
    units = r.taking_part.tolist()
    return np.array(
        (
            form == "bridge",
            form == "comparison",
            form == "yes-no",
            len(r.asked_places),
            len(question.tokens),
            np.count_nonzero(r.asked & r.is_title),
            _ASKS.index(question.asks),
            question.nested,
            np.log1p(min(len(r.candidates), WIDTH)),  # the rest takes no part, and is in no pool of training
            sum([bool(r.candidates[i].title) for i in units]) / len(units),
            len(set(r.document.tolist())) / len(units),
            np.maximum.reduce(r.whole[:, 1], initial=0.0),
            np.add.reduce(rare[~known]) / max(float(np.add.reduce(rare)), 1e-6),
            _NO_VECTOR if similarity is None else similarity.max(),
        ),
        dtype=np.float32,
    )


def _joint_similarity(evidence: Evidence, base: Floats) -> Floats:
    """Return similarity to the question ⊕ one of the best sentences of other documents."""
    signals, unit = evidence.signals, evidence.reading.unit
    if signals.similarity is None or signals.vectors is None:
        return np.array(_NO_VECTOR, dtype=np.float32).repeat(len(base))
    sim = signals.similarity[unit]
    first = np.argsort(-base, kind="stable")[:5]
    # |q + v|² = 2 + 2 q·v for unit vectors
    joint = sim[None, :] + signals.vectors[unit[first]] @ signals.vectors[unit].T
    joint = joint / np.sqrt(np.maximum(2.0 + 2.0 * sim[first, None], 1e-6))
    return np.asarray(np.where(evidence.links.same[first] > 0, -1.0, joint).max(axis=0))


def _mention_features(
    table: dict[str, Floats], squares: Floats, evidence: Evidence, base: Floats, anchored: Floats
) -> None:
    """Score directed mentions: a well-scored sentence of another document names this document's title."""
    names = evidence.links.towards.astype(np.float32)  # [i, j]: i names the title of j's document
    titled = evidence.titled.astype(np.float32)
    fresh = 1.0 - titled
    # what the question asks about is said of it: who composed the score, not who directed the film
    cued = np.minimum(evidence.cues, 2.0) * anchored
    near = evidence.steps[0] * anchored
    np.multiply(names[:, None], _beside(base, base * anchored, cued, near), out=squares[:, :4])
    np.multiply(names.T, base[:, None], out=squares[:, 4])
    going = names @ titled
    count = np.add.reduce(names, axis=1)
    table["in_count"] = np.add.reduce(names, axis=0)
    table["out_titled"] = going > 0
    table["out_count"] = count
    # the textbook bridge: an anchored sentence names this title, and the question does not
    table["bridge_in"] = (anchored @ names > 0) * fresh
    bridges = (count > going) * anchored
    table["bridge_both"] = bridges
    table["out_cued"] = bridges * cued


def _link_features(
    table: dict[str, Floats], squares: Floats, evidence: Evidence, base: Floats, anchored: Floats
) -> None:
    """Return the best links of each sentence; links are symmetric, so maxima are taken down the columns."""
    links = evidence.links
    n = len(base)
    value = np.where(links.cross, links.score, -1.0)
    best = value.argmax(axis=0) * n + np.arange(n)
    table["link_best"] = value.ravel().take(best)
    table["link_spec"] = links.spec.ravel().take(best)
    table["link_hub"] = links.hub.ravel().take(best)
    table["link_noise"] = links.noise.ravel().take(best)
    worth = 0.2 + base
    spec = evidence.fresh * links.spec
    np.multiply(spec[:, None], _beside(worth, worth * anchored), out=squares[:, :2])
    np.multiply(links.kind == ADJACENT, base[:, None], out=squares[:, 2])
    np.multiply(base[:, None] > base, evidence.reading.overlap, out=squares[:, 3])


def _cover_features(
    table: dict[str, Floats],
    squares: Floats,
    evidence: Evidence,
    base: Floats,
    exact: tuple[Floats, Floats],
    stemmed: tuple[Floats, Floats],
    idf: Floats,
) -> None:
    """Compute |q ∩ (s_i ∪ s_j)| by idf: how much of the question two sentences cover together."""
    links = evidence.links
    union = _joint_cover(*exact, idf)
    np.multiply(1.0 - links.same, union, out=squares[:, 0])
    np.multiply(links.cross, _joint_cover(*stemmed, idf), out=squares[:, 1])
    signals = evidence.signalled
    if signals.shape[1]:
        equal = np.array([1.0 / signals.shape[1]] * signals.shape[1], dtype=np.float32)
        np.multiply(links.cross, _joint_cover(signals, signals @ equal, equal), out=squares[:, 2])
    else:
        squares[:, 2] = 0.0
    top = int(base.argmax())
    table["cover_gain"] = union[top] - exact[1][top]


def _joint_cover(has: Floats, cover: Floats, idf: Floats) -> Floats:
    union = cover[:, None] + cover
    union -= (has * idf) @ has.T
    return np.asarray(union)


def _path_features(table: dict[str, Floats], evidence: Evidence, n: int) -> None:
    best, rank = evidence.paths.best_through(n)
    best = np.maximum(best - evidence.paths.score[0], _NO_PATH)
    table["path1"], table["path2"], table["path3"] = best[0], best[1], best[2]
    table["path_best"] = np.maximum.reduce(best, axis=0)
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
    """Gather the signals sentence by sentence or, in document mode, over the sentences of each unit."""
    r, links = evidence.reading, evidence.links
    present = evidence.present
    if evidence.mode != "document":
        return View(present, r.document, r.place, links.cross, evidence.fresh, links.towards)
    starts = evidence.segments
    # the three relations as bits of one number, so that they are gathered together
    bits = links.cross.view(np.uint8) | evidence.fresh.view(np.uint8) << 1 | links.towards.view(np.uint8) << 2
    bits = np.bitwise_or.reduceat(np.bitwise_or.reduceat(bits, starts, axis=0), starts, axis=1)
    place = np.array([r.candidates[i].position or 0 for i in present.tolist()], dtype=np.int64)
    return View(present, r.document.take(starts), place, bits & 1 > 0, bits & 2 > 0, bits & 4 > 0)


AGGREGATED = (
    tuple(f"max_{name}" for name in FEATURES[:_OF_UNIT])
    + tuple(f"mean_{name}" for name in FEATURES[:_OF_UNIT])
    + ("doc_whole_cover", "doc_whole_asked", "doc_sentences", "doc_ret_own", *FEATURES[_OF_UNIT:])
)


def unit_features(evidence: Evidence) -> Floats:
    """Return one row per unit that takes part.

    It is its sentence's own, or in document mode the best and the mean of its sentences with what only the
    whole unit tells (A.6).
    """
    nodes = node_features(evidence)
    r = evidence.reading
    whole, asked = _of_units(evidence).take(evidence.members, axis=1), _of_question(evidence)
    if evidence.mode != "document":
        table = np.empty((len(FEATURES), len(r)), dtype=np.float32)
        table[:_OF_UNIT] = nodes
        table[_OF_UNIT:_OF_QUESTION] = whole
        table[_OF_QUESTION:] = asked[:, None]
        return table.T
    starts = evidence.segments
    size = np.empty(len(starts), dtype=np.float32)
    np.subtract(starts[1:], starts[:-1], out=size[:-1], casting="unsafe")
    size[-1] = len(r) - starts[-1]
    width = len(nodes)
    table = np.empty((len(AGGREGATED), len(starts)), dtype=np.float32)  # by columns, as the trees read it
    table[:width] = np.maximum.reduceat(np.ascontiguousarray(nodes.T), starts, axis=0).T
    np.divide(np.add.reduceat(nodes, starts, axis=1), size, out=table[width : 2 * width])
    covered = np.maximum.reduceat(r.query_has, starts, axis=0)
    named = np.maximum.reduceat(r.entity.take(r.asked_places, axis=1), starts, axis=0)
    table[2 * width] = covered @ r.idf / r.idf_total
    table[2 * width + 1] = np.add.reduce(named, axis=1) / max(len(r.asked_places), 1)
    table[2 * width + 2] = np.log1p(size)
    table[2 * width + 3] = evidence.signals.retrieved.take(evidence.present)
    end = 2 * width + 4 + len(whole)
    table[2 * width + 4 : end] = whole
    table[end:] = asked[:, None]
    return table.T


SECOND: tuple[str, ...] = (
    "p", "p_rank", "p_top", "p_sum", "p_other_doc", "p_same_doc", "p_before", "p_after", "p_linked", "p_in",
    "p_out", "p_unasked", "p_doc", "p_doc_rank", "p_doc_sum", "p_second_doc", "p_gap",
)  # fmt: skip


def second_features(view: View, p: Floats) -> Floats:
    """Return what the first round's scores of the other units say about each: the set, not the unit alone."""
    n = len(p)
    document = view.document
    same = document[:, None] == document
    apart = view.place - view.place[:, None]
    # [i, relation, j]: i stands in that relation to j; the largest p among such i
    masks = np.empty((n, 8, n), dtype=np.float32)
    others = same.copy()
    others.ravel()[:: n + 1] = False
    masks[:, 0] = ~same
    masks[:, 1] = others
    masks[:, 2] = same & (apart == 1)
    masks[:, 3] = same & (apart == -1)
    masks[:, 4] = view.linked
    masks[:, 5] = view.names
    masks[:, 6] = view.names.T
    masks[:, 7] = view.unasked
    masks *= p[:, None, None]
    related = np.maximum.reduce(masks, axis=0)
    ranked = np.sort(p)[::-1].tolist()
    by_document = np.maximum(related[1], p)
    best = np.zeros(int(document.max()) + 1, dtype=np.float32)
    best[document] = by_document
    ordered = np.sort(best)[::-1]
    table = np.empty((len(SECOND), n), dtype=np.float32)
    table[0] = p
    table[1] = _rank(p)
    table[2] = ranked[0]
    table[3] = p.sum()
    table[4:12] = related
    table[12] = by_document
    table[13] = np.add.reduce(best > by_document[:, None], axis=1)
    table[14] = p @ same
    table[15] = ordered[1] if len(ordered) > 1 else 0.0
    table[16] = p - ranked[min(2, n - 1)]
    return table.T

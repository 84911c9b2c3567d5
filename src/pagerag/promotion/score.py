"""The equations of A.2-A.4, one pure function each, on scalars or arrays alike."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pagerag.promotion.weights import Weights

__all__ = [
    "bridge_bonus",
    "clamp",
    "coherence",
    "confidence",
    "diversity",
    "edge_relevance",
    "edge_score",
    "entity_overlap",
    "idf",
    "idf_by_df",
    "length_cost",
    "lexical_coverage",
    "literal_bonus",
    "noise",
    "pair_coherence",
    "path_alignment",
    "path_score",
    "reliability",
    "seed_score",
    "sentence_base",
    "sentence_relevance",
    "share",
]

Array = NDArray[np.floating[Any]]


def clamp(x: ArrayLike) -> Array:
    """Clip ``x`` into [0, 1]: Clamp(x) (A.2)."""
    return np.minimum(np.maximum(np.asarray(x, dtype=np.float32), 0.0), 1.0)


def lexical_coverage(shared: ArrayLike, tokens: ArrayLike) -> Array:
    """Compute Lex(a, b) = Σ_t min(count_a(t), count_b(t)) / max(|Tok(a)|, 1) (A.2, basic-lex)."""
    return np.asarray(shared, dtype=np.float32) / np.maximum(np.asarray(tokens, dtype=np.float32), 1.0)


def entity_overlap(shared: ArrayLike, asked: int) -> Array:
    """Compute ent_overlap(q, s) = |Ent(q) ∩ Ent(s)| / max(|Ent(q)|, 1) (A.2, sentence-relevance)."""
    return np.asarray(shared, dtype=np.float32) / max(asked, 1)


def sentence_relevance(
    lex: ArrayLike,
    overlap: ArrayLike,
    w: Weights,
    retrieved: ArrayLike = 0.0,
    similarity: ArrayLike | None = None,
    support: ArrayLike | None = None,
) -> Array:
    """Compute sent_rel(q, s) = Clamp(w_l Lex(q, s) + w_e ent_overlap(q, s)) (A.2, sentence-relevance).

    Beyond the paper, and each with a weight of its own: the retriever's normalised score, the similarity
    of vectors, and a support encoder's judgement, where they are given.
    """
    total = w.w_lex * np.asarray(lex) + w.w_ent * np.asarray(overlap) + w.w_ret * np.asarray(retrieved)
    if similarity is not None:
        total = total + w.w_vec * np.asarray(similarity)
    if support is not None:
        total = total + w.w_sup * np.asarray(support)
    return clamp(total)


def literal_bonus(literal: ArrayLike, w: Weights) -> Array:
    """Compute literal(q, s) = min(τ_lit, λ_lit n_lit(q, s)) (A.2, seed-score)."""
    return np.minimum(w.lit_cap, w.lit_step * np.asarray(literal, dtype=np.float32))


def seed_score(
    relevance: ArrayLike,
    cues: ArrayLike,
    literal: ArrayLike,
    w: Weights,
    titled: ArrayLike = 0.0,
    lead: ArrayLike = 0.0,
    kind: ArrayLike = 0.0,
) -> Array:
    """Compute seed(q, s) = sent_rel(q, s) + rel_boost(q, s) + literal(q, s) (A.2, seed-score).

    ``cues`` is the number of relation cues the sentence shares with the question, bounded by two;
    ``titled`` whether the question names the sentence's document, ``lead`` whether the sentence opens it,
    ``kind`` whether the sentence holds the kind of answer asked for.
    """
    boost = w.rel_boost * np.minimum(np.asarray(cues, dtype=np.float32), 2.0)
    return (
        np.asarray(relevance, dtype=np.float32)
        + boost
        + w.title_boost * np.asarray(titled, dtype=np.float32)
        + w.lead_boost * np.asarray(lead, dtype=np.float32)
        + w.kind_boost * np.asarray(kind, dtype=np.float32)
        + literal_bonus(literal, w)
    )


def confidence(triggers: ArrayLike, w: Weights) -> Array:
    """Compute conf(e) = min(1, b0 + b1 |T_e|) for a shared-entity edge (A.3, confidence)."""
    return np.minimum(1.0, w.conf_base + w.conf_step * np.asarray(triggers, dtype=np.float32))


def diversity(sources: ArrayLike, w: Weights) -> Array:
    """Compute div(e) = 0 if |D_e| = 0, else min(1, ρ (|D_e| - 1)) (A.3, diversity)."""
    return clamp(w.div_step * (np.asarray(sources, dtype=np.float32) - 1.0))


def idf(df: ArrayLike, sentences: int) -> Array:
    """Compute idf(t) = log((1 + |S_q|) / (1 + df(t))) + 1 within the query-local graph (A.3, idf)."""
    return (np.log((1.0 + sentences) / (1.0 + np.asarray(df, dtype=np.float64))) + 1.0).astype(np.float32)


@cache
def idf_by_df(sentences: int) -> Array:
    """Return idf for each df from 0 to ``sentences``; kept, because a graph has few sentences at most."""
    return idf(np.arange(sentences + 1), sentences)


def share(total: ArrayLike, triggers: ArrayLike, largest: float) -> Array:
    """Compute Clamp(mean_{t∈T_e} x(t) / max_{t'∈T} x(t')): spec(e) by idf, hub(e) by df (A.3, spec-hub).

    ``total`` is the sum of x over the edge's ``triggers`` triggers.
    """
    mean = np.asarray(total, dtype=np.float32) / np.maximum(np.asarray(triggers, dtype=np.float32), 1.0)
    return clamp(mean / max(largest, 1e-9))


def noise(spec: ArrayLike, conf: ArrayLike, sources: ArrayLike, w: Weights, *, paragraph: bool) -> Array:
    """Compute noise(e) (A.3, noise).

    noise(e) = Clamp(ξ_s [spec < τ_s] + ξ_c [conf < τ_c] + ξ_d [|D_e| = 1 and not paragraph])
    """
    single = np.asarray(sources) == 1
    return clamp(
        w.noise_spec * (np.asarray(spec) < w.low_spec)
        + w.noise_conf * (np.asarray(conf) < w.low_conf)
        + (0.0 if paragraph else w.noise_div) * single
    )


def edge_relevance(shared: ArrayLike, union: ArrayLike) -> Array:
    """Compute edge_rel(e, q) = Jaccard(Tok(q), Tok(prov(e) + trig(e))) (A.4, edge-relevance)."""
    return np.asarray(shared, dtype=np.float32) / np.maximum(np.asarray(union, dtype=np.float32), 1.0)


def reliability(div: ArrayLike, conf: ArrayLike, w: Weights) -> Array:
    """Compute reliability(e) = Clamp(λ_d div(e) + λ_c conf(e)) (A.4, reliability)."""
    return clamp(w.rel_div * np.asarray(div) + w.rel_conf * np.asarray(conf))


def edge_score(
    relevance: ArrayLike,
    reliable: ArrayLike,
    spec: ArrayLike,
    hub: ArrayLike,
    noisy: ArrayLike,
    w: Weights,
    asked: ArrayLike | None = None,
    names: ArrayLike | None = None,
) -> Array:
    """Compute edge(e, q) = α edge_rel + β reliability + γ spec - δ hub - η noise (A.4, edge-feature-score).

    ``asked``: the question names a trigger of the edge; it earns the query-entity boost and spares part
    of the hub penalty. ``names``: one end names the document of the other, a stronger sign of a bridge
    than a third entity that both mention.
    """
    total = w.alpha * np.asarray(relevance) + w.beta * np.asarray(reliable) + w.gamma * np.asarray(spec)
    if asked is None:
        total = total - w.delta * np.asarray(hub) - w.eta * np.asarray(noisy)
    else:
        named_in_question = np.asarray(asked, dtype=np.float32)
        total = total - w.delta * np.asarray(hub) * (1.0 - w.query_hub * named_in_question)
        total = total - w.eta * np.asarray(noisy) + w.query_edge * named_in_question
    return total if names is None else total + w.name_edge * np.asarray(names, dtype=np.float32)


def sentence_base(relevance_sum: ArrayLike, units: ArrayLike) -> Array:
    """Compute sent_base(π) = sent_rel of the one sentence, or the mean over several (A.4, sentence-base)."""
    return np.asarray(relevance_sum, dtype=np.float32) / np.maximum(np.asarray(units, dtype=np.float32), 1.0)


def pair_coherence(entity_jaccard: ArrayLike, lex: ArrayLike, w: Weights) -> Array:
    """Compute pair_coh(s_i, s_j) = ω_e Jaccard(Ent(s_i), Ent(s_j)) + ω_l Lex(s_i, s_j) (A.4, coherence)."""
    return w.coh_ent * np.asarray(entity_jaccard) + w.coh_lex * np.asarray(lex)


def coherence(pair_sum: ArrayLike, pairs: ArrayLike, *, paragraph: bool) -> Array:
    """Compute coh(π) = mean_i pair_coh(s_i, s_{i+1}).

    0 in paragraph mode and for a single sentence, whose sum is empty (A.4).
    """
    total = np.asarray(pair_sum, dtype=np.float32)
    return total * 0.0 if paragraph else total / np.maximum(np.asarray(pairs, dtype=np.float32), 1.0)


def length_cost(edges: int, w: Weights, *, paragraph: bool) -> float:
    """Compute len_cost(π) = μ max(0, |E_π| - 1); in paragraph mode -μ_p min(2, |E_π|) (A.4, length-cost)."""
    return -w.hop_bonus * min(2, edges) if paragraph else w.length * max(0, edges - 1)


def bridge_bonus(anchored: ArrayLike, signalled: ArrayLike, w: Weights) -> Array:
    """Return the bounded bonus of a bridge question's path.

    One sentence mentions a question entity, another carries a relation signal (A.4).
    """
    return w.bridge * (np.asarray(anchored, dtype=bool) & np.asarray(signalled, dtype=bool)).astype(
        np.float32
    )


def path_alignment(covered: ArrayLike, signalled: ArrayLike, w: Weights) -> Array:
    """Return what the path as a whole says to the question.

    The share of its words, by idf, and of its relations.

    Beyond the paper: the mean of sent_rel over a path cannot tell two sentences that complete each other
    from two that repeat each other; their union can.
    """
    return w.path_cover * np.asarray(covered) + w.path_cues * np.asarray(signalled)


def path_score(base: ArrayLike, edges: ArrayLike, coh: ArrayLike, cost: ArrayLike, w: Weights) -> Array:
    """Compute path(π, q) = sent_base(π) + Σ edge(e, q) + λ_coh coh(π) - len_cost(π) (A.4)."""
    return np.asarray(base) + np.asarray(edges) + w.coh * np.asarray(coh) - np.asarray(cost)

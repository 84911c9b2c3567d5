"""The base bi-encoder's view of the training questions: plausible distractors and plain top-k contexts."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from pagerag.models.packing import CLS, SEP
from pagerag_lab.training.corpus import Corpus, Row
from pagerag_lab.training.network import Network

__all__ = ["rank"]

DOT = 1012  # "." in the vocabulary: units are embedded as "title. text"


@torch.inference_mode()
def embed(network: Network, texts: list[list[int]], device: torch.device) -> Tensor:
    """Return mean-pooled, normalised embeddings, as sentence-transformers makes them."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = torch.empty(len(texts), network.words.embedding_dim, device=device)
    for start in range(0, len(order), 256):
        chosen = order[start : start + 256]
        width = max(len(texts[i]) for i in chosen) + 2
        ids = torch.zeros(len(chosen), width, dtype=torch.long)
        for row, i in enumerate(chosen):
            ids[row, : len(texts[i]) + 2] = torch.tensor([CLS, *texts[i], SEP])
        ids = ids.to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            states = network.encode(ids, torch.zeros_like(ids)).float()
        mask = (ids != 0).float()[..., None]
        pooled = functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)
        found[torch.tensor(chosen, device=device)] = pooled
    return found


def rank(corpus: Corpus, network: Network, device: torch.device, *, hard: int = 12) -> None:
    """Set ``order`` of the real multi-hop rows and ``hard`` of the single-passage rows, in place."""
    network = network.to(device).eval()
    multihop = [r for r in (*corpus.rows, *corpus.whole) if r.source in {"hotpotqa", "2wiki", "musique"}]
    single = [r for r in corpus.rows if r.source in {"nq", "xquad", "squad2", "strategyqa", "paragraph"}]
    places: dict[tuple[int, int], int] = {}
    for row in (*multihop, *single):
        for key in zip(row.titles, row.texts, strict=True):
            places.setdefault(key, len(places))
    table = corpus.table
    units = embed(network, [[*table[t][:20], DOT, *table[x]] for t, x in places], device)
    asked = embed(network, [r.question for r in (*multihop, *single)], device)
    for row, question in zip(multihop, asked, strict=False):
        own = torch.tensor([places[key] for key in zip(row.titles, row.texts, strict=True)], device=device)
        row.order = torch.argsort(units[own] @ question, descending=True, stable=True).tolist()
    keys = list(places)
    for kind in (("paragraph",), ("nq", "xquad", "squad2", "strategyqa")):
        _hard(
            [n for n, r in enumerate(single) if r.source in kind],
            single,
            asked[len(multihop) :],
            units,
            places,
            keys,
            corpus,
            hard,
        )


def _hard(
    chosen: list[int],
    single: list[Row],
    asked: Tensor,
    units: Tensor,
    places: dict[tuple[int, int], int],
    keys: list[tuple[int, int]],
    corpus: Corpus,
    hard: int,
) -> None:
    """Return the nearest units of other passages, for the rows at these places."""
    if not chosen:
        return
    device = units.device
    owned = {places[k] for n in chosen for k in zip(single[n].titles, single[n].texts, strict=True)}
    pool = torch.tensor(sorted(owned), device=device)
    for start in range(0, len(chosen), 512):
        part = chosen[start : start + 512]
        scores = asked[torch.tensor(part, device=device)] @ units[pool].T
        near = pool[scores.topk(min(4 * hard, len(pool)), dim=1).indices].tolist()
        for n, found in zip(part, near, strict=True):
            single[n].hard = _distractors(single[n], [keys[i] for i in found], corpus)[:hard]


def _distractors(row: Row, found: list[tuple[int, int]], corpus: Corpus) -> list[tuple[int, int]]:
    """Sentences of other passages that do not hold an answer."""
    own = set(zip(row.titles, row.texts, strict=True))
    answers = ["".join(map(chr, a)) for a in row.answers] if row.kind == "span" else []
    return [key for key in found if key not in own and not any(a in corpus.string(key[1]) for a in answers)]

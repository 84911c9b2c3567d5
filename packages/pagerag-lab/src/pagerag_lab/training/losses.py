"""The four losses: span, kind, support and answer-bearing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from pagerag_lab.training.batches import MAX_PARTS, Batch
from pagerag_lab.training.network import ANSWER_MARK, ANSWER_TOKEN, END, START, SUPPORT_MARK, SUPPORT_TOKEN

__all__ = ["LossWeights", "total_loss", "unit_logits"]

UNITS_SCALE = 3.0


@dataclass(frozen=True)
class LossWeights:
    """How much each loss counts."""

    span: float = 1.0
    kind: float = 1.0
    support: float = 0.5
    bearing: float = 0.2
    listwise: float = 0.0


def unit_logits(tokens: Tensor, batch: Batch, mark: int, token: int) -> Tensor:
    """Marker channel plus the mean of the token channel over each unit: [batch, units]."""
    running = functional.pad(tokens[..., token].cumsum(1), (1, 0))
    length = (batch.ends - batch.starts).clamp(min=1)
    mean = (running.gather(1, batch.ends) - running.gather(1, batch.starts)) / length
    return tokens[..., mark].gather(1, batch.markers) + mean


def total_loss(tokens: Tensor, kinds: Tensor, batch: Batch, weights: LossWeights) -> Tensor:
    """Return the weighted sum, averaged over the batch's examples."""
    tokens, kinds = tokens.float(), kinds.float()
    context = (batch.types == 1) & (batch.ids != 0)
    start, end = (tokens[..., c].masked_fill(~context, -1e4).log_softmax(-1) for c in (START, END))
    # Every place where the answer stands may be meant: the likelihood of any of them counts.
    each = start.gather(1, batch.pairs[..., 0]) + end.gather(1, batch.pairs[..., 1])
    # An answer of several parts should be found in each of them: their mean counts.
    number = torch.arange(MAX_PARTS, device=each.device)[:, None, None]
    of_part = batch.pair_mask & (batch.pair_parts == number)
    there = of_part.any(2)
    any_place = each.masked_fill(~of_part, -1e4).logsumexp(2)
    found = (any_place * there).sum(0) / there.sum(0).clamp(min=1)
    span = -(found * batch.weight).sum() / len(batch.ids)
    kind = functional.cross_entropy(kinds, batch.kind, reduction="none", ignore_index=-100)
    loss = weights.span * span + weights.kind * (kind * batch.weight).mean()
    for name, mark, token in (
        ("support", SUPPORT_MARK, SUPPORT_TOKEN),
        ("bearing", ANSWER_MARK, ANSWER_TOKEN),
    ):
        weight = getattr(weights, name)
        if not weight:
            continue
        label = getattr(batch, name)
        logits = unit_logits(tokens, batch, mark, token)
        counted = batch.unit_mask if name == "support" else batch.unit_mask * batch.bearing_mask
        each_unit = functional.binary_cross_entropy_with_logits(logits, label, reduction="none") * counted
        # Summed over a pool and divided by the same number for all: a weight that depended on how many units
        # are gold would bend the probabilities.
        per_pool = each_unit.sum(1) / UNITS_SCALE
        loss = loss + weight * (per_pool * batch.support_weight).mean()
        if name == "support" and weights.listwise:
            logp = logits.masked_fill(batch.unit_mask == 0, -1e4).log_softmax(1)
            per_gold = -(logp * label).sum(1) / label.sum(1).clamp(min=1)
            loss = loss + weights.listwise * (per_gold * batch.support_weight).mean()
    return loss


def finite(loss: Tensor) -> bool:
    """Tell whether the step may be taken."""
    return bool(torch.isfinite(loss))
